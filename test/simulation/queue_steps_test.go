package simulation

import (
	"encoding/json"
	"fmt"
	"time"
)

// buildQueues makes the queues.
func (w *world) buildQueues() {
	for _, q := range []*queueModel{{name: "jobs"}, {name: "rows", fifo: true}, {name: "facts", content: true}} {
		q.visibility = time.Duration(2+w.dice.IntN(60)) * time.Second
		q.most, q.retention, q.window = 1+w.dice.IntN(4), time.Duration(1+w.dice.IntN(2))*24*time.Hour, time.Duration(60+w.dice.IntN(240))*time.Second
		q.keys = map[string]*publishKey{}
		kind := "standard"
		if q.fifo {
			kind = "fifo"
		}
		w.must("POST", "queue/create", fields{
			"name": q.name, "type": kind, "max_receive_count": q.most, "visibility_timeout_default": seconds(q.visibility),
			"message_retention_days": q.retention.Hours() / 24, "dedup_window_seconds": seconds(q.window), "content_dedup": q.content,
		}, nil)
		q.kept = time.Duration(1+w.dice.IntN(3)) * 24 * time.Hour
		w.must("POST", "queue/update/"+q.name+"-dlq", fields{"message_retention_days": q.kept.Hours() / 24}, nil)
		w.queues = append(w.queues, q)
	}
}

// publish publishes something, perhaps under a key that was used before, and perhaps hears no answer.
func (w *world) publish(q *queueModel) {
	m := w.draw(q)
	key := ""
	if w.chance(2) {
		key = string(rune('k' + w.dice.IntN(6)))
	}
	w.publishAs(q, m, key)
	if key != "" && w.chance(2) { // and again, as who heard no answer does
		w.after(time.Duration(w.dice.IntN(300))*time.Second, func() { w.publishAs(q, m, key) })
	}
}

// draw makes a message to be published.
func (w *world) draw(q *queueModel) *message {
	m := &message{queue: q, name: w.name("m")}
	if q.fifo {
		m.group = string(rune('a' + w.dice.IntN(4)))
	} else {
		m.priority = w.dice.IntN(10) * w.dice.IntN(2)
	}
	if w.chance(4) {
		m.delay = time.Duration(w.dice.IntN(90)) * time.Second
	}
	return m
}

// body is what a publish of the message says, beside its queue and key.
func (m *message) body() fields {
	b := fields{"payload": fields{"name": m.name, "size": 1}, "delay_seconds": seconds(m.delay)}
	if m.queue.fifo {
		b["message_group_id"] = m.group
	} else {
		b["priority"] = m.priority
	}
	return b
}

// stored notes that the message was stored.
func (w *world) stored(m *message, id, key string) {
	q := m.queue
	q.places++
	m.order, m.place = q.places, q.places
	m.id, m.visible = id, w.now().Add(m.delay)
	m.expires = m.visible.Add(q.retention)
	q.messages = append(q.messages, m)
	if key != "" {
		q.keys[key] = &publishKey{m, w.now().Add(q.window)}
	}
}

// publishAs publishes m as it is under the key, whatever was published under it before.
func (w *world) publishAs(q *queueModel, m *message, key string) {
	if w.process == nil {
		return
	}
	if q.content {
		key = "of " + m.name
	}
	if k := q.keys[key]; m.order > 0 && (k == nil || k.m != m || !w.now().Before(k.until)) {
		m = &message{queue: q, name: w.name("m"), group: m.group, priority: m.priority, delay: m.delay} // its window is over: it would be another
	}
	body := m.body()
	body["queue"] = q.name
	if q.content {
		key = "of " + m.name
		if m.order > 0 { // again, in other words: the payload is the key, however it is written
			body["payload"] = json.RawMessage(fmt.Sprintf(`{"size": 1e0, "n\u0061me": %q}`, m.name))
		}
	}
	var first *publishKey
	if key != "" {
		if !q.content {
			body["idempotency_key"] = key
		}
		if first = q.keys[key]; first != nil && !w.now().Before(first.until) {
			first = nil
		}
	}
	a := w.callOr(w.chance(6), "POST", "queue/publish", body)
	w.say("publish %s %s key=%s: %d %s replay=%v lost=%v", q.name, m.name, key, a.status, a.code, a.replay, a.lost)
	var got seen
	w.read(a, &got)
	switch {
	case first != nil && first.m.name != m.name:
		if !a.lost && (a.status != 409 || a.code != "IDEMPOTENCY_KEY_REUSED") {
			w.fail("the key %s of %s was used for %s, and for %s is answered %d %s", key, q.name, first.m.name, m.name, a.status, a.code)
		}
		return
	case first != nil:
		if !a.lost && (a.status != 200 || !a.replay || first.m.id != "" && got.ID != first.m.id) {
			w.fail("%s under its key again is answered %d %s, replay %v, id %s; the first had %s", m.name, a.status, a.code, a.replay, got.ID, first.m.id)
		}
		if !a.lost {
			first.m.id = got.ID
		}
		return
	}
	if !a.lost && (a.status != 200 || a.replay) {
		w.fail("publish of %s to %s: %d %s, replay %v", m.name, q.name, a.status, a.code, a.replay)
		return
	}
	w.stored(m, got.ID, key)
}

