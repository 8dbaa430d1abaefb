package wire

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

func checkEvents(t *testing.T, s *server) {
	r := receive(t)
	all := s.endpoint(t, r.url, object{"tenant": "ev"})
	some := s.endpoint(t, r.url, object{"tenant": "ev", "event_types": []string{"ticket.*", "exact"}})
	s.endpoint(t, r.url, object{"tenant": "ev-other"})
	off := s.endpoint(t, r.url, object{"tenant": "ev", "event_types": []string{"off"}})
	for _, c := range []struct {
		kind string
		want []object
	}{
		{"ticket.solved", []object{all, some}},
		{"ticket.a.b", []object{all, some}},
		{"ticket", []object{all}},
		{"ticketx.y", []object{all}},
		{"exact", []object{all, some}},
		{"exact.not", []object{all}},
		{"off", []object{all, off}},
	} {
		d := s.event(t, object{"event_type": c.kind, "payload": c.kind, "tenant": "ev"})
		fields(t, "an event's answer", d, "event_id deliveries")
		var got, want []string
		for _, x := range d["deliveries"].([]any) {
			fields(t, "a delivery of it", x.(object), "delivery_id endpoint_id state")
			is(t, "a delivery of it", x.(object), object{"state": "pending"})
			got = append(got, text(x.(object)["endpoint_id"]))
		}
		for _, e := range c.want {
			want = append(want, text(e["endpoint_id"]))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s goes to %v, want %v", c.kind, got, want)
		}
	}
	// Nobody subscribes: an empty list, the event kept.
	a := s.post(t, events, `{"event_id":"ev-none","event_type":"x.y","payload":{"b": 1.0, "a":[ ]},"tenant":"ev-nobody","subject":"who"}`)
	is(t, "no subscriber", a.ok(t), object{"event_id": "ev-none", "deliveries": []any{}})
	one := s.call(t, "GET", events+"/ev-none", nil)
	fields(t, "an event", one.ok(t), "event_id event_type tenant subject created_at payload deliveries")
	is(t, "an event", one.ok(t), object{"event_id": "ev-none", "event_type": "x.y", "tenant": "ev-nobody", "subject": "who", "deliveries": []any{}})
	if !strings.Contains(one.raw, `"payload":{"b": 1.0, "a":[ ]}`) {
		t.Errorf("the payload's bytes are not those that came: %s", clip(one.raw))
	}
	list := items(t, s.do(t, "GET", events+"?tenant=ev-nobody", nil))
	if len(list) != 1 {
		t.Fatalf("the list has %d events", len(list))
	}
	fields(t, "a listed event", list[0], "event_id event_type tenant subject created_at")
	stamp(t, list[0], "created_at")
	for _, c := range []struct {
		body  object
		field string
	}{
		{object{"event_id": ""}, "/event_id"},
		{object{"event_id": strings.Repeat("e", 256)}, "/event_id"},
		{object{"event_id": "a.b"}, "/event_id"},
		{object{"event_id": "a b"}, "/event_id"},
		{object{"event_type": nil}, "/event_type"},
		{object{"event_type": ""}, "/event_type"},
		{object{"tenant": "a/b"}, "/tenant"},
		{object{"tenant": ""}, "/tenant"},
		{object{"endpoint_ids": []string{}}, "/endpoint_ids"},
		{object{"endpoint_ids": "x"}, "/endpoint_ids"},
		{object{"colour": 1}, "/colour"},
	} {
		s.post(t, events, with(object{"event_type": "x", "payload": 1}, c.body)).refused(t, 400, "INVALID_ARGUMENT", c.field)
	}
	s.post(t, events, object{"event_type": "x"}).refused(t, 400, "INVALID_ARGUMENT", "/payload")
	s.event(t, object{"event_type": "x", "payload": nil, "tenant": "ev-nobody", "event_id": strings.Repeat("e", 255)})
	s.post(t, events, `{"tenant":"ev-nobody","event_type":"x","payload":"`+strings.Repeat("x", 1<<20-2)+`"}`).ok(t)
	s.post(t, events, `{"tenant":"ev-nobody","event_type":"x","payload":"`+strings.Repeat("x", 1<<20-1)+`"}`).refused(t, 413, "PAYLOAD_TOO_LARGE")
}

