package wire

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const redriveFields = "redrive_id queue state dry_run rate_per_second total moved left remaining created_at finished_at"

// redriven redrives a queue and waits for the end.
func (s *server) redriven(t testing.TB, queue string, body object) object {
	t.Helper()
	return s.finished(t, s.do(t, "POST", "/v1/queue/dlq/redrive/"+queue, with(object{}, body)))
}

func (s *server) finished(t testing.TB, r object) object {
	t.Helper()
	fields(t, "a redrive", r, redriveFields)
	eventually(t, "the redrive ends", 20*time.Second, func() bool {
		r = s.do(t, "GET", "/v1/redrives/"+text(r["redrive_id"]), nil)
		return r["state"] != "running"
	})
	stamp(t, r, "finished_at")
	return r
}

// kill dead-letters a new message of a queue.
func (s *server) kill(t testing.TB, queue string, payload any, more object) object {
	t.Helper()
	p := s.publish(t, queue, payload, more)
	m := s.one(t, queue, nil)
	s.settle(t, "nack", queue, m, object{"requeue": false, "error": "killed"})
	return p
}

func (s *server) dead(t testing.TB, queue string) []object {
	t.Helper()
	return items(t, s.do(t, "GET", "/v1/queue/dlq/list/"+queue+"?limit=500", nil))
}

func checkCounting(t *testing.T, s *server) {
	s.queue(t, "count", object{"max_receive_count": 3})
	s.publish(t, "count", 1, nil)
	// Without delay_seconds a nack waits 2^(delivery_count-1) s.
	for n := 1; n <= 2; n++ {
		m := s.one(t, "count", nil)
		is(t, "receive", m, object{"delivery_count": n})
		before := time.Now()
		d := s.settle(t, "nack", "count", m, nil)
		is(t, "nack", d, object{"status": "delayed"})
		if w := stamp(t, d, "visible_at").Sub(before); w < time.Duration(n)*time.Second-50*time.Millisecond || w > time.Duration(n)*time.Second+2*time.Second {
			t.Errorf("nack %d waits %v", n, w)
		}
	}
	// A release gives the count back, however often.
	for range 3 {
		m := s.one(t, "count", nil)
		is(t, "receive after releases", m, object{"delivery_count": 3})
		s.settle(t, "release", "count", m, nil)
	}
	m := s.one(t, "count", nil)
	d := s.settle(t, "nack", "count", m, object{"delay_seconds": 0, "error": "third"})
	is(t, "the last nack", d, object{"nacked": true, "reason": nil})
	is(t, "stats", s.stats(t, "count"), object{"message_count": 0, "dlq_count": 1})
	is(t, "dead", s.dead(t, "count")[0], object{"delivery_count": 3, "last_error": "third"})

	// At its lease's end: within a second, never by a further delivery.
	s.queue(t, "count1", object{"max_receive_count": 1})
	s.publish(t, "count1", 1, nil)
	m = s.one(t, "count1", object{"visibility_timeout": 1})
	end := stamp(t, m, "visible_until")
	var at time.Time
	eventually(t, "the last lease's end dead-letters", 6*time.Second, func() bool {
		if n := len(s.consume(t, "count1", nil)); n != 0 {
			t.Error("it was delivered after its last try")
		}
		st := s.stats(t, "count1")
		if st["in_flight_count"].(float64)+st["dlq_count"].(float64) != 1 {
			t.Errorf("a lease over in its last try counts as %v", st)
		}
		at = time.Now()
		return st["dlq_count"] == 1.0
	})
	dead := s.dead(t, "count1")[0]
	if late := stamp(t, dead, "dead_lettered_at").Sub(end); late < 0 || late > 1500*time.Millisecond {
		t.Errorf("dead-lettered %v after its lease's end (seen %v after)", late, at.Sub(end))
	}
	if a := s.post(t, "/v1/queue/ack", object{"queue": "count1", "receipt_handle": m["receipt_handle"]}); a.status == 200 && a.ok(t)["acked"] != false {
		t.Error("the receipt outlived its dead-lettering")
	}
	// The count given back is not given back twice.
	s.queue(t, "count2", object{"max_receive_count": 2})
	s.publish(t, "count2", 1, nil)
	m = s.one(t, "count2", nil)
	s.settle(t, "extend", "count2", m, object{"visibility_timeout": 0})
	s.settle(t, "release", "count2", m, nil)
	is(t, "a time-out and a release", s.one(t, "count2", nil), object{"delivery_count": 1})
}

