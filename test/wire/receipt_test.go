package wire

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const messageFields = `message_id queue payload headers priority message_group_id status delivery_count published_at origin_at dead_lettered_at source_queue last_error`

func checkConsume(t *testing.T, s *server) {
	s.queue(t, "con", object{"visibility_timeout_default": 100})
	p := s.publish(t, "con", object{"n": 1}, object{"headers": object{"a": "b"}})
	m := s.one(t, "con", nil)
	fields(t, "a message", m, messageFields+" receipt_handle visible_until")
	is(t, "a message", m, object{
		"message_id": p["message_id"], "queue": "con", "payload": object{"n": 1}, "headers": object{"a": "b"}, "priority": 0, "message_group_id": nil, "status": "in_flight",
		"delivery_count": 1, "published_at": p["published_at"], "origin_at": p["published_at"], "dead_lettered_at": nil, "source_queue": nil, "last_error": nil,
	})
	if left := time.Until(stamp(t, m, "visible_until")); left < 80*time.Second || left > 101*time.Second {
		t.Errorf("the queue's lease of 100 s ends in %v", left)
	}
	if n := len(s.consume(t, "con", object{"max_messages": 10})); n != 0 {
		t.Errorf("a leased message is handed out: %d", n)
	}
	for i := range 4 {
		s.publish(t, "con", i, nil)
	}
	if n := len(s.consume(t, "con", nil)); n != 1 {
		t.Errorf("without max_messages consume gives %d", n)
	}
	got := s.consume(t, "con", object{"max_messages": 1000, "visibility_timeout": 2.5})
	if len(got) != 3 {
		t.Errorf("consume gives %d of 3", len(got))
	}
	if left := time.Until(stamp(t, got[0], "visible_until")); left > 2600*time.Millisecond {
		t.Errorf("a lease of 2.5 s ends in %v", left)
	}
	for field, bad := range map[string][]any{
		"max_messages": {0, 1001, 1.5, "1"}, "visibility_timeout": {-1, 43201, "x"}, "wait_seconds": {-1, 21, 20.5}, "colour": {1},
	} {
		for _, v := range bad {
			s.post(t, "/v1/queue/consume", object{"queue": "con", field: v}).refused(t, 400, "INVALID_ARGUMENT", "/"+field)
		}
	}
	s.post(t, "/v1/queue/consume", object{}).refused(t, 400, "INVALID_ARGUMENT", "/queue")

	// It ends early at 8 MiB.
	s.queue(t, "con-big", nil)
	big := make([]object, 40)
	for i := range big {
		big[i] = object{"payload": fmt.Sprintf("%0262000d", i)}
	}
	s.do(t, "POST", "/v1/queue/publish_batch", object{"queue": "con-big", "messages": big})
	if n := len(s.consume(t, "con-big", object{"max_messages": 1000})); n < 28 || n > 33 {
		t.Errorf("of 40 messages of 256 KiB consume gives %d; 8 MiB are 32", n)
	}
}

func checkWait(t *testing.T, s *server) {
	s.queue(t, "wait", nil)
	began := time.Now()
	if n := len(s.consume(t, "wait", object{"wait_seconds": 1})); n != 0 || time.Since(began) < 900*time.Millisecond {
		t.Errorf("a wait of 1 s gave %d after %v", n, time.Since(began))
	}
	s.publish(t, "wait", 1, object{"delay_seconds": 0.7})
	m := s.one(t, "wait", object{"visibility_timeout": 1})
	again := s.one(t, "wait", nil) // the lease's end wakes it
	if again["message_id"] != m["message_id"] {
		t.Error("another message came")
	}
	s.settle(t, "release", "wait", again, object{"delay_seconds": 0.5})
	s.settle(t, "ack", "wait", s.one(t, "wait", nil), nil)
	got := make(chan []object)
	go func() { got <- s.consume(t, "wait", object{"wait_seconds": 20}) }()
	time.Sleep(200 * time.Millisecond)
	began = time.Now()
	s.publish(t, "wait", 2, nil)
	if m := <-got; len(m) != 1 || time.Since(began) > 10*time.Second {
		t.Errorf("a publish woke the waiter after %v with %d", time.Since(began), len(m))
	}
}

