package storetest

import (
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// deathTests are of senders that die, and of words that come when much has changed.
var deathTests = []named{
	{"I16: what a dead sender holds is cancelled before anybody found it", cancelDead},
	{"a late success of what was cancelled shows what happened", cancelledLate},
	{"I16: a dead sender of a disabled endpoint leaves no delivery sending", deadWhileDisabled},
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
	r.update(again.ID, func(e *webhook.Endpoint) { e.Disabled = false })
	next := r.soonJob()
	want(r, "delivery", next.DeliveryID, j.DeliveryID)
	want(r, "attempt", next.Attempt, 2)
	r.ends(outcome(next, ledger.Succeeded), ledger.Done)
	want(r, "attempts", len(r.dlv(j.DeliveryID).Attempts), 2)
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