func checkVisibility(t *testing.T, s *server) {
	s.queue(t, "vis", object{"max_receive_count": 100})
	s.publish(t, "vis", 1, object{"delay_seconds": 0.4})
	look := func(status string, want int) {
		t.Helper()
		got := items(t, s.do(t, "GET", "/v1/queue/messages/vis?status="+status, nil))
		if len(got) != want {
			t.Errorf("%d are %s, want %d", len(got), status, want)
		}
		for _, m := range got {
			fields(t, "a look", m, messageFields+" visible_at")
			is(t, "a look", m, object{"status": status})
		}
	}
	look("delayed", 1)
	// No sweep stands between: it is there the moment its time is over.
	arrive := func(what string, due time.Time) object {
		t.Helper()
		for {
			before := time.Now()
			got := s.consume(t, "vis", object{"visibility_timeout": 1})
			if len(got) == 1 {
				if time.Now().Before(due.Add(-5 * time.Millisecond)) {
					t.Errorf("%s: received %v early", what, time.Until(due))
				}
				return got[0]
			}
			if before.After(due.Add(5 * time.Millisecond)) {
				t.Fatalf("%s: not there %v after it was due", what, time.Since(due))
			}
		}
	}
	m := items(t, s.do(t, "GET", "/v1/queue/messages/vis", nil))[0]
	m = arrive("a delay", stamp(t, m, "visible_at"))
	look("in_flight", 1)
	m = arrive("a lease", stamp(t, m, "visible_until"))
	d := s.settle(t, "nack", "vis", m, object{"delay_seconds": 0.3})
	m = arrive("a nack", stamp(t, d, "visible_at"))
	d = s.settle(t, "release", "vis", m, object{"delay_seconds": 0.3})
	m = arrive("a release", stamp(t, d, "visible_at"))
	d = s.settle(t, "extend", "vis", m, object{"visibility_timeout": 0.3})
	m = arrive("an extend", stamp(t, d, "visible_until"))
	s.settle(t, "nack", "vis", m, object{"delay_seconds": 0})
	look("available", 1)
}

