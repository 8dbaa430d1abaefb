package simulation

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
)

// neighbours is another project on the same server, with a queue of the same name and keys of the same names, and perhaps a credit limit.
type neighbours struct {
	key    string
	limit  int  // of messages that its credit pays; 0: none
	over   bool // a publish was refused since that is used up
	stored []string
	open   map[string]bool // what is in its queue
	keys   map[string]theirKey
}

type theirKey struct {
	name, id string
	until    time.Time
}

const theirWindow = 10 * time.Minute

func (w *world) buildNeighbours() {
	n := &neighbours{open: map[string]bool{}, keys: map[string]theirKey{}}
	project := fields{"name": "neighbours"}
	if w.price > 0 && w.chance(2) {
		n.limit = 1 + w.dice.IntN(8)
		project["credit_limit_usd"] = math.Round((float64(n.limit)*w.price+w.price/2)*1e9) / 1e9
	}
	var p struct {
		ID string `json:"project_id"`
	}
	w.must("POST", "projects", project, &p)
	var k struct{ Key string }
	w.must("POST", "keys", fields{"project_id": p.ID, "scopes": []string{"admin"}}, &k)
	n.key, w.theirs = k.Key, n
	a := w.callBy(n.key, false, "POST", "queue/create", fields{"name": "jobs", "dedup_window_seconds": seconds(theirWindow), "visibility_timeout_default": 30})
	if a.status != 200 {
		w.fail("a queue of the neighbours: %d %s", a.status, a.code)
	}
}

// neighbour does one thing in the other project, and tries what is of the first.
func (w *world) neighbour() {
	if w.process == nil {
		return
	}
	switch w.dice.IntN(4) {
	case 0:
		w.trespass()
	case 1:
		w.theirConsume()
	default:
		w.theirPublish()
	}
}

// theirPublish publishes under a key that the first project may have used too: that is another key. What their credit does not pay is not stored, and its key is free.
func (w *world) theirPublish() {
	n, key := w.theirs, string(rune('k'+w.dice.IntN(6)))
	first, known := n.keys[key]
	known = known && w.now().Before(first.until)
	name := w.name("n")
	if known {
		name = first.name
	}
	a := w.callBy(n.key, false, "POST", "queue/publish", fields{"queue": "jobs", "payload": fields{"name": name}, "idempotency_key": key})
	var got seen
	w.read(a, &got)
	w.say("the neighbours publish %s under %s: %d %s replay=%v", name, key, a.status, a.code, a.replay)
	switch {
	case known:
		if a.status != 200 || !a.replay || got.ID != first.id {
			w.fail("the neighbours' %s again under %s is answered %d %s, replay %v, id %s; it was %s", name, key, a.status, a.code, a.replay, got.ID, first.id)
		}
	case n.limit > 0 && len(n.stored) == n.limit:
		if a.status != 402 || a.code != "INSUFFICIENT_CREDIT" {
			w.fail("the neighbours' credit pays %d messages, and number %d is answered %d %s", n.limit, n.limit+1, a.status, a.code)
		}
		n.over = true
	case a.status != 200 || a.replay:
		w.fail("the neighbours' %s is answered %d %s, replay %v", name, a.status, a.code, a.replay)
	default:
		n.stored, n.open[name] = append(n.stored, name), true
		n.keys[key] = theirKey{name, got.ID, w.now().Add(theirWindow)}
	}
	w.paid(n.key, "the neighbours", len(n.stored))
}

// paid sees that a project has paid for each message that it stored, and for nothing else.
func (w *world) paid(key, who string, messages int) {
	var b struct {
		Spent float64 `json:"spent_usd"`
	}
	a := w.callBy(key, false, "GET", "account/balance", nil)
	w.read(a, &b)
	if want := float64(messages) * w.price; a.status != 200 || math.Abs(b.Spent-want) > 1e-9 {
		w.fail("the balance of %s is answered %d: %v spent on %d messages; it is %v", who, a.status, b.Spent, messages, want)
	}
}

