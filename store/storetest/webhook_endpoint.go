package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var endpointTests = []named{
	{"an endpoint is kept as it was made", endpointKept},
	{"an update holds at once, and a refused one changes nothing", endpointUpdated},
	{"endpoints are listed newest first, by tenant, the deleted never", endpointsListed},
	{"I15: slots bound what is in flight", endpointSlots},
	{"I15: a take leaves an endpoint that has its share in flight", endpointEach},
	{"I15: more slots hold at once for what waits, and fewer too", endpointSlotsChanged},
	{"I15, H-W08: endpoints take turns, a slow one costs itself alone", endpointTurns},
	{"I15: endpoints take turns, however much waits for one", endpointBacklog},
	{"I15: a lease that is over is not revived past its endpoint's slots", endpointRevived},
	{"I15, H-W07: a disabled endpoint keeps what waits, listed, and sends it when enabled", endpointDisabled},
	{"disabled while sending: the one being sent is recorded", endpointDisabledSending},
	{"what a disabled endpoint has kept for 30 days fails, never just goes", endpointExpires},
	{"deleting an endpoint cancels what waits", endpointDeleted},
	{"deleting an endpoint finishes and records the one being sent", endpointDeletedSending},
	{"a delivery of a deleted endpoint is not sent again", endpointDeletedResend},
	{"policy, ladder and window are copied into a delivery when it is made", endpointCopied},
}

func endpointKept(r *rig) {
	in := webhook.Endpoint{
		Project: 1, Tenant: "acme", URL: "https://example.com/a?b=c", EventTypes: []string{"a", "b.*"}, Description: "the \"first\"",
		Headers: map[string]string{"X-A": "1"}, Secrets: []webhook.Secret{{Sealed: []byte{0, 1, 255}}, {Sealed: []byte{7}, ExpiresAt: r.now().Add(time.Hour).Truncate(time.Microsecond)}},
		Timeout: 7500 * time.Millisecond, Ladder: []time.Duration{30 * time.Second, 86400 * time.Second}, Retry4xx: false, Policy: ledger.Once,
		Window: 90 * time.Minute, MaxInFlight: 3, Rate: 2.5,
	}
	made, err := r.CreateEndpoint(r.ctx, in)
	r.ok(err)
	r.reopen()
	e, err := r.Endpoint(r.ctx, 1, made.ID)
	r.ok(err)
	want(r, "tenant", e.Tenant, in.Tenant)
	want(r, "url", e.URL, in.URL)
	want(r, "types", slices.Equal(e.EventTypes, in.EventTypes), true)
	want(r, "description", e.Description, in.Description)
	want(r, "header", e.Headers["X-A"], "1")
	want(r, "secrets", len(e.Secrets), 2)
	want(r, "secret", string(e.Secrets[0].Sealed), string(in.Secrets[0].Sealed))
	want(r, "first expires", e.Secrets[0].ExpiresAt.IsZero(), true)
	want(r, "second expires", e.Secrets[1].ExpiresAt.Equal(in.Secrets[1].ExpiresAt), true)
	want(r, "time-out", e.Timeout, in.Timeout)
	want(r, "ladder", slices.Equal(e.Ladder, in.Ladder), true)
	want(r, "retry 4xx", e.Retry4xx, false)
	want(r, "policy", e.Policy, ledger.Once)
	want(r, "window", e.Window, in.Window)
	want(r, "slots", e.MaxInFlight, 3)
	want(r, "rate", e.Rate, 2.5)
	want(r, "disabled", e.Disabled, false)
	want(r, "made at", e.CreatedAt.Equal(made.CreatedAt) && !e.CreatedAt.IsZero(), true)
	_, err = r.Endpoint(r.ctx, 2, made.ID)
	want(r, "of another project", errors.Is(err, webhook.ErrNotFound), true)
}

