package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/queue"
)

var accountTests = []named{
	{"a message is charged once, with it, and its replays are free", charged},
	{"what is free leaves no trace", freePublish},
	{"what is refused is not charged", refusedUncharged},
	{"days are summed apart and listed the newest first", usageByDay},
	{"a limit is exact: within a batch, to the last unit, and raised", limitExact},
	{"a replay is answered though the credit is used up, and a refused key is free", limitAndKeys},
	{"many at once spend no more than the limit, and all of it", limitRace},
	{"each message that is there is charged, whoever gave up", chargedRace},
	{"a publish inside a request that fails is not charged", chargeRolledBack},
	{"I13: a project pays for itself alone", chargedApart},
}

func usd(s string) account.USD {
	u, err := account.ParseUSD(s)
	if err != nil {
		panic(err)
	}
	return u
}

const price = account.USD(20_000) // the least that a test's float would get wrong

func (r *rig) balance() account.Balance {
	r.Helper()
	b, err := r.Balance(r.ctx, r.project)
	r.ok(err)
	return b
}

func (r *rig) usage(before int64, limit int) []account.Day {
	r.Helper()
	days, err := r.Usage(r.ctx, r.project, before, limit)
	r.ok(err)
	return days
}

func (r *rig) limit(u account.USD) {
	r.Helper()
	p, err := r.LimitCredit(r.ctx, r.project, &u)
	r.ok(err)
	want(r, "limit", *p.CreditLimit, u)
}

// spent wants this many messages to have been charged, by the balance and by the days.
func (r *rig) spent(messages int64, cost account.USD) {
	r.Helper()
	want(r, "spent", r.balance().Spent, cost)
	var n int64
	var sum account.USD
	for _, d := range r.usage(0, 100) {
		n, sum = n+d.Messages, sum+d.Cost
	}
	want(r, "messages charged", n, messages)
	want(r, "cost of the days", sum, cost)
}

func charged(r *rig) {
	r.queue("jobs")
	p := queue.Publish{Queue: "jobs", Key: "k", Price: price}
	out := r.tryPublish(p)[0]
	r.ok(out.Err)
	want(r, "cost", out.Cost, price)
	for range 3 {
		again := r.tryPublish(p)[0]
		r.ok(again.Err)
		want(r, "replay", again.Replay, true)
		want(r, "cost of a replay", again.Cost, account.USD(0))
	}
	batch := r.tryPublish(p, queue.Publish{Queue: "jobs", Key: "l", Price: price}, queue.Publish{Queue: "jobs", Key: "l", Price: price}, queue.Publish{Queue: "jobs", Price: 1})
	var cost account.USD
	for _, o := range batch {
		r.ok(o.Err)
		cost += o.Cost
	}
	want(r, "cost of the batch", cost, price+1)
	r.spent(3, 2*price+1)
	if b := r.balance(); b.Limit != nil {
		r.Errorf("there is a limit of %v", *b.Limit)
	}
	// Redelivery, dead-lettering and redrive cost nothing.
	m := r.one("jobs", time.Minute)
	dead := act(queue.Nack, m)
	dead.DeadLetter = true
	r.applied(dead)
	r.sweep()
	r.spent(3, 2*price+1)
	r.reopen()
	r.sweep()
	r.spent(3, 2*price+1)
	want(r, "the day", r.usage(0, 10)[0].Number(), account.DayOf(r.now()))
}

func freePublish(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs", Key: "k"})
	r.sweep()
	r.spent(0, 0)
	want(r, "days", len(r.usage(0, 10)), 0)
	r.limit(0)
	r.publish(queue.Publish{Queue: "jobs"}) // what is free needs no credit
}

func refusedUncharged(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs", Key: "k"})
	out := r.tryPublish(
		queue.Publish{Queue: "none", Key: "a", Price: price},
		queue.Publish{Queue: "jobs", Delay: 40 * 24 * time.Hour, Price: price},
		queue.Publish{Queue: "jobs", Priority: 77, Price: price},
		queue.Publish{Queue: "jobs", Key: "k", Body: []byte(`2`), Price: price},
	)
	for i, o := range out {
		if o.Err == nil || o.Cost != 0 {
			r.Errorf("%d: %+v", i, o)
		}
	}
	r.spent(0, 0)
}

func usageByDay(r *rig) {
	r.queue("jobs")
	today := account.DayOf(r.now())
	for range 5 {
		r.publish(queue.Publish{Queue: "jobs", Price: price}, queue.Publish{Queue: "jobs", Price: price})
		r.reopen()
		r.sweep()                                        // all is folded
		r.exec("UPDATE usage_days SET day = day - 1000") // so that no two meet on the way
		r.exec("UPDATE usage_days SET day = day + 999")
	}
	r.publish(queue.Publish{Queue: "jobs", Price: 3})
	r.spent(11, 10*price+3)
	var got []int64
	for before := int64(0); ; {
		page := r.usage(before, 2)
		for _, d := range page {
			got = append(got, today-d.Number())
		}
		if len(page) < 2 {
			break
		}
		before = page[1].Number()
	}
	if fmt.Sprint(got) != "[0 1 2 3 4 5]" && fmt.Sprint(got) != "[-1 0 1 2 3 4]" { // a day may end meanwhile
		r.Errorf("days ago: %v", got)
	}
}

