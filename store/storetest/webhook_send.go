package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

var sendTests = []named{
	{"an event is sent, delivered, and its message gone", sendDelivered},
	{"H-W10: the payload's bytes are kept", sendBytes},
	{"an event goes to those that subscribe to its type", sendTypes},
	{"an event's deliveries are in the order of their endpoints", sendOrder},
	{"an event without a subscriber is kept", sendNobody},
	{"an event stays with its tenant", sendTenants},
	{"named endpoints get it, subscribed or not", sendNamed},
	{"a named endpoint of another tenant or none is refused, nothing stored", sendNamedForeign},
	{"I4: the same event again gets the first answer", sendReplay},
	{"an event id with other content is refused", sendReused},
	{"an event id twice in one batch is one event", sendTwice},
	{"an event id sent by many at once is one event", sendRace},
	{"a request key is answered again, and looked at first", sendRequestKey},
	{"I1, I9, H-W01: an event is there with its deliveries after a restart", sendSurvives},
	{"I9: a batch with one bad event stores the others", sendBadItem},
	{"a disabled endpoint's deliveries are made, and wait", sendDisabled},
	{"a deleted endpoint gets nothing", sendDeleted},
	{"I13: an event id of two projects is two events", sendProjects},
	{"a waiter for deliveries is woken by an event", sendWakes},
}

func sendDelivered(r *rig) {
	e := r.endpoint()
	s := r.send(r.event("evt1", func(n *webhook.NewEvent) { n.Subject = "customer 7" }))
	want(r, "event id", s.EventID, "evt1")
	want(r, "deliveries", len(s.Deliveries), 1)
	want(r, "endpoint", s.Deliveries[0].EndpointID, e.ID)
	id := s.Deliveries[0].ID
	made := r.dlv(id)
	want(r, "state", made.State, webhook.Pending)
	want(r, "its first attempt is due when it was made", made.NextAttemptAt.Equal(made.CreatedAt), true)
	j := r.job()
	want(r, "delivery", j.DeliveryID, id)
	want(r, "event", j.EventID, "evt1")
	want(r, "type", j.EventType, "ticket.resolved")
	want(r, "attempt", j.Attempt, 1)
	want(r, "tries", j.Tries, 1)
	want(r, "cause", j.Cause, webhook.ByEvent)
	want(r, "policy", j.Policy, ledger.Idempotent)
	want(r, "ladder", len(j.Ladder), 2)
	want(r, "project", j.Project, 1)
	want(r, "url", j.Endpoint.URL, e.URL)
	want(r, "secret", string(j.Endpoint.Secrets[0].Sealed), "sealed")
	want(r, "lease", j.LeaseFor, e.Timeout+slack)
	want(r, "state", r.dlv(id).State, webhook.Sending)
	r.idle()
	o := outcome(j, ledger.Succeeded)
	o.Response = []byte("thanks")
	r.ends(o, ledger.Done)
	d := r.dlv(id)
	want(r, "state", d.State, webhook.Delivered)
	want(r, "subject", d.Subject, "customer 7")
	want(r, "delivered at", d.DeliveredAt.IsZero(), false)
	want(r, "attempts", len(d.Attempts), 1)
	a := d.Attempts[0]
	want(r, "attempt", a.Attempt, 1)
	want(r, "result", a.Result, webhook.WasDelivered)
	want(r, "class", a.Class, "")
	want(r, "status", a.StatusCode, 200)
	want(r, "response", string(a.ResponseStart), "thanks")
	want(r, "latency", a.Latency, 2*time.Millisecond)
	if a.FinishedAt.Before(a.StartedAt) {
		r.Errorf("the attempt ended %v before it began", a.StartedAt.Sub(a.FinishedAt))
	}
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
	r.idle()
}

func sendBytes(r *rig) {
	r.endpoint()
	payload := " {\"b\":1.0, \"a\" : 9007199254740993,\n\"x\":\"\\u00e9é\"}\t"
	r.send(r.event("evt1", func(n *webhook.NewEvent) { n.Payload = []byte(payload) }))
	want(r, "payload sent", string(r.job().Payload), payload)
	e, err := r.Event(r.ctx, 1, "evt1")
	r.ok(err)
	want(r, "payload kept", string(e.Payload), payload)
}