func endpointUpdated(r *rig) {
	e := r.endpoint()
	refusal := errors.New("no")
	_, err := r.UpdateEndpoint(r.ctx, 1, e.ID, func(_ time.Time, e *webhook.Endpoint) error { e.URL = "https://changed.example"; return refusal })
	want(r, "the change's own error", errors.Is(err, refusal), true)
	got, err := r.Endpoint(r.ctx, 1, e.ID)
	r.ok(err)
	want(r, "url", got.URL, e.URL)
	var at time.Time
	got, err = r.UpdateEndpoint(r.ctx, 1, e.ID, func(now time.Time, e *webhook.Endpoint) error {
		at, e.URL, e.Description = now, "https://changed.example", "new"
		return nil
	})
	r.ok(err)
	want(r, "url", got.URL, "https://changed.example")
	want(r, "id", got.ID, e.ID)
	if d := r.now().Sub(at).Abs(); d > time.Minute {
		r.Errorf("the change was told a time %v off", d)
	}
	want(r, "updated at", got.UpdatedAt.Before(e.UpdatedAt), false)
	_, err = r.UpdateEndpoint(r.ctx, 1, 1<<40, func(time.Time, *webhook.Endpoint) error { return nil })
	want(r, "not found", errors.Is(err, webhook.ErrNotFound), true)
	_, err = r.UpdateEndpoint(r.ctx, 2, e.ID, func(time.Time, *webhook.Endpoint) error { return nil })
	want(r, "of another project", errors.Is(err, webhook.ErrNotFound), true)
}

func endpointsListed(r *rig) {
	a, b, c, none := r.endpoint(tenant("a")), r.endpoint(tenant("a")), r.endpoint(tenant("b")), r.endpoint()
	r.ok(r.DeleteEndpoint(r.ctx, 1, b.ID))
	list := func(f webhook.Filter) (ids []int64) {
		f.Project, f.Limit = 1, 2
		for {
			l, err := r.Endpoints(r.ctx, f)
			r.ok(err)
			for _, e := range l {
				ids, f.After = append(ids, e.ID), e.ID
			}
			if len(l) < 2 {
				return ids
			}
		}
	}
	if got := list(webhook.Filter{}); !slices.Equal(got, []int64{none.ID, c.ID, a.ID}) {
		r.Errorf("listed %v", got)
	}
	if got := list(webhook.Filter{Tenant: "a"}); !slices.Equal(got, []int64{a.ID}) {
		r.Errorf("listed of tenant a %v", got)
	}
	want(r, "deleted again", errors.Is(r.DeleteEndpoint(r.ctx, 1, b.ID), webhook.ErrNotFound), true)
	want(r, "deleted by another project", errors.Is(r.DeleteEndpoint(r.ctx, 2, a.ID), webhook.ErrNotFound), true)
}

func (r *rig) sendMany(n int) {
	r.Helper()
	var l []webhook.NewEvent
	for range n {
		l = append(l, r.event("evt"+itoa(grantIDs.Add(1))))
	}
	for _, s := range r.trySend(l...) {
		r.ok(s.Err)
	}
}

func endpointSlots(r *rig) {
	r.endpoint(slots(2))
	r.sendMany(5)
	l := r.take(10)
	want(r, "taken", len(l), 2)
	r.idle()
	r.ends(outcome(&l[0], ledger.Succeeded), ledger.Done)
	want(r, "taken when one is free", len(r.take(10)), 1)
	o := outcome(&l[1], ledger.Definite)
	o.RetryIn = time.Hour
	r.ends(o, ledger.Retry)
	want(r, "taken when one waits", len(r.take(10)), 1)
}

func endpointEach(r *rig) {
	a, b := r.endpoint(slots(5), types("a")), r.endpoint(slots(5), types("b"))
	of := func(typ string) {
		r.send(r.event("evt"+itoa(grantIDs.Add(1)), func(n *webhook.NewEvent) { n.Type = typ }))
	}
	take := func(each int) map[int64]int {
		t, err := r.TakeDeliveries(r.ctx, webhook.Take{Owner: "worker", Max: 10, Each: each, Slack: time.Minute})
		r.ok(err)
		got := map[int64]int{}
		for _, j := range t.Jobs {
			got[j.Endpoint.ID]++
		}
		return got
	}
	for range 8 {
		of("a")
	}
	want(r, "of a, at most 2", take(2)[a.ID], 2)
	of("b")
	got := take(2)
	want(r, "of a, which has 2", got[a.ID], 0)
	want(r, "of b, which has none", got[b.ID], 1)
	want(r, "of a, at most 3", take(3)[a.ID], 1)
	want(r, "of a, its own slots", take(0)[a.ID], 2)
	want(r, "of a, its own slots are fewer", take(100)[a.ID], 0)
}

