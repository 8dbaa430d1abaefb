package api_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward/api"
)

// Whatever a client sends, on whatever path: an answer in the envelope, and never one that says it is our fault.
func FuzzRequest(f *testing.F) {
	r := open(f)
	r.queue("jobs")
	r.kill("jobs", `1`)
	id := r.publish("jobs", `2`)
	m := r.consume("jobs", 1)[0]
	var ep received
	r.post("/v1/webhooks/endpoints", `{"url":"https://example.com/hook"}`).ok(&ep)
	var sent struct {
		Deliveries []received `json:"deliveries"`
	}
	r.post("/v1/webhooks/events", `{"event_id":"e1","event_type":"a","payload":1}`).ok(&sent)
	delivery := "/v1/webhooks/deliveries/" + sent.Deliveries[0].DeliveryID
	for _, s := range []struct{ method, path, body, key string }{
		{"POST", "/v1/queue/create", `{"name":"q","dlq":"d","max_retries":3}`, "k"},
		{"POST", "/v1/queue/update/jobs", `{"max_retries":4}`, ""},
		{"GET", "/v1/queue/list?limit=2&cursor=", "", ""},
		{"GET", "/v1/queue/get/%00", "", ""},
		{"GET", "/v1/queue/messages/jobs?status=in_flight&limit=500", "", ""},
		{"GET", "/v1/queue/dlq/list/jobs?cursor=cur_0", "", ""},
		{"POST", "/v1/queue/publish", `{"queue":"jobs","payload":{"a":[1e999,"\u0000"]},"headers":{"a":"b"},"message_group_id":"g","priority":9,"delay_seconds":0.000001}`, `"k"`},
		{"POST", "/v1/queue/publish_batch", `{"queue":"jobs","messages":[{"payload":1,"idempotency_key":"a"},{"body":2},{}]}`, ""},
		{"POST", "/v1/queue/consume", `{"queue":"jobs","max_messages":1000}`, ""},
		{"POST", "/v1/queue/ack", `{"queue":"jobs","message_id":"` + id + `"}`, ""},
		{"POST", "/v1/queue/nack", `{"queue":"jobs","receipt_handle":"` + m.Receipt + `","error":"é"}`, ""},
		{"POST", "/v1/queue/extend_batch", `{"queue":"jobs","items":[{"receipt_handle":"` + m.Receipt + `","visibility_timeout":1}]}`, ""},
		{"POST", "/v1/queue/release", `{"queue":"jobs","receipt_handle":"rct_"}`, ""},
		{"POST", "/v1/queue/dlq/redrive/jobs", `{"dry_run":true,"message_ids":["` + id + `"]}`, "k"},
		{"POST", "/v1/queue/purge/jobs", `{"confirm":"jobs"}`, ""},
		{"DELETE", "/v1/queue/delete/q?force=true", "", ""},
		{"POST", "/v1/webhooks/endpoints", `{"url":"https://a.b","retry_ladder":[1.5],"headers":{"x":"y"},"receiver_window_seconds":null}`, "k"},
		{"PATCH", "/v1/webhooks/endpoints/" + ep.EndpointID, `{"rate_per_second":1e-300}`, ""},
		{"POST", "/v1/webhooks/endpoints/" + ep.EndpointID + "/rotate_secret", `{"grace_seconds":0}`, "k"},
		{"POST", "/v1/webhooks/endpoints/" + ep.EndpointID + "/test", ``, ""},
		{"POST", "/v1/webhooks/events", `{"event_type":"a","event_id":"e1","payload":1,"subject":"s","endpoint_ids":["` + ep.EndpointID + `"]}`, "k"},
		{"GET", "/v1/webhooks/events?subject=%F0%9F%98%80&from=2026-01-01T00:00:00Z", "", ""},
		{"GET", "/v1/webhooks/deliveries?state=pending&to=9999-12-31T23:59:59.999999Z", "", ""},
		{"POST", delivery + "/resend", `{"reason":"r","new_key":true}`, "k"},
		{"POST", delivery + "/cancel", `{}`, ""},
		{"POST", "/v1/webhooks/redrive", `{"from":"1970-01-01T00:00:00Z","to":"9999-12-31T23:59:59Z","dry_run":true,"rate_per_second":1e-9,"max":9007199254740992}`, "k"},
	} {
		f.Add(s.method, s.path, s.body, s.key)
	}
	h := api.New(api.Config{Store: r.store, IDs: r.ids, Rules: r.rules})
	f.Fuzz(func(t *testing.T, method, path, body, key string) {
		if strings.Contains(body, "wait_seconds") || !strings.HasPrefix(path, "/") {
			return
		}
		req, err := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		if err != nil {
			return // nothing that a client can send
		}
		req.Header.Set("Authorization", "Bearer "+rootKey)
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		got, _ := io.ReadAll(w.Body)
		if w.Code >= 500 || !bytes.HasPrefix(got, []byte(`{"ok":`)) || !bytes.Contains(got, []byte(`"request_id":"`)) {
			t.Fatalf("%s %s %q: %d %s", method, path, body, w.Code, got)
		}
	})
}