// theirConsume receives what is theirs, and acks it.
func (w *world) theirConsume() {
	n := w.theirs
	var got page[seen]
	a := w.callBy(n.key, false, "POST", "queue/consume", fields{"queue": "jobs", "max_messages": 100})
	if w.read(a, &got); a.status != 200 {
		w.fail("the neighbours' consume: %d %s", a.status, a.code)
	}
	for _, s := range got.Items {
		if !n.open[s.name()] {
			w.fail("the neighbours receive %s, which is not in their queue", s.Payload)
			return
		}
		a := w.callBy(n.key, false, "POST", "queue/ack", fields{"queue": "jobs", "receipt_handle": s.Receipt})
		if a.status != 200 {
			w.fail("the neighbours' ack of %s: %d %s", s.name(), a.status, a.code)
		}
		delete(n.open, s.name())
	}
	w.say("the neighbours receive %d", len(got.Items))
	if len(n.open) > 0 {
		w.fail("the neighbours have %d messages, and a consume of 100 gives %d", len(n.open)+len(got.Items), len(got.Items))
	}
}

// trespass lists what is theirs, which must name nothing of the first project, and calls by ids of that: there is no such thing.
func (w *world) trespass() {
	n := w.theirs
	for _, path := range []string{"queue/messages/jobs", "queue/dlq/list/jobs", "webhooks/events", "webhooks/deliveries", "webhooks/endpoints", "ledger/claims?state=done"} {
		a, theirs := w.callBy(n.key, false, "GET", path, nil), 0
		if path == "queue/messages/jobs" {
			theirs = len(n.open)
		}
		var got page[json.RawMessage]
		w.read(a, &got)
		strange := slices.ContainsFunc(got.Items, func(m json.RawMessage) bool {
			var s seen
			return json.Unmarshal(m, &s) != nil || !n.open[s.name()]
		})
		if a.status != 200 || len(got.Items) != theirs || strange {
			w.fail("the neighbours have %d of %s, and are answered %d %s", theirs, path, a.status, got.Items)
		}
	}
	try := func(method, path string, body any) {
		if a := w.callBy(n.key, false, method, path, body); a.status != 404 && a.code != "RECEIPT_INVALID" {
			w.fail("the neighbours call %s %s %v and are answered %d %s", method, path, body, a.status, a.code)
		}
	}
	q := w.queues[0]
	if i := slices.IndexFunc(q.messages, func(m *message) bool { return m.id != "" && !m.gone }); i >= 0 {
		try("POST", "queue/ack", fields{"queue": q.name, "message_id": q.messages[i].id})
		try("POST", "queue/nack", fields{"queue": q.name, "message_id": q.messages[i].id, "requeue": false})
	}
	if i := slices.IndexFunc(q.messages, func(m *message) bool { return m.receipt != "" && !m.gone }); i >= 0 {
		try("POST", "queue/ack", fields{"queue": q.name, "receipt_handle": q.messages[i].receipt})
	}
	if len(w.sent) > 0 {
		for _, d := range w.sent[w.dice.IntN(len(w.sent))].deliveries {
			if d.id != "" && d.host == w.hosts[0] {
				try("GET", "webhooks/deliveries/"+d.id, nil)
				try("POST", "webhooks/deliveries/"+d.id+"/cancel", fields{})
			}
		}
	}
	try("POST", "webhooks/endpoints/"+w.hosts[0].endpoint+"/disable", nil)
	try("GET", "queue/stats/rows", nil)
	w.say("the neighbours look around")
}

// settleNeighbours sees that their credit comes to its end, what they have, and what each has paid; and that the first project's keys are nothing to them.
func (w *world) settleNeighbours() {
	for n := w.theirs; n.limit > 0 && !n.over && !w.failed(); {
		w.theirPublish()
		w.wait(theirWindow/4 + time.Second) // some keys are free again
	}
	if w.failed() {
		return
	}
	w.theirConsume()
	w.trespass()
	for _, name := range slices.Sorted(maps.Keys(w.works)) {
		var v verdict
		w.read(w.callBy(w.theirs.key, false, "POST", "ledger/claim", fields{"scope": "sim", "key": name}), &v)
		if v.Verdict != "granted" || v.Fence != 1 {
			w.fail("the neighbours claim %s, which is another's of that name, and are answered %+v", name, v)
		}
	}
	var u page[struct{ Messages int }]
	a := w.callBy(w.theirs.key, false, "GET", "account/usage", nil)
	w.read(a, &u)
	sum := 0
	for _, d := range u.Items {
		sum += d.Messages
	}
	if want := len(w.theirs.stored); a.status != 200 || w.price > 0 && sum != want {
		w.fail("the neighbours have published %d, and their account is answered %d, with %d on it", want, a.status, sum)
	}
	ours := len(w.tasks.all) + len(w.pushes.sent)
	for _, q := range w.queues {
		ours += len(q.messages)
	}
	w.paid(apiKey, "the first project", ours)
	w.say("the neighbours have published %d", len(w.theirs.stored))
}