func endpointSlotsChanged(r *rig) {
	e := r.endpoint(slots(1))
	r.sendMany(6)
	l := r.take(10)
	want(r, "taken", len(l), 1)
	r.update(e.ID, func(e *webhook.Endpoint) { e.MaxInFlight = 4 })
	l = append(l, r.take(10)...)
	want(r, "taken with four slots", len(l), 4)
	r.update(e.ID, func(e *webhook.Endpoint) { e.MaxInFlight = 2 })
	for i := range 2 {
		r.ends(outcome(&l[i], ledger.Succeeded), ledger.Done)
		r.idle()
	}
	r.ends(outcome(&l[2], ledger.Succeeded), ledger.Done)
	want(r, "taken below two slots", len(r.take(10)), 1)
}

func endpointTurns(r *rig) {
	slow := r.endpoint(types("slow"), slots(2))
	for range 30 {
		r.send(r.event("evt"+itoa(grantIDs.Add(1)), func(n *webhook.NewEvent) { n.Type = "slow" }))
	}
	quick := r.endpoint(types("quick"))
	for range 3 {
		r.send(r.event("evt"+itoa(grantIDs.Add(1)), func(n *webhook.NewEvent) { n.Type = "quick" }))
	}
	got := map[int64]int{}
	for range 3 {
		for _, j := range r.take(4) {
			got[j.Endpoint.ID]++
		}
	}
	want(r, "of the slow", got[slow.ID], 2)
	want(r, "of the quick", got[quick.ID], 3)
}

func endpointBacklog(r *rig) {
	r.endpoint(types("much"), slots(100))
	few := r.endpoint(types("few"), slots(100))
	of := func(typ string) {
		r.send(r.event("evt"+itoa(grantIDs.Add(1)), func(n *webhook.NewEvent) { n.Type = typ }))
	}
	for range 12 {
		of("much")
	}
	of("few")
	got := 0
	for range 2 {
		for _, j := range r.take(4) {
			if j.Endpoint.ID == few.ID {
				got++
			}
		}
	}
	want(r, "of the few, in two takes", got, 1)
}

func endpointRevived(r *rig) {
	r.endpoint(slots(1))
	r.delivery("evt1")
	j := r.job()
	r.delivery("evt2")
	r.age("messages", "vis", "id = "+itoa(j.MessageID), time.Minute) // its lease alone is over; its claim is held
	var other *webhook.Job
	r.eventually("the slot is another's", func() bool {
		r.sweep()
		if l := r.take(10); len(l) == 1 {
			other = &l[0]
		}
		return other != nil
	})
	want(r, "the heartbeat", r.beginJob(j), ledger.Applied{State: ledger.Started, Reason: queue.LeaseLost})
	r.ends(outcome(other, ledger.Succeeded), ledger.Done)
	want(r, "the heartbeat when a slot is free", r.beginJob(j).Applied, true)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
}

func endpointDisabled(r *rig) {
	e := r.endpoint()
	r.sendMany(3)
	r.update(e.ID, func(e *webhook.Endpoint) { e.Disabled = true })
	r.sendMany(1)
	r.idle()
	r.sweep()
	r.idle()
	l, _, err := r.Deliveries(r.ctx, webhook.Filter{Project: 1, State: webhook.Pending, Page: queue.Page{Limit: 10}})
	r.ok(err)
	want(r, "listed", len(l), 4)
	r.update(e.ID, func(e *webhook.Endpoint) { e.Disabled = false })
	want(r, "taken when enabled", len(r.take(10)), 4)
}

func endpointDisabledSending(r *rig) {
	e := r.endpoint()
	id := r.delivery("evt1")
	j := r.job()
	r.update(e.ID, func(e *webhook.Endpoint) { e.Disabled = true })
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
}

