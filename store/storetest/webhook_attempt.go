package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

var attemptTests = []named{
	{"a refusal waits for its rung, then is tried again", attemptRetry},
	{"I3: a wait for the next rung counts no receive", attemptNotCounted},
	{"I6: the last rung used up fails, dead-lettered with it", attemptLast},
	{"the last rung used up after an unknown outcome is stuck", attemptLastUnknown},
	{"a permanent refusal fails at once, and disables the endpoint", attemptPermanent},
	{"an unknown outcome of an idempotent is tried again", attemptUnknown},
	{"H-L04: an unknown outcome of a once is stuck and dead-lettered", attemptOnceUnknown},
	{"a once must be begun before it is delivered", attemptOnceBegin},
	{"H-W06: a worker that died leaves its attempt, and the next comes", attemptDied},
	{"a once begun by a worker that died is stuck and dead-lettered", attemptOnceDied},
	{"a once never begun is taken over", attemptOnceNotBegun},
	{"I7: the word of a fenced-out worker changes nothing and is recorded", attemptFenced},
	{"I5: a late success before another's grant counts", attemptLate},
	{"I5: a late success after stuck counts, and its dead letter is gone", attemptLateStuck},
	{"a try given back leaves no trace", attemptGivenBack},
	{"begin extends the lease of claim and message together", attemptBegin},
	{"a heartbeat after the message was handed out again and found busy takes its lease back", attemptBeginBusy},
	{"I10: a batch of outcomes settles each in its place", attemptBatch},
	{"I7: the same outcome twice is settled once", attemptTwice},
	{"H-L19: past the receiver's window an unknown outcome is stuck", attemptWindow},
	{"H-L19: an unknown outcome whose next rung is past the receiver's window is stuck at once", attemptBeyondWindow},
	{"I5: takers at once never have one delivery twice", attemptRace},
	{"I14: a job says when it was taken, by the database's clock", attemptTakenAt},
	{"I16: workers that die, lie and come late: everything comes to rest", attemptStorm},
}

func attemptTakenAt(r *rig) {
	r.endpoint()
	r.delivery("evt1")
	before := r.now().Truncate(time.Microsecond)
	j := r.job()
	if j.TakenAt.Before(before) || j.TakenAt.After(r.now()) {
		r.Errorf("taken at %v, want between %v and now", j.TakenAt, before)
	}
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
}

func attemptBeginBusy(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	j := r.job()
	r.age("messages", "vis", fmt.Sprintf("id = %d", j.MessageID), time.Minute) // the message's lease alone is over
	r.eventually("the message is found busy", func() bool {
		_, err := r.Sweep(r.ctx, 100)
		r.ok(err)
		return r.taken(10).Verdicts[ledger.Busy] > 0
	})
	beat := r.beginJob(j)
	want(r, "the heartbeat", beat.Applied && beat.State == ledger.Started, true)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
}

func attemptRetry(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	o := outcome(r.job(), ledger.Definite)
	o.RetryIn, o.Error = 2*time.Second, "503 from example.com"
	r.ends(o, ledger.Retry)
	r.idle()
	d := r.dlv(id)
	want(r, "state", d.State, webhook.Retrying)
	want(r, "next is known", d.NextAttemptAt.IsZero(), false)
	want(r, "error", d.LastError, "503 from example.com")
	want(r, "attempt's next", d.Attempts[0].NextAttemptAt.Equal(d.NextAttemptAt), true)
	want(r, "class", d.Attempts[0].Class, ledger.Definite)
	j := r.soonJob()
	want(r, "attempt", j.Attempt, 2)
	want(r, "tries", j.Tries, 2)
	want(r, "cause", j.Cause, webhook.ByRetry)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	d = r.dlv(id)
	want(r, "attempts", len(d.Attempts), 2)
	want(r, "first", d.Attempts[0].Attempt, 1)
	want(r, "cause of the first", d.Attempts[0].Cause, webhook.ByEvent)
	want(r, "cause of the second", d.Attempts[1].Cause, webhook.ByRetry)
	want(r, "result of the second", d.Attempts[1].Result, webhook.WasDelivered)
}