// checkGoneClient is that what is received for a client that is gone is given back, its count with it.
func checkGoneClient(t *testing.T, s *server) {
	s.queue(t, "goner", nil)
	for i := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/queue/consume", strings.NewReader(`{"queue":"goner","wait_seconds":20}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+apiKey)
		req.Header.Set("Content-Type", "application/json")
		ended := make(chan error, 1)
		go func() { _, err := http.DefaultClient.Do(req); ended <- err }()
		time.Sleep(100 * time.Millisecond)
		cancel()
		<-ended
		s.publish(t, "goner", i, nil)
		m := s.one(t, "goner", nil)
		is(t, "after a client that went away", m, object{"payload": i, "delivery_count": 1})
		s.settle(t, "ack", "goner", m, nil)
	}
}

// lost is the answer to a receipt that acts no more.
func lost(t *testing.T, what string, d object, reason string) {
	t.Helper()
	for _, verb := range []string{"acked", "nacked", "released", "extended"} {
		if v, ok := d[verb]; ok && v != false {
			t.Errorf("%s: %s is %v", what, verb, v)
		}
	}
	is(t, what, d, object{"reason": reason})
}

var settleFields = map[string]string{"ack": "acked reason", "nack": "nacked reason status visible_at", "release": "released reason status visible_at", "extend": "extended reason visible_until"}

func checkReceipts(t *testing.T, s *server) {
	s.queue(t, "rec", object{"max_receive_count": 1000})
	more := map[string]object{"extend": {"visibility_timeout": 60}, "nack": {"delay_seconds": 0}}
	for verb, names := range settleFields {
		s.publish(t, "rec", verb, nil)
		old := s.one(t, "rec", object{"visibility_timeout": 60})
		is(t, "extend to 0", s.settle(t, "extend", "rec", old, object{"visibility_timeout": 0}), object{"extended": true, "reason": nil})
		young := s.one(t, "rec", nil)
		if young["message_id"] != old["message_id"] || young["receipt_handle"] == old["receipt_handle"] || young["delivery_count"] != 2.0 {
			t.Errorf("the second receive: %v", young)
		}
		// The old one changes nothing.
		d := s.settle(t, verb, "rec", old, more[verb])
		fields(t, verb, d, names)
		lost(t, verb+" by an old receipt", d, "lease_lost")
		look := items(t, s.do(t, "GET", "/v1/queue/messages/rec", nil))
		if len(look) != 1 || look[0]["status"] != "in_flight" || look[0]["visible_at"] != young["visible_until"] || look[0]["delivery_count"] != 2.0 {
			t.Errorf("%s by an old receipt changed the message: %v", verb, look)
		}
		// The newest acts after its time-out too.
		s.settle(t, "extend", "rec", young, object{"visibility_timeout": 0})
		d = s.settle(t, verb, "rec", young, more[verb])
		fields(t, verb, d, names)
		is(t, verb+" after the time-out", d, object{"reason": nil})
		if d[verb+"ed"] != true && d[verb+"d"] != true {
			t.Errorf("%s after the time-out: %v", verb, d)
		}
		s.do(t, "POST", "/v1/queue/purge/rec", object{"confirm": "rec"})
		if verb == "extend" { // it is in flight again: a purge takes that too
			s.post(t, "/v1/queue/ack", object{"queue": "rec", "receipt_handle": young["receipt_handle"]}).refused(t, 404, "QUEUE_MESSAGE_NOT_FOUND")
		}
	}
	s.queue(t, "rec2", nil)
	s.publish(t, "rec2", 1, nil)
	m := s.one(t, "rec2", nil)
	for verb := range settleFields {
		body := with(object{"queue": "rec2", "receipt_handle": "made-up"}, more[verb])
		s.post(t, "/v1/queue/"+verb, body).refused(t, 400, "RECEIPT_INVALID", "/receipt_handle")
		h := text(m["receipt_handle"])
		for _, forged := range []string{h[:len(h)-1], h + "A", "A" + h[1:], "", "x" + h} {
			if forged == h {
				continue
			}
			body["receipt_handle"] = forged
			s.post(t, "/v1/queue/"+verb, body).refused(t, 400, "RECEIPT_INVALID", "/receipt_handle")
		}
		s.post(t, "/v1/queue/"+verb, with(object{"queue": "rec2"}, more[verb])).refused(t, 400, "INVALID_ARGUMENT")
		s.post(t, "/v1/queue/"+verb, with(object{"queue": "rec2", "receipt_handle": 5}, more[verb])).refused(t, 400, "INVALID_ARGUMENT", "/receipt_handle")
		// Of another queue.
		body["queue"], body["receipt_handle"] = "rec", h
		s.post(t, "/v1/queue/"+verb, body).refused(t, 400, "RECEIPT_INVALID")
	}
	is(t, "ack", s.settle(t, "ack", "rec2", m, nil), object{"acked": true, "reason": nil})
	for verb := range settleFields {
		s.post(t, "/v1/queue/"+verb, with(object{"queue": "rec2", "receipt_handle": m["receipt_handle"]}, more[verb])).refused(t, 404, "QUEUE_MESSAGE_NOT_FOUND")
		s.post(t, "/v1/queue/"+verb, with(object{"queue": "rec2", "message_id": m["message_id"]}, more[verb])).refused(t, 404, "QUEUE_MESSAGE_NOT_FOUND")
	}
}