func checkDeadLetters(t *testing.T, s *server) {
	s.queue(t, "dl", object{"max_receive_count": 2})
	origin := "2026-02-03T04:05:06.000000Z"
	p := s.kill(t, "dl", "x", object{"origin_at": origin, "headers": object{"h": "v"}, "priority": 4, "message_group_id": "g"})
	list := s.dead(t, "dl")
	if len(list) != 1 {
		t.Fatalf("%d dead letters, want 1", len(list))
	}
	m := list[0]
	fields(t, "a dead letter", m, messageFields+" visible_at")
	is(t, "a dead letter", m, object{
		"message_id": p["message_id"], "queue": "dl-dlq", "payload": "x", "headers": object{"h": "v"}, "priority": 4, "message_group_id": "g", "delivery_count": 1, "published_at": p["published_at"],
		"origin_at": origin, "source_queue": "dl", "last_error": "killed",
	})
	stamp(t, m, "dead_lettered_at")
	// There, nothing counts and nothing changes.
	kept := object{"delivery_count": 1, "source_queue": "dl", "last_error": "killed", "dead_lettered_at": m["dead_lettered_at"]}
	for range 3 {
		got := s.one(t, "dl-dlq", object{"visibility_timeout": 1})
		is(t, "consumed from the DLQ", got, kept)
		is(t, "consumed from the DLQ", got, object{"queue": "dl-dlq", "message_id": p["message_id"], "origin_at": origin, "status": "in_flight"})
		is(t, "nack there", s.settle(t, "nack", "dl-dlq", got, object{"requeue": false, "error": "other", "delay_seconds": 0}), object{"nacked": true, "status": "available"})
		got = s.one(t, "dl-dlq", object{"visibility_timeout": 1})
		s.settle(t, "release", "dl-dlq", got, nil)
		got = s.one(t, "dl-dlq", object{"visibility_timeout": 1})
		s.settle(t, "extend", "dl-dlq", got, object{"visibility_timeout": 0})
	}
	time.Sleep(1200 * time.Millisecond) // for a sweep that would
	is(t, "after all that", s.dead(t, "dl")[0], kept)
	is(t, "stats", s.stats(t, "dl"), object{"message_count": 0, "dlq_count": 1})
	is(t, "stats of the DLQ", s.stats(t, "dl-dlq"), object{"message_count": 1, "dlq_count": 0})
	is(t, "redriven", s.redriven(t, "dl", nil), object{"moved": 1})
	back := s.one(t, "dl", nil)
	is(t, "redriven", back, object{"message_id": p["message_id"], "message_group_id": "g", "priority": 4, "headers": object{"h": "v"}, "origin_at": origin, "delivery_count": 1, "dead_lettered_at": nil, "source_queue": nil})
	s.settle(t, "nack", "dl", back, object{"requeue": false})
	is(t, "ack there", s.settle(t, "ack", "dl-dlq", s.one(t, "dl-dlq", nil), nil), object{"acked": true})
	is(t, "stats", s.stats(t, "dl"), object{"dlq_count": 0})
	// Oldest first.
	var want []string
	for i := range 4 {
		want = append(want, text(s.kill(t, "dl", i, nil)["message_id"]))
	}
	var got []string
	cursor := ""
	for {
		d := s.do(t, "GET", "/v1/queue/dlq/list/dl?limit=2"+cursor, nil)
		for _, m := range items(t, d) {
			got = append(got, text(m["message_id"]))
		}
		if d["next_cursor"] == nil {
			break
		}
		cursor = "&cursor=" + text(d["next_cursor"])
	}
	if !slices.Equal(got, want) {
		t.Errorf("dlq/list gives %v, want %v", got, want)
	}
}

