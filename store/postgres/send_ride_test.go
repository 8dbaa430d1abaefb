package postgres

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var aTake = webhook.Take{Owner: "w", Max: 1, Slack: time.Minute}

// waitsToTake has a worker wait for deliveries until it has some or is stopped, and returns when it waits.
func waitsToTake(t *testing.T, db *DB, what webhook.Take) (stop func() webhook.Taken) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan webhook.Taken, 1)
	go func() {
		k := webhook.Taken{}
		for ctx.Err() == nil && len(k.Jobs) == 0 {
			k = db.WaitDeliveries(ctx, what)
		}
		got <- k
	}()
	eventually(t, "it waits", func() bool {
		db.hub.mu.Lock()
		defer db.hub.mu.Unlock()
		return len(db.hub.of(deliveriesQueue).line) > 0
	})
	return func() webhook.Taken {
		cancel()
		return <-got
	}
}

// handedOut sends events until one is handed out: a worker whom the poll sent to look in this moment does not ride.
func handedOut(t *testing.T, db *DB, n int64) (webhook.Sent, *webhook.Job) {
	t.Helper()
	for end := n + 10; n < end; n++ {
		stop := waitsToTake(t, db, aTake)
		sent := sendTo(t, db, n)
		if k := stop(); len(k.Jobs) == 1 {
			return sent, &k.Jobs[0]
		}
		settleOne(t, db, takeOne(t, db))
	}
	t.Fatal("none of 10 was handed out by the commit that stored it")
	return webhook.Sent{}, nil
}

func settleOne(t *testing.T, db *DB, j *webhook.Job) {
	t.Helper()
	if j.Policy == ledger.Once {
		if out, err := db.BeginDeliveries(t.Context(), []*webhook.Job{j}); err != nil || !out[0].Applied {
			t.Fatal(err, out)
		}
	}
	out, err := db.SettleDeliveries(t.Context(), webhook.Outcome{Job: j, Kind: ledger.Succeeded, Result: webhook.WasDelivered, Status: 200})
	if err != nil || !out[0].Applied {
		t.Fatal(err, out)
	}
}

// A delivery that the event's own commit hands out is as one that was taken: its job, its claim, its message and its endpoint's slots.
func TestSendHandsOut(t *testing.T) {
	t.Parallel()
	const rows = `SELECT concat_ws(' ', c.state, c.fence, c.begun, c.attempt, c.tries, c.max_tries, c.policy, c.ambiguous, c.owner, c.grant_id <> '', c.lease_until - m.received_at,
		c.first_at - m.received_at, c.next_at, c.window_s, c.message_id = m.id, c.lease_no, m.vis - m.received_at, m.lease_no, m.leased, m.receipt_open, m.receives, m.max_receives,
		m.expires_at - m.published_at, m.origin_at = m.published_at, m.queue, m.gid = g.id, m.prio, m.project, g.in_flight, g.next_at, g.runnable)
		FROM delivery_claims c JOIN deliveries d ON d.claim_id = c.id JOIN messages m ON m.claim_id = c.id JOIN groups g ON g.id = d.endpoint WHERE d.id = $1`
	for _, policy := range []ledger.Policy{ledger.Idempotent, ledger.Once} {
		t.Run(string(policy), func(t *testing.T) {
			db := open(t)
			hook(t, db, func(e *webhook.Endpoint) { e.Policy, e.Window = policy, time.Hour })
			sendTo(t, db, 1)
			taken := takeOne(t, db)
			as := query[string](t, db, rows, taken.DeliveryID)
			settleOne(t, db, taken)

			sent, j := handedOut(t, db, 2)
			if !j.TakenAt.Equal(sent.CreatedAt) {
				t.Errorf("handed out at %v, and stored at %v", j.TakenAt, sent.CreatedAt)
			}
			if j.DeliveryID != sent.Deliveries[0].ID || j.EventID != sent.EventID || j.ClaimID == 0 || j.MessageID == 0 {
				t.Errorf("%+v is not the job of %+v", j, sent)
			}
			if diff := cmp.Diff(taken, j, cmpopts.IgnoreFields(webhook.Job{}, "ClaimID", "MessageID", "DeliveryID", "EventID", "TakenAt"), cmpopts.IgnoreUnexported(webhook.Job{})); diff != "" {
				t.Errorf("one that was taken, and one handed out:\n%s", diff)
			}
			if got := query[string](t, db, rows, j.DeliveryID); got != as {
				t.Errorf("one that was taken is\n%s, one handed out\n%s", as, got)
			}
			settleOne(t, db, j)
			if n := count(t, db, "SELECT count(*) FROM messages WHERE queue = 1") + count(t, db, "SELECT sum(in_flight) FROM groups"); n != 0 {
				t.Errorf("%d messages and slots in use are left", n)
			}
		})
	}
}

