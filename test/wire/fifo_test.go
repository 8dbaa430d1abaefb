package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func checkFIFO(t *testing.T, s *server) {
	is(t, "made", s.queue(t, "line", object{"type": "fifo", "max_retries": 5, "visibility_timeout_default": 60}), object{"type": "fifo", "dlq": "line-dlq", "enable_priority": false})
	is(t, "its DLQ", s.do(t, "GET", "/v1/queue/get/line-dlq", nil), object{"type": "fifo", "is_dlq": true})
	s.post(t, "/v1/queue/create", object{"name": "line", "type": "standard"}).refused(t, 409, "QUEUE_EXISTS")
	s.post(t, "/v1/queue/update/line", object{"type": "fifo"}).refused(t, 400, "INVALID_ARGUMENT", "/type")
	s.post(t, "/v1/queue/create", object{"name": "mixed", "dlq": "line-dlq"}).refused(t, 400, "INVALID_ARGUMENT", "/dlq")
	s.queue(t, "plain", nil)
	s.post(t, "/v1/queue/create", object{"name": "mixed", "type": "fifo", "dead_letter_queue": "plain-dlq"}).refused(t, 400, "INVALID_ARGUMENT", "/dead_letter_queue")
	s.post(t, "/v1/queue/publish", object{"queue": "line", "payload": 1}).refused(t, 400, "INVALID_ARGUMENT", "/message_group_id")
	s.post(t, "/v1/queue/publish", object{"queue": "line", "payload": 1, "message_group_id": "a", "priority": 1}).refused(t, 400, "INVALID_ARGUMENT", "/priority")
	in := func(group string) object { return object{"message_group_id": group} }
	s.publish(t, "line", "a0", with(in("a"), object{"priority": 0}))
	s.do(t, "POST", "/v1/queue/publish_batch", object{"queue": "line", "messages": []object{
		with(in("a"), object{"payload": "a1"}), with(in("b"), object{"payload": "b0"}), {"payload": "none"}, with(in("a"), object{"payload": "a2"}),
	}})
	is(t, "stats", s.stats(t, "line"), object{"message_count": 4, "available_count": 4})
	take := func() (got []object) {
		t.Helper()
		got = s.consume(t, "line", object{"max_messages": 10})
		slices.SortFunc(got, func(a, b object) int { return strings.Compare(text(a["payload"]), text(b["payload"])) })
		return got
	}
	sees := func(got []object, wanted ...string) {
		t.Helper()
		var have []string
		for _, m := range got {
			have = append(have, text(m["payload"]))
		}
		if !slices.Equal(have, wanted) {
			t.Errorf("consumed %v, want %v", have, wanted)
		}
	}
	heads := take()
	sees(heads, "a0", "b0")
	sees(take())
	s.settle(t, "nack", "line", heads[0], object{"delay_seconds": 3600})
	s.settle(t, "ack", "line", heads[1], nil)
	sees(take())
	is(t, "stats behind a head that waits", s.stats(t, "line"), object{"message_count": 3, "in_flight_count": 0})
	// A person ends its wait.
	s.do(t, "POST", "/v1/queue/purge/line", object{"confirm": "line"})
	for i := range 3 {
		s.publish(t, "line", fmt.Sprint("c", i), in("c"))
	}
	heads = take()
	sees(heads, "c0")
	s.settle(t, "nack", "line", heads[0], object{"requeue": false})
	is(t, "redriven", s.redriven(t, "line", nil), object{"moved": 1})
	for _, name := range []string{"c1", "c2", "c0"} {
		m := take()
		sees(m, name)
		s.settle(t, "ack", "line", m[0], nil)
	}
}

func checkContentDedup(t *testing.T, s *server) {
	is(t, "made", s.queue(t, "same", object{"content_dedup": true}), object{"content_dedup": true})
	s.post(t, "/v1/queue/create", object{"name": "same", "content_dedup": false}).refused(t, 409, "QUEUE_EXISTS")
	publish := func(body string) answer { return s.call(t, "POST", "/v1/queue/publish", `{"queue":"same",`+body+`}`) }
	first := publish(`"payload":{"a":1,"b":"x"}`)
	id := first.ok(t)["message_id"]
	for _, again := range []string{`"payload":{ "b":"\u0078", "a":1.0 }`, `"body":{"a":1,"b":"x"},"priority":0,"delay_seconds":0`} {
		a := publish(again)
		if is(t, again, a.ok(t), object{"message_id": id}); a.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: not told as a replay", again)
		}
	}
	publish(`"payload":{"a":1,"b":"x"},"priority":1`).refused(t, 409, "IDEMPOTENCY_KEY_REUSED")
	for _, other := range []string{`"payload":{"a":1,"b":"y"}`, `"payload":{"a":1,"b":"x"},"idempotency_key":"k"`} {
		if publish(other).ok(t)["message_id"] == id {
			t.Errorf("%s: the first message", other)
		}
	}
	batch := items(t, s.do(t, "POST", "/v1/queue/publish_batch", object{"queue": "same", "messages": []object{{"payload": 1}, {"payload": object{"b": "x", "a": 1}}, {"payload": 1}}}))
	is(t, "an item that is there", batch[1], object{"message_id": id, "idempotent_replay": true})
	is(t, "an item twice", batch[2], object{"message_id": batch[0]["message_id"], "idempotent_replay": true})
	is(t, "messages", s.stats(t, "same"), object{"message_count": 4})
	is(t, "off", s.do(t, "POST", "/v1/queue/update/same", object{"content_dedup": false}), object{"content_dedup": false})
	if publish(`"payload":{"a":1,"b":"x"}`).ok(t)["message_id"] == id {
		t.Error("it is off, and the payload is still a key")
	}
}
