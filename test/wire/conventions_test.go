package wire

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var uuidV7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func checkEnvelope(t *testing.T, s *server) {
	s.queue(t, "env", nil)
	for _, id := range []string{"%FF", "%00", "a%00b", "%C3"} { // no text, and with a key it would become part of one
		s.post(t, "/v1/webhooks/endpoints/"+id+"/rotate_secret", object{"idempotency_key": "text"}).refused(t, 404, "NOT_FOUND")
		s.post(t, "/v1/queue/dlq/redrive/"+id, object{"idempotency_key": "text"}).refused(t, 404, "QUEUE_NOT_FOUND")
	}
	for _, c := range []struct {
		name string
		a    answer
		ok   bool
		want string // the metadata's fields
	}{
		{"a read", s.call(t, "GET", "/v1/queue/get/env", nil), true, "request_id latency_ms cost_usd"},
		{"a write", s.post(t, "/v1/queue/pause/env", object{}), true, "request_id latency_ms cost_usd idempotent_replay"},
		{"a refused write", s.post(t, "/v1/queue/publish", object{}), false, "request_id latency_ms cost_usd idempotent_replay"},
		{"a refused read", s.call(t, "GET", "/v1/queue/get/none", nil), false, "request_id latency_ms cost_usd"},
		{"no path", s.call(t, "GET", "/v1/none", nil), false, "request_id latency_ms cost_usd"},
	} {
		fields(t, c.name, c.a.body, "ok data error metadata")
		m := c.a.body["metadata"].(object)
		fields(t, c.name+": metadata", m, c.want)
		is(t, c.name, m, object{"cost_usd": 0})
		if id := text(m["request_id"]); !uuidV7.MatchString(id) || c.a.header.Get("X-Request-Id") != id {
			t.Errorf("%s: request_id is %q and X-Request-Id %q", c.name, id, c.a.header.Get("X-Request-Id"))
		}
		if l, ok := m["latency_ms"].(float64); !ok || l < 0 {
			t.Errorf("%s: latency_ms is %v", c.name, m["latency_ms"])
		}
		if !strings.HasPrefix(c.a.header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: Content-Type is %q", c.name, c.a.header.Get("Content-Type"))
		}
		if c.ok {
			c.a.ok(t)
			is(t, c.name, c.a.body, object{"error": nil})
			continue
		}
		is(t, c.name, c.a.body, object{"ok": false, "data": nil})
		fields(t, c.name+": error", c.a.body["error"].(object), "code message hint field")
	}
}

func checkAccess(t *testing.T, s *server) {
	var told []string
	for _, auth := range []string{"-", "", "Bearer", "Bearer ", "Bearer unknown-key-0123456789", "Basic " + apiKey, apiKey, "Bearer " + apiKey + "x", "Bearer " + apiKey + "\nBearer " + apiKey} {
		for _, path := range []string{"/v1/queue/list", "/v1/webhooks/endpoints"} {
			a := s.call(t, "GET", path, nil, "Authorization", auth)
			a.refused(t, 401, "UNAUTHENTICATED")
			told = append(told, fmt.Sprint(a.body["error"]))
		}
	}
	if slices.Sort(told); len(slices.Compact(told)) != 1 {
		t.Errorf("a key that is no key is answered in more than one way: %q", slices.Compact(told))
	}
	s.call(t, "GET", "/v1/queue/list", nil, "Authorization", "bearer "+apiKey).ok(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := s.call(t, "GET", path, nil, "Authorization", "-"); a.status != 200 {
			t.Errorf("%s without a key: %d %s", path, a.status, a.raw)
		}
	}
	for path, code := range map[string]string{
		"/v1/webhooks/endpoints/ep_000000000000000000000000": "NOT_FOUND", "/v1/webhooks/deliveries/dlv_abc": "NOT_FOUND",
		"/v1/webhooks/events/none": "NOT_FOUND", "/v1/redrives/rdv_000000000000000000000000": "NOT_FOUND", "/v1/none": "NOT_FOUND",
		"/v1/queue/get/_deliveries": "QUEUE_NOT_FOUND", "/v1/queue/stats/_deliveries-dlq": "QUEUE_NOT_FOUND", "/v1/queue/messages/none": "QUEUE_NOT_FOUND",
	} {
		s.call(t, "GET", path, nil).refused(t, 404, code)
	}
	// The server's own queues are no queues of anybody's.
	for _, name := range []string{"_deliveries", "_deliveries-dlq", "no such!"} {
		s.post(t, "/v1/queue/publish", object{"queue": name, "payload": 1}).refused(t, 404, "QUEUE_NOT_FOUND")
		s.post(t, "/v1/queue/consume", object{"queue": name}).refused(t, 404, "QUEUE_NOT_FOUND")
		s.post(t, "/v1/queue/publish_batch", object{"queue": name, "messages": []object{{"payload": 1}}}).refused(t, 404, "QUEUE_NOT_FOUND")
	}
	for _, c := range [][2]string{{"GET", "/v1/queue/create"}, {"PUT", "/v1/queue/publish"}, {"POST", "/v1/queue/list"}, {"DELETE", "/v1/webhooks/events"}, {"PATCH", "/v1/queue/get/x"}} {
		a := s.call(t, c[0], c[1], nil)
		if a.refused(t, 405, "METHOD_NOT_ALLOWED"); a.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c[0], c[1])
		}
	}
}