// consume receives from a queue, perhaps without hearing what, and has each message handled.
func (w *world) consume(q *queueModel) {
	if w.process == nil {
		return
	}
	most, lease := 1+w.dice.IntN(5), q.visibility
	body := fields{"queue": q.name, "max_messages": most}
	if w.chance(3) {
		lease = time.Duration(1+w.dice.IntN(40)) * time.Second
		body["visibility_timeout"] = seconds(lease)
	}
	can, unsure := w.receivable(q), w.unsure(q)
	if q.fifo && unsure { // who is behind the one in question may be the head
		return
	}
	a := w.callOr(!unsure && w.chance(10), "POST", "queue/consume", body)
	if a.lost { // they are leased to nobody
		w.say("consume %s: lost", q.name)
		if q.fifo {
			w.relearn(q, lease)
			return
		}
		for _, m := range can[:min(most, len(can))] {
			w.receive(m, lease)
		}
		return
	}
	var got page[seen]
	w.read(a, &got)
	if a.status != 200 {
		w.fail("consume of %s: %d %s", q.name, a.status, a.code)
	}
	if want := min(most, len(can)); len(got.Items) != want && !unsure {
		w.fail("consume of %d from %s gives %d; %d can be received", most, q.name, len(got.Items), len(can))
	}
	for i, s := range got.Items {
		m := w.received(s, can)
		if m == nil {
			w.fail("consume of %s gives %s, which cannot be received now", q.name, s.Payload)
			return
		}
		if !q.fifo && !unsure && m != can[i] {
			w.fail("consume of %s gives %s as number %d; it must be %s, by priority, time and id", q.name, m.name, i, can[i].name)
		}
		w.taken(m, s, lease)
	}
}

// taken notes that a message was handed out as it was shown, and has it handled.
func (w *world) taken(m *message, s seen, lease time.Duration) {
	w.receive(m, lease)
	if s.Count != m.receives || !s.Until.Equal(m.visible) || m.id != "" && m.id != s.ID {
		w.fail("%s is received as %+v; it is receive %d, until %s, and has the id %q", m.name, s, m.receives, m.visible, m.id)
	}
	m.id, m.receipt = s.ID, s.Receipt
	w.say("consume %s: %s, receive %d", m.queue.name, m.name, m.receives)
	w.handle(m, s.Receipt)
}

// received finds what was received among what could be, and takes it out of there.
func (w *world) received(s seen, can []*message) *message {
	for _, m := range can {
		if m.name == s.name() && !(m.leased && m.visible.After(w.now())) {
			return m
		}
	}
	return nil
}

// relearn asks which heads of a fifo queue a lost answer was about: groups take turns, and the model does not know whose it is.
func (w *world) relearn(q *queueModel, lease time.Duration) {
	for _, s := range list[seen](w, "queue/messages/"+q.name+"?status=in_flight&") {
		for _, m := range w.receivable(q) {
			if m.name == s.name() && s.Visible.Equal(w.now().Add(lease)) {
				w.receive(m, lease)
			}
		}
	}
}

// handle is a worker with a message: it does one thing with it in a while, or two, or dies.
func (w *world) handle(m *message, receipt string) {
	lease, number := m.visible.Sub(w.now()), m.lease
	act := func(within time.Duration, verb string, more fields) {
		w.after(time.Duration(w.dice.Int64N(int64(within))), func() { w.settleMessage(m, receipt, number, verb, more) })
	}
	switch w.dice.IntN(12) {
	case 0: // it dies
	case 1:
		act(2*lease, "ack", nil) // late, perhaps
	case 2:
		act(lease, "ack", nil)
		act(2*lease, "ack", nil)
	case 3:
		act(lease, "nack", fields{"error": "cannot"})
	case 4:
		act(2*lease, "nack", fields{"delay_seconds": w.dice.IntN(30)})
	case 5:
		act(lease, "release", fields{"delay_seconds": w.dice.IntN(5)})
	case 6:
		act(lease, "nack", fields{"requeue": false})
	case 7, 8: // a heartbeat, in time or not
		by := time.Duration(1+w.dice.IntN(60)) * time.Second
		act(lease+lease/2, "extend", fields{"visibility_timeout": seconds(by)})
		act(lease+by, "ack", nil)
	case 9:
		act(lease, "nack", nil)
		act(2*lease, "ack", nil)
	default:
		act(lease, "ack", nil)
	}
}

