package storetest

import (
	"errors"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// canaryTests are of redrives of deliveries, endpoint by endpoint.
var canaryTests = []named{
	{"H-W16, I12, I16: a canary whose endpoint is disabled ends its part, and waits", canaryDisabled},
	{"H-W16, I12, I16: a canary whose endpoint is deleted ends its part", canaryDeleted},
	{"a canary that is being sent while its endpoint is disabled is heard to its end", canaryDisabledSending},
	{"a canary that a person cancels is a refusal", canaryCancelled},
	{"a disabled endpoint gets no canary; without canaries its deliveries wait for it", redriveDisabled},
	{"H-W16: a canary that does not come back holds up its own endpoint alone", canaryStuck},
	{"a redrive shows how far it is with each endpoint", redriveParts},
	{"I12: a cancelled redrive leaves its endpoints free for another at once", redriveCancelParts},
	{"a redrive of deliveries keeps to its rate, canaries counted, over restarts", redriveDeliveriesRate},
	{"I12: of an endpoint what dies after the start is not taken", redriveDiesLater},
	{"I12: a dry run of deliveries counts what would be left", redriveDryLeft},
	{"redrives that are over are kept for 90 days, and not for ever", redriveForgotten},
}

// step moves redrives on, n times.
func (r *rig) step(n int) {
	r.Helper()
	for range n {
		_, _, err := r.StepRedrives(r.ctx, 100)
		r.ok(err)
	}
}

// seen looks at a redrive.
func (r *rig) seen(rd queue.Redrive) queue.Redrive {
	r.Helper()
	rd, err := r.Redrive(r.ctx, r.project, rd.ID)
	r.ok(err)
	return rd
}

// part looks at a redrive's part.
func (r *rig) part(rd queue.Redrive, endpoint int64) webhook.RedrivePart {
	r.Helper()
	all, err := r.RedriveParts(r.ctx, r.project, rd.ID, queue.Page{Limit: 500})
	r.ok(err)
	for _, p := range all {
		if p.EndpointID == endpoint {
			return p
		}
	}
	r.Fatalf("redrive %d has no part of endpoint %d", rd.ID, endpoint)
	return webhook.RedrivePart{}
}

// ended steps a redrive on until it is over, which needs nobody else.
func (r *rig) ended(rd queue.Redrive, moved, left int64) queue.Redrive {
	r.Helper()
	r.eventually("the redrive's end", func() bool { r.step(1); return r.seen(rd).State != queue.Running })
	rd = r.seen(rd)
	want(r, "state", rd.State, queue.Completed)
	want(r, "moved", rd.Moved, moved)
	want(r, "left", rd.Left, left)
	want(r, "total", rd.Total, moved+left)
	return rd
}

// failed makes n deliveries of an endpoint that fail for certain.
func (r *rig) failed(endpoint int64, n int) {
	r.Helper()
	for range n {
		id := "evt" + itoa(grantIDs.Add(1))
		r.send(r.event(id, func(e *webhook.NewEvent) { e.Endpoints = []int64{endpoint} }))
		j := r.job()
		want(r, "endpoint", j.Endpoint.ID, endpoint)
		r.ends(outcome(j, ledger.Permanent), ledger.Failed)
	}
}

// noSubscriber makes an endpoint that gets only what names it.
func noSubscriber(e *webhook.Endpoint) { e.EventTypes = []string{"none.such"} }

func canaryDisabled(r *rig) {
	e := r.endpoint(noSubscriber)
	r.failed(e.ID, 3)
	rd := r.redriveNow(canary)
	r.step(2)
	r.update(e.ID, disable)
	rd = r.ended(rd, 1, 2)
	p := r.part(rd, e.ID)
	want(r, "part", p.State, webhook.PartDisabled)
	want(r, "the canary", r.dlv(p.CanaryID).State, webhook.Retrying) // it was tried before, and waits
	want(r, "dead", r.deadDeliveries(), 2)
	r.update(e.ID, func(e *webhook.Endpoint) { e.Disabled = false })
	j := r.soonJob()
	want(r, "what waited goes", j.DeliveryID, p.CanaryID)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "dead", r.deadDeliveries(), 2)
}