// What may not be handed out at once is there for whoever takes, and is told of.
func TestSendHandsOutNoMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hooks        int
		before       func(t *testing.T, db *DB)
		what         webhook.Take
		rides, there int // at most, and with those that can be taken then
	}{
		"a disabled endpoint": {1, func(t *testing.T, db *DB) {
			exec(t, db, "UPDATE endpoints SET disabled = true")
			exec(t, db, "UPDATE groups SET disabled = true")
		}, aTake, 0, 0},
		"no slot is free": {1, func(t *testing.T, db *DB) {
			exec(t, db, "UPDATE groups SET slots = 1")
			sendTo(t, db, 1)
			takeOne(t, db)
		}, aTake, 0, 0},
		"one waits before it": {1, func(t *testing.T, db *DB) { sendTo(t, db, 1) }, aTake, 0, 2},
		"as many of the endpoint in flight as the worker wants": {1, func(t *testing.T, db *DB) {
			sendTo(t, db, 1)
			takeOne(t, db)
		}, webhook.Take{Owner: "w", Max: 5, Each: 1, Slack: time.Minute}, 0, 1},
		"more than the worker has room for": {3, func(*testing.T, *DB) {}, aTake, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			for range c.hooks {
				hook(t, db)
			}
			c.before(t, db)
			stop := waitsToTake(t, db, c.what)
			sendTo(t, db, 9)
			k := stop()
			if len(k.Jobs) > c.rides {
				t.Errorf("handed out %d, want at most %d", len(k.Jobs), c.rides)
			}
			if len(k.Jobs) > 0 && len(k.Jobs) < c.there {
				db.hub.mu.Lock()
				if !db.hub.of(deliveriesQueue).missed {
					t.Error("nobody was told of what is left")
				}
				db.hub.mu.Unlock()
			}
			more, err := db.TakeDeliveries(t.Context(), webhook.Take{Owner: "w", Max: 10, Slack: time.Minute})
			if n := len(k.Jobs) + len(more.Jobs); err != nil || n != c.there {
				t.Errorf("handed out and taken: %d, want %d: %v", n, c.there, err)
			}
		})
	}
}

// An event that fails hands out nothing, and who waited waits on; one that fails by what rides on it is stored without.
func TestSendRideFails(t *testing.T) {
	t.Parallel()
	db := open(t)
	hook(t, db)
	exec(t, db, "ALTER TABLE deliveries ADD CONSTRAINT poisoned CHECK (event < 0) NOT VALID")
	stop := waitsToTake(t, db, aTake)
	if out, err := db.Send(t.Context(), news(1)); err == nil && out[0].Err == nil {
		t.Fatal("the event was stored")
	}
	exec(t, db, "ALTER TABLE deliveries DROP CONSTRAINT poisoned")
	id := sendTo(t, db, 2).Deliveries[0].ID
	k := stop()
	if len(k.Jobs) == 1 && k.Jobs[0].DeliveryID != id || len(k.Jobs) > 1 || count(t, db, "SELECT count(*) FROM messages WHERE queue = 1") != 1 {
		t.Errorf("handed out %+v, want %d alone", k, id)
	}
	if len(k.Jobs) == 0 {
		k.Jobs = append(k.Jobs, *takeOne(t, db))
	}
	settleOne(t, db, &k.Jobs[0])

	exec(t, db, "ALTER TABLE delivery_claims ADD CONSTRAINT poisoned CHECK (fence = 0) NOT VALID")
	stop = waitsToTake(t, db, aTake)
	if sent := sendTo(t, db, 3); len(sent.Deliveries) != 1 {
		t.Errorf("%+v", sent)
	}
	if k := stop(); len(k.Jobs) > 0 {
		t.Errorf("handed out %+v, which the database refuses", k)
	}
}

// Who waits for a ride alone is not woken, is the last to be asked, and waits no longer than it said.
func TestRideForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		defer h.close()
		start, ended := time.Now(), make(chan time.Duration, 1)
		mine := &waiter{take: aTake}
		go func() {
			h.ride(t.Context(), 1, mine, 10*time.Millisecond)
			ended <- time.Since(start)
		}()
		synctest.Wait()
		h.wake(1, 0)
		go h.waitFor(t.Context(), 1, queue.Receive{Max: 1}) // looks now
		synctest.Wait()
		go h.waitFor(t.Context(), 1, queue.Receive{Max: 1})
		synctest.Wait()
		first, _ := h.rider(1)
		if first == nil || first == mine {
			t.Fatal("who waits for a ride alone was asked before one who waits to look")
		}
		second, _ := h.rider(1)
		if second != mine {
			t.Fatal("who waits for a ride alone was not asked")
		}
		h.rode(1, second) // in vain
		if third, _ := h.rider(1); third != mine {
			t.Fatal("a ride in vain ended the wait for one")
		}
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		select {
		case d := <-ended:
			t.Fatalf("it left its ride after %v", d)
		default:
		}
		h.rode(1, mine)
		if d := <-ended; d != 20*time.Millisecond {
			t.Errorf("its ride was over after 20ms, and it waited %v", d)
		}
		h.rode(1, first)

		start = time.Now()
		h.ride(t.Context(), 1, mine, 10*time.Millisecond)
		if d := time.Since(start); d != 10*time.Millisecond || len(h.of(1).riders) > 0 {
			t.Errorf("waited %v, want 10ms; %d are left", d, len(h.of(1).riders))
		}
	})
}

// One who rode in vain past a poll is polled on.
func TestPolledAfterARide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		defer h.close()
		looks := make(chan time.Time)
		go func() {
			h.waitFor(t.Context(), 1, queue.Receive{Max: 1})
			looks <- time.Now()
		}()
		synctest.Wait()
		me, _ := h.rider(1)
		time.Sleep(2 * pollEvery)
		h.rode(1, me)
		back := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		select {
		case at := <-looks:
			if d := at.Sub(back); d > pollEvery {
				t.Errorf("it looked %v after its ride", d)
			}
		case <-ctx.Done():
			t.Error(fmt.Errorf("it never looked: %w", ctx.Err()))
			h.wake(1, 0)
			<-looks
		}
	})
}