func checkBodies(t *testing.T, s *server) {
	s.queue(t, "bodies", nil)
	const path = "/v1/queue/publish"
	for _, c := range []struct {
		body, field string
		why         string
	}{
		{`{"queue":"bodies","payload":1,"colour":2}`, "/colour", "an unknown field"},
		{`{"queue":"bodies","payload":1`, "*", "bad JSON"},
		{`{"queue":"bodies","payload":1} x`, "*", "something after it"},
		{`{"queue":"bodies","payload":1,"payload":1}`, "/payload", "a name twice"},
		{`{"queue":"bodies","payload":{"a":1,"a":2}}`, "/payload/a", "a name twice in the payload"},
		{"{\"queue\":\"bodies\",\"payload\":\"\xff\"}", "/payload", "bad UTF-8"},
		{`{"queue":"bodies","payload":"\ud800"}`, "/payload", "a lone surrogate"},
		{`{"queue":"bodies","payload":1,"headers":{"a":"\udc00"}}`, "/headers/a", "a lone surrogate in a header"},
		{`{"queue":7,"payload":1}`, "/queue", "a wrong type"},
		{`{"queue":"bodies","payload":1,"priority":"3"}`, "/priority", "a number as text"},
		{`{"queue":"bodies","payload":1,"priority":1.5}`, "/priority", "a fraction"},
		{`{"queue":"bodies","payload":1,"priority":10}`, "/priority", "out of range"},
		{`{"queue":"bodies","payload":1,"delay_seconds":-1}`, "/delay_seconds", "out of range"},
		{`{"queue":"bodies","payload":1,"Priority":1}`, "/Priority", "another case"},
		{`{"queue":"bodies","payload":1,"body":2}`, "/body", "two aliases that differ"},
		{`{"queue":"bodies"}`, "/payload", "a field missing"},
		{`{"payload":1}`, "/queue", "a field missing"},
		{`[]`, "*", "a list"},
		{`null`, "*", "null"},
		{`"x"`, "*", "text"},
		{``, "*", "nothing"},
		{`{'queue':1}`, "*", "single quotes"},
		{`{"queue":"bodies","payload":01}`, "*", "a leading zero"},
		{`{"queue":"bodies","payload":NaN}`, "/payload", "NaN"},
	} {
		a := s.post(t, path, c.body)
		if a.refused(t, 400, "INVALID_ARGUMENT"); c.field != "*" && a.status == 400 && a.body["error"].(object)["field"] != c.field {
			t.Errorf("%s: the field is %v, want %s: %s", c.why, a.body["error"].(object)["field"], c.field, clip(a.raw))
		}
	}
	// The value and the range are told.
	for body, want := range map[string][]string{
		`{"queue":"bodies","payload":1,"priority":12}`:           {"12", "0", "9"},
		`{"queue":"bodies","payload":1,"delay_seconds":604801}`:  {"604801", "604800"},
		`{"queue":"bodies","payload":1,"delay_seconds":"later"}`: {"later"},
	} {
		a := s.post(t, path, body)
		a.refused(t, 400, "INVALID_ARGUMENT")
		for _, w := range want {
			if m := text(a.body["error"].(object)["message"]); !strings.Contains(m, w) {
				t.Errorf("%s: %q does not say %s", body, m, w)
			}
		}
	}
	good := `{"queue":"bodies","payload":1}`
	for _, kind := range []string{"-", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"} {
		s.post(t, path, good, "Content-Type", kind).refused(t, 415, "UNSUPPORTED_MEDIA_TYPE")
	}
	s.post(t, path, good, "Content-Type", "application/json", "Content-Encoding", "gzip").refused(t, 415, "UNSUPPORTED_MEDIA_TYPE")
	if s.stats(t, "bodies")["message_count"] != 0.0 {
		t.Error("a refused call stored a message")
	}
	for _, kind := range []string{"application/json; charset=utf-8", "Application/JSON; charset=UTF-8"} {
		s.post(t, path, good, "Content-Type", kind).ok(t)
	}
	s.post(t, path, `{"queue":"bodies","payload":"`+strings.Repeat("x", 16<<20)+`"}`).refused(t, 413, "PAYLOAD_TOO_LARGE")
	s.post(t, path, `{"queue":"bodies","payload":"`+strings.Repeat("x", 262144-2)+`"}`).ok(t)
	s.post(t, path, `{"queue":"bodies","payload":"`+strings.Repeat("x", 262144-1)+`"}`).refused(t, 413, "QUEUE_MESSAGE_TOO_LARGE")
	// Spaces are bytes as sent.
	s.post(t, path, `{"queue":"bodies","payload":[`+strings.Repeat(" ", 262144-1)+`]}`).refused(t, 413, "QUEUE_MESSAGE_TOO_LARGE")
}

