package storetest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// endpoint makes an endpoint of the rig's project.
func (r *rig) endpoint(with ...func(*webhook.Endpoint)) webhook.Endpoint {
	r.Helper()
	e := webhook.Endpoint{
		Project: r.project, URL: "https://example.com/hook", EventTypes: []string{"*"},
		Secrets: []webhook.Secret{{Sealed: []byte("sealed")}}, Timeout: time.Minute, Ladder: []time.Duration{time.Second, time.Minute},
		Retry4xx: true, Policy: ledger.Idempotent, MaxInFlight: 10,
	}
	for _, w := range with {
		w(&e)
	}
	out, err := r.CreateEndpoint(r.ctx, e)
	r.ok(err)
	return out
}

func tenant(name string) func(*webhook.Endpoint) {
	return func(e *webhook.Endpoint) { e.Tenant = name }
}

func types(t ...string) func(*webhook.Endpoint) {
	return func(e *webhook.Endpoint) { e.EventTypes = t }
}
func slots(n int) func(*webhook.Endpoint) { return func(e *webhook.Endpoint) { e.MaxInFlight = n } }
func onceOnly(e *webhook.Endpoint)        { e.Policy = ledger.Once }
func rungs(n int) func(*webhook.Endpoint) {
	return func(e *webhook.Endpoint) {
		e.Ladder = make([]time.Duration, n)
		for i := range e.Ladder {
			e.Ladder[i] = time.Second
		}
	}
}

// brief makes the lease of a delivery short.
func brief(e *webhook.Endpoint) { e.Timeout = 40 * time.Millisecond }

// event makes an event with a payload of its own.
func (r *rig) event(id string, with ...func(*webhook.NewEvent)) webhook.NewEvent {
	n := webhook.NewEvent{Project: r.project, EventID: id, Type: "ticket.resolved", Payload: fmt.Appendf(nil, `{"id": %q}`, id)}
	for _, w := range with {
		w(&n)
	}
	h := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%v|%s", n.Type, n.Tenant, n.Subject, n.Endpoints, n.Payload))
	n.Hash = h[:]
	return n
}

// send sends one event that must be stored.
func (r *rig) send(n webhook.NewEvent) webhook.Sent {
	r.Helper()
	out := r.trySend(n)[0]
	r.ok(out.Err)
	return out
}

func (r *rig) trySend(n ...webhook.NewEvent) []webhook.Sent {
	r.Helper()
	out, err := r.Send(r.ctx, n...)
	r.ok(err)
	if len(out) != len(n) {
		r.Fatalf("%d answers to %d events", len(out), len(n))
	}
	return out
}

// delivery sends an event that makes one delivery, and gives that.
func (r *rig) delivery(id string) int64 {
	r.Helper()
	s := r.send(r.event(id))
	if len(s.Deliveries) != 1 {
		r.Fatalf("event %s made %d deliveries, want 1", id, len(s.Deliveries))
	}
	return s.Deliveries[0].ID
}

const slack = 20 * time.Millisecond

// take takes at most n deliveries.
func (r *rig) take(n int) []webhook.Job {
	r.Helper()
	return r.taken(n).Jobs
}

func (r *rig) taken(n int) webhook.Taken {
	r.Helper()
	t, err := r.TakeDeliveries(r.ctx, webhook.Take{Owner: "worker", Max: n, Slack: slack})
	r.ok(err)
	return t
}

// job takes exactly one.
func (r *rig) job() *webhook.Job {
	r.Helper()
	l := r.take(1)
	if len(l) != 1 {
		r.Fatalf("took %d deliveries, want 1", len(l))
	}
	return &l[0]
}

// soonJob takes one as soon as there is one, sweeping as a server does.
func (r *rig) soonJob() (j *webhook.Job) {
	r.Helper()
	r.eventually("a delivery to take", func() bool {
		r.sweep()
		if l := r.take(1); len(l) == 1 {
			j = &l[0]
		}
		return j != nil
	})
	return j
}

// idle sees that there is nothing to take.
func (r *rig) idle() {
	r.Helper()
	if l := r.take(10); len(l) > 0 {
		r.Errorf("took %d deliveries, want none", len(l))
	}
}

// outcome makes an attempt's end.
func outcome(j *webhook.Job, k ledger.Kind) webhook.Outcome {
	o := webhook.Outcome{Job: j, Kind: k, Ago: 3 * time.Millisecond, Latency: 2 * time.Millisecond}
	switch k {
	case ledger.Succeeded:
		o.Result, o.Status = webhook.WasDelivered, 200
	case ledger.Definite, ledger.Permanent:
		o.Result, o.Status = webhook.Refused, 503
	case ledger.Ambiguous:
		o.Result, o.Error = webhook.Unknown, "time-out"
	case ledger.GivenBack:
		o.Result = webhook.NotSent
	}
	return o
}

// ends settles one attempt that must apply.
func (r *rig) ends(o webhook.Outcome, wanted ledger.State) {
	r.Helper()
	out, err := r.SettleDeliveries(r.ctx, o)
	r.ok(err)
	if !out[0].Applied || out[0].State != wanted {
		r.Fatalf("%s by fence %d: applied %v, state %s (%s); want %s", o.Kind, o.Job.Fence, out[0].Applied, out[0].State, out[0].Reason, wanted)
	}
}

// beginJob makes the line before the effect.
func (r *rig) beginJob(j *webhook.Job) ledger.Applied {
	r.Helper()
	out, err := r.BeginDeliveries(r.ctx, []*webhook.Job{j})
	r.ok(err)
	return out[0]
}

// dlv looks at a delivery.
func (r *rig) dlv(id int64) webhook.Delivery {
	r.Helper()
	d, err := r.Delivery(r.ctx, r.project, id)
	r.ok(err)
	return d
}

// lapsed waits until a job's lease is over.
func (r *rig) lapsed(j *webhook.Job) {
	r.Helper()
	r.past(r.now().Add(j.LeaseFor))
}

// fails lets a delivery fail for certain.
func (r *rig) fails(id string) int64 {
	r.Helper()
	d := r.delivery(id)
	r.ends(outcome(r.job(), ledger.Permanent), ledger.Failed)
	return d
}

func (r *rig) person(id int64) webhook.Act {
	return webhook.Act{Project: r.project, ID: id, Who: "a person", Note: "on the phone"}
}

// deadDeliveries counts the dead letters of deliveries.
func (r *rig) deadDeliveries() int64 {
	r.Helper()
	return r.count("SELECT count(*) FROM messages WHERE queue = 2 AND dead_at IS NOT NULL")
}

// finishDeliveries steps a redrive while deliver answers what it sends, until its end.
func (r *rig) finishDeliveries(rd queue.Redrive, deliver func(j *webhook.Job)) queue.Redrive {
	r.Helper()
	r.eventually("the redrive's end", func() bool {
		_, _, err := r.StepRedrives(r.ctx, 100)
		r.ok(err)
		l := r.take(10)
		for i := range l {
			deliver(&l[i])
		}
		rd, err = r.Redrive(r.ctx, rd.Project, rd.ID)
		r.ok(err)
		return rd.State != queue.Running && len(l) == 0
	})
	want(r, "taken = moved + left", rd.Moved+rd.Left, rd.Total)
	return rd
}
