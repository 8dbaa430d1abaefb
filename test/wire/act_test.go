package wire

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

const deliveries = "/v1/webhooks/deliveries"

const redrives = "/v1/webhooks/redrive"

// redrive starts a redrive of deliveries, of which an endpoint has one at a time, and waits for its end.
func (s *server) redrive(t testing.TB, body object) object {
	t.Helper()
	var a answer
	eventually(t, "no other redrive is at its endpoints", 30*time.Second, func() bool {
		a = s.post(t, redrives, body)
		return a.status != 409
	})
	return s.finished(t, a.ok(t))
}

func act(id any, verb string) string { return deliveries + "/" + text(id) + "/" + verb }

func checkOnce(t *testing.T, s *server) {
	r := receive(t)
	r.will(cut)
	once := object{"policy": "once", "retry_ladder": []int{1, 1}}
	stuck := func(tenant string) object {
		d := s.deliver(t, r.url, with(object{"tenant": tenant}, once), nil)
		return s.until(t, d["delivery_id"], "stuck")
	}
	a, b, c := stuck("once-a"), stuck("once-b"), stuck("once-c")
	is(t, "a stuck one", a, object{"policy": "once", "next_attempt_at": nil, "delivered_at": nil})
	if n := len(r.requests()); n != 3 {
		t.Errorf("3 deliveries of policy once were sent %d times", n)
	}
	id := a["delivery_id"]
	for _, bad := range []object{{}, {"as": "done"}, {"as": nil}, {"as": "delivered", "note": 1}} {
		s.post(t, act(id, "resolve"), bad).refused(t, 400, "INVALID_ARGUMENT")
	}
	d := s.do(t, "POST", act(id, "resolve"), object{"as": "delivered", "note": "they say so"})
	fields(t, "resolve", d, deliveryFields)
	is(t, "resolved", d, object{"state": "delivered"})
	s.post(t, act(id, "resolve"), object{"as": "failed"}).refused(t, 409, "CONFLICT")
	is(t, "resolved", s.do(t, "POST", act(b["delivery_id"], "resolve"), object{"as": "failed"}), object{"state": "failed"})
	r.will(nil)
	s.do(t, "POST", act(c["delivery_id"], "resolve"), object{"as": "retry"})
	d = s.until(t, c["delivery_id"], "delivered")
	if n := len(attempts(d)); n != 2 {
		t.Errorf("resolved as retry it has %d attempts, want 2", n)
	}
	is(t, "the same key", d, object{"delivery_key": c["delivery_key"]})
	is(t, "its attempt", attempts(d)[1], object{"attempt": 2})
	s.post(t, act("dlv_x", "resolve"), object{"as": "failed"}).refused(t, 404, "NOT_FOUND")
}

func checkResend(t *testing.T, s *server) {
	r := receive(t)
	d := s.deliver(t, r.url, nil, nil)
	id := d["delivery_id"]
	first := s.until(t, id, "delivered")
	path := act(id, "resend")
	re := s.do(t, "POST", path, object{"reason": "they lost it"})
	fields(t, "resend", re, deliveryFields)
	eventually(t, "it is sent again", 20*time.Second, func() bool { return len(r.requests()) == 2 })
	again := s.until(t, id, "delivered")
	is(t, "resent", again, object{"delivery_key": first["delivery_key"]})
	is(t, "its attempt", attempts(again)[1], object{"attempt": 2, "cause": "resend", "outcome": "delivered"})
	s.do(t, "POST", path, object{"new_key": true})
	eventually(t, "it is sent under a new key", 20*time.Second, func() bool { return len(r.requests()) == 3 })
	third := s.until(t, id, "delivered")
	seen := r.requests()
	want := key(d["endpoint_id"], first["event_id"])
	if seen[0].header.Get("Idempotency-Key") != want || seen[1].header.Get("Idempotency-Key") != want || seen[1].header.Get("webhook-attempt") != "2" {
		t.Errorf("a resend is sent under %v", seen[1].header)
	}
	newKey := seen[2].header.Get("Idempotency-Key")
	if newKey != key(d["endpoint_id"], first["event_id"], 3) || third["delivery_key"] != newKey {
		t.Errorf("new_key is %s and shown as %v; by the formula for send 3 it is %s", newKey, third["delivery_key"], key(d["endpoint_id"], first["event_id"], 3))
	}
	if seen[2].header.Get("webhook-id") != first["event_id"] || seen[2].header.Get("webhook-attempt") != "3" {
		t.Errorf("the third is sent as %v", seen[2].header)
	}
	// Under a key: one send.
	a := s.post(t, path, object{"reason": "x"}, "Idempotency-Key", "resend-once")
	if b := s.post(t, path, object{"reason": "x"}, "Idempotency-Key", "resend-once"); a.replayed(t) || !b.replayed(t) {
		t.Error("a resend's key is not taken")
	}
	s.post(t, path, object{"reason": "y"}, "Idempotency-Key", "resend-once").refused(t, 409, "IDEMPOTENCY_KEY_REUSED")
	eventually(t, "it is sent a fourth time", 20*time.Second, func() bool { return len(r.requests()) == 4 })
	s.until(t, id, "delivered")
	// Not while it is under way.
	r.will(status(500))
	busy := s.deliver(t, r.url, object{"tenant": "resend-busy", "retry_ladder": []int{600}}, nil)["delivery_id"]
	s.until(t, busy, "retrying")
	s.post(t, act(busy, "resend"), nil).refused(t, 409, "CONFLICT")
	s.post(t, act("dlv_x", "resend"), nil).refused(t, 404, "NOT_FOUND")
	// A failed one may be sent again; its state is its newest send's.
	dead := s.deliver(t, r.url, object{"tenant": "resend-dead", "retry_ladder": []int{}}, nil)["delivery_id"]
	s.until(t, dead, "failed")
	r.will(nil)
	s.do(t, "POST", act(dead, "resend"), object{})
	back := s.until(t, dead, "delivered")
	is(t, "sent again", attempts(back)[1], object{"attempt": 2, "cause": "resend"})
}

