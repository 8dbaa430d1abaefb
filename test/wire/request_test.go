package wire

import (
	"strings"
	"sync"
	"testing"
	"time"
)

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
		eventually(t, "no other redrive is at its endpoints", 30*time.Second, func() bool {
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