func attemptNotCounted(r *rig) {
	r.endpoint(rungs(5))
	r.delivery("evt1")
	for range 4 {
		r.ends(outcome(r.soonJob(), ledger.Definite), ledger.Retry)
		want(r, "receives", r.count("SELECT receives FROM messages"), 0)
	}
}

func attemptLast(r *rig) {
	r.endpoint(rungs(2))
	id := r.delivery("evt1")
	for n := 1; n <= 3; n++ {
		j := r.soonJob()
		want(r, "attempt", j.Attempt, n)
		state := ledger.Retry
		if n == 3 {
			state = ledger.Failed
		}
		r.ends(outcome(j, ledger.Definite), state)
	}
	want(r, "state", r.dlv(id).State, webhook.Failed)
	want(r, "attempts", len(r.dlv(id).Attempts), 3)
	want(r, "dead", r.deadDeliveries(), 1)
	r.sweep()
	r.idle()
}

func attemptLastUnknown(r *rig) {
	r.endpoint(rungs(1))
	id := r.delivery("evt1")
	r.ends(outcome(r.soonJob(), ledger.Ambiguous), ledger.Retry)
	r.ends(outcome(r.soonJob(), ledger.Definite), ledger.Stuck)
	want(r, "state", r.dlv(id).State, webhook.Stuck)
	want(r, "dead", r.deadDeliveries(), 1)
}

func attemptPermanent(r *rig) {
	e := r.endpoint()
	id := r.delivery("evt1")
	waiting := r.delivery("evt2")
	o := outcome(r.job(), ledger.Permanent)
	o.Status, o.Disable = 410, "the receiver answered 410"
	r.ends(o, ledger.Failed)
	e, err := r.Endpoint(r.ctx, 1, e.ID)
	r.ok(err)
	want(r, "disabled", e.Disabled, true)
	want(r, "why", e.Reason, "the receiver answered 410")
	want(r, "state", r.dlv(id).State, webhook.Failed)
	want(r, "class", r.dlv(id).Attempts[0].Class, ledger.Permanent)
	r.idle()
	want(r, "the other", r.dlv(waiting).State, webhook.Pending)
}

func attemptUnknown(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	r.ends(outcome(r.job(), ledger.Ambiguous), ledger.Retry)
	a := r.dlv(id).Attempts[0]
	want(r, "result", a.Result, webhook.Unknown)
	want(r, "class", a.Class, ledger.Ambiguous)
	want(r, "error", a.Error, "time-out")
	r.ends(outcome(r.soonJob(), ledger.Succeeded), ledger.Done)
}

func attemptOnceUnknown(r *rig) {
	r.endpoint(onceOnly)
	id := r.delivery("evt1")
	j := r.job()
	want(r, "begun", r.beginJob(j).Applied, true)
	r.ends(outcome(j, ledger.Ambiguous), ledger.Stuck)
	want(r, "state", r.dlv(id).State, webhook.Stuck)
	want(r, "dead", r.deadDeliveries(), 1)
	r.sweep()
	r.idle()
}

func attemptOnceBegin(r *rig) {
	r.endpoint(onceOnly)
	id := r.delivery("evt1")
	j := r.job()
	out, err := r.SettleDeliveries(r.ctx, outcome(j, ledger.Succeeded))
	r.ok(err)
	want(r, "applied", out[0].Applied, false)
	want(r, "reason", out[0].Reason, ledger.NotBegun)
	b := r.beginJob(j)
	want(r, "state", b.State, ledger.Started)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
}

func attemptDied(r *rig) {
	r.endpoint(brief)
	id := r.delivery("evt1")
	r.ends(outcome(r.job(), ledger.Definite), ledger.Retry)
	j := r.soonJob()
	want(r, "attempt", j.Attempt, 2)
	r.lapsed(j) // killed
	j = r.soonJob()
	want(r, "attempt", j.Attempt, 3)
	d := r.dlv(id)
	want(r, "attempts", len(d.Attempts), 2)
	want(r, "number", d.Attempts[1].Attempt, 2)
	want(r, "result", d.Attempts[1].Result, webhook.Unknown)
	want(r, "error", d.Attempts[1].Error, "worker died")
	want(r, "class", d.Attempts[1].Class, ledger.Ambiguous)
	want(r, "another is told of", d.Attempts[1].NextAttemptAt.IsZero(), false)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	d = r.dlv(id)
	want(r, "attempts", len(d.Attempts), 3)
	want(r, "last", d.Attempts[2].Attempt, 3)
}