func checkCancel(t *testing.T, s *server) {
	r := receive(t)
	r.will(status(500))
	id := s.deliver(t, r.url, object{"tenant": "can", "retry_ladder": []int{600}}, nil)["delivery_id"]
	s.until(t, id, "retrying")
	d := s.do(t, "POST", act(id, "cancel"), object{"reason": "no more"})
	fields(t, "cancel", d, deliveryFields)
	is(t, "cancelled", d, object{"state": "cancelled", "next_attempt_at": nil})
	s.post(t, act(id, "cancel"), nil).refused(t, 409, "CONFLICT")
	s.post(t, act("dlv_x", "cancel"), nil).refused(t, 404, "NOT_FOUND")
	// Never redriven.
	is(t, "redrive", s.redrive(t, object{"tenant": "can"}), object{"total": 0})
	is(t, "still", s.delivery(t, id), object{"state": "cancelled"})
	e := s.endpoint(t, r.url, object{"tenant": "can2"})
	s.do(t, "POST", endpoints+"/"+text(e["endpoint_id"])+"/disable", nil)
	id = s.event(t, object{"event_type": "a", "payload": 1, "tenant": "can2"})["deliveries"].([]any)[0].(object)["delivery_id"]
	is(t, "a pending one", s.do(t, "POST", act(id, "cancel"), nil), object{"state": "cancelled"})
	s.do(t, "POST", endpoints+"/"+text(e["endpoint_id"])+"/enable", nil)
	r.will(nil)
	done := s.deliver(t, r.url, object{"tenant": "can3"}, nil)["delivery_id"]
	s.until(t, done, "delivered")
	s.post(t, act(done, "cancel"), object{}).refused(t, 409, "CONFLICT")
	is(t, "never sent", s.delivery(t, id), object{"state": "cancelled", "attempts": []any{}})
}