// checkReceiptEnds is what ends a receipt, and that lease numbers survive everything.
func checkReceiptEnds(t *testing.T, s *server) {
	s.queue(t, "rend", object{"max_receive_count": 10})
	s.publish(t, "rend", 1, nil)
	var olds []object
	check := func(what string) {
		t.Helper()
		for _, m := range olds {
			lost(t, what, s.settle(t, "ack", "rend", m, nil), "lease_lost")
			lost(t, what, s.settle(t, "extend", "rend", m, object{"visibility_timeout": 9}), "lease_lost")
		}
	}
	m := s.one(t, "rend", nil)
	d := s.settle(t, "nack", "rend", m, object{"delay_seconds": 0, "error": "no"})
	is(t, "nack", d, object{"nacked": true, "reason": nil, "status": "available"})
	stamp(t, d, "visible_at")
	olds = append(olds, m)
	check("after a nack")
	m = s.one(t, "rend", nil)
	is(t, "after a nack", m, object{"last_error": "no", "delivery_count": 2})
	is(t, "release", s.settle(t, "release", "rend", m, nil), object{"released": true, "reason": nil, "status": "available"})
	olds = append(olds, m)
	check("after a release")
	m = s.one(t, "rend", nil)
	is(t, "dead-lettering", s.settle(t, "nack", "rend", m, object{"requeue": false}), object{"nacked": true, "reason": nil, "status": "dead_lettered"})
	is(t, "stats", s.stats(t, "rend"), object{"message_count": 0, "dlq_count": 1})
	olds = append(olds, m)
	check("after dead-lettering")
	inDLQ := s.one(t, "rend-dlq", nil)
	s.redriven(t, "rend", nil)
	lost(t, "the DLQ's receipt after a redrive", s.settle(t, "ack", "rend-dlq", inDLQ, nil), "lease_lost")
	check("after a redrive")
	m = s.one(t, "rend", nil)
	is(t, "after a redrive", m, object{"delivery_count": 1})
	check("after a redrive and a receive")
	is(t, "ack", s.settle(t, "ack", "rend", m, nil), object{"acked": true})
}

func checkMessageIDs(t *testing.T, s *server) {
	s.queue(t, "mid", nil)
	id := s.publish(t, "mid", 1, nil)["message_id"]
	by := func(verb, name string, more object) object {
		t.Helper()
		return s.do(t, "POST", "/v1/queue/"+verb, with(object{"queue": "mid", name: id}, more))
	}
	for _, name := range []string{"message_id", "receipt_handle"} {
		lost(t, "never received", by("ack", name, nil), "not_in_flight")
		lost(t, "never received", by("nack", name, nil), "not_in_flight")
		lost(t, "never received", by("release", name, nil), "not_in_flight")
		lost(t, "never received", by("extend", name, object{"visibility_timeout": 5}), "not_in_flight")
		s.one(t, "mid", nil)
		is(t, "extend", by("extend", name, object{"visibility_timeout": 50}), object{"extended": true})
		is(t, "release", by("release", name, nil), object{"released": true})
		lost(t, "given back", by("ack", name, nil), "not_in_flight")
	}
	m := s.one(t, "mid", nil)
	other := s.publish(t, "mid", 2, nil)["message_id"]
	s.post(t, "/v1/queue/ack", object{"queue": "mid", "receipt_handle": m["receipt_handle"], "message_id": other}).refused(t, 400, "INVALID_ARGUMENT")
	s.post(t, "/v1/queue/ack", object{"queue": "mid", "message_id": "qmsg_000000000000000000000000"}).refused(t, 404, "QUEUE_MESSAGE_NOT_FOUND")
	is(t, "both", s.settle(t, "ack", "mid", m, object{"message_id": id}), object{"acked": true})

	s.queue(t, "mid-strict", object{"require_receipt": true})
	id = s.publish(t, "mid-strict", 1, nil)["message_id"]
	m = s.one(t, "mid-strict", nil)
	for _, name := range []string{"message_id", "receipt_handle"} {
		a := s.post(t, "/v1/queue/ack", object{"queue": "mid-strict", name: id})
		if a.status != 400 {
			t.Errorf("require_receipt and %s: %d %s", name, a.status, clip(a.raw))
		}
	}
	is(t, "with its receipt", s.settle(t, "ack", "mid-strict", m, object{"message_id": id}), object{"acked": true})
}

