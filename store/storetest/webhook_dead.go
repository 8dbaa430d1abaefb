package storetest

import (
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// deathTests are of senders that die, and of words that come when much has changed.
var deathTests = []named{
	{"I16: what a dead sender holds is cancelled before anybody found it", cancelDead},
	{"a late success of what was cancelled shows what happened", cancelledLate},
	{"I16: a dead sender of a disabled endpoint leaves no delivery sending", deadWhileDisabled},
	{"what a dead sender held goes before what waits for its endpoint", deadGoesFirst},
	{"a once that a dead sender held is stuck before what waits for its endpoint goes", deadOnceFirst},
	{"a ladder may be longer than deliveries are kept waiting", longLadder},
	{"an event whose deliveries were all cancelled is forgotten, and one with a stuck delivery never", forgetCancelled},
	{"a word of an address that the endpoint left disables nothing", disableMoved},
	{"I7: a fenced-out worker's word disables nothing", disableFenced},
	{"I12: a redrive's max is of all endpoints, the oldest first", redriveMaxOldest},
}

// disable is what an administrator does.
func disable(e *webhook.Endpoint) { e.Disabled = true }

func cancelDead(r *rig) {
	e := r.endpoint(brief)
	id := r.delivery("evt1")
	j := r.job()
	r.update(e.ID, disable) // nobody takes it up
	r.lapsed(j)
	d, err := r.Cancel(r.ctx, r.person(id))
	r.ok(err)
	want(r, "state", d.State, webhook.Cancelled)
	want(r, "attempts", len(d.Attempts), 1)
	want(r, "outcome", d.Attempts[0].Result, webhook.Unknown)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
	want(r, "in flight", r.count("SELECT sum(in_flight) FROM groups"), 0)
}

func cancelledLate(r *rig) {
	r.endpoint(brief)
	id := r.delivery("evt1")
	j := r.job()
	r.lapsed(j)
	_, err := r.Cancel(r.ctx, r.person(id))
	r.ok(err)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	d := r.dlv(id)
	want(r, "state", d.State, webhook.Delivered)
	want(r, "attempts", len(d.Attempts), 1)
	want(r, "outcome", d.Attempts[0].Result, webhook.WasDelivered)
}

func deadWhileDisabled(r *rig) {
	once := r.endpoint(onceOnly, brief)
	id := r.delivery("evt1")
	j := r.job()
	want(r, "begun", r.beginJob(j).Applied, true)
	r.update(once.ID, disable)
	r.lapsed(j)
	r.eventually("the delivery is stuck", func() bool {
		r.sweep()
		return r.dlv(id).State == webhook.Stuck
	})
	want(r, "dead", r.deadDeliveries(), 1)
	want(r, "attempts", len(r.dlv(id).Attempts), 1)

	again := r.endpoint(brief)
	r.send(r.event("evt2", func(n *webhook.NewEvent) { n.Endpoints = []int64{again.ID} }))
	j = r.job()
	r.update(again.ID, disable)
	r.lapsed(j)
	r.eventually("the delivery is retrying", func() bool {
		r.sweep()
		return r.dlv(j.DeliveryID).State == webhook.Retrying
	})
	want(r, "attempts", len(r.dlv(j.DeliveryID).Attempts), 1)
	want(r, "another is told of", r.dlv(j.DeliveryID).Attempts[0].NextAttemptAt.IsZero(), false)
	r.update(again.ID, func(e *webhook.Endpoint) { e.Disabled = false })
	next := r.soonJob()
	want(r, "delivery", next.DeliveryID, j.DeliveryID)
	want(r, "attempt", next.Attempt, 2)
	r.ends(outcome(next, ledger.Succeeded), ledger.Done)
	want(r, "attempts", len(r.dlv(j.DeliveryID).Attempts), 2)
}

// deadBefore has the first of three deliveries of an endpoint held by a sender that died. The endpoint has one in flight at a time.
func (r *rig) deadBefore(policy ...func(*webhook.Endpoint)) (first int64) {
	r.Helper()
	r.endpoint(append(policy, brief, slots(1))...)
	first = r.delivery("evt1")
	r.delivery("evt2")
	r.delivery("evt3")
	j := r.job()
	want(r, "delivery", j.DeliveryID, first)
	want(r, "begun", r.beginJob(j).Applied, true)
	r.lapsed(j)
	r.sweep() // which ends the lease
	return first
}

func deadGoesFirst(r *rig) {
	first := r.deadBefore()
	j := r.soonJob()
	want(r, "the next to go", j.DeliveryID, first)
	want(r, "attempt", j.Attempt, 2)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
}

func deadOnceFirst(r *rig) {
	first := r.deadBefore(onceOnly)
	r.take(1)
	d := r.dlv(first)
	want(r, "state after a take", d.State, webhook.Stuck)
	want(r, "attempts", len(d.Attempts), 1)
	want(r, "error", d.Attempts[0].Error, "worker died")
	want(r, "dead", r.deadDeliveries(), 1)
}

// deliveryOf sends an event to the one endpoint of a tenant.
func (r *rig) deliveryOf(event, name string) int64 {
	r.Helper()
	return r.send(r.event(event, func(n *webhook.NewEvent) { n.Tenant = name })).Deliveries[0].ID
}

func longLadder(r *rig) {
	const month = 31 * 24 * time.Hour
	r.endpoint(tenant("ladder"))
	ladder := r.deliveryOf("evt1", "ladder")
	j := r.job()
	o := outcome(j, ledger.Definite)
	o.RetryIn = 7 * 24 * time.Hour
	r.ends(o, ledger.Retry)
	r.endpoint(tenant("dead"), brief)
	dead := r.deliveryOf("evt2", "dead")
	r.lapsed(r.job())
	r.sweep()
	e := r.endpoint(tenant("off"))
	r.update(e.ID, disable)
	waits := r.deliveryOf("evt3", "off")
	r.age("messages", "expires_at", "true", month)
	r.age("messages", "vis", "id <> "+itoa(j.MessageID), month)
	r.eventually("what was due for 31 days is over", func() bool { r.sweep(); return r.dlv(waits).State == webhook.Failed })
	want(r, "what waits for its rung", r.dlv(ladder).State, webhook.Retrying)
	want(r, "dead letters", r.deadDeliveries(), 1)
	if s := r.dlv(dead).State; s != webhook.Sending && s != webhook.Retrying {
		r.Errorf("what a dead sender held a moment ago is %s", s)
	}
	r.age("messages", "vis", "dead_at IS NULL AND id <> "+itoa(j.MessageID), -month) // before its group's mark
}

func forgetCancelled(r *rig) {
	const long = 91 * 24 * time.Hour
	r.endpoint(tenant("cancelled"))
	id := r.deliveryOf("evt1", "cancelled")
	r.ends(outcome(r.job(), ledger.Ambiguous), ledger.Retry)
	_, err := r.Cancel(r.ctx, r.person(id))
	r.ok(err)
	r.endpoint(tenant("stuck"), rungs(0))
	r.deliveryOf("evt2", "stuck")
	r.ends(outcome(r.soonJob(), ledger.Ambiguous), ledger.Stuck)
	r.sweep()
	want(r, "events before their time", r.count("SELECT count(*) FROM events"), 2)
	r.age("events", "created_at", "true", long)
	r.age("deliveries", "cancelled_at", "cancelled_at IS NOT NULL", long)
	r.eventually("the one whose delivery was cancelled is forgotten", func() bool { r.sweep(); return r.count("SELECT count(*) FROM events") == 1 })
	want(r, "what stays", r.text("SELECT event_id FROM events")[0], "evt2")
	want(r, "claims", r.count("SELECT count(*) FROM claims"), 1)
	s := r.send(r.event("evt1", func(n *webhook.NewEvent) { n.Type = "another" }))
	want(r, "its id is new", s.Replay, false)
	s = r.trySend(r.event("evt2", func(n *webhook.NewEvent) { n.Type = "another" }))[0]
	want(r, "the other's is not", s.Err != nil, true)
}

func disableMoved(r *rig) {
	e := r.endpoint()
	r.delivery("evt1")
	o := outcome(r.job(), ledger.Permanent)
	o.Disable = "the receiver answered 410 Gone"
	r.update(e.ID, func(e *webhook.Endpoint) { e.URL = "https://example.com/moved" })
	r.ends(o, ledger.Failed)
	e, err := r.Endpoint(r.ctx, 1, e.ID)
	r.ok(err)
	want(r, "disabled", e.Disabled, false)
	r.delivery("evt2")
	o = outcome(r.job(), ledger.Permanent)
	o.Disable = "the receiver answered 410 Gone"
	r.ends(o, ledger.Failed)
	e, err = r.Endpoint(r.ctx, 1, e.ID)
	r.ok(err)
	want(r, "disabled", e.Disabled, true)
	r.delivery("evt3")
	r.idle()
}

func disableFenced(r *rig) {
	e := r.endpoint(brief)
	r.delivery("evt1")
	first := r.job()
	r.lapsed(first)
	second := r.soonJob()
	o := outcome(first, ledger.Permanent)
	o.Disable = "the receiver answered 410 Gone"
	out, err := r.SettleDeliveries(r.ctx, o)
	r.ok(err)
	want(r, "applied", out[0].Applied, false)
	e, err = r.Endpoint(r.ctx, 1, e.ID)
	r.ok(err)
	want(r, "disabled", e.Disabled, false)
	r.ends(outcome(second, ledger.Succeeded), ledger.Done)
}

func redriveMaxOldest(r *rig) {
	for _, name := range []string{"a", "b"} {
		r.endpoint(tenant(name))
	}
	var ids []int64 // of what is dead, the oldest first
	for round, canaries := range []bool{false, true} {
		for i, name := range []string{"b", "a", "b", "a", "a"} {
			s := r.send(r.event("evt"+itoa(int64(10*round+i)), func(n *webhook.NewEvent) { n.Tenant = name }))
			ids = append(ids, s.Deliveries[0].ID)
			r.ends(outcome(r.job(), ledger.Permanent), ledger.Failed)
		}
		got := map[int64]bool{}
		rd := r.redriveNow(func(c *webhook.RedriveCall) { c.Max, c.Canary = 3, canaries })
		want(r, "total", rd.Total, 3)
		rd = r.finishDeliveries(rd, func(j *webhook.Job) {
			got[j.DeliveryID] = true
			r.ends(outcome(j, ledger.Succeeded), ledger.Done)
		})
		want(r, "moved", rd.Moved, 3)
		for _, id := range ids[:3] {
			want(r, "one of the oldest was redriven", got[id], true)
		}
		ids = ids[3:]
	}
}