func checkDeliveryRedrive(t *testing.T, s *server) {
	r := receive(t)
	r.will(status(500))
	e := s.endpoint(t, r.url, object{"tenant": "dr", "retry_ladder": []int{}})
	var ids []any
	for i := range 4 {
		d := s.event(t, object{"event_type": "a", "payload": i, "tenant": "dr"})["deliveries"].([]any)[0].(object)
		ids = append(ids, d["delivery_id"])
		s.until(t, d["delivery_id"], "failed")
	}
	dry := s.redrive(t, object{"tenant": "dr", "dry_run": true})
	is(t, "a dry run", dry, object{"queue": nil, "dry_run": true, "total": 4, "left": 0, "remaining": 4})
	// A refused canary ends its endpoint's part: one is sent, the others are left.
	before := len(r.requests())
	x := s.redrive(t, object{"endpoint_id": e["endpoint_id"]})
	is(t, "a refused canary", x, object{"total": 4})
	if n := len(r.requests()) - before; n != 1 {
		t.Errorf("a refused canary was followed by %d more", n-1)
	}
	if x["moved"].(float64)+x["left"].(float64) != 4 {
		t.Errorf("moved and left are not what was there: %v", x)
	}
	parts := items(t, s.do(t, "GET", "/v1/redrives/"+text(x["redrive_id"])+"/endpoints", nil))
	if len(parts) != 1 {
		t.Fatalf("the redrive shows %d endpoints, want 1", len(parts))
	}
	fields(t, "an endpoint of a redrive", parts[0], "endpoint_id state canary_delivery_id total moved left")
	is(t, "its endpoint", parts[0], object{"endpoint_id": e["endpoint_id"], "state": "refused", "total": 4, "moved": 1, "left": 3})
	if !slices.Contains(ids, parts[0]["canary_delivery_id"]) {
		t.Errorf("the canary is %v, none of %v", parts[0]["canary_delivery_id"], ids)
	}
	s.call(t, "GET", "/v1/redrives/"+text(x["redrive_id"])+"/endpoints?state=x", nil).refused(t, 400, "INVALID_ARGUMENT")
	s.call(t, "GET", "/v1/redrives/rdv_000000000000000000000000/endpoints", nil).refused(t, 404, "NOT_FOUND")
	failed := items(t, s.do(t, "GET", deliveries+"?tenant=dr&state=failed", nil))
	if len(failed) != 4 {
		t.Errorf("after a refused canary %d of 4 are failed", len(failed))
	}
	canaries := 0
	for _, d := range failed {
		for _, a := range attempts(d) {
			if a["cause"] == "canary" {
				canaries++
			}
		}
	}
	if canaries != 1 {
		t.Errorf("%d attempts have the cause canary, want 1", canaries)
	}
	// max, then the rest.
	r.will(nil)
	is(t, "max", s.redrive(t, object{"tenant": "dr", "max": 1, "canary": false}), object{"moved": 1, "total": 1})
	is(t, "the rest", s.redrive(t, object{"tenant": "dr", "states": []string{"failed", "stuck"}, "from": "2026-01-01T00:00:00Z"}), object{"moved": 3, "left": 0, "state": "completed"})
	causes := map[any]int{}
	for _, id := range ids {
		d := s.until(t, id, "delivered")
		a := attempts(d)
		last := a[len(a)-1]
		causes[last["cause"]]++
		if last["attempt"] != float64(len(a)) {
			t.Errorf("attempt begins anew: %v", a)
		}
	}
	if causes["redrive"] < 3 || causes["canary"] > 1 {
		t.Errorf("the causes are %v", causes)
	}
	// A canary that is taken: the others follow it.
	r.will(status(500))
	z := s.endpoint(t, r.url, object{"tenant": "dr-well", "retry_ladder": []int{}})
	for i := range 3 {
		s.until(t, s.event(t, object{"event_type": "a", "payload": i, "tenant": "dr-well"})["deliveries"].([]any)[0].(object)["delivery_id"], "failed")
	}
	r.will(nil)
	is(t, "a canary taken", s.redrive(t, object{"endpoint_id": z["endpoint_id"]}), object{"total": 3, "moved": 3, "left": 0})
	clear(causes)
	for _, d := range items(t, s.do(t, "GET", deliveries+"?tenant=dr-well", nil)) {
		a := attempts(s.until(t, d["delivery_id"], "delivered"))
		causes[a[len(a)-1]["cause"]]++
	}
	if causes["canary"] != 1 || causes["redrive"] != 2 {
		t.Errorf("the causes are %v", causes)
	}
	// A stuck one of policy once is left, and counted as left.
	r.will(func(n int, w http.ResponseWriter) { cut(n, w) })
	once := s.deliver(t, r.url, object{"tenant": "dr-once", "policy": "once"}, nil)["delivery_id"]
	s.until(t, once, "stuck")
	left := s.redrive(t, object{"tenant": "dr-once", "states": []string{"stuck"}})
	if left["moved"] != 0.0 || left["left"] != 1.0 {
		t.Errorf("a stuck one of policy once: %v", left)
	}
	is(t, "it", s.delivery(t, once), object{"state": "stuck"})
	// A canary that does not come back holds up its own endpoint alone, and that until the redrive is cancelled.
	r.will(status(500))
	slow := s.deliver(t, r.url, object{"tenant": "dr-slow", "retry_ladder": []int{}, "timeout_seconds": 30}, nil)
	s.until(t, slow["delivery_id"], "failed")
	second := s.do(t, "POST", "/v1/webhooks/events", object{"event_type": "a", "tenant": "dr-slow", "payload": 2, "endpoint_ids": []any{slow["endpoint_id"]}})
	s.until(t, second["deliveries"].([]any)[0].(object)["delivery_id"], "failed")
	back := make(chan struct{})
	r.will(func(int, http.ResponseWriter) { <-back })
	out := s.do(t, "POST", redrives, object{"tenant": "dr-slow"})
	s.until(t, slow["delivery_id"], "sending")
	s.post(t, redrives, object{"endpoint_id": slow["endpoint_id"]}).refused(t, 409, "CONFLICT")
	is(t, "of another tenant", s.finished(t, s.do(t, "POST", redrives, object{"tenant": "dr"})), object{"total": 0, "state": "completed"})
	path := "/v1/redrives/" + text(out["redrive_id"])
	is(t, "its endpoint", items(t, s.do(t, "GET", path+"/endpoints", nil))[0], object{"state": "canary", "canary_delivery_id": slow["delivery_id"]})
	is(t, "cancelled", s.do(t, "POST", path+"/cancel", nil), object{"state": "cancelled", "moved": 1, "left": 1, "remaining": 0})
	is(t, "its endpoint", items(t, s.do(t, "GET", path+"/endpoints", nil))[0], object{"state": "cancelled"})
	close(back)
	s.until(t, slow["delivery_id"], "delivered")
	r.will(nil)
	for _, bad := range []object{{"states": []string{"delivered"}}, {"states": []string{}}, {"max": 0}, {"rate_per_second": 0}, {"from": "x"}, {"colour": 1}, {"canary": "x"}} {
		s.post(t, redrives, bad).refused(t, 400, "INVALID_ARGUMENT")
	}
	a := s.post(t, redrives, object{"endpoint_id": "ep_000000000000000000000000"})
	if a.status != 404 {
		t.Errorf("an endpoint that is not there: %d %s", a.status, clip(a.raw))
	}
}

