package wire

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/webhook"
)

func checkPush(t *testing.T, s *server) {
	r := receive(t)
	const subscribe, list = "/v1/queue/push_subscribe/pushed", "/v1/queue/push_list/pushed"
	s.post(t, subscribe, object{"url": r.url}).refused(t, 404, "QUEUE_NOT_FOUND")
	s.call(t, "GET", list, nil).refused(t, 404, "QUEUE_NOT_FOUND")
	s.queue(t, "pushed", object{"max_retries": 2})
	for field, body := range map[string]object{
		"/url":             {},
		"/timeout_seconds": {"url": r.url, "timeout_seconds": 0.5},
		"/max_in_flight":   {"url": r.url, "max_in_flight": 1001},
		"/secret":          {"url": r.url, "secret": "whsec_short"},
		"/method":          {"url": r.url, "method": "PUT"},
	} {
		s.post(t, subscribe, body).refused(t, 400, "INVALID_ARGUMENT", field)
	}
	is(t, "listed", s.do(t, "GET", list, nil), object{"items": []any{}, "next_cursor": nil})

	made := s.do(t, "POST", subscribe, object{"url": r.url, "idempotency_key": "ignored"})
	fields(t, "a subscription whose secret was made", made, "id secret")
	secret := text(made["secret"])
	again := s.do(t, "POST", subscribe, object{"url": r.url, "max_in_flight": 3})
	fields(t, "the same url again", again, "id")
	is(t, "the same url again", again, object{"id": made["id"]})
	if id := text(made["id"]); !strings.HasPrefix(id, "psh_") || len(id) != len("psh_")+24 {
		t.Errorf("the id %q", id)
	}
	p := s.publish(t, "pushed", object{"n": 1}, object{"headers": object{"h": "v"}})
	eventually(t, "it was pushed", 20*time.Second, func() bool { return len(r.requests()) == 1 })
	q := r.requests()[0]
	if q.method != "POST" || q.body != `{"n":1}` || q.header.Get("Webhook-Id") != text(p["message_id"]) || q.header.Get("Webhook-Attempt") != "1" ||
		q.header.Get("Idempotency-Key") != text(p["message_id"]) || q.header.Get("Content-Type") != "application/json" {
		t.Errorf("pushed: %s %q %v", q.method, q.body, q.header)
	}
	if err := webhook.Verify(q.header, []byte(q.body), time.Now(), secret); err != nil {
		t.Errorf("its signature: %v", err)
	}
	eventually(t, "it was acked", 20*time.Second, func() bool { return s.stats(t, "pushed")["message_count"] == 0.0 })

	// What is refused waits for its next time, counted.
	r.will(func(_ int, w http.ResponseWriter) { w.WriteHeader(500) })
	s.publish(t, "pushed", 2, nil)
	eventually(t, "it waits", 20*time.Second, func() bool { return s.stats(t, "pushed")["delayed_count"] == 1.0 })
	m := items(t, s.do(t, "GET", "/v1/queue/messages/pushed", nil))[0]
	is(t, "put off", m, object{"status": "delayed", "delivery_count": 1})
	if d := time.Until(stamp(t, m, "visible_at")); d < 20*time.Second || d > 31*time.Second {
		t.Errorf("put off for %v, want 30 s", d)
	}
	if why := text(m["last_error"]); !strings.Contains(why, "500") {
		t.Errorf("its error: %q", why)
	}
	if !slices.ContainsFunc(r.requests(), func(g got) bool { return g.body == "2" }) {
		t.Error("it was not pushed")
	}
	// Another one, listed and removed.
	given := webhook.NewSecret()
	other := s.do(t, "POST", subscribe, object{"url": "http://127.0.0.1:9/nobody", "secret": given, "timeout_seconds": 2})
	fields(t, "a subscription whose secret was given", other, "id")
	all := items(t, s.do(t, "GET", list, nil))
	if len(all) != 2 {
		t.Fatalf("listed: %v", all)
	}
	fields(t, "a subscription", all[1], "id url timeout_seconds max_in_flight created_at")
	is(t, "a subscription", all[1], object{"id": made["id"], "url": r.url, "timeout_seconds": 15, "max_in_flight": 3})
	is(t, "the other", all[0], object{"id": other["id"], "timeout_seconds": 2, "max_in_flight": 10})
	stamp(t, all[1], "created_at")
	is(t, "removed", s.do(t, "DELETE", "/v1/queue/push_unsubscribe/pushed/"+text(other["id"]), nil), object{"deleted": true})
	s.call(t, "DELETE", "/v1/queue/push_unsubscribe/pushed/"+text(other["id"]), nil).refused(t, 404, "NOT_FOUND")
	s.call(t, "DELETE", "/v1/queue/push_unsubscribe/none/"+text(made["id"]), nil).refused(t, 404, "QUEUE_NOT_FOUND")
	s.do(t, "DELETE", "/v1/queue/delete/pushed?force=true", nil)
}