func attemptOnceDied(r *rig) {
	r.endpoint(brief, onceOnly)
	id := r.delivery("evt1")
	j := r.job()
	r.beginJob(j)
	r.lapsed(j)
	r.eventually("stuck", func() bool {
		r.sweep()
		want(r, "jobs", len(r.take(1)), 0)
		return r.dlv(id).State == webhook.Stuck
	})
	want(r, "dead", r.deadDeliveries(), 1)
	want(r, "attempts", len(r.dlv(id).Attempts), 1)
	want(r, "result", r.dlv(id).Attempts[0].Result, webhook.Unknown)
	want(r, "no other is told of", r.dlv(id).Attempts[0].NextAttemptAt.IsZero(), true)
}

func attemptOnceNotBegun(r *rig) {
	r.endpoint(brief, onceOnly)
	id := r.delivery("evt1")
	r.lapsed(r.job())
	j := r.soonJob()
	want(r, "fence", j.Fence, 2)
	want(r, "begun", r.beginJob(j).Applied, true)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
}

func attemptFenced(r *rig) {
	r.endpoint(brief)
	id := r.delivery("evt1")
	old := r.job()
	r.lapsed(old)
	j := r.soonJob()
	for _, k := range []ledger.Kind{ledger.Succeeded, ledger.Definite, ledger.Permanent, ledger.Ambiguous, ledger.GivenBack} {
		out, err := r.SettleDeliveries(r.ctx, outcome(old, k))
		r.ok(err)
		want(r, string(k)+" applied", out[0].Applied, false)
		want(r, string(k)+" reason", out[0].Reason, ledger.Fenced)
	}
	want(r, "begin by the old", r.beginJob(old).Reason, ledger.Fenced)
	want(r, "recorded", r.count("SELECT count(*) FROM claim_notes WHERE what = 'fenced' AND fence = 1 AND claim_id = "+itoa(old.ClaimID)) >= 5, true)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
}

func attemptLate(r *rig) {
	r.endpoint(brief)
	id := r.delivery("evt1")
	j := r.job()
	r.lapsed(j)
	r.sweep()
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
	r.sweep()
	r.idle()
}

