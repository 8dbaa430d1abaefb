package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

var fifoTests = []named{
	{"in order within a group, one in flight of each", fifoOrder},
	{"a head that is delayed, nacked, released or leased holds its group, and no other", fifoHolds},
	{"a head whose lease is over comes again before the others, and needs no sweep", fifoLapse},
	{"a head that is dead-lettered, acked late, expired or purged frees its group", fifoFrees},
	{"a redriven message goes to the end", fifoRedriven},
	{"a head whose lease was swept is taken again by extend, and holds its group", fifoExtend},
	{"a publish without a group or with a priority is refused, and nothing is stored", fifoRefuses},
	{"a batch keeps its order, whatever keys it has", fifoBatch},
	{"the dead-letter queue of a fifo queue is fifo, and a mix is refused", fifoDLQ},
	{"dead letters are handed out as they died, and hold up nobody", fifoDeadLetters},
	{"a queue's type is compared, and does not change", fifoType},
	{"order outlives a restart", fifoRestart},
	{"a paused fifo queue hands out nothing and keeps its order", fifoPaused},
	{"a receive ends early at its bytes, and order holds", fifoBytes},
	{"H-Q26: in order under a storm of publishers, consumers of every habit, lapses, deaths and redrives", fifoStorm},
}

func fifo(s *queue.Spec) { s.FIFO = new(true) }

// of makes a message of a group.
func of(group string) queue.Publish { return queue.Publish{Queue: "jobs", Group: group} }

// head receives exactly one and sees that it is the one wanted.
func (r *rig) head(id int64, visibility time.Duration) queue.Message {
	r.Helper()
	m := r.soon("jobs", visibility)
	if m.ID != id {
		r.Fatalf("received %d, want %d", m.ID, id)
	}
	return m
}

func (r *rig) ack(m queue.Message) {
	r.Helper()
	r.applied(act(queue.Ack, m))
}

func fifoOrder(r *rig) {
	r.queue("jobs", fifo)
	var groups [3][]int64
	for range 4 {
		for g := range groups {
			groups[g] = append(groups[g], r.publish(of(string(rune('a' + g))))[0])
		}
	}
	for n := range 4 {
		l := r.receive("jobs", 10, time.Minute)
		got := ids(l)
		slices.Sort(got)
		if wanted := []int64{groups[0][n], groups[1][n], groups[2][n]}; !slices.Equal(got, wanted) {
			r.Fatalf("received %v, want the heads %v", got, wanted)
		}
		r.none("jobs")
		for _, m := range l {
			r.ack(m)
		}
	}
	r.none("jobs")
}

func fifoHolds(r *rig) {
	r.queue("jobs", fifo, maxReceives(10))
	late := of("a")
	late.Delay = time.Hour
	first := r.tryPublish(late)[0]
	second := r.publish(of("a"))[0]
	other := r.publish(of("b"))[0]
	r.ack(r.head(other, time.Minute))
	r.none("jobs")
	due := func() { // the hour is over
		r.exec("UPDATE messages SET vis = published_at WHERE id = " + itoa(first.ID))
		r.exec("UPDATE groups SET next_at = (SELECT published_at FROM messages WHERE id = " + itoa(first.ID) + ") WHERE name = 'a'")
	}
	due()
	m := r.head(first.ID, time.Minute)
	r.none("jobs")
	for _, verb := range []queue.Verb{queue.Nack, queue.Release} {
		s := act(verb, m)
		s.Delay, s.HasDelay = time.Hour, true
		r.applied(s)
		r.none("jobs")
		due()
		m = r.head(first.ID, time.Minute)
		r.none("jobs")
	}
	r.ack(m)
	r.ack(r.head(second, time.Minute))
}

func fifoLapse(r *rig) {
	r.queue("jobs", fifo, maxReceives(10))
	all := r.publish(of("a"), of("a"))
	first := r.head(all[0], 30*time.Millisecond)
	again := r.head(all[0], time.Minute)
	want(r, "lease", again.Lease, 2)
	r.refused(act(queue.Ack, first), queue.LeaseLost)
	r.none("jobs")
	r.ack(again)
	r.ack(r.head(all[1], time.Minute))
}