func canaryDeleted(r *rig) {
	e := r.endpoint(noSubscriber)
	r.failed(e.ID, 3)
	rd := r.redriveNow(canary)
	r.step(1)
	r.ok(r.DeleteEndpoint(r.ctx, 1, e.ID))
	rd = r.ended(rd, 1, 2)
	p := r.part(rd, e.ID)
	want(r, "part", p.State, webhook.PartDeleted)
	want(r, "the canary", r.dlv(p.CanaryID).State, webhook.Cancelled)
	want(r, "dead", r.deadDeliveries(), 2)
	// What is dead of an endpoint that is gone is left.
	rd = r.ended(r.redriveNow(canary), 0, 2)
	want(r, "part", r.part(rd, e.ID).State, webhook.PartDeleted)
}

func canaryDisabledSending(r *rig) {
	for _, c := range []struct {
		kind ledger.Kind
		to   ledger.State
		part webhook.PartState
	}{
		{ledger.Succeeded, ledger.Done, webhook.PartDisabled}, // it came, but the others would not
		{ledger.Permanent, ledger.Failed, webhook.PartRefused},
	} {
		e := r.endpoint(noSubscriber)
		r.failed(e.ID, 2)
		rd := r.redriveNow(canary, func(c *webhook.RedriveCall) { c.EndpointID = e.ID })
		r.step(1)
		j := r.job()
		r.update(e.ID, disable)
		r.step(3)
		want(r, "state while it is sent", r.seen(rd).State, queue.Running)
		want(r, "part while it is sent", r.part(rd, e.ID).State, webhook.PartCanary)
		r.ends(outcome(j, c.kind), c.to)
		rd = r.ended(rd, 1, 1)
		want(r, "part", r.part(rd, e.ID).State, c.part)
	}
}

func canaryCancelled(r *rig) {
	e := r.endpoint(noSubscriber)
	r.failed(e.ID, 3)
	rd := r.redriveNow(canary)
	r.step(1)
	_, err := r.Cancel(r.ctx, r.person(r.part(rd, e.ID).CanaryID))
	r.ok(err)
	rd = r.ended(rd, 1, 2)
	want(r, "part", r.part(rd, e.ID).State, webhook.PartRefused)
}

func redriveDisabled(r *rig) {
	e := r.endpoint(noSubscriber)
	r.failed(e.ID, 3)
	r.update(e.ID, disable)
	rd := r.ended(r.redriveNow(canary), 0, 3)
	want(r, "part", r.part(rd, e.ID).State, webhook.PartDisabled)
	rd = r.ended(r.redriveNow(), 3, 0)
	want(r, "part", r.part(rd, e.ID).State, webhook.PartEnded)
	r.idle()
	r.update(e.ID, func(e *webhook.Endpoint) { e.Disabled = false })
	for range 3 {
		r.ends(outcome(r.soonJob(), ledger.Succeeded), ledger.Done)
	}
}

func canaryStuck(r *rig) {
	slow, well := r.endpoint(noSubscriber), r.endpoint(noSubscriber)
	r.failed(slow.ID, 3)
	r.failed(well.ID, 3)
	rd := r.redriveNow(canary)
	r.step(1)
	for _, j := range r.take(10) { // the slow one's is taken and does not come back
		if j.Endpoint.ID == well.ID {
			r.ends(outcome(&j, ledger.Succeeded), ledger.Done)
		}
	}
	r.eventually("the other's are delivered", func() bool {
		r.step(1)
		for _, j := range r.take(10) {
			want(r, "endpoint", j.Endpoint.ID, well.ID)
			r.ends(outcome(&j, ledger.Succeeded), ledger.Done)
		}
		return r.part(rd, well.ID).State == webhook.PartEnded
	})
	want(r, "the slow one's part", r.part(rd, slow.ID).State, webhook.PartCanary)
	want(r, "state", r.seen(rd).State, queue.Running)
	// Nor does it hold up another redrive of other endpoints; one of its own is refused.
	r.failed(well.ID, 2)
	again := r.redriveNow(func(c *webhook.RedriveCall) { c.EndpointID = well.ID })
	for _, c := range []webhook.RedriveCall{{Project: 1}, {Project: 1, EndpointID: slow.ID}} {
		_, err := r.RedriveDeliveries(r.ctx, c)
		want(r, "conflict", errors.Is(err, webhook.ErrConflict), true)
	}
	r.ended(again, 2, 0)
	want(r, "running", r.seen(rd).State, queue.Running)
}