func checkLists(t *testing.T, s *server) {
	s.queue(t, "lists", nil)
	var ids []string
	for i := range 23 {
		ids = append(ids, text(s.publish(t, "lists", i, nil)["message_id"]))
	}
	// While others come and go, what is there throughout appears once.
	gone := s.consume(t, "lists", object{"max_messages": 3})
	var seen []string
	cursor := ""
	for page := range 40 {
		d := s.do(t, "GET", "/v1/queue/messages/lists?limit=3"+cursor, nil)
		fields(t, "a page", d, "items next_cursor")
		for _, m := range items(t, d) {
			seen = append(seen, text(m["message_id"]))
		}
		if d["next_cursor"] == nil {
			break
		}
		cursor = "&cursor=" + text(d["next_cursor"])
		if page < 3 {
			s.do(t, "POST", "/v1/queue/ack", object{"queue": "lists", "receipt_handle": gone[page]["receipt_handle"]})
			s.publish(t, "lists", "new", nil)
		}
	}
	if !slices.IsSorted(seen) {
		t.Errorf("messages are not oldest first: %v", seen)
	}
	for _, id := range ids[3:] {
		n := 0
		for _, x := range seen {
			if x == id {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is there %d times over the pages", id, n)
		}
	}
	for _, q := range []string{"limit=0", "limit=501", "limit=x", "limit=-1", "cursor=nonsense", "status=gone", "colour=red", "limit=1&limit=2"} {
		s.call(t, "GET", "/v1/queue/messages/lists?"+q, nil).refused(t, 400, "INVALID_ARGUMENT")
	}
	for _, call := range []string{
		"GET /v1/queue/get/lists", "GET /v1/queue/stats/lists", "POST /v1/queue/pause/lists", "POST /v1/queue/publish", "POST /v1/queue/consume", "POST /v1/webhooks/events",
		"GET /v1/webhooks/events/none", "POST /v1/webhooks/redrive", "DELETE /v1/webhooks/endpoints/none", "POST /v1/keys",
	} {
		method, path, _ := strings.Cut(call, " ")
		s.call(t, method, path+"?colour=red", nil).refused(t, 400, "INVALID_ARGUMENT", "/colour")
	}
	s.do(t, "GET", "/v1/queue/messages/lists?limit=500", nil)
	d := s.do(t, "GET", "/v1/queue/messages/lists?limit=1", nil)
	s.call(t, "GET", "/v1/queue/list?cursor="+text(d["next_cursor"]), nil).refused(t, 400, "INVALID_ARGUMENT")
	// Empty: never null.
	s.queue(t, "lists-none", nil)
	for _, path := range []string{"/v1/queue/messages/lists-none", "/v1/queue/dlq/list/lists-none", "/v1/webhooks/events?tenant=nobody", "/v1/webhooks/deliveries?tenant=nobody", "/v1/webhooks/endpoints?tenant=nobody"} {
		if d := s.do(t, "GET", path, nil); len(items(t, d)) != 0 || d["next_cursor"] != nil {
			t.Errorf("%s: %v", path, d)
		}
	}
	// Queues and events come the newest first, and the default page is 50.
	for i := range 52 {
		s.event(t, object{"event_id": fmt.Sprintf("list-%d", i), "event_type": "list.test", "payload": i, "tenant": "lister"})
	}
	first := s.do(t, "GET", "/v1/webhooks/events?tenant=lister", nil)
	second := s.do(t, "GET", "/v1/webhooks/events?tenant=lister&cursor="+text(first["next_cursor"]), nil)
	if a, b := items(t, first), items(t, second); len(a) != 50 || len(b) != 2 || a[0]["event_id"] != "list-51" || b[1]["event_id"] != "list-0" || second["next_cursor"] != nil {
		t.Errorf("52 events come as %d and %d", len(a), len(b))
	}
	newest := text(s.queue(t, "lists-last", nil)["name"])
	queues := items(t, s.do(t, "GET", "/v1/queue/list?limit=500", nil))
	at := func(name string) int {
		return slices.IndexFunc(queues, func(q object) bool { return q["name"] == name })
	}
	if last, middle, first := at(newest), at("lists-none"), at("lists"); !(0 <= last && last < middle && middle < first) {
		t.Errorf("queues are not the newest first: the three made here are at %d, %d and %d", last, middle, first)
	}
	for _, q := range queues {
		if strings.HasPrefix(text(q["name"]), "_") {
			t.Errorf("the list shows %v, a queue of the server's own", q["name"])
		}
	}
}

var idForm = regexp.MustCompile(`^(qmsg|evt|ep|dlv|att|rdv)_[0-9A-Za-z]{24}$`)

func checkIDs(t *testing.T, s *server) {
	r := receive(t)
	s.queue(t, "ids", nil)
	made := map[string]func() string{
		"qmsg_": func() string { return text(s.publish(t, "ids", 1, nil)["message_id"]) },
		"ep_":   func() string { return text(s.endpoint(t, r.url, object{"tenant": "ids"})["endpoint_id"]) },
		"evt_": func() string {
			return text(s.event(t, object{"event_type": "a", "payload": 1, "tenant": "ids-nobody"})["event_id"])
		},
		"dlv_": func() string { return text(s.deliver(t, r.url, object{"tenant": "ids-dlv"}, nil)["delivery_id"]) },
		"rdv_": func() string {
			return text(s.do(t, "POST", "/v1/queue/dlq/redrive/ids", object{"dry_run": true})["redrive_id"])
		},
	}
	for prefix, make := range made {
		var ids []string
		for range 5 {
			id := make()
			if !idForm.MatchString(id) || !strings.HasPrefix(id, prefix) {
				t.Errorf("%q is no id of the form %s and 24 alphanumerics", id, prefix)
			}
			ids = append(ids, id)
		}
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != 5 {
			t.Errorf("ids do not sort by creation: %v", ids)
		}
	}
}