func attemptLateStuck(r *rig) {
	r.endpoint(brief, onceOnly)
	id := r.delivery("evt1")
	j := r.job()
	r.beginJob(j)
	r.lapsed(j)
	r.eventually("stuck", func() bool { r.sweep(); r.take(1); return r.dlv(id).State == webhook.Stuck })
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func attemptGivenBack(r *rig) {
	r.endpoint(rungs(1))
	id := r.delivery("evt1")
	for range 5 {
		j := r.soonJob()
		want(r, "attempt", j.Attempt, 1)
		want(r, "tries", j.Tries, 1)
		want(r, "cause", j.Cause, webhook.ByEvent)
		r.ends(outcome(j, ledger.GivenBack), ledger.Retry)
		want(r, "state", r.dlv(id).State, webhook.Pending)
	}
	want(r, "attempts", len(r.dlv(id).Attempts), 0)
	want(r, "receives", r.count("SELECT receives FROM messages"), 0)
}

func attemptBegin(r *rig) {
	r.endpoint()
	r.delivery("evt1")
	j := r.job()
	r.age("messages", "vis", "true", 30*time.Second)
	r.age("claims", "lease_until", "true", 30*time.Second)
	before := r.text("SELECT m.vis, c.lease_until FROM messages m JOIN claims c ON c.id = m.claim_id")
	want(r, "applied", r.beginJob(j).Applied, true)
	after := r.text("SELECT m.vis, c.lease_until FROM messages m JOIN claims c ON c.id = m.claim_id")
	want(r, "both changed", before[0] != after[0], true)
	want(r, "both end at once", r.count("SELECT count(*) FROM messages m JOIN claims c ON c.id = m.claim_id WHERE m.vis = c.lease_until"), 1)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
}

func attemptBatch(r *rig) {
	r.endpoint()
	for _, id := range []string{"a", "b", "c", "d"} {
		r.delivery(id)
	}
	l := r.take(10)
	want(r, "taken", len(l), 4)
	old := l[3]
	old.Fence = 0
	out, err := r.SettleDeliveries(r.ctx, outcome(&l[0], ledger.Succeeded), outcome(&old, ledger.Succeeded), outcome(&l[1], ledger.Definite), outcome(&l[2], ledger.Permanent))
	r.ok(err)
	want(r, "0", out[0].State, ledger.Done)
	want(r, "1", out[1].Reason, ledger.Fenced)
	want(r, "2", out[2].State, ledger.Retry)
	want(r, "3", out[3].State, ledger.Failed)
	want(r, "attempts", r.count("SELECT count(*) FROM attempts"), 3)
	want(r, "in flight", r.count("SELECT sum(in_flight) FROM groups"), 1)
}

func attemptTwice(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	j := r.job()
	r.ends(outcome(j, ledger.Definite), ledger.Retry)
	out, err := r.SettleDeliveries(r.ctx, outcome(j, ledger.Definite))
	r.ok(err)
	want(r, "applied", out[0].Applied, false)
	want(r, "attempts", len(r.dlv(id).Attempts), 1)
	j = r.soonJob()
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done) // its first answer was lost
	want(r, "attempts", len(r.dlv(id).Attempts), 2)
}

func attemptWindow(r *rig) {
	r.endpoint(func(e *webhook.Endpoint) { e.Window = time.Hour })
	id := r.delivery("evt1")
	j := r.job()
	r.ends(outcome(j, ledger.Ambiguous), ledger.Retry)
	r.age("claims", "first_at", "id = "+itoa(j.ClaimID), 2*time.Hour)
	r.eventually("stuck", func() bool {
		r.sweep()
		r.reap()
		want(r, "jobs", len(r.take(1)), 0)
		return r.dlv(id).State == webhook.Stuck
	})
	want(r, "dead", r.deadDeliveries(), 1)
}

func attemptBeyondWindow(r *rig) {
	r.endpoint(func(e *webhook.Endpoint) { e.Window = time.Hour })
	id := r.delivery("evt1")
	o := outcome(r.job(), ledger.Ambiguous)
	o.RetryIn = 2 * time.Hour
	r.ends(o, ledger.Stuck)
	d := r.dlv(id)
	want(r, "state", d.State, webhook.Stuck)
	want(r, "next is none", d.NextAttemptAt.IsZero() && d.Attempts[0].NextAttemptAt.IsZero(), true)
	want(r, "error of the attempt", d.Attempts[0].Error, "time-out")
	want(r, "dead", r.deadDeliveries(), 1)
	want(r, "in flight", r.count("SELECT sum(in_flight) FROM groups"), 0)
}

func attemptRace(r *rig) {
	for range 3 {
		r.endpoint(slots(20))
	}
	for i := range 20 {
		r.send(r.event("evt" + itoa(int64(i))))
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[int64]int{}
	for range 5 {
		wg.Go(func() {
			for range 40 {
				t, err := r.TakeDeliveries(r.ctx, webhook.Take{Owner: "w", Max: 3, Slack: slack})
				if err != nil {
					r.Errorf("take: %v", err)
					return
				}
				mu.Lock()
				for _, j := range t.Jobs {
					got[j.DeliveryID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	r.eventually("all are taken", func() bool { // what a taker at work passed over
		for _, j := range r.take(10) {
			got[j.DeliveryID]++
		}
		return len(got) == 60
	})
	for id, n := range got {
		if n != 1 {
			r.Errorf("delivery %d was taken %d times", id, n)
		}
	}
}