func redriveParts(r *rig) {
	a, b := r.endpoint(noSubscriber), r.endpoint(noSubscriber)
	r.failed(a.ID, 4)
	r.failed(b.ID, 2)
	rd := r.redriveNow(canary)
	want(r, "before it began", r.part(rd, a.ID), webhook.RedrivePart{EndpointID: a.ID, State: webhook.PartWaiting, Total: 4})
	want(r, "remaining", rd.Remaining(), 6)
	r.step(1)
	p := r.part(rd, a.ID)
	want(r, "its canary is out", p, webhook.RedrivePart{EndpointID: a.ID, State: webhook.PartCanary, CanaryID: p.CanaryID, Total: 4, Moved: 1})
	seen := r.seen(rd)
	want(r, "remaining", seen.Remaining(), 4)
	for _, j := range r.take(10) {
		kind, to := ledger.Succeeded, ledger.Done
		if j.Endpoint.ID == b.ID {
			kind, to = ledger.Definite, ledger.Retry
		}
		r.ends(outcome(&j, kind), to)
	}
	r.ended(rd, 5, 1)
	want(r, "it let the others follow", r.part(rd, a.ID), webhook.RedrivePart{EndpointID: a.ID, State: webhook.PartEnded, CanaryID: p.CanaryID, Total: 4, Moved: 4})
	q := r.part(rd, b.ID)
	want(r, "it was refused", q, webhook.RedrivePart{EndpointID: b.ID, State: webhook.PartRefused, CanaryID: q.CanaryID, Total: 2, Moved: 1, Left: 1})
	// Pages, the newest first.
	l, err := r.RedriveParts(r.ctx, 1, rd.ID, queue.Page{Limit: 1})
	r.ok(err)
	want(r, "page", len(l), 1)
	want(r, "first", l[0].EndpointID, b.ID)
	l, err = r.RedriveParts(r.ctx, 1, rd.ID, queue.Page{Limit: 5, After: b.ID})
	r.ok(err)
	want(r, "page", len(l), 1)
	want(r, "then", l[0].EndpointID, a.ID)
	_, err = r.RedriveParts(r.ctx, 2, rd.ID, queue.Page{})
	want(r, "of another project", errors.Is(err, queue.ErrNotFound), true)
}

func redriveCancelParts(r *rig) {
	a, b := r.endpoint(noSubscriber), r.endpoint(noSubscriber)
	r.failed(a.ID, 3)
	r.failed(b.ID, 1)
	rd := r.redriveNow(canary)
	r.step(1)
	rd, err := r.CancelRedrive(r.ctx, 1, rd.ID)
	r.ok(err)
	want(r, "moved", rd.Moved, 2)
	want(r, "left", rd.Left, 2)
	p := r.part(rd, a.ID)
	want(r, "part", p, webhook.RedrivePart{EndpointID: a.ID, State: webhook.PartCancelled, CanaryID: p.CanaryID, Total: 3, Moved: 1, Left: 2})
	next := r.redriveNow()
	want(r, "total", next.Total, 2)
	r.ended(next, 2, 0)
	for range 4 { // the canaries that were out, too
		r.ends(outcome(r.soonJob(), ledger.Succeeded), ledger.Done)
	}
	want(r, "dead", r.deadDeliveries(), 0)
}

func redriveDeliveriesRate(r *rig) {
	const rate = 8.0
	a, b := r.endpoint(noSubscriber), r.endpoint(noSubscriber)
	r.failed(a.ID, 4)
	r.failed(b.ID, 4)
	begin := r.now()
	rd := r.redriveNow(canary, func(c *webhook.RedriveCall) { c.Rate = rate })
	r.eventually("the redrive's end", func() bool {
		r.reopen() // whoever moves it on begins with no memory of it
		r.step(1)
		for _, j := range r.take(10) {
			r.ends(outcome(&j, ledger.Succeeded), ledger.Done)
		}
		rd = r.seen(rd)
		if most := 1 + rate*(r.now().Sub(begin).Seconds()+0.01); float64(rd.Moved) > most {
			r.Fatalf("%d were moved in %v at %v a second", rd.Moved, r.now().Sub(begin), rate)
		}
		return rd.State != queue.Running
	})
	want(r, "moved", rd.Moved, 8)
	for _, j := range r.take(10) {
		r.ends(outcome(&j, ledger.Succeeded), ledger.Done)
	}
}