func sendTypes(r *rig) {
	all, exact, prefix := r.endpoint(), r.endpoint(types("ticket.resolved")), r.endpoint(types("other", "ticket.*"))
	r.endpoint(types("tickets.*", "ticket", "ticket.resolved.late"))
	got := map[int64]bool{}
	for _, d := range r.send(r.event("evt1")).Deliveries {
		got[d.EndpointID] = true
	}
	if len(got) != 3 || !got[all.ID] || !got[exact.ID] || !got[prefix.ID] {
		r.Errorf("it went to %v", got)
	}
}

// Neither where their rows lie nor what a planner knows of the table, other projects' endpoints included, shows in the order.
func sendOrder(r *rig) {
	var ids []int64
	for range 6 {
		e := r.endpoint()
		ids = append(ids, e.ID)
		for n := range 6 { // the page fills, and the next one's row finds the place of an old version
			_, err := r.UpdateEndpoint(r.ctx, 1, e.ID, func(_ time.Time, e *webhook.Endpoint) error {
				e.Description = strings.Repeat(itoa(int64(n)), 1024)
				return nil
			})
			r.ok(err)
		}
	}
	for _, known := range []bool{false, true} {
		if known {
			r.exec("ANALYZE endpoints")
		}
		s := r.send(r.event(fmt.Sprint("evt-", known)))
		want(r, "deliveries", len(s.Deliveries), len(ids))
		for i, d := range s.Deliveries {
			want(r, "endpoint", d.EndpointID, ids[i])
		}
	}
}

func sendNobody(r *rig) {
	s := r.send(r.event("evt1"))
	want(r, "deliveries", len(s.Deliveries), 0)
	e, err := r.Event(r.ctx, 1, "evt1")
	r.ok(err)
	want(r, "type", e.Type, "ticket.resolved")
	want(r, "replay", r.send(r.event("evt1")).Replay, true)
	_, err = r.Event(r.ctx, 1, "evt2")
	want(r, "not found", errors.Is(err, webhook.ErrNotFound), true)
}

func sendTenants(r *rig) {
	a, b, none := r.endpoint(tenant("a")), r.endpoint(tenant("b")), r.endpoint()
	for name, e := range map[string]webhook.Endpoint{"a": a, "b": b, "": none} {
		s := r.send(r.event("evt-"+name, func(n *webhook.NewEvent) { n.Tenant = name }))
		want(r, "deliveries of "+name, len(s.Deliveries), 1)
		want(r, "endpoint of "+name, s.Deliveries[0].EndpointID, e.ID)
		want(r, "tenant", r.dlv(s.Deliveries[0].ID).Tenant, name)
	}
}

func sendNamed(r *rig) {
	a := r.endpoint(types("nothing"))
	r.endpoint()
	s := r.send(r.event("evt1", func(n *webhook.NewEvent) { n.Endpoints = []int64{a.ID} }))
	want(r, "deliveries", len(s.Deliveries), 1)
	want(r, "endpoint", s.Deliveries[0].EndpointID, a.ID)
}