// settleMessage says a worker's word by its receipt, and holds what comes of it against the model.
func (w *world) settleMessage(m *message, receipt string, number int, verb string, more fields) {
	if w.process == nil {
		return
	}
	w.age(m)
	unsure := w.maybe(m)
	body := fields{"queue": m.queue.name, "receipt_handle": receipt}
	for k, v := range more {
		body[k] = v
	}
	a := w.callOr(!unsure && w.chance(10), "POST", "queue/"+verb, body)
	var got map[string]any
	w.read(a, &got)
	past := map[string]string{"ack": "acked", "nack": "nacked", "release": "released", "extend": "extended"}[verb]
	applied, _ := got[past].(bool)
	w.say("%s %s by receipt %d: %d %s %v", verb, m.name, number, a.status, a.code, applied)
	acts := !m.gone && number == m.lease && m.open
	switch {
	case a.lost:
		applied = acts
	case unsure:
		if a.status == 404 {
			m.gone = true
		}
		if a.status == 200 && !applied && acts && m.lastTry() {
			m.die(w.now())
		}
	case m.gone:
		if a.status != 404 || a.code != "QUEUE_MESSAGE_NOT_FOUND" {
			w.fail("%s of %s, which is gone: %d %s %v", verb, m.name, a.status, a.code, got)
		}
	case a.status != 200 || applied != acts || !acts && got["reason"] != "lease_lost":
		w.fail("%s of %s by receipt %d: %d %s %v; the newest is %d, open %v", verb, m.name, number, a.status, a.code, got, m.lease, m.open)
	}
	if !applied {
		return
	}
	if !acts {
		w.fail("%s of %s was applied for an old receipt", verb, m.name)
	}
	w.applied(m, verb, more)
}

// applied notes what a word does.
func (w *world) applied(m *message, verb string, more fields) {
	delay, has := more["delay_seconds"].(int)
	wait := time.Duration(delay) * time.Second
	switch verb {
	case "ack":
		m.gone, m.leased, m.open = true, false, false
	case "nack":
		if !m.dead && (more["requeue"] == false || m.lastTry()) {
			m.die(w.now())
			return
		}
		if !has {
			wait = backoff(m.receives)
		}
		w.give(m, wait)
	case "release":
		if !m.dead {
			m.receives--
		}
		w.give(m, wait)
	case "extend":
		by := more["visibility_timeout"].(float64)
		m.leased, m.visible = true, w.now().Add(time.Duration(by*float64(time.Second)))
	}
}

// redrive sends a queue's dead letters back, and sees that each is where it came from.
func (w *world) redrive(q *queueModel) {
	dead := w.living(q, true)
	if w.process == nil || w.unsure(q) || w.now().Before(w.back) { // a redrive leaves what died after it began, by the clock's word
		return
	}
	var r struct {
		ID                            string `json:"redrive_id"`
		State                         string
		Total, Moved, Left, Remaining int
	}
	w.must("POST", "queue/dlq/redrive/"+q.name, nil, &r)
	w.wait(2 * soon) // nothing else is done meanwhile
	w.must("GET", "redrives/"+r.ID, nil, &r)
	w.say("redrive %s: %d", q.name, len(dead))
	if r.State != "completed" || r.Total != len(dead) || r.Moved != len(dead) || r.Left+r.Remaining != 0 {
		w.fail("the redrive of %d dead letters of %s is %+v", len(dead), q.name, r)
	}
	shown := map[string]seen{}
	for _, s := range list[seen](w, "queue/messages/"+q.name+"?") {
		shown[s.name()] = s
	}
	for _, m := range dead {
		s, ok := shown[m.name]
		if !ok || m.id != "" && s.ID != m.id || s.Count != 0 {
			w.fail("%s was redriven to %s and is there as %+v", m.name, q.name, s)
			return
		}
		q.places++
		m.dead, m.receives, m.leased, m.open, m.visible, m.place = false, 0, false, false, s.Visible, q.places
		m.expires = m.visible.Add(q.retention)
	}
}