func limitExact(r *rig) {
	p, err := r.CreateProject(r.ctx, "limited", new(3*price))
	r.ok(err)
	want(r, "limit", *p.CreditLimit, 3*price)
	r.project = p.ID
	r.queue("jobs")
	one := queue.Publish{Queue: "jobs", Price: price}
	batch := r.tryPublish(one, one, one, one, queue.Publish{Queue: "jobs"})
	for i, o := range batch {
		if refused := errors.Is(o.Err, account.ErrInsufficient); refused != (i == 3) || o.Err != nil && !refused {
			r.Errorf("%d: %v", i, o.Err)
		}
	}
	want(r, "messages", len(r.receive("jobs", 10, time.Minute)), 4)
	refused := func(p queue.Publish) {
		r.Helper()
		if o := r.tryPublish(p)[0]; !errors.Is(o.Err, account.ErrInsufficient) || o.Cost != 0 {
			r.Errorf("beyond the limit: %+v", o)
		}
	}
	refused(one)
	r.spent(3, 3*price)
	r.reopen()
	r.sweep()
	refused(one)
	r.limit(4*price - 1)
	refused(one)
	r.publish(queue.Publish{Queue: "jobs", Price: price - 1}) // to the last unit
	refused(queue.Publish{Queue: "jobs", Price: 1})
	r.limit(1) // beneath what is spent
	refused(queue.Publish{Queue: "jobs", Price: 1})
	none, err := r.LimitCredit(r.ctx, r.project, nil)
	r.ok(err)
	if none.CreditLimit != nil || none.Name != "limited" {
		r.Errorf("without a limit: %+v", none)
	}
	r.publish(one)
	r.spent(5, 5*price-1)
	_, err = r.LimitCredit(r.ctx, 4711, nil)
	want(r, "no project", errors.Is(err, access.ErrNotFound), true)
	_, err = r.Balance(r.ctx, 4711)
	want(r, "no project's balance", errors.Is(err, access.ErrNotFound), true)
}

func limitAndKeys(r *rig) {
	r.queue("jobs")
	r.limit(price)
	first := queue.Publish{Queue: "jobs", Key: "first", Price: price}
	second := queue.Publish{Queue: "jobs", Key: "second", Price: price}
	id := r.publish(first)[0]
	if o := r.tryPublish(second)[0]; !errors.Is(o.Err, account.ErrInsufficient) {
		r.Errorf("the second: %+v", o)
	}
	out := r.tryPublish(second, first, first)
	if !errors.Is(out[0].Err, account.ErrInsufficient) || !out[1].Replay || out[1].ID != id || !out[2].Replay || out[2].Err != nil {
		r.Errorf("%+v", out)
	}
	want(r, "keys", r.count("SELECT count(*) FROM publish_keys"), 1)
	r.limit(2 * price)
	if o := r.tryPublish(second)[0]; o.Err != nil || o.Replay || o.Cost != price {
		r.Errorf("the key of a refused one is not free: %+v", o)
	}
	r.spent(2, 2*price)
}

func limitRace(r *rig) {
	r.queue("jobs")
	const room = 150
	r.limit(room*price + price/2)
	var stored sync.Map
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 25 {
				items := []queue.Publish{{Project: r.project, Queue: "jobs", Body: []byte(`1`), Price: price}}
				if i%3 == 0 {
					items = append(items, items[0], items[0])
				}
				out, err := r.Publish(r.ctx, items...)
				if err != nil {
					r.Error(err)
					return
				}
				for j, o := range out {
					switch {
					case o.Err == nil:
						stored.Store([3]int{w, i, j}, o.ID)
					case !errors.Is(o.Err, account.ErrInsufficient):
						r.Error(o.Err)
					}
				}
			}
		})
	}
	wg.Wait()
	n := int64(0)
	stored.Range(func(any, any) bool { n++; return true })
	want(r, "stored", n, room)
	want(r, "there", r.count("SELECT count(*) FROM messages"), room)
	r.spent(room, room*price)
}

func chargedRace(r *rig) {
	r.queue("jobs")
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithCancel(r.ctx)
				if i%2 == 0 {
					time.AfterFunc(time.Duration(i)*100*time.Microsecond, cancel)
				}
				_, _ = r.Publish(ctx, queue.Publish{Project: r.project, Queue: "jobs", Body: []byte(`1`), Price: price})
				cancel()
			}
		})
	}
	wg.Wait()
	r.reopen() // which waits for what was accepted
	n := r.count("SELECT count(*) FROM messages")
	if n < 60 {
		r.Errorf("only %d messages", n)
	}
	r.spent(n, account.USD(n)*price)
	r.sweep()
	r.spent(n, account.USD(n)*price)
}

func chargeRolledBack(r *rig) {
	r.queue("jobs")
	r.limit(price)
	boom := errors.New("boom")
	_, _, err := r.Once(r.ctx, request("k", 1), func(ctx context.Context) ([]byte, error) {
		out, err := r.Publish(ctx, queue.Publish{Project: r.project, Queue: "jobs", Body: []byte(`1`), Price: price})
		if err != nil || out[0].Err != nil || out[0].Cost != price {
			r.Errorf("inside a request: %+v %v", out, err)
		}
		return nil, boom
	})
	want(r, "failed", errors.Is(err, boom), true)
	r.spent(0, 0)
	r.publish(queue.Publish{Queue: "jobs", Price: price})
	r.spent(1, price)
}

func chargedApart(r *rig) {
	r.queue("jobs")
	other, err := r.CreateProject(r.ctx, "other", new(price))
	r.ok(err)
	r.publish(queue.Publish{Queue: "jobs", Price: usd("1.5")})
	r.project = other.ID
	r.queue("jobs")
	one := queue.Publish{Queue: "jobs", Price: price}
	mixed := r.tryPublish(one, one, queue.Publish{Project: 1, Queue: "jobs", Price: price})
	if mixed[0].Err != nil || !errors.Is(mixed[1].Err, account.ErrInsufficient) || mixed[2].Err != nil {
		r.Errorf("%+v", mixed)
	}
	r.spent(1, price)
	r.project = 1
	r.spent(2, usd("1.5")+price)
}