func checkDLQs(t *testing.T, s *server) {
	s.queue(t, "own", nil)
	s.post(t, "/v1/queue/create", object{"name": "self", "dlq": "self"}).refused(t, 400, "INVALID_ARGUMENT", "/dlq")
	s.post(t, "/v1/queue/update/own", object{"dlq": "own"}).refused(t, 400, "INVALID_ARGUMENT", "/dlq")
	s.post(t, "/v1/queue/update/own", object{"dead_letter_queue": "own"}).refused(t, 400, "INVALID_ARGUMENT", "/dead_letter_queue")
	s.queue(t, "cyc-b", nil)
	a := s.post(t, "/v1/queue/create", object{"name": "cyc-a", "dlq": "cyc-b"})
	if a.status == 200 { // an existing queue may be shared: then the way back is the cycle
		s.post(t, "/v1/queue/update/cyc-b", object{"dlq": "cyc-a"}).refused(t, 400, "INVALID_ARGUMENT", "/dlq")
	}
	s.post(t, "/v1/queue/update/own-dlq", object{"dlq": "own"}).refused(t, 400, "INVALID_ARGUMENT", "/dlq")
	// A dead-letter queue's name may be longer than another's, and its settings change like theirs.
	long := strings.Repeat("d", 80)
	s.queue(t, "long", object{"dlq": long})
	for _, name := range []string{long, strings.Repeat("e", 76) + "-dlq"} {
		if name != long {
			s.queue(t, strings.TrimSuffix(name, "-dlq"), nil)
		}
		is(t, "updated", s.do(t, "POST", "/v1/queue/update/"+name, object{"visibility_timeout_default": 7, "require_receipt": true}), object{"name": name, "visibility_timeout_default": 7, "require_receipt": true})
		s.post(t, "/v1/queue/update/"+name, object{"visibility_timeout_default": 0}).refused(t, 400, "INVALID_ARGUMENT", "/visibility_timeout_default")
	}
	s.post(t, "/v1/queue/create", object{"name": strings.Repeat("f", 77)}).refused(t, 400, "INVALID_ARGUMENT", "/name")
	// Shared: each gets its own back.
	s.queue(t, "sh-a", object{"dlq": "sh-dead"})
	s.queue(t, "sh-b", object{"dead_letter_queue": "sh-dead"})
	ida, idb := s.kill(t, "sh-a", 1, nil)["message_id"], s.kill(t, "sh-b", 2, nil)["message_id"]
	is(t, "stats", s.stats(t, "sh-a"), object{"dlq_count": 1})
	is(t, "stats", s.stats(t, "sh-dead"), object{"message_count": 2})
	if l := s.dead(t, "sh-b"); len(l) != 1 || l[0]["message_id"] != idb {
		t.Errorf("dlq/list of one that shares shows %v", l)
	}
	is(t, "redrive", s.redriven(t, "sh-a", nil), object{"state": "completed", "moved": 1, "total": 1, "left": 0, "queue": "sh-a"})
	if m := s.one(t, "sh-a", nil); m["message_id"] != ida {
		t.Errorf("the redriven one is %v", m)
	}
	is(t, "stats", s.stats(t, "sh-dead"), object{"message_count": 1})
	// Published straight into a DLQ: no source.
	s.publish(t, "sh-dead", "straight", nil)
	is(t, "redrive", s.redriven(t, "sh-b", nil), object{"total": 2, "moved": 1, "left": 1})
	m := s.one(t, "sh-dead", nil)
	is(t, "published into a DLQ", m, object{"payload": "straight", "source_queue": nil, "dead_lettered_at": nil})
	is(t, "its nack", s.settle(t, "nack", "sh-dead", m, object{"requeue": false, "delay_seconds": 0}), object{"nacked": true, "status": "available"})
}