func endpointExpires(r *rig) {
	e := r.endpoint()
	unknown := r.delivery("evt1")
	o := outcome(r.job(), ledger.Ambiguous)
	o.RetryIn = time.Hour
	r.ends(o, ledger.Retry)
	certain := r.delivery("evt2")
	r.update(e.ID, func(e *webhook.Endpoint) { e.Disabled = true })
	r.age("messages", "expires_at", "true", 31*24*time.Hour)
	r.age("messages", "vis", "true", 31*24*time.Hour)
	r.age("messages", "received_at", "received_at IS NOT NULL", 31*24*time.Hour)
	r.sweep()
	want(r, "after an unknown outcome", r.dlv(unknown).State, webhook.Stuck)
	want(r, "never tried", r.dlv(certain).State, webhook.Failed)
	r.update(e.ID, func(e *webhook.Endpoint) { e.Disabled = false })
	r.idle()
}

func endpointDeleted(r *rig) {
	e := r.endpoint()
	pending := r.delivery("evt1")
	o := outcome(r.job(), ledger.Definite)
	o.RetryIn = time.Hour
	r.ends(o, ledger.Retry)
	retrying := pending
	pending = r.delivery("evt2")
	r.sendMany(30)
	r.ok(r.DeleteEndpoint(r.ctx, 1, e.ID))
	r.idle()
	for {
		n, err := r.Sweep(r.ctx, 5)
		r.ok(err)
		if n == 0 {
			break
		}
	}
	for _, id := range []int64{pending, retrying} {
		want(r, "state", r.dlv(id).State, webhook.Cancelled)
	}
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
	want(r, "open claims", r.count("SELECT count(*) FROM claims WHERE state NOT IN ('done', 'failed', 'stuck')"), 0)
	_, err := r.Endpoint(r.ctx, 1, e.ID)
	want(r, "not found", errors.Is(err, webhook.ErrNotFound), true)
}

func endpointDeletedSending(r *rig) {
	e := r.endpoint()
	id, refused := r.delivery("evt1"), r.delivery("evt2")
	l := r.take(2)
	r.ok(r.DeleteEndpoint(r.ctx, 1, e.ID))
	r.sweep()
	want(r, "state", r.dlv(id).State, webhook.Sending)
	r.ends(outcome(&l[0], ledger.Succeeded), ledger.Done)
	out, err := r.SettleDeliveries(r.ctx, outcome(&l[1], ledger.Definite))
	r.ok(err)
	want(r, "recorded", out[0].Applied, true)
	r.sweep()
	r.idle()
	want(r, "delivered", r.dlv(id).State, webhook.Delivered)
	want(r, "refused", r.dlv(refused).State, webhook.Cancelled)
	want(r, "attempts", len(r.dlv(refused).Attempts), 1)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func endpointDeletedResend(r *rig) {
	e := r.endpoint()
	id := r.delivery("evt1")
	r.ends(outcome(r.job(), ledger.Succeeded), ledger.Done)
	r.ok(r.DeleteEndpoint(r.ctx, 1, e.ID))
	_, err := r.Resend(r.ctx, r.person(id), false)
	want(r, "conflict", errors.Is(err, webhook.ErrConflict), true)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
}

func endpointCopied(r *rig) {
	e := r.endpoint()
	r.delivery("evt1")
	r.update(e.ID, func(e *webhook.Endpoint) {
		e.Policy, e.Ladder, e.Window, e.URL = ledger.Once, []time.Duration{time.Hour}, time.Hour, "https://elsewhere.example"
	})
	j := r.job()
	want(r, "policy", j.Policy, ledger.Idempotent)
	want(r, "ladder", slices.Equal(j.Ladder, e.Ladder), true)
	want(r, "url", j.Endpoint.URL, "https://elsewhere.example")
	r.delivery("evt2")
	j = r.job()
	want(r, "policy of a later one", j.Policy, ledger.Once)
	want(r, "ladder of a later one", len(j.Ladder), 1)
}