func checkSettleBatches(t *testing.T, s *server) {
	for verb, names := range settleFields {
		name := "sb-" + verb
		s.queue(t, name, nil)
		for i := range 3 {
			s.publish(t, name, i, nil)
		}
		got := s.consume(t, name, object{"max_messages": 3})
		entry := func(receipt any) object {
			o := object{"receipt_handle": receipt}
			if verb == "extend" {
				o["visibility_timeout"] = 9
			}
			return o
		}
		gone := got[2]
		s.settle(t, "ack", name, gone, nil)
		d := s.do(t, "POST", "/v1/queue/"+verb+"_batch", object{"queue": name, "items": []object{
			entry(got[0]["receipt_handle"]), entry("made-up"), entry(gone["receipt_handle"]), entry(got[1]["receipt_handle"]),
		}})
		fields(t, verb+"_batch", d, "items")
		it := items(t, d)
		if len(it) != 4 {
			t.Fatalf("%s_batch: %d answers to 4", verb, len(it))
		}
		for _, i := range []int{0, 3} {
			fields(t, verb+"_batch", it[i], names+" error")
			is(t, verb+"_batch", it[i], object{"reason": nil, "error": nil})
		}
		is(t, verb+"_batch", it[1]["error"].(object), object{"code": "RECEIPT_INVALID", "field": "/items/1/receipt_handle"})
		is(t, verb+"_batch", it[2]["error"].(object), object{"code": "QUEUE_MESSAGE_NOT_FOUND"})
		many := make([]object, 1001)
		for i := range many {
			many[i] = entry("x")
		}
		s.post(t, "/v1/queue/"+verb+"_batch", object{"queue": name, "items": many}).refused(t, 400, "INVALID_ARGUMENT", "/items")
		s.post(t, "/v1/queue/"+verb+"_batch", object{"queue": name}).refused(t, 400, "INVALID_ARGUMENT", "/items")
	}
}

func checkExtend(t *testing.T, s *server) {
	s.queue(t, "ext", object{"max_receive_count": 2})
	s.publish(t, "ext", 1, nil)
	m := s.one(t, "ext", object{"visibility_timeout": 1})
	d := s.settle(t, "extend", "ext", m, object{"visibility_timeout": 30})
	is(t, "extend", d, object{"extended": true, "reason": nil})
	if left := time.Until(stamp(t, d, "visible_until")); left < 20*time.Second || left > 31*time.Second {
		t.Errorf("extended by 30 s, it ends in %v", left)
	}
	// No further than 12 h after the receive.
	received := time.Now()
	d = s.settle(t, "extend", "ext", m, object{"visibility_timeout": 43200})
	if end := stamp(t, d, "visible_until"); end.After(received.Add(12 * time.Hour)) {
		t.Errorf("it may be held until %v, more than 12 h", end)
	}
	for _, bad := range []any{-1, 43201, "x", nil} {
		s.post(t, "/v1/queue/extend", object{"queue": "ext", "receipt_handle": m["receipt_handle"], "visibility_timeout": bad}).refused(t, 400, "INVALID_ARGUMENT", "/visibility_timeout")
	}
	// To 0: a time-out now, counted, the receipt open.
	s.settle(t, "extend", "ext", m, object{"visibility_timeout": 0})
	is(t, "extend takes it again", s.settle(t, "extend", "ext", m, object{"visibility_timeout": 20}), object{"extended": true})
	if n := len(s.consume(t, "ext", nil)); n != 0 {
		t.Error("an extended lease does not hold")
	}
	s.settle(t, "extend", "ext", m, object{"visibility_timeout": 0})
	m = s.one(t, "ext", nil)
	is(t, "after it", m, object{"delivery_count": 2})
	s.settle(t, "extend", "ext", m, object{"visibility_timeout": 0})
	eventually(t, "its last lease over, it is dead-lettered", 5*time.Second, func() bool { return s.stats(t, "ext")["dlq_count"] == 1.0 })
}
