package wire

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// checkPublishKeys is that a key is remembered whatever becomes of its message.
func checkPublishKeys(t *testing.T, s *server) {
	s.queue(t, "keys", object{"max_receive_count": 1})
	ends := map[string]func(m object){
		"acked":         func(m object) { s.settle(t, "ack", "keys", m, nil) },
		"dead-lettered": func(m object) { s.settle(t, "nack", "keys", m, object{"requeue": false}) },
		"in flight":     func(object) {},
	}
	same := func(what string, first object, a answer) {
		t.Helper()
		if !a.replayed(t) {
			t.Errorf("%s: the same publish again is no replay", what)
		}
		fields(t, what, a.ok(t), publishedFields)
		is(t, what, a.ok(t), first)
	}
	for what, end := range ends {
		body := object{"queue": "keys", "payload": what, "delay_seconds": 0}
		a := s.post(t, "/v1/queue/publish", body, "Idempotency-Key", what)
		if a.replayed(t) {
			t.Errorf("%s: the first is a replay", what)
		}
		end(s.one(t, "keys", nil))
		same(what, a.ok(t), s.post(t, "/v1/queue/publish", body, "Idempotency-Key", what))
		same(what, a.ok(t), s.post(t, "/v1/queue/publish", with(object{"idempotency_key": what}, body), "Idempotency-Key", `"`+what+`"`))
		b := s.post(t, "/v1/queue/publish", with(object{"priority": 1}, body), "Idempotency-Key", what)
		b.refused(t, 409, "IDEMPOTENCY_KEY_REUSED")
		if b.header.Get("Idempotent-Replayed") != "" {
			t.Error("a conflict says that it is a replay")
		}
	}
	body := object{"queue": "keys", "payload": "gone", "idempotency_key": "gone"}
	first := s.do(t, "POST", "/v1/queue/publish", body)
	s.do(t, "POST", "/v1/queue/purge/keys", object{"confirm": "keys"})
	same("purged", first, s.post(t, "/v1/queue/publish", body))
	s.do(t, "DELETE", "/v1/queue/delete/keys?force=true", nil)
	same("queue gone", first, s.post(t, "/v1/queue/publish", body))
	batch := s.post(t, "/v1/queue/publish_batch", object{"queue": "keys", "messages": []object{{"payload": "gone", "idempotency_key": "gone"}, {"payload": 1}}})
	is(t, "queue gone, in a batch", items(t, batch.ok(t))[0], object{"message_id": first["message_id"], "idempotent_replay": true, "error": nil})
	is(t, "queue gone, in a batch", items(t, batch.ok(t))[1]["error"].(object), object{"code": "QUEUE_NOT_FOUND"})
	s.queue(t, "keys", nil)
	same("queue made anew", first, s.post(t, "/v1/queue/publish", body))
	is(t, "stats", s.stats(t, "keys"), object{"message_count": 0})
	// Another queue is another key space.
	s.queue(t, "keys2", nil)
	if d := s.do(t, "POST", "/v1/queue/publish", with(object{"queue": "keys2"}, object{"payload": "gone", "idempotency_key": "gone"})); d["message_id"] == first["message_id"] {
		t.Error("one key in two queues is one message")
	}
	// A refused first answer is not remembered.
	missing := object{"queue": "keys3", "payload": 1, "idempotency_key": "early"}
	s.post(t, "/v1/queue/publish", missing).refused(t, 404, "QUEUE_NOT_FOUND")
	s.queue(t, "keys3", nil)
	missing["payload"] = 2
	if s.post(t, "/v1/queue/publish", missing).replayed(t) {
		t.Error("a key whose first answer was 404 was kept")
	}
	// Many at once: one message.
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids, fresh := map[any]int{}, 0
	for range 12 {
		wg.Go(func() {
			a := s.post(t, "/v1/queue/publish", object{"queue": "keys3", "payload": 3, "idempotency_key": "storm"})
			mu.Lock()
			defer mu.Unlock()
			if ids[a.ok(t)["message_id"]]++; !a.replayed(t) {
				fresh++
			}
		})
	}
	if wg.Wait(); len(ids) != 1 || fresh != 1 {
		t.Errorf("12 publishes of one key at once are %d messages, %d of them fresh", len(ids), fresh)
	}
	// How a key may be written.
	for _, c := range []struct {
		body   any
		header string
	}{{nil, "a\nb"}, {nil, ""}, {nil, strings.Repeat("k", 256)}, {nil, `"open`}, {nil, `""`}, {"x", "y"}, {"", "-"}} {
		b := object{"queue": "keys3", "payload": 4}
		if c.body != nil {
			b["idempotency_key"] = c.body
		}
		s.post(t, "/v1/queue/publish", b, "Idempotency-Key", c.header).refused(t, 400, "INVALID_ARGUMENT")
	}
}

