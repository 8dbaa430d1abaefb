package api_test

import (
	"encoding/json/v2"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// A request key: the first answer again, another request refused, and a key that led to nothing free.
func TestRequestKeys(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	var ep struct {
		ID string `json:"endpoint_id"`
	}
	r.post("/v1/webhooks/endpoints", `{"url":"https://example.com/hook"}`).ok(&ep)
	endpoint := "/v1/webhooks/endpoints/" + ep.ID
	for i, test := range []struct{ path, body, same, another string }{
		{"/v1/queue/create", `{"name":"made"}`, `{"name":"made","type":"standard","max_retries":3,"dlq":"made-dlq","visibility_timeout_default":300.0,"content_dedup":false}`, `{"name":"made","max_retries":4}`},
		{"/v1/queue/publish", `{"queue":"jobs","payload":{"a":1,"b":2}}`, `{"queue":"jobs","body":{"b":2.0,"a":1},"delay_seconds":0,"priority":0}`, `{"queue":"jobs","payload":{"a":1,"b":3}}`},
		{"/v1/queue/dlq/redrive/jobs", `{"dry_run":true}`, `{"dry_run":true,"message_ids":null}`, `{"dry_run":true,"max_messages":1}`},
		{"/v1/webhooks/endpoints", `{"url":"https://example.com/other"}`, `{"url":"https://example.com/other","event_types":["*"],"timeout_seconds":15,"retry_ladder":[30,120,600,3600,21600,86400],"policy":"idempotent","receiver_window_seconds":null,"rate_per_second":null,"retry_4xx":true,"max_in_flight":10}`, `{"url":"https://example.com/third"}`},
		{endpoint + "/rotate_secret", `{}`, `{"grace_seconds":86400}`, `{"grace_seconds":1}`},
		{endpoint + "/test", `{}`, `{"idempotency_key":null}`, ``},
		{"/v1/webhooks/events", `{"event_type":"a.b","payload":[1,2]}`, `{"event_type":"a.b","payload":[1.0,2e0],"tenant":null}`, `{"event_type":"a.b","payload":[1,3]}`},
		{"/v1/webhooks/redrive", `{"dry_run":true}`, `{"dry_run":true,"states":["failed"],"canary":true}`, `{"dry_run":true,"states":["stuck"]}`},
	} {
		key := fmt.Sprintf("key-%d", i)
		first := r.post(test.path, test.body, "Idempotency-Key", key).ok(nil)
		if *first.Metadata.Replay || first.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%s: the first is a replay: %s", test.path, first.raw)
		}
		want := first.Data
		var data map[string]any
		first.ok(&data)
		if secret, ok := data["secret"].(string); ok {
			want = []byte(strings.Replace(string(want), `"`+secret+`"`, "null", 1))
		}
		for _, with := range [][]string{{test.body, "Idempotency-Key", key}, {test.body, "Idempotency-Key", `"` + key + `"`}, {test.same, "Idempotency-Key", key}} {
			again := r.post(test.path, with[0], with[1:]...).ok(nil)
			if !*again.Metadata.Replay || again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s %s: no replay: %s", test.path, with[0], again.raw)
			}
			if test.path != "/v1/queue/publish" && string(again.Data) != string(want) {
				t.Errorf("%s %s: %s; want %s", test.path, with[0], again.Data, want)
			}
			if strings.Contains(string(again.raw), "whsec_") {
				t.Errorf("%s: a replay shows a secret: %s", test.path, again.raw)
			}
			var b map[string]any
			if again.ok(&b); b["message_id"] != data["message_id"] {
				t.Errorf("%s: %s; want %s", test.path, again.Data, first.Data)
			}
		}
		withKey := map[string]any{}
		if err := json.Unmarshal([]byte(test.body), &withKey); err != nil {
			t.Fatal(err)
		}
		withKey["idempotency_key"] = key
		body, _ := json.Marshal(withKey)
		if again := r.post(test.path, string(body)).ok(nil); !*again.Metadata.Replay {
			t.Errorf("%s: the key in the body is another: %s", test.path, again.raw)
		}
		r.post(test.path, string(body), "Idempotency-Key", key).ok(nil)
		r.post(test.path, string(body), "Idempotency-Key", "another").fails(400, "INVALID_ARGUMENT", "/idempotency_key")
		r.post(test.path, test.body, "Idempotency-Key", key, "Idempotency-Key", key).fails(400, "INVALID_ARGUMENT", "")
		r.post(test.path, test.body, "Idempotency-Key", strings.Repeat("k", 256)).fails(400, "INVALID_ARGUMENT", "")
		if test.another != "" {
			r.post(test.path, test.another, "Idempotency-Key", key).fails(409, "IDEMPOTENCY_KEY_REUSED", "*")
		}
		if o := r.other(); !strings.Contains(test.path, ep.ID) && !strings.Contains(test.path, "jobs") && !strings.Contains(test.body, "jobs") {
			if a := o.do("POST", test.path, test.body, "Idempotency-Key", key).ok(nil); *a.Metadata.Replay {
				t.Errorf("%s: another project's key is known: %s", test.path, a.raw)
			}
		}
	}
	// What was refused is not remembered.
	r.post("/v1/queue/publish", `{"queue":"soon","payload":1}`, "Idempotency-Key", "free").fails(404, "QUEUE_NOT_FOUND", "*")
	r.post("/v1/queue/create", `{"name":"jobs","max_retries":9}`, "Idempotency-Key", "free").fails(409, "QUEUE_EXISTS", "*")
	r.queue("soon")
	if a := r.post("/v1/queue/publish", `{"queue":"soon","payload":2}`, "Idempotency-Key", "free").ok(nil); *a.Metadata.Replay {
		t.Errorf("%s", a.raw)
	}
	if a := r.post("/v1/queue/create", `{"name":"late"}`, "Idempotency-Key", "free").ok(nil); *a.Metadata.Replay {
		t.Errorf("%s", a.raw)
	}
	// A publish key outlives its message and its queue.
	a := r.post("/v1/queue/publish", `{"queue":"late","payload":1}`, "Idempotency-Key", "long").ok(nil)
	r.do("DELETE", "/v1/queue/delete/late?force=true", "").ok(nil)
	if b := r.post("/v1/queue/publish", `{"queue":"late","payload":1}`, "Idempotency-Key", "long").ok(nil); string(a.Data) != string(b.Data) || !*b.Metadata.Replay {
		t.Errorf("%s; want %s", b.raw, a.raw)
	}
	// No key: two publishes are two messages.
	if x, y := r.publish("jobs", `7`), r.publish("jobs", `7`); x == y {
		t.Errorf("one message for two publishes without a key: %s", x)
	}
}

// H-L15: of many at once one does it, and all get its answer.
func TestRequestKeyAtOnce(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	for _, test := range []struct{ path, body string }{
		{"/v1/webhooks/endpoints", `{"url":"https://example.com/hook"}`}, {"/v1/webhooks/events", `{"event_type":"a","payload":1}`}, {"/v1/queue/publish", `{"queue":"jobs","payload":1}`},
	} {
		answers := make([]*answer, 16)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = r.post(test.path, test.body, "Idempotency-Key", "one") })
		}
		all.Wait()
		fresh, id := 0, ""
		for _, a := range answers {
			var data map[string]any
			a.ok(&data)
			if !*a.Metadata.Replay {
				fresh++
			}
			got := fmt.Sprint(data["endpoint_id"], data["event_id"], data["message_id"])
			if id == "" {
				id = got
			}
			if got != id {
				t.Errorf("%s: %s and %s", test.path, got, id)
			}
		}
		if fresh != 1 {
			t.Errorf("%s: done %d times", test.path, fresh)
		}
	}
}
