package wire

import (
	"fmt"
	"strings"
	"sync"
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

// checkRequestKeys is of the calls that keep their whole answer.
func checkRequestKeys(t *testing.T, s *server) {
	r := receive(t)
	for _, c := range []struct {
		path        string
		body, same  object
		other       object
		knownSecret bool
	}{
		{"/v1/queue/create", object{"name": "rk"}, object{"name": "rk", "type": "standard", "max_retries": 3, "visibility_timeout_default": 300.0}, object{"name": "rk", "max_receive_count": 4}, false},
		{"/v1/queue/dlq/redrive/rk", object{}, object{"dry_run": false}, object{"dry_run": true}, false},
		{"/v1/webhooks/endpoints", object{"url": r.url}, object{
			"url": r.url, "event_types": []string{"*"}, "timeout_seconds": 15, "retry_4xx": true, "policy": "idempotent", "receiver_window_seconds": nil, "max_in_flight": 10,
			"retry_ladder": []int{30, 120, 600, 3600, 21600, 86400}, "headers": object{},
		}, object{"url": r.url, "tenant": "rk"}, true},
		{"/v1/webhooks/events", object{"event_type": "rk", "payload": object{"a": 1}, "tenant": "rk-none"}, object{"event_type": "rk", "payload": object{"a": 1.0}, "tenant": "rk-none", "subject": nil}, object{"event_type": "rk", "payload": 2, "tenant": "rk-none"}, false},
		{redrives, object{"tenant": "rk-none"}, object{"tenant": "rk-none", "canary": true, "dry_run": false, "states": []string{"failed"}}, object{"tenant": "rk-none", "canary": false}, false},
	} {
		key := "rk " + c.path
		var first answer
		eventually(t, "no other redrive of deliveries runs", 30*time.Second, func() bool {
			first = s.post(t, c.path, c.body, "Idempotency-Key", key)
			return c.path != redrives || first.status != 409
		})
		if first.replayed(t) {
			t.Errorf("%s: the first is a replay", c.path)
		}
		if c.knownSecret && !strings.HasPrefix(text(first.ok(t)["secret"]), "whsec_") {
			t.Errorf("%s: no secret is shown: %s", c.path, clip(first.raw))
		}
		for _, body := range []object{c.body, c.same} {
			again := s.post(t, c.path, body, "Idempotency-Key", key)
			if again.status != 200 || !again.replayed(t) {
				t.Errorf("%s: %v again is no replay: %s", c.path, body, clip(again.raw))
				continue
			}
			want := with(object{}, first.ok(t))
			if c.knownSecret {
				want["secret"] = nil
			}
			is(t, c.path, again.ok(t), want)
			is(t, c.path, again.body["metadata"].(object), object{"cost_usd": 0})
		}
		s.post(t, c.path, c.other, "Idempotency-Key", key).refused(t, 409, "IDEMPOTENCY_KEY_REUSED")
		s.post(t, c.path, with(object{"idempotency_key": "x"}, c.body), "Idempotency-Key", "y").refused(t, 400, "INVALID_ARGUMENT")
	}
	// The path is part of the scope.
	e := s.endpoint(t, r.url, object{"tenant": "rk-two"})
	for _, verb := range []string{"rotate_secret", "test"} {
		path := "/v1/webhooks/endpoints/" + text(e["endpoint_id"]) + "/" + verb
		a := s.post(t, path, object{}, "Idempotency-Key", "one for both")
		b := s.post(t, path, nil, "Idempotency-Key", "one for both")
		if a.replayed(t) || !b.replayed(t) {
			t.Errorf("%s: the first is a replay or the second none", path)
		}
		if verb == "rotate_secret" && (b.ok(t)["secret"] != nil || !strings.HasPrefix(text(a.ok(t)["secret"]), "whsec_")) {
			t.Errorf("rotate_secret shows %v, then %v", a.ok(t)["secret"], b.ok(t)["secret"])
		}
	}
	// What was refused is not remembered.
	s.post(t, "/v1/queue/create", object{"name": "rk-taken", "max_retries": 0}, "Idempotency-Key", "rk-free").refused(t, 400, "INVALID_ARGUMENT")
	s.queue(t, "rk-taken", object{"max_retries": 9})
	s.post(t, "/v1/queue/create", object{"name": "rk-taken", "max_retries": 8}, "Idempotency-Key", "rk-free").refused(t, 409, "QUEUE_EXISTS")
	if s.post(t, "/v1/queue/create", object{"name": "rk-taken", "max_retries": 9}, "Idempotency-Key", "rk-free").replayed(t) {
		t.Error("a key whose first answers were refusals was kept")
	}
	// Two at once: one effect, one answer.
	var wg sync.WaitGroup
	got := make([]answer, 8)
	for i := range got {
		wg.Go(func() {
			got[i] = s.post(t, "/v1/webhooks/endpoints", object{"url": r.url, "tenant": "rk-storm"}, "Idempotency-Key", "rk-storm")
		})
	}
	wg.Wait()
	for _, a := range got {
		if a.ok(t)["endpoint_id"] != got[0].ok(t)["endpoint_id"] {
			t.Error("one key at once made two endpoints")
		}
	}
	if n := len(items(t, s.do(t, "GET", "/v1/webhooks/endpoints?tenant=rk-storm", nil))); n != 1 {
		t.Errorf("one key at once made %d endpoints", n)
	}
	// The others accept a key and ignore it.
	for range 2 {
		if s.post(t, "/v1/queue/pause/rk", object{"idempotency_key": "p"}, "Idempotency-Key", "p").replayed(t) {
			t.Error("pause takes a key")
		}
	}
	s.post(t, "/v1/queue/resume/rk", nil, "Idempotency-Key", "p").ok(t)
	s.post(t, "/v1/queue/consume", object{"queue": "rk", "idempotency_key": "p"}).ok(t)
}