func fifoFrees(r *rig) {
	r.queue("jobs", fifo, maxReceives(1))
	all := r.publish(of("a"), of("a"), of("a"), of("a"), of("a"), of("a"))
	want(r, "dead by nack", r.kill("jobs", "no good"), all[0])
	r.past(r.head(all[1], 30*time.Millisecond).VisibleAt)
	r.sweep()
	s := act(queue.Extend, r.head(all[2], time.Minute))
	r.applied(s) // a time-out now
	r.sweep()
	s.Verb = queue.Ack
	want(r, "dead", len(r.dead("jobs")), 3)
	r.refused(s, queue.LeaseLost)

	// One that waits for long and expires meanwhile.
	s = act(queue.Release, r.head(all[3], time.Minute))
	s.Delay = time.Hour
	r.applied(s)
	r.none("jobs")
	r.exec("UPDATE messages SET expires_at = published_at WHERE id = " + itoa(all[3]))
	r.eventually("the sweep of what expired", func() bool {
		r.sweep()
		return r.count("SELECT count(*) FROM messages WHERE id = "+itoa(all[3])) == 0
	})
	m := r.head(all[4], time.Minute)
	n, err := r.PurgeQueue(r.ctx, r.project, "jobs")
	r.ok(err)
	want(r, "purged", n, 2)
	want(r, "gone", errors.Is(r.settle(act(queue.Ack, m)).Err, queue.ErrMessageNotFound), true)
	r.ack(r.head(r.publish(of("a"))[0], time.Minute))
}

func fifoRedriven(r *rig) {
	r.queue("jobs", fifo)
	all := r.publish(of("a"), of("a"), of("a"), of("a"))
	r.kill("jobs", "first")
	r.kill("jobs", "second")
	held := r.head(all[2], time.Minute)
	want(r, "moved", r.redrive(queue.RedriveCall{Queue: "jobs"}).Moved, 2)
	last := r.publish(of("a"))[0]
	r.none("jobs")
	r.ack(held)
	for _, id := range []int64{all[3], all[0], all[1], last} {
		r.ack(r.head(id, time.Minute))
	}
	r.none("jobs")
}

func fifoExtend(r *rig) {
	r.queue("jobs", fifo, maxReceives(10))
	all := r.publish(of("a"), of("a"))
	m := r.head(all[0], 30*time.Millisecond)
	r.past(m.VisibleAt)
	r.sweep()
	want(r, "slots in use", r.count("SELECT sum(in_flight) FROM groups"), 0)
	s := act(queue.Extend, m)
	s.Visibility = time.Minute
	r.applied(s)
	want(r, "slots in use", r.count("SELECT sum(in_flight) FROM groups"), 1)
	r.none("jobs")
	r.ack(m)
	r.ack(r.head(all[1], time.Minute))
}

func fifoRefuses(r *rig) {
	r.queue("jobs", fifo)
	high := of("a")
	high.Priority, high.Key = 3, "k"
	for field, p := range map[string]queue.Publish{"/message_group_id": of(""), "/priority": high} {
		err := r.tryPublish(p)[0].Err
		e, ok := errors.AsType[*fault.Error](err)
		if !ok || e.Code != fault.InvalidArgument || e.Field != field {
			r.Errorf("%s: %v", field, err)
		}
	}
	want(r, "stored", r.count("SELECT count(*) FROM messages")+r.count("SELECT count(*) FROM publish_keys"), 0)
	good := of("a")
	good.Key = "k" // was not used up
	r.publish(good)
}

func fifoBatch(r *rig) {
	r.queue("jobs", fifo, func(s *queue.Spec) { s.ContentDedup = new(true) })
	items := bodies("jobs", 12)
	for i := range items {
		items[i].Group = "a"
		if i%3 == 0 {
			items[i].Key = "k" + itoa(int64(i))
		}
	}
	for _, id := range r.publish(items...) {
		r.ack(r.head(id, time.Minute))
	}
}

func fifoDLQ(r *rig) {
	refused := func(what string, err error) {
		r.Helper()
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.InvalidArgument || e.Field != "/dlq" {
			r.Errorf("%s: %v", what, err)
		}
	}
	r.queue("jobs", fifo, dlq("dead"))
	d, err := r.Queue(r.ctx, 1, "dead")
	r.ok(err)
	want(r, "the dead-letter queue's type", d.Type(), queue.FIFO)
	r.queue("more", fifo, dlq("dead"))
	r.queue("plain")
	_, err = r.CreateQueue(r.ctx, queue.Spec{Project: 1, Name: "mixed", DLQ: new("dead")})
	refused("a standard queue with a fifo dead-letter queue", err)
	_, err = r.CreateQueue(r.ctx, queue.Spec{Project: 1, Name: "mixed", DLQ: new("plain-dlq"), FIFO: new(true)})
	refused("a fifo queue with a standard dead-letter queue", err)
	_, err = r.UpdateQueue(r.ctx, queue.Spec{Project: 1, Name: "jobs", DLQ: new("plain-dlq")})
	refused("a fifo queue that is given a standard dead-letter queue", err)
	_, err = r.UpdateQueue(r.ctx, queue.Spec{Project: 1, Name: "plain", DLQ: new("dead")})
	refused("a standard queue that is given a fifo dead-letter queue", err)
	_, err = r.Queue(r.ctx, 1, "mixed")
	want(r, "made all the same", !errors.Is(err, queue.ErrQueueNotFound), false)
	_, err = r.UpdateQueue(r.ctx, queue.Spec{Project: 1, Name: "jobs", DLQ: new("fresh")})
	r.ok(err)
	d, err = r.Queue(r.ctx, 1, "fresh")
	r.ok(err)
	want(r, "one that an update makes", d.Type(), queue.FIFO)
}