func checkEventIDs(t *testing.T, s *server) {
	r := receive(t)
	e1 := s.endpoint(t, r.url, object{"tenant": "eid"})
	e2 := s.endpoint(t, r.url, object{"tenant": "eid", "event_types": []string{"never"}})
	ids := []any{e1["endpoint_id"], e2["endpoint_id"]}
	body := object{"event_id": "eid-1", "event_type": "a", "payload": object{"x": 1, "y": 2}, "tenant": "eid", "subject": "s", "endpoint_ids": ids}
	first := s.post(t, events, body)
	if first.replayed(t) {
		t.Error("the first is a replay")
	}
	for what, raw := range map[string]any{
		"the same":               body,
		"another writing":        `{"tenant":"eid","event_id":"eid-1","event_type":"a","subject":"s","payload":{ "y":2.0,"x":1e0},"endpoint_ids":["` + text(ids[1]) + `","` + text(ids[0]) + `","` + text(ids[1]) + `"]}`,
		"with a key of its own":  with(object{"idempotency_key": "eid-new-key"}, body),
		"with that key repeated": with(object{"idempotency_key": "eid-new-key"}, body),
	} {
		again := s.post(t, events, raw)
		if again.status != 200 || !again.replayed(t) {
			t.Errorf("%s: no replay: %s", what, clip(again.raw))
			continue
		}
		is(t, what, again.ok(t), first.ok(t))
	}
	for _, other := range []object{{"event_type": "b"}, {"subject": "t"}, {"subject": nil}, {"payload": object{"x": 1}}, {"endpoint_ids": []any{ids[0]}}, {"endpoint_ids": nil}} {
		s.post(t, events, with(with(object{}, body), other)).refused(t, 409, "EVENT_ID_REUSED")
	}
	s.post(t, events, object{"event_id": "eid-1", "event_type": "a", "payload": object{"x": 1, "y": 2}, "tenant": "eid2", "subject": "s"}).refused(t, 409, "EVENT_ID_REUSED")
	// The Idempotency-Key is looked at first.
	keyed := object{"event_id": "eid-2", "event_type": "a", "payload": 1, "tenant": "eid-none"}
	if s.post(t, events, keyed, "Idempotency-Key", "eid-key").replayed(t) {
		t.Error("the first is a replay")
	}
	if !s.post(t, events, keyed, "Idempotency-Key", "eid-key").replayed(t) {
		t.Error("the second is no replay")
	}
	s.post(t, events, with(with(object{}, body), object{"event_type": "z"}), "Idempotency-Key", "eid-key").refused(t, 409, "IDEMPOTENCY_KEY_REUSED")
	// An event_id made counts as absent.
	absent := object{"event_type": "a", "payload": 1, "tenant": "eid-none"}
	a := s.post(t, events, absent, "Idempotency-Key", "eid-absent")
	b := s.post(t, events, absent, "Idempotency-Key", "eid-absent")
	if a.replayed(t) || !b.replayed(t) || a.ok(t)["event_id"] != b.ok(t)["event_id"] {
		t.Error("an event without an id under a key is not one event")
	}
	s.post(t, events, with(with(object{}, absent), object{"event_id": "eid-3"}), "Idempotency-Key", "eid-absent").refused(t, 409, "IDEMPOTENCY_KEY_REUSED")
	// The refused left nothing.
	s.call(t, "GET", events+"/eid-3", nil).refused(t, 404, "NOT_FOUND")
	// At once: one event.
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen, fresh := map[string]int{}, 0
	for range 10 {
		wg.Go(func() {
			a := s.post(t, events, object{"event_id": "eid-storm", "event_type": "a", "payload": 1, "tenant": "eid"})
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprint(a.ok(t))]++
			if !a.replayed(t) {
				fresh++
			}
		})
	}
	if wg.Wait(); len(seen) != 1 || fresh != 1 {
		t.Errorf("one event_id at once has %d answers, %d of them fresh: %v", len(seen), fresh, seen)
	}
}

func checkEndpointIDs(t *testing.T, s *server) {
	r := receive(t)
	mine := s.endpoint(t, r.url, object{"tenant": "eps", "event_types": []string{"never"}})["endpoint_id"]
	sibling := s.endpoint(t, r.url, object{"tenant": "eps"})["endpoint_id"]
	foreign := s.endpoint(t, r.url, object{"tenant": "eps2"})["endpoint_id"]
	none := s.endpoint(t, r.url, object{"event_types": []string{"eps.none"}})["endpoint_id"]
	send := func(tenant any, ids ...any) answer {
		return s.post(t, events, object{"event_type": "eps.x", "payload": 1, "tenant": tenant, "endpoint_ids": ids})
	}
	// Those named, subscribed or not, and nobody else.
	d := send("eps", mine, mine).ok(t)["deliveries"].([]any)
	if len(d) != 1 || d[0].(object)["endpoint_id"] != mine {
		t.Errorf("endpoint_ids goes to %v", d)
	}
	send("eps", sibling, foreign).refused(t, 400, "INVALID_ARGUMENT")
	send("eps", none).refused(t, 400, "INVALID_ARGUMENT")
	send(nil, mine).refused(t, 400, "INVALID_ARGUMENT")
	if d := send(nil, none).ok(t)["deliveries"].([]any); len(d) != 1 {
		t.Errorf("without a tenant: %v", d)
	}
	for _, e := range items(t, s.do(t, "GET", events+"?event_type=eps.x&tenant=eps", nil)) {
		for _, d := range s.do(t, "GET", events+"/"+text(e["event_id"]), nil)["deliveries"].([]any) {
			if d.(object)["endpoint_id"] != mine {
				t.Errorf("a refused event made %v", d)
			}
		}
	}
	a := send("eps", "ep_000000000000000000000000")
	if a.status != 400 && a.status != 404 {
		t.Errorf("an endpoint that is not there: %d %s", a.status, clip(a.raw))
	}
	// Without a tenant: only to those without one.
	d = s.event(t, object{"event_type": "eps.none", "payload": 1})["deliveries"].([]any)
	for _, x := range d {
		e := s.do(t, "GET", endpoints+"/"+text(x.(object)["endpoint_id"]), nil)
		is(t, "a receiver of an event without a tenant", e, object{"tenant": nil})
	}
	if !slices.ContainsFunc(d, func(x any) bool { return x.(object)["endpoint_id"] == none }) {
		t.Errorf("the one without a tenant did not get it: %v", d)
	}
}