// checkSamePublish is what counts as the same request.
func checkSamePublish(t *testing.T, s *server) {
	s.queue(t, "same", nil)
	for i, c := range []struct {
		a, b string
		same bool
	}{
		{`"payload":{"a":1,"b":[2,{"c":3,"d":4}]}`, `"payload": { "b": [2, {"d":4, "c":3}], "a": 1 }`, true},
		{`"payload":1.0`, `"payload":1`, true},
		{`"payload":1e2`, `"payload":100`, true},
		{`"payload":-0`, `"payload":0`, true},
		{`"payload":0.10`, `"payload":1e-1`, true},
		{`"payload":9007199254740993`, `"payload":9007199254740992`, false},
		{`"payload":1e400`, `"payload":1e500`, false},
		{`"payload":1e400`, `"payload":10e399`, true},
		{`"payload":"\u0041\/"`, `"payload":"A/"`, true},
		{`"payload":"1"`, `"payload":1`, false},
		{`"payload":null`, `"payload":false`, false},
		{`"payload":[1,2]`, `"payload":[2,1]`, false},
		{`"payload":{"a":null}`, `"payload":{}`, false},
		{`"payload":"\u00e9"`, `"payload":"e\u0301"`, false},
		{`"payload":0.1`, `"payload":0.1000000000000000055511151231257827`, false},
		{`"payload":1e-400`, `"payload":0`, false},
		{`"payload":1`, `"body":1`, true},
		{`"payload":1`, `"body":1,"payload":1.0`, true},
		{`"payload":1`, `"payload":1,"priority":0,"delay_seconds":0,"headers":{}`, true},
		{`"payload":1`, `"payload":1,"priority":null,"origin_at":null,"message_group_id":null`, true},
		{`"payload":1`, `"payload":1,"priority":1`, false},
		{`"payload":1`, `"payload":1,"delay_seconds":0.5`, false},
		{`"payload":1,"delay_seconds":1`, `"payload":1,"delay_seconds":1.0`, true},
		{`"payload":1`, `"payload":1,"headers":{"a":"b"}`, false},
		{`"payload":1,"headers":{"a":"b","c":"d"}`, `"payload":1,"headers":{"c":"d","a":"b"}`, true},
		{`"payload":1,"headers":{"ab":"c"}`, `"payload":1,"headers":{"a":"bc"}`, false},
		{`"payload":1`, `"payload":1,"message_group_id":"g"`, false},
		{`"payload":1`, `"payload":1,"origin_at":"2026-01-01T00:00:00Z"`, false},
		{`"payload":1,"origin_at":"2026-01-01T00:00:00Z"`, `"payload":1,"origin_at":"2026-01-01T01:00:00.000+01:00"`, true},
	} {
		send := func(fields string) answer {
			return s.post(t, "/v1/queue/publish", fmt.Sprintf(`{"queue":"same","idempotency_key":"%d",%s}`, i, fields))
		}
		send(c.a).ok(t)
		if b := send(c.b); c.same {
			if b.status != 200 || !b.replayed(t) {
				t.Errorf("%s and %s are not the same: %s", c.a, c.b, clip(b.raw))
			}
		} else if b.status != 409 {
			t.Errorf("%s and %s are the same", c.a, c.b)
		}
	}
}