func fifoDeadLetters(r *rig) {
	r.queue("jobs", fifo)
	all := r.publish(of("a"), of("b"), of("a"))
	for range all {
		r.kill("jobs", "no good")
	}
	var died []int64
	l := r.receive("jobs-dlq", 10, time.Minute)
	for _, m := range l {
		died = append(died, m.ID)
		if m.Group == "" || m.Source != "jobs" {
			r.Errorf("a dead letter of group %q, from %q", m.Group, m.Source)
		}
	}
	if !slices.IsSortedFunc(l, func(a, b queue.Message) int { return a.DeadAt.Compare(b.DeadAt) }) || len(died) != 3 {
		r.Errorf("received %v", died)
	}
	p := queue.Publish{Queue: "jobs-dlq"}
	if err := r.tryPublish(p)[0].Err; fault.CodeOf(err) != fault.InvalidArgument {
		r.Errorf("straight into it, without a group: %v", err)
	}
	p.Group = "a"
	straight := r.publish(p, p)
	for _, id := range straight {
		m := r.one("jobs-dlq", time.Minute)
		want(r, "straight into it", m.ID, id)
		r.ack(m)
	}
}

func fifoType(r *rig) {
	q := r.queue("jobs", fifo)
	again := r.queue("jobs", fifo)
	want(r, "again", again.ID, q.ID)
	want(r, "without saying", r.queue("jobs").Type(), queue.FIFO)
	_, err := r.CreateQueue(r.ctx, queue.Spec{Project: 1, Name: "jobs", FIFO: new(false)})
	want(r, "as another type", errors.Is(err, queue.ErrQueueExists), true)
	u, err := r.UpdateQueue(r.ctx, queue.Spec{Project: 1, Name: "jobs", ContentDedup: new(true), FIFO: new(false)})
	r.ok(err)
	want(r, "updated", u.FIFO && u.ContentDedup, true)
	q, err = r.Queue(r.ctx, 1, "jobs")
	r.ok(err)
	want(r, "as it is kept", q.FIFO && q.ContentDedup, true)
}

func fifoRestart(r *rig) {
	r.queue("jobs", fifo)
	all := r.publish(of("a"), of("a"), of("a"))
	r.kill("jobs", "no good")
	m := r.head(all[1], time.Minute)
	r.reopen()
	r.redrive(queue.RedriveCall{Queue: "jobs"})
	r.none("jobs")
	r.ack(m)
	for _, id := range []int64{all[2], all[0]} {
		r.ack(r.head(id, time.Minute))
	}
}

func fifoPaused(r *rig) {
	r.queue("jobs", fifo)
	all := r.publish(of("a"))
	_, err := r.PauseQueue(r.ctx, 1, "jobs", true)
	r.ok(err)
	r.none("jobs")
	all = append(all, r.publish(of("a"))...)
	_, err = r.PauseQueue(r.ctx, 1, "jobs", false)
	r.ok(err)
	for _, id := range all {
		r.ack(r.head(id, time.Minute))
	}
}

func fifoBytes(r *rig) {
	r.queue("jobs", fifo)
	const n = 40
	big := make([]queue.Publish, n)
	for i := range big {
		big[i] = of(string(rune('A' + i)))
		big[i].Body = slices.Repeat([]byte{'1'}, queue.MaxPayload)
	}
	r.publish(big...)
	r.publish(of("A"))
	got := 0
	for range 2 {
		l := r.receive("jobs", 100, time.Minute)
		if len(l) == 0 || len(l) > queue.MaxReceiveBytes/queue.MaxPayload {
			r.Errorf("received %d of %d bytes each", len(l), queue.MaxPayload)
		}
		got += len(l)
	}
	want(r, "received in two receives", got, n)
	r.none("jobs")
}