func redriveDiesLater(r *rig) {
	e := r.endpoint(noSubscriber)
	for range 2 {
		r.send(r.event("evt"+itoa(grantIDs.Add(1)), func(n *webhook.NewEvent) { n.Endpoints = []int64{e.ID} }))
	}
	older, younger := r.job(), r.job()
	r.ends(outcome(younger, ledger.Permanent), ledger.Failed)
	rd := r.redriveNow()
	r.ends(outcome(older, ledger.Permanent), ledger.Failed)
	r.ended(rd, 1, 0)
	want(r, "what went", r.job().DeliveryID, younger.DeliveryID)
	want(r, "what died since", r.dlv(older.DeliveryID).State, webhook.Failed)
}

func redriveDryLeft(r *rig) {
	once, off, gone, well := r.endpoint(noSubscriber, onceOnly), r.endpoint(noSubscriber), r.endpoint(noSubscriber), r.endpoint(noSubscriber)
	r.failed(once.ID, 1)
	r.send(r.event("stuck", func(n *webhook.NewEvent) { n.Endpoints = []int64{once.ID} }))
	j := r.job()
	r.beginJob(j)
	r.ends(outcome(j, ledger.Ambiguous), ledger.Stuck)
	for _, e := range []webhook.Endpoint{off, gone, well} {
		r.failed(e.ID, 2)
	}
	r.update(off.ID, disable)
	r.ok(r.DeleteEndpoint(r.ctx, 1, gone.ID))
	dry := func(c *webhook.RedriveCall) { c.DryRun = true }
	all := func(c *webhook.RedriveCall) { c.States = []webhook.State{webhook.Failed, webhook.Stuck} }
	failed := func(c *webhook.RedriveCall) { c.States = []webhook.State{webhook.Failed} }
	for what, c := range map[string]struct {
		with        []func(*webhook.RedriveCall)
		total, left int64
	}{
		"failed":                   {[]func(*webhook.RedriveCall){failed}, 7, 2},
		"failed, with canaries":    {[]func(*webhook.RedriveCall){failed, canary}, 7, 4},
		"and stuck, with canaries": {[]func(*webhook.RedriveCall){all, canary}, 8, 5},
	} {
		rd := r.redriveNow(append(c.with, dry)...)
		want(r, what+", total", rd.Total, c.total)
		want(r, what+", left", rd.Left, c.left)
		want(r, what+", moved", rd.Moved, 0)
	}
	rd := r.finishDeliveries(r.redriveNow(canary, all), func(j *webhook.Job) {
		r.beginJob(j)
		r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	})
	want(r, "moved", rd.Moved, 3)
	want(r, "left", rd.Left, 5)
}

func redriveForgotten(r *rig) {
	e := r.endpoint(noSubscriber)
	r.failed(e.ID, 1)
	r.queue("jobs")
	r.redrive(queue.RedriveCall{Queue: "jobs"})
	rd := r.ended(r.redriveNow(), 1, 0)
	r.ends(outcome(r.soonJob(), ledger.Succeeded), ledger.Done)
	r.age("redrives", "finished_at", "true", queue.RedriveMemory-time.Hour)
	r.sweep()
	want(r, "redrives kept", r.count("SELECT count(*) FROM redrives"), 2)
	r.age("redrives", "finished_at", "true", 2*time.Hour)
	r.sweep()
	want(r, "redrives", r.count("SELECT count(*) FROM redrives"), 0)
	want(r, "parts", r.count("SELECT count(*) FROM redrive_parts"), 0)
	_, err := r.Redrive(r.ctx, 1, rd.ID)
	want(r, "not found", errors.Is(err, queue.ErrNotFound), true)
}
