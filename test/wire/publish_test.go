package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const publishedFields = "message_id queue payload status delivery_count published_at visible_at"

func checkPublish(t *testing.T, s *server) {
	s.queue(t, "pub", nil)
	d := s.publish(t, "pub", object{"a": []any{1, nil}}, nil)
	fields(t, "publish", d, publishedFields)
	is(t, "publish", d, object{"queue": "pub", "payload": object{"a": []any{1, nil}}, "status": "available", "delivery_count": 0, "visible_at": d["published_at"]})
	stamp(t, d, "published_at")
	later := s.publish(t, "pub", 1, object{"delay_seconds": 1000.25})
	is(t, "a delayed one", later, object{"status": "delayed"})
	if w := stamp(t, later, "visible_at").Sub(stamp(t, later, "published_at")); w != 1000250*time.Millisecond {
		t.Errorf("a delay of 1000.25 s is %v", w)
	}
	// Any JSON, and the bytes that came.
	for _, p := range []string{`null`, `false`, `0`, `""`, `[]`, `{}`, `{"b":1,"a":1.0}`, `1e400`, `9007199254740993`, `"\u00e9\/"`, `[ 1,  2 ]`, `"\u0000"`} {
		a := s.post(t, "/v1/queue/publish", `{"queue":"pub","payload":`+p+`,"priority":9}`)
		a.ok(t)
		if !strings.Contains(a.raw, `"payload":`+p+`,`) {
			t.Errorf("the payload %s is answered as %s", p, clip(a.raw))
		}
		a = s.post(t, "/v1/queue/consume", object{"queue": "pub"})
		if got := items(t, a.ok(t)); len(got) != 1 || !strings.Contains(a.raw, `"payload":`+p+`,`) {
			t.Errorf("the payload %s is consumed as %s", p, clip(a.raw))
		}
	}
	is(t, "body for payload", s.do(t, "POST", "/v1/queue/publish", object{"queue": "pub", "body": "x"}), object{"payload": "x"})
	s.do(t, "POST", "/v1/queue/publish", `{"queue":"pub","body":{"a":1,"b":2.0},"payload":{"b":2,"a":1}}`)
	// No key: two messages.
	if a, b := s.publish(t, "pub", "same", nil), s.publish(t, "pub", "same", nil); a["message_id"] == b["message_id"] {
		t.Error("two publishes without a key are one message")
	}
	s.post(t, "/v1/queue/publish", object{"queue": "none", "payload": 1}).refused(t, 404, "QUEUE_NOT_FOUND")
}

func checkPublishFields(t *testing.T, s *server) {
	s.queue(t, "pubf", object{"message_retention_days": 1})
	twenty := object{}
	for i := range 20 {
		twenty[fmt.Sprintf("h%d", i)] = "v"
	}
	for _, good := range []object{
		{"delay_seconds": 0},
		{"delay_seconds": 86399},
		{"delay_seconds": 0.001},
		{"priority": 0},
		{"priority": 9},
		{"headers": twenty},
		{"headers": object{}},
		{"headers": object{"h": strings.Repeat("v", 8191)}},
		{"message_group_id": "g"},
		{"message_group_id": strings.Repeat("~", 128)},
		{"message_group_id": "a b"},
		{"message_group_id": " "},
		{"message_group_id": " a "},
		{"origin_at": "2026-01-02T03:04:05Z"},
		{"origin_at": "2026-01-02T03:04:05.123456+02:00"},
		{"origin_at": nil, "priority": nil, "headers": nil, "delay_seconds": nil},
		{"idempotency_key": strings.Repeat("k", 255)},
	} {
		s.publish(t, "pubf", 1, good)
	}
	for _, c := range []struct {
		body  object
		field string
	}{
		{object{"delay_seconds": 604801}, "/delay_seconds"},
		{object{"delay_seconds": 86400}, "/delay_seconds"},
		{object{"delay_seconds": -0.5}, "/delay_seconds"},
		{object{"priority": -1}, "/priority"},
		{object{"priority": 10}, "/priority"},
		{object{"headers": with(object{"one": "more"}, twenty)}, "/headers"},
		{object{"headers": object{"h": strings.Repeat("v", 8192)}}, "/headers"},
		{object{"headers": object{"h": 1}}, "/headers/h"},
		{object{"headers": object{"h": nil}}, "/headers/h"},
		{object{"headers": []string{}}, "/headers"},
		{object{"message_group_id": ""}, "/message_group_id"},
		{object{"message_group_id": strings.Repeat("g", 129)}, "/message_group_id"},
		{object{"message_group_id": "é"}, "/message_group_id"},
		{object{"message_group_id": "a\n"}, "/message_group_id"},
		{object{"origin_at": "yesterday"}, "/origin_at"},
		{object{"origin_at": "2026-01-02"}, "/origin_at"},
		{object{"origin_at": 5}, "/origin_at"},
		{object{"idempotency_key": ""}, "/idempotency_key"},
		{object{"idempotency_key": strings.Repeat("k", 256)}, "/idempotency_key"},
		{object{"idempotency_key": "é"}, "/idempotency_key"},
		{object{"queue": ""}, "/queue"},
	} {
		s.post(t, "/v1/queue/publish", with(object{"queue": "pubf", "payload": 1}, c.body)).refused(t, 400, "INVALID_ARGUMENT", c.field)
	}
	at := s.publish(t, "pubf", "origin", object{"origin_at": "2026-01-02T03:04:05.5+01:00", "priority": 9, "message_group_id": "o"})
	for range 30 {
		m := s.one(t, "pubf", object{"max_messages": 1})
		if m["message_id"] == at["message_id"] {
			is(t, "origin_at", m, object{"origin_at": "2026-01-02T02:04:05.500000Z", "priority": 9, "message_group_id": "o"})
			return
		}
	}
	t.Error("the message with an origin did not come")
}