func checkRedrive(t *testing.T, s *server) {
	s.queue(t, "rd", object{"max_receive_count": 2})
	origin := "2026-03-03T04:05:06.000000Z"
	first := s.kill(t, "rd", "first", object{"origin_at": origin})
	for i := range 4 {
		s.kill(t, "rd", i, nil)
	}
	// A dry run moves nothing.
	dry := s.redriven(t, "rd", object{"dry_run": true})
	is(t, "a dry run", dry, object{"dry_run": true, "queue": "rd", "total": 5, "moved": 0, "left": 0, "remaining": 5})
	is(t, "stats", s.stats(t, "rd"), object{"dlq_count": 5, "message_count": 0})
	r := s.do(t, "POST", "/v1/queue/dlq/redrive/rd", object{"rate_per_second": 1, "dry_run": false})
	is(t, "a redrive", r, object{"queue": "rd", "rate_per_second": 1, "dry_run": false, "state": "running"})
	s.post(t, "/v1/queue/dlq/redrive/rd", nil).refused(t, 409, "CONFLICT")
	is(t, "by the queue's name", s.do(t, "GET", "/v1/queue/dlq/redrive/rd", nil), object{"redrive_id": r["redrive_id"]})
	cancelled := s.do(t, "POST", "/v1/queue/dlq/redrive_cancel/"+text(r["redrive_id"]), nil)
	fields(t, "cancel", cancelled, redriveFields)
	r = s.finished(t, cancelled)
	is(t, "cancelled", r, object{"state": "cancelled"})
	moved := r["moved"].(float64)
	if st := s.stats(t, "rd"); moved >= 5 || st["message_count"].(float64) != moved || st["dlq_count"].(float64) != 5-moved {
		t.Errorf("after a cancel %v were moved and the queue has %v", moved, st)
	}
	r = s.redriven(t, "rd", nil)
	is(t, "the rest", r, object{"state": "completed", "moved": 5 - moved, "left": 0, "remaining": 0})
	if l := items(t, s.do(t, "GET", "/v1/redrives/"+text(r["redrive_id"])+"/endpoints", nil)); len(l) != 0 {
		t.Errorf("the redrive of a queue has endpoints: %v", l)
	}
	s.do(t, "POST", "/v1/redrives/"+text(r["redrive_id"])+"/cancel", object{})
	got := s.consume(t, "rd", object{"max_messages": 10})
	if len(got) != 5 {
		t.Fatalf("after the redrive %d of 5 come", len(got))
	}
	for _, m := range got {
		is(t, "redriven", m, object{"delivery_count": 1, "source_queue": nil, "dead_lettered_at": nil, "queue": "rd"})
		if m["message_id"] == first["message_id"] {
			is(t, "redriven", m, object{"origin_at": origin, "published_at": first["published_at"]})
		}
	}
	for _, bad := range []object{{"max_messages": 0}, {"rate_per_second": 0}, {"rate_per_second": -1}, {"dry_run": "yes"}, {"message_ids": "x"}, {"colour": 1}} {
		s.post(t, "/v1/queue/dlq/redrive/rd", bad).refused(t, 400, "INVALID_ARGUMENT")
	}
	s.post(t, "/v1/queue/dlq/redrive/none", nil).refused(t, 404, "QUEUE_NOT_FOUND")
	s.call(t, "GET", "/v1/queue/dlq/redrive/none", nil).refused(t, 404, "QUEUE_NOT_FOUND")
	s.post(t, "/v1/redrives/rdv_x/cancel", nil).refused(t, 404, "NOT_FOUND")
}

func checkRedrivePicks(t *testing.T, s *server) {
	s.queue(t, "rp", nil)
	var ids []any
	for i := range 5 {
		ids = append(ids, s.kill(t, "rp", i, nil)["message_id"])
	}
	is(t, "max_messages", s.redriven(t, "rp", object{"max_messages": 2}), object{"moved": 2})
	for _, m := range s.consume(t, "rp", object{"max_messages": 10}) {
		if !slices.Contains(ids[:2], m["message_id"]) {
			t.Errorf("max_messages 2 moved %v, not the oldest", m["payload"])
		}
	}
	is(t, "message_ids", s.redriven(t, "rp", object{"message_ids": []any{ids[4]}}), object{"moved": 1, "total": 1})
	if m := s.one(t, "rp", nil); m["message_id"] != ids[4] {
		t.Errorf("message_ids moved %v", m["payload"])
	}
	is(t, "stats", s.stats(t, "rp"), object{"dlq_count": 2})
	// A leased one: counted, moved or left, never lost.
	s.one(t, "rp-dlq", nil)
	r := s.redriven(t, "rp", nil)
	if r["total"] != 2.0 || r["moved"].(float64)+r["left"].(float64) != 2 {
		t.Errorf("moved and left are not what was there: %v", r)
	}
	// At a rate.
	s.queue(t, "rp-rate", nil)
	for i := range 5 {
		s.kill(t, "rp-rate", i, nil)
	}
	r = s.redriven(t, "rp-rate", object{"rate_per_second": 2})
	is(t, "at a rate", r, object{"moved": 5, "rate_per_second": 2})
	if took := stamp(t, r, "finished_at").Sub(stamp(t, r, "created_at")); took < 1500*time.Millisecond || took > 8*time.Second {
		t.Errorf("5 at 2 a second took %v", took)
	}
	// None there.
	s.queue(t, "rp-none", nil)
	is(t, "nothing there", s.redriven(t, "rp-none", nil), object{"state": "completed", "total": 0, "moved": 0, "left": 0})
}
