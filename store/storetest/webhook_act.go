package storetest

import (
	"errors"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var actTests = []named{
	{"a delivered delivery is sent again, its attempts going on", resendDelivered},
	{"a failed delivery sent again leaves no dead letter of the former send", resendFailed},
	{"a resend with a new key says which send it is", resendNewKey},
	{"what is pending, sending or retrying is not sent again", resendConflict},
	{"what a person says of a stuck delivery holds", resolveDelivery},
	{"only a stuck delivery is resolved", resolveDeliveryConflict},
	{"a pending or retrying delivery is cancelled, and never redriven", cancelDelivery},
	{"a sending or ended delivery is not cancelled", cancelConflict},
	{"I12: a redrive sends failed deliveries again, tries 0, attempts going on", redriveDeliveries},
	{"I12: a redrive takes a stuck idempotent and leaves a stuck once", redriveStuckDeliveries},
	{"I12: a redrive keeps to its filters", redriveFiltered},
	{"a dry run of deliveries moves nothing", redriveDeliveriesDry},
	{"a canary goes first, and lets the others follow", redriveCanary},
	{"a refused canary ends its endpoint's part alone", redriveCanaryRefused},
	{"one redrive of deliveries of a project at a time", redriveDeliveriesConflict},
	{"I12: a cancelled redrive of deliveries loses nothing", redriveDeliveriesCancel},
	{"a person's acts are recorded", actsRecorded},
}

func resendDelivered(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	first := r.job()
	r.ends(outcome(first, ledger.Succeeded), ledger.Done)
	d, err := r.Resend(r.ctx, r.person(id), false)
	r.ok(err)
	want(r, "state", d.State, webhook.Pending)
	j := r.job()
	want(r, "delivery", j.DeliveryID, id)
	want(r, "another claim", j.ClaimID != first.ClaimID, true)
	want(r, "attempt", j.Attempt, 2)
	want(r, "tries", j.Tries, 1)
	want(r, "cause", j.Cause, webhook.ByResend)
	want(r, "key's send", j.KeySend, 0)
	r.ends(outcome(j, ledger.Definite), ledger.Retry)
	want(r, "state", r.dlv(id).State, webhook.Retrying)
	j = r.soonJob()
	want(r, "attempt", j.Attempt, 3)
	want(r, "cause", j.Cause, webhook.ByRetry)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	d = r.dlv(id)
	want(r, "attempts", len(d.Attempts), 3)
	want(r, "cause kept", d.Attempts[1].Cause, webhook.ByResend)
}

func resendFailed(r *rig) {
	r.endpoint()
	id := r.fails("evt1")
	want(r, "dead", r.deadDeliveries(), 1)
	_, err := r.Resend(r.ctx, r.person(id), false)
	r.ok(err)
	want(r, "dead", r.deadDeliveries(), 0)
	r.ends(outcome(r.job(), ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
}

func resendNewKey(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	r.ends(outcome(r.job(), ledger.Succeeded), ledger.Done)
	for send := 2; send <= 3; send++ {
		_, err := r.Resend(r.ctx, r.person(id), true)
		r.ok(err)
		j := r.job()
		want(r, "key's send", j.KeySend, send)
		r.ends(outcome(j, ledger.Succeeded), ledger.Done)
		want(r, "key's send shown", r.dlv(id).KeySend, send)
	}
}

func resendConflict(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	refused := func(what string) {
		_, err := r.Resend(r.ctx, r.person(id), false)
		want(r, what, errors.Is(err, webhook.ErrConflict), true)
	}
	refused("pending")
	j := r.job()
	refused("sending")
	o := outcome(j, ledger.Definite)
	o.RetryIn = time.Hour
	r.ends(o, ledger.Retry)
	refused("retrying")
	_, err := r.Resend(r.ctx, r.person(1<<40), false)
	want(r, "not found", errors.Is(err, webhook.ErrNotFound), true)
}

// stuckDelivery makes a delivery whose outcome nobody can know.
func (r *rig) stuckDelivery(id string) int64 {
	r.Helper()
	d := r.delivery(id)
	j := r.job()
	r.beginJob(j)
	if j.Policy == ledger.Once {
		r.ends(outcome(j, ledger.Ambiguous), ledger.Stuck)
		return d
	}
	for n := 0; ; n++ {
		if n == len(j.Ladder) {
			r.ends(outcome(j, ledger.Ambiguous), ledger.Stuck)
			return d
		}
		r.ends(outcome(j, ledger.Ambiguous), ledger.Retry)
		j = r.soonJob()
	}
}

func resolveDelivery(r *rig) {
	r.endpoint(onceOnly)
	for _, c := range []struct {
		as   ledger.State
		left webhook.State
		dead int64
	}{{ledger.Done, webhook.Delivered, 0}, {ledger.Failed, webhook.Failed, 1}, {ledger.Retry, "", 1}} {
		id := r.stuckDelivery("evt-" + string(c.as))
		d, err := r.Resolve(r.ctx, r.person(id), c.as)
		r.ok(err)
		if c.left != "" {
			want(r, "state", d.State, c.left)
		}
		want(r, "dead after "+string(c.as), r.deadDeliveries(), c.dead)
		if c.as == ledger.Retry {
			j := r.soonJob()
			want(r, "delivery", j.DeliveryID, id)
			want(r, "attempt", j.Attempt, 2)
			want(r, "tries", j.Tries, 1)
			r.beginJob(j)
			r.ends(outcome(j, ledger.Succeeded), ledger.Done)
		}
	}
}

func resolveDeliveryConflict(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	refused := func(what string) {
		_, err := r.Resolve(r.ctx, r.person(id), ledger.Done)
		want(r, what, errors.Is(err, webhook.ErrConflict), true)
	}
	refused("pending")
	j := r.job()
	refused("sending")
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	refused("delivered")
	_, err := r.Resolve(r.ctx, r.person(1<<40), ledger.Done)
	want(r, "not found", errors.Is(err, webhook.ErrNotFound), true)
}

func cancelDelivery(r *rig) {
	r.endpoint()
	pending := r.delivery("evt1")
	d, err := r.Cancel(r.ctx, r.person(pending))
	r.ok(err)
	want(r, "state", d.State, webhook.Cancelled)
	retrying := r.delivery("evt2")
	r.ends(outcome(r.job(), ledger.Definite), ledger.Retry)
	_, err = r.Cancel(r.ctx, r.person(retrying))
	r.ok(err)
	r.sweep()
	r.idle()
	rd, err := r.RedriveDeliveries(r.ctx, webhook.RedriveCall{Project: 1})
	r.ok(err)
	rd = r.finishDeliveries(rd, func(*webhook.Job) { r.Error("a cancelled delivery was redriven") })
	want(r, "moved", rd.Moved, 0)
	for _, id := range []int64{pending, retrying} {
		want(r, "state", r.dlv(id).State, webhook.Cancelled)
	}
	want(r, "attempts", len(r.dlv(retrying).Attempts), 1)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func cancelConflict(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	j := r.job()
	_, err := r.Cancel(r.ctx, r.person(id))
	want(r, "sending", errors.Is(err, webhook.ErrConflict), true)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	_, err = r.Cancel(r.ctx, r.person(id))
	want(r, "delivered", errors.Is(err, webhook.ErrConflict), true)
	_, err = r.Cancel(r.ctx, r.person(1<<40))
	want(r, "not found", errors.Is(err, webhook.ErrNotFound), true)
}

// redriveNow begins a redrive of deliveries.
func (r *rig) redriveNow(with ...func(*webhook.RedriveCall)) queue.Redrive {
	r.Helper()
	c := webhook.RedriveCall{Project: r.project, Who: "a person"}
	for _, w := range with {
		w(&c)
	}
	rd, err := r.RedriveDeliveries(r.ctx, c)
	r.ok(err)
	return rd
}

func redriveDeliveries(r *rig) {
	r.endpoint(rungs(1))
	id := r.delivery("evt1")
	r.ends(outcome(r.job(), ledger.Definite), ledger.Retry)
	r.ends(outcome(r.soonJob(), ledger.Definite), ledger.Failed)
	rd := r.redriveNow()
	want(r, "total", rd.Total, 1)
	var jobs []webhook.Job
	rd = r.finishDeliveries(rd, func(j *webhook.Job) {
		jobs = append(jobs, *j)
		r.ends(outcome(j, ledger.Definite), []ledger.State{ledger.Retry, ledger.Failed}[len(jobs)-1])
	})
	want(r, "moved", rd.Moved, 1)
	want(r, "tries of two", len(jobs), 2)
	for i, j := range jobs {
		want(r, "attempt", j.Attempt, 3+i)
		want(r, "tries", j.Tries, 1+i)
		want(r, "fence", j.Fence, int64(3+i))
		want(r, "cause", j.Cause, []webhook.Cause{webhook.ByRedrive, webhook.ByRetry}[i])
	}
	want(r, "attempts", len(r.dlv(id).Attempts), 4)
	want(r, "dead", r.deadDeliveries(), 1)
}

func redriveStuckDeliveries(r *rig) {
	e := r.endpoint(onceOnly)
	onceID := r.stuckDelivery("evt1")
	r.ok(r.DeleteEndpoint(r.ctx, 1, e.ID))
	r.endpoint(rungs(0))
	id := r.stuckDelivery("evt2")
	rd := r.finishDeliveries(r.redriveNow(func(c *webhook.RedriveCall) { c.States = []webhook.State{webhook.Failed, webhook.Stuck} }), func(j *webhook.Job) {
		want(r, "delivery", j.DeliveryID, id)
		r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	})
	want(r, "moved", rd.Moved, 1)
	want(r, "a stuck once", r.dlv(onceID).State, webhook.Stuck)
	want(r, "dead", r.deadDeliveries(), 1)
}

func redriveFiltered(r *rig) {
	a, b := r.endpoint(tenant("a")), r.endpoint(tenant("b"))
	for _, name := range []string{"a", "b", "b"} {
		r.send(r.event("evt"+itoa(grantIDs.Add(1)), func(n *webhook.NewEvent) { n.Tenant = name }))
	}
	for range 3 {
		r.ends(outcome(r.job(), ledger.Permanent), ledger.Failed)
	}
	deliver := func(j *webhook.Job) { r.ends(outcome(j, ledger.Permanent), ledger.Failed) }
	for what, c := range map[string]struct {
		set   func(*webhook.RedriveCall)
		moved int64
	}{
		"by tenant":       {func(c *webhook.RedriveCall) { c.Tenant = "a" }, 1},
		"by endpoint":     {func(c *webhook.RedriveCall) { c.EndpointID = b.ID }, 2},
		"by both":         {func(c *webhook.RedriveCall) { c.EndpointID, c.Tenant = a.ID, "b" }, 0},
		"by max":          {func(c *webhook.RedriveCall) { c.Max = 2 }, 2},
		"by state":        {func(c *webhook.RedriveCall) { c.States = []webhook.State{webhook.Stuck} }, 0},
		"from the future": {func(c *webhook.RedriveCall) { c.From = r.now().Add(time.Hour) }, 0},
		"to the future":   {func(c *webhook.RedriveCall) { c.To = r.now().Add(time.Hour) }, 3},
	} {
		want(r, what, r.finishDeliveries(r.redriveNow(c.set), deliver).Moved, c.moved)
		want(r, "dead after "+what, r.deadDeliveries(), 3)
	}
}

func redriveDeliveriesDry(r *rig) {
	r.endpoint()
	r.fails("evt1")
	r.fails("evt2")
	rd := r.redriveNow(func(c *webhook.RedriveCall) { c.DryRun = true })
	_, _, err := r.StepRedrives(r.ctx, 10)
	r.ok(err)
	rd, err = r.Redrive(r.ctx, 1, rd.ID)
	r.ok(err)
	want(r, "total", rd.Total, 2)
	want(r, "moved", rd.Moved, 0)
	want(r, "state", rd.State, queue.Completed)
	want(r, "dead", r.deadDeliveries(), 2)
	r.idle()
}

func canary(c *webhook.RedriveCall) { c.Canary = true }

func redriveCanary(r *rig) {
	r.endpoint()
	for _, id := range []string{"evt1", "evt2", "evt3"} {
		r.fails(id)
	}
	rd := r.redriveNow(canary)
	for range 3 {
		_, _, err := r.StepRedrives(r.ctx, 100)
		r.ok(err)
	}
	l := r.take(10)
	if len(l) != 1 {
		r.Fatalf("%d go before the canary has come back, want 1", len(l))
	}
	want(r, "cause", l[0].Cause, webhook.ByCanary)
	r.ends(outcome(&l[0], ledger.Succeeded), ledger.Done)
	rd = r.finishDeliveries(rd, func(j *webhook.Job) {
		want(r, "cause", j.Cause, webhook.ByRedrive)
		r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	})
	want(r, "moved", rd.Moved, 3)
	want(r, "left", rd.Left, 0)
}

func redriveCanaryRefused(r *rig) {
	a, b := r.endpoint(), r.endpoint()
	for _, id := range []string{"evt1", "evt2", "evt3"} {
		r.send(r.event(id))
		for range 2 {
			r.ends(outcome(r.job(), ledger.Permanent), ledger.Failed)
		}
	}
	got := map[int64]int{}
	rd := r.finishDeliveries(r.redriveNow(canary), func(j *webhook.Job) {
		got[j.Endpoint.ID]++
		if j.Endpoint.ID == a.ID {
			r.ends(outcome(j, ledger.Permanent), ledger.Failed)
			return
		}
		r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	})
	want(r, "of the refused", got[a.ID], 1)
	want(r, "of the other", got[b.ID], 3)
	want(r, "moved", rd.Moved, 4)
	want(r, "left", rd.Left, 2)
	want(r, "dead", r.deadDeliveries(), 3)
}

func redriveDeliveriesConflict(r *rig) {
	r.endpoint()
	r.fails("evt1")
	rd := r.redriveNow(canary)
	_, err := r.RedriveDeliveries(r.ctx, webhook.RedriveCall{Project: 1})
	want(r, "conflict", errors.Is(err, webhook.ErrConflict), true)
	_, err = r.CancelRedrive(r.ctx, 1, rd.ID)
	r.ok(err)
	r.redriveNow()
}

func redriveDeliveriesCancel(r *rig) {
	r.endpoint()
	for _, id := range []string{"evt1", "evt2", "evt3"} {
		r.fails(id)
	}
	rd := r.redriveNow()
	_, _, err := r.StepRedrives(r.ctx, 1)
	r.ok(err)
	rd, err = r.CancelRedrive(r.ctx, 1, rd.ID)
	r.ok(err)
	want(r, "state", rd.State, queue.Cancelled)
	want(r, "moved", rd.Moved, 1)
	want(r, "left", rd.Left, 2)
	want(r, "dead", r.deadDeliveries(), 2)
	r.ends(outcome(r.job(), ledger.Succeeded), ledger.Done)
}

func actsRecorded(r *rig) {
	r.endpoint(onceOnly)
	id := r.stuckDelivery("evt1")
	_, err := r.Resolve(r.ctx, r.person(id), ledger.Done)
	r.ok(err)
	_, err = r.Resend(r.ctx, r.person(id), false)
	r.ok(err)
	_, err = r.Cancel(r.ctx, r.person(id))
	r.ok(err)
	want(r, "acts", r.count("SELECT count(*) FROM claim_notes WHERE who = 'a person' AND detail LIKE '%on the phone%'"), 3)
}