func checkPublishBatch(t *testing.T, s *server) {
	s.queue(t, "pubb", nil)
	d := s.do(t, "POST", "/v1/queue/publish_batch", object{"queue": "pubb", "messages": []object{
		{"payload": "a"},
		{"payload": "b", "priority": 11},
		{"body": "c", "delay_seconds": 60},
		{},
		{"payload": strings.Repeat("x", 262144)},
		{"payload": "k", "idempotency_key": "one"},
		{"payload": "k", "idempotency_key": "one"},
		{"payload": "other", "idempotency_key": "one"},
	}})
	fields(t, "publish_batch", d, "items")
	got := items(t, d)
	if len(got) != 8 {
		t.Fatalf("8 messages have %d answers", len(got))
	}
	for i, want := range []string{"", "INVALID_ARGUMENT", "", "INVALID_ARGUMENT", "QUEUE_MESSAGE_TOO_LARGE", "", "", "IDEMPOTENCY_KEY_REUSED"} {
		if want == "" {
			fields(t, fmt.Sprint("item ", i), got[i], publishedFields+" idempotent_replay error")
			is(t, fmt.Sprint("item ", i), got[i], object{"error": nil, "queue": "pubb", "idempotent_replay": i == 6})
			continue
		}
		e, _ := got[i]["error"].(object)
		fields(t, fmt.Sprint("error of item ", i), e, "code message hint field")
		is(t, fmt.Sprint("error of item ", i), e, object{"code": want})
	}
	is(t, "the item's pointer", got[1]["error"].(object), object{"field": "/messages/1/priority"})
	if got[5]["message_id"] != got[6]["message_id"] {
		t.Error("one key twice in a batch is two messages")
	}
	is(t, "stats", s.stats(t, "pubb"), object{"message_count": 3})

	// A header stands for <key>:<index>, in one space with publish.
	batch := object{"queue": "pubb", "messages": []object{{"payload": 1}, {"payload": 2}}}
	a := s.post(t, "/v1/queue/publish_batch", batch, "Idempotency-Key", "bk")
	b := s.post(t, "/v1/queue/publish_batch", batch, "Idempotency-Key", `"bk"`)
	if a.replayed(t) || !b.replayed(t) {
		t.Error("the batch's second sending is no replay, or its first is")
	}
	if items(t, a.ok(t))[1]["message_id"] != items(t, b.ok(t))[1]["message_id"] {
		t.Error("the batch's second sending has other messages")
	}
	c := s.post(t, "/v1/queue/publish", object{"queue": "pubb", "payload": 2}, "Idempotency-Key", "bk:1")
	if !c.replayed(t) || c.ok(t)["message_id"] != items(t, a.ok(t))[1]["message_id"] {
		t.Error("bk:1 is not the batch's second message")
	}
	// Too many, and the largest.
	many := make([]object, 1001)
	for i := range many {
		many[i] = object{"payload": i}
	}
	s.post(t, "/v1/queue/publish_batch", object{"queue": "pubb", "messages": many}).refused(t, 400, "INVALID_ARGUMENT", "/messages")
	if n := len(items(t, s.do(t, "POST", "/v1/queue/publish_batch", object{"queue": "pubb", "messages": many[:1000]}))); n != 1000 {
		t.Errorf("a batch of 1000 has %d answers", n)
	}
	s.post(t, "/v1/queue/publish_batch", object{"queue": "none", "messages": []object{{"payload": 1}, {}}}).refused(t, 404, "QUEUE_NOT_FOUND")
	s.post(t, "/v1/queue/publish_batch", object{"queue": "pubb"}).refused(t, 400, "INVALID_ARGUMENT", "/messages")
	s.post(t, "/v1/queue/publish_batch", object{"queue": "pubb", "messages": []object{{"payload": 1, "colour": 2}}}).refused(t, 400, "INVALID_ARGUMENT", "/messages/0/colour")
}
