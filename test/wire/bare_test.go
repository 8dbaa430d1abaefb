package wire

import (
	"strings"
	"testing"
)

// The same calls beneath /bare are answered without the envelope, and are the same calls: keys and cursors of the one hold for the other.
func checkBare(t *testing.T, s *server) {
	call := func(method, path string, body any, headers ...string) answer {
		t.Helper()
		a := s.call(t, method, "/bare"+path, body, headers...)
		if !uuidV7.MatchString(a.header.Get("X-Request-Id")) || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
			t.Errorf("%s %s: headers %v", method, path, a.header)
		}
		return a
	}
	done := func(what string, a answer, names string) object {
		t.Helper()
		if a.status != 200 {
			t.Fatalf("%s: %d %s", what, a.status, clip(a.raw))
		}
		fields(t, what, a.body, names)
		return a.body
	}
	failed := func(what string, a answer, status int, code, field string) {
		t.Helper()
		fields(t, what, a.body, "error")
		e, _ := a.body["error"].(object)
		if fields(t, what+": error", e, "code message hint field"); a.status != status || e["code"] != code || text(e["field"]) != field {
			t.Errorf("%s: %d %s, want %d %s at %q", what, a.status, clip(a.raw), status, code, field)
		}
	}
	is(t, "the queue", call("POST", "/v1/queue/create", object{"name": "bare"}).body, object{"name": "bare", "type": "standard"})

	const published = "message_id queue payload status delivery_count published_at visible_at"
	publish := object{"queue": "bare", "payload": object{"n": 1}}
	first := done("publish", call("POST", "/v1/queue/publish", publish, "Idempotency-Key", "k"), published)
	again := call("POST", "/v1/queue/publish", publish, "Idempotency-Key", "k")
	is(t, "the same publish", done("replay", again, published), object{"message_id": first["message_id"]})
	if again.header.Get("Idempotent-Replayed") != "true" {
		t.Error("a replay without the envelope does not say that it is one")
	}
	enveloped := s.post(t, "/v1/queue/publish", publish, "Idempotency-Key", "k")
	if !enveloped.replayed(t) || enveloped.ok(t)["message_id"] != first["message_id"] {
		t.Errorf("with the envelope the key is another one: %s", clip(enveloped.raw))
	}
	publish["payload"] = 2
	failed("another publish", call("POST", "/v1/queue/publish", publish, "Idempotency-Key", "k"), 409, "IDEMPOTENCY_KEY_REUSED", "")

	got := done("consume", call("POST", "/v1/queue/consume", object{"queue": "bare", "max_messages": 10}), "messages next_cursor")["messages"].([]any)
	if len(got) != 1 || got[0].(object)["message_id"] != first["message_id"] {
		t.Fatalf("consume: %v", got)
	}
	is(t, "ack", done("ack", call("POST", "/v1/queue/ack", object{"queue": "bare", "message_id": first["message_id"]}), "acked reason"), object{"acked": true})
	if got := done("consume nothing", call("POST", "/v1/queue/consume", object{"queue": "bare"}), "messages next_cursor")["messages"].([]any); len(got) != 0 {
		t.Errorf("consume after the ack: %v", got)
	}

	for _, p := range []int{1, 2} {
		s.publish(t, "bare", p, nil)
	}
	page := done("messages", call("GET", "/v1/queue/messages/bare?limit=1", nil), "items next_cursor")
	if rest := items(t, s.do(t, "GET", "/v1/queue/messages/bare?limit=1&cursor="+text(page["next_cursor"]), nil)); len(rest) != 1 {
		t.Errorf("the cursor of a bare list, with the envelope: %v", rest)
	}
	batch := done("batch", call("POST", "/v1/queue/publish_batch", object{"queue": "bare", "messages": []object{{"payload": 1}, {"payload": 1, "priority": 77}}}), "items")
	if it := items(t, batch); len(it) != 2 || it[0]["error"] != nil || it[1]["error"].(object)["field"] != "/messages/1/priority" {
		t.Errorf("batch: %v", it)
	}

	failed("no field", call("POST", "/v1/queue/publish", object{"queue": "bare"}), 400, "INVALID_ARGUMENT", "/payload")
	failed("no key", call("GET", "/v1/queue/list", nil, "Authorization", "-"), 401, "UNAUTHENTICATED", "")
	failed("no queue", call("GET", "/v1/queue/get/none", nil), 404, "QUEUE_NOT_FOUND", "")
	failed("another parameter", call("GET", "/v1/queue/get/bare?colour=red", nil), 400, "INVALID_ARGUMENT", "/colour")
	failed("another method", call("GET", "/v1/queue/publish", nil), 405, "METHOD_NOT_ALLOWED", "")
	none := call("GET", "/v1/none", nil)
	failed("no path", none, 404, "NOT_FOUND", "")
	if e := none.body["error"].(object); !strings.Contains(text(e["message"]), `"/bare/v1/none"`) {
		t.Errorf("the path that is none: %v", e["message"])
	}
	none = call("POST", "/v1//queue/publish", publish)
	failed("a path that is not clean", none, 404, "NOT_FOUND", "")
	if e := none.body["error"].(object); !strings.Contains(text(e["message"]), `"/bare/v1//queue/publish"`) {
		t.Errorf("the path that is not clean: %v", e["message"])
	}
	// What is not beneath /bare/v1 is no call.
	for _, path := range []string{"/bare", "/bare/healthz", "/bare/bare/v1/queue/list", "/barev1/queue/list"} {
		s.call(t, "GET", path, nil).refused(t, 404, "NOT_FOUND")
	}
}