func checkDeliveryLists(t *testing.T, s *server) {
	r := receive(t)
	e := s.endpoint(t, r.url, object{"tenant": "dl-a"})
	other := s.endpoint(t, r.url, object{"tenant": "dl-a", "event_types": []string{"b"}})
	var all []any
	for i, kind := range []string{"a", "b", "a"} {
		ev := s.event(t, object{"event_id": "dll-" + string(rune('0'+i)), "event_type": kind, "payload": i, "tenant": "dl-a", "subject": "s" + kind})
		for _, d := range ev["deliveries"].([]any) {
			all = append(all, d.(object)["delivery_id"])
			s.until(t, d.(object)["delivery_id"], "delivered")
		}
	}
	for filter, want := range map[string]int{
		"": 4, "&state=delivered": 4, "&state=failed": 0, "&endpoint_id=" + text(e["endpoint_id"]): 3, "&endpoint_id=" + text(other["endpoint_id"]): 1, "&event_type=a": 2, "&event_id=dll-1": 2,
		"&subject=sb": 2, "&subject=none": 0, "&from=2020-01-01T00:00:00Z": 4, "&to=2020-01-01T00:00:00Z": 0, "&from=2099-01-01T00:00:00Z": 0, "&event_type=b&endpoint_id=" + text(e["endpoint_id"]): 1,
	} {
		list := items(t, s.do(t, "GET", deliveries+"?tenant=dl-a"+filter, nil))
		if len(list) != want {
			t.Errorf("%q lists %d, want %d", filter, len(list), want)
		}
		for i, d := range list {
			fields(t, "a listed delivery", d, deliveryFields)
			if i > 0 && text(d["delivery_id"]) >= text(list[i-1]["delivery_id"]) {
				t.Errorf("%q is not the newest first", filter)
			}
		}
	}
	for _, bad := range []string{"state=gone", "from=x", "to=2026", "colour=1", "limit=501", "cursor=x"} {
		s.call(t, "GET", deliveries+"?"+bad, nil).refused(t, 400, "INVALID_ARGUMENT")
	}
	var seen []any
	for cursor := ""; ; {
		d := s.do(t, "GET", deliveries+"?tenant=dl-a&limit=1"+cursor, nil)
		for _, x := range items(t, d) {
			seen = append(seen, x["delivery_id"])
		}
		if d["next_cursor"] == nil {
			break
		}
		cursor = "&cursor=" + text(d["next_cursor"])
	}
	if len(seen) != len(all) {
		t.Errorf("over pages of one %d come, want %d", len(seen), len(all))
	}
}