func sendNamedForeign(r *rig) {
	own, foreign := r.endpoint(), r.endpoint(tenant("a"))
	for what, id := range map[string]int64{"another tenant's": foreign.ID, "none": 1 << 40} {
		out := r.trySend(r.event("evt1", func(n *webhook.NewEvent) { n.Endpoints = []int64{own.ID, id} }))[0]
		want(r, what, fault.CodeOf(out.Err), fault.InvalidArgument)
	}
	want(r, "events", r.count("SELECT count(*) FROM events"), 0)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func sendReplay(r *rig) {
	r.endpoint()
	first := r.send(r.event("evt1"))
	r.endpoint() // later than the event: not its business
	again := r.send(r.event("evt1"))
	want(r, "replay", again.Replay, true)
	want(r, "first replays", first.Replay, false)
	want(r, "deliveries", len(again.Deliveries), 1)
	want(r, "delivery", again.Deliveries[0], first.Deliveries[0])
	want(r, "made at", again.CreatedAt.Equal(first.CreatedAt), true)
	r.ends(outcome(r.job(), ledger.Succeeded), ledger.Done)
	want(r, "replay after the end", r.send(r.event("evt1")).Replay, true)
	r.idle()
}

func sendReused(r *rig) {
	r.endpoint()
	r.send(r.event("evt1"))
	out := r.trySend(r.event("evt1", func(n *webhook.NewEvent) { n.Payload = []byte(`{}`) }))[0]
	want(r, "reused", errors.Is(out.Err, webhook.ErrEventIDReused), true)
	want(r, "deliveries", r.count("SELECT count(*) FROM deliveries"), 1)
}

func sendTwice(r *rig) {
	r.endpoint()
	out := r.trySend(r.event("evt1"), r.event("evt2"), r.event("evt1"), r.event("evt1", func(n *webhook.NewEvent) { n.Type = "other" }))
	r.ok(out[0].Err)
	r.ok(out[1].Err)
	r.ok(out[2].Err)
	want(r, "replay", out[2].Replay, true)
	want(r, "delivery", out[2].Deliveries[0], out[0].Deliveries[0])
	want(r, "reused", errors.Is(out[3].Err, webhook.ErrEventIDReused), true)
	want(r, "deliveries", len(r.take(10)), 2)
}

func sendRace(r *rig) {
	r.endpoint()
	var wg sync.WaitGroup
	var mu sync.Mutex
	got, first := map[int64]int{}, 0
	for range 12 {
		wg.Go(func() {
			out, err := r.Send(r.ctx, r.event("evt1"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil || out[0].Err != nil || len(out[0].Deliveries) != 1 {
				r.Errorf("send: %v %+v", err, out)
				return
			}
			got[out[0].Deliveries[0].ID]++
			if !out[0].Replay {
				first++
			}
		})
	}
	wg.Wait()
	want(r, "deliveries", len(got), 1)
	want(r, "not replays", first, 1)
}

func sendRequestKey(r *rig) {
	r.endpoint()
	// keyed is an event under a request key, whose id its client gave or the server made.
	keyed := func(key, id string, given bool, with ...func(*webhook.NewEvent)) webhook.NewEvent {
		n := r.event(id, append(with, func(n *webhook.NewEvent) { n.Payload = []byte(`1`) })...)
		if !given {
			id = ""
		}
		r.ok(n.SetKey(key, id))
		return n
	}
	other := func(n *webhook.NewEvent) { n.Type = "other" }
	first := r.send(keyed("k", "made", false))
	want(r, "the first replays", first.Replay, false)
	again := r.send(keyed("k", "made-anew", false)) // the id was made by the server: not part of the request
	want(r, "replay", again.Replay, true)
	want(r, "event", again.EventID, first.EventID)
	want(r, "made at", again.CreatedAt.Equal(first.CreatedAt), true)
	want(r, "delivery", again.Deliveries[0], first.Deliveries[0])
	for _, n := range []webhook.NewEvent{keyed("k", first.EventID, true), keyed("k", "made", false, other)} {
		want(r, "reused", fault.CodeOf(r.trySend(n)[0].Err), fault.IdempotencyKeyReused)
	}
	want(r, "events", r.count("SELECT count(*) FROM events"), 1)
	out := r.trySend(keyed("l", first.EventID, true, other))[0]
	want(r, "event reused", errors.Is(out.Err, webhook.ErrEventIDReused), true)
	out = r.trySend(keyed("l", "evt2", true, func(n *webhook.NewEvent) { n.Endpoints = []int64{1 << 40} }))[0]
	want(r, "refused", fault.CodeOf(out.Err), fault.InvalidArgument)
	want(r, "a key whose answer was no 2xx is free", r.send(keyed("l", "evt2", true)).Replay, false)
	want(r, "an event that is known, under a new key", r.send(keyed("m", "evt2", true)).Replay, true)
	want(r, "and that key again", r.send(keyed("m", "evt2", true)).EventID, "evt2")
	r.age("request_keys", "expires_at", "true", 25*time.Hour)
	late := r.send(keyed("k", "later", false, other))
	want(r, "a key whose window is over is free", late.Replay || late.EventID == first.EventID, false)
	want(r, "deliveries", r.count("SELECT count(*) FROM deliveries"), 3)
}

func sendSurvives(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	j := r.job()
	r.reopen()
	r.sweep()
	r.idle()
	want(r, "state", r.dlv(id).State, webhook.Sending)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
}

func sendBadItem(r *rig) {
	r.endpoint()
	out := r.trySend(r.event("evt1"), r.event("evt2", func(n *webhook.NewEvent) { n.Endpoints = []int64{1 << 40} }), r.event("evt3"))
	r.ok(out[0].Err)
	r.ok(out[2].Err)
	want(r, "refused", fault.CodeOf(out[1].Err), fault.InvalidArgument)
	want(r, "taken", len(r.take(10)), 2)
}

func sendDisabled(r *rig) {
	e := r.endpoint()
	r.update(e.ID, func(e *webhook.Endpoint) { e.Disabled, e.Reason = true, "holiday" })
	id := r.delivery("evt1")
	r.idle()
	want(r, "state", r.dlv(id).State, webhook.Pending)
	r.update(e.ID, func(e *webhook.Endpoint) { e.Disabled, e.Reason = false, "" })
	r.ends(outcome(r.job(), ledger.Succeeded), ledger.Done)
}

// update changes an endpoint.
func (r *rig) update(id int64, change func(*webhook.Endpoint)) webhook.Endpoint {
	r.Helper()
	e, err := r.UpdateEndpoint(r.ctx, r.project, id, func(_ time.Time, e *webhook.Endpoint) error { change(e); return nil })
	r.ok(err)
	return e
}

func sendDeleted(r *rig) {
	e := r.endpoint()
	r.ok(r.DeleteEndpoint(r.ctx, 1, e.ID))
	want(r, "deliveries", len(r.send(r.event("evt1")).Deliveries), 0)
	out := r.trySend(r.event("evt2", func(n *webhook.NewEvent) { n.Endpoints = []int64{e.ID} }))[0]
	want(r, "named", fault.CodeOf(out.Err), fault.InvalidArgument)
}

func sendProjects(r *rig) {
	r.endpoint()
	own := r.send(r.event("evt1"))
	r.project = 2
	r.endpoint()
	other := r.send(r.event("evt1", func(n *webhook.NewEvent) { n.Type = "other" }))
	want(r, "replay", other.Replay, false)
	want(r, "deliveries", len(other.Deliveries), 1)
	_, err := r.Delivery(r.ctx, 2, own.Deliveries[0].ID)
	want(r, "not found", errors.Is(err, webhook.ErrNotFound), true)
}

func sendWakes(r *rig) {
	r.endpoint()
	got := make(chan webhook.Job, 1)
	go func() {
		what := webhook.Take{Owner: "w", Max: 1, Slack: slack}
		for r.ctx.Err() == nil {
			t, err := r.TakeDeliveries(r.ctx, what)
			if err == nil && len(t.Jobs) == 0 {
				ctx, cancel := context.WithTimeout(r.ctx, 20*time.Second)
				t = r.WaitDeliveries(ctx, what)
				cancel()
			}
			if len(t.Jobs) == 1 {
				got <- t.Jobs[0]
				return
			}
		}
	}()
	id := r.delivery("evt1")
	select {
	case j := <-got:
		want(r, "delivery", j.DeliveryID, id)
		want(r, "payload", string(j.Payload), `{"id": "evt1"}`)
		r.ends(outcome(&j, ledger.Succeeded), ledger.Done)
	case <-time.After(10 * time.Second):
		r.Fatal("nobody was woken in 10 s")
	}
}
