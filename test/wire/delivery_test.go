package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	deliveryFields = "delivery_id event_id event_type endpoint_id tenant subject state policy delivery_key created_at next_attempt_at delivered_at attempts"
	attemptFields  = "attempt_id attempt cause started_at finished_at outcome class status_code latency_ms response_start error next_attempt_at"
)

func key(endpoint, event any, send ...int) string {
	s := fmt.Sprintf("%v:%v", endpoint, event)
	for _, n := range send {
		s += ":" + strconv.Itoa(n)
	}
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// signature is the official formula of Standard Webhooks.
func signature(secret any, g got) string {
	k, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(text(secret), "whsec_"))
	m := hmac.New(sha256.New, k)
	fmt.Fprintf(m, "%s.%s.%s", g.header.Get("webhook-id"), g.header.Get("webhook-timestamp"), g.body)
	return "v1," + base64.StdEncoding.EncodeToString(m.Sum(nil))
}

var traceForm = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

func checkDelivered(t *testing.T, s *server) {
	r := receive(t)
	r.will(func(_ int, w http.ResponseWriter) { w.Write([]byte("thanks")) })
	e := s.endpoint(t, r.url, object{"tenant": "wire", "headers": object{"X-Custom": "yes", "Authorization": "mine"}})
	payload := `{"b": 1.0,"a":"\u00e9", "c":[ ]}`
	sent := s.post(t, events, `{"event_id":"wire-1","event_type":"ticket.resolved","tenant":"wire","subject":"u1","payload":`+payload+`}`).ok(t)
	id := sent["deliveries"].([]any)[0].(object)["delivery_id"]
	d := s.until(t, id, "delivered")
	fields(t, "a delivery", d, deliveryFields)
	is(t, "a delivery", d, object{
		"delivery_id": id, "event_id": "wire-1", "event_type": "ticket.resolved", "endpoint_id": e["endpoint_id"], "tenant": "wire", "subject": "u1", "state": "delivered", "policy": "idempotent",
		"delivery_key": key(e["endpoint_id"], "wire-1"), "next_attempt_at": nil,
	})
	stamp(t, d, "created_at")
	stamp(t, d, "delivered_at")
	a := attempts(d)
	if len(a) != 1 {
		t.Fatalf("%d attempts, want 1", len(a))
	}
	fields(t, "an attempt", a[0], attemptFields)
	is(t, "an attempt", a[0], object{"attempt": 1, "cause": "event", "outcome": "delivered", "status_code": 200, "error": nil, "next_attempt_at": nil, "class": nil, "response_start": "thanks"})
	if stamp(t, a[0], "finished_at").Before(stamp(t, a[0], "started_at")) {
		t.Error("the attempt ended before it began")
	}
	if !regexp.MustCompile(`^att_[0-9A-Za-z]{24}$`).MatchString(text(a[0]["attempt_id"])) {
		t.Errorf("attempt_id is %v", a[0]["attempt_id"])
	}
	if l, _ := a[0]["latency_ms"].(float64); l <= 0 {
		t.Errorf("latency_ms is %v", a[0]["latency_ms"])
	}
	g := r.requests()[0]
	if g.method != "POST" || g.body != payload || g.path != "/hook?x=1" {
		t.Errorf("the receiver got %s %s %s", g.method, g.path, g.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "webhook-id": "wire-1", "Idempotency-Key": key(e["endpoint_id"], "wire-1"), "webhook-attempt": "1", "X-Custom": "yes", "Authorization": "mine",
		"webhook-signature": signature(e["secret"], g),
	} {
		if got := g.header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	ts, err := strconv.ParseInt(g.header.Get("webhook-timestamp"), 10, 64)
	if at := time.Unix(ts, 0); err != nil || g.at.Sub(at).Abs() > 3*time.Second {
		t.Errorf("webhook-timestamp is %q at %v", g.header.Get("webhook-timestamp"), g.at)
	}
	if g.header.Get("User-Agent") == "" || strings.HasPrefix(g.header.Get("User-Agent"), "Go-http") || !traceForm.MatchString(g.header.Get("traceparent")) {
		t.Errorf("user-agent is %q and traceparent %q", g.header.Get("User-Agent"), g.header.Get("traceparent"))
	}
	// test, subscribed or not.
	q := s.endpoint(t, r.url, object{"tenant": "wire-test", "event_types": []string{"never"}})
	tested := s.do(t, "POST", endpoints+"/"+text(q["endpoint_id"])+"/test", nil)
	s.until(t, tested["deliveries"].([]any)[0].(object)["delivery_id"], "delivered")
}

func checkSecrets(t *testing.T, s *server) {
	r := receive(t)
	given := "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef01234567"))
	e := s.endpoint(t, r.url, object{"tenant": "sec", "secret": given})
	is(t, "a secret given", e, object{"secret": given})
	path := endpoints + "/" + text(e["endpoint_id"])
	send := func() got {
		t.Helper()
		n := len(r.requests())
		d := s.event(t, object{"event_type": "a", "payload": n, "tenant": "sec"})
		s.until(t, d["deliveries"].([]any)[0].(object)["delivery_id"], "delivered")
		return r.requests()[n]
	}
	signed := func(what string, g got, secrets ...any) {
		t.Helper()
		have := strings.Fields(g.header.Get("webhook-signature"))
		if len(have) != len(secrets) {
			t.Errorf("%s: %d signatures, want %d", what, len(have), len(secrets))
		}
		for _, secret := range secrets {
			if !strings.Contains(" "+g.header.Get("webhook-signature")+" ", " "+signature(secret, g)+" ") {
				t.Errorf("%s: not signed with %v", what, secret)
			}
		}
	}
	signed("the first", send(), given)
	rot := s.do(t, "POST", path+"/rotate_secret", object{"grace_seconds": 3600})
	fields(t, "rotate_secret", rot, endpointFields+" secret")
	signed("rotated", send(), given, rot["secret"])
	third := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	rot3 := s.do(t, "POST", path+"/rotate_secret", object{"secret": third, "grace_seconds": 0})
	is(t, "rotated to a given one", rot3, object{"secret": third})
	g := send()
	if !strings.Contains(g.header.Get("webhook-signature"), signature(third, g)) || strings.Contains(g.header.Get("webhook-signature"), signature(rot["secret"], g)) {
		t.Error("a rotation with no grace is signed with the old secret, or not with the new one")
	}
	for _, bad := range []object{{"secret": "x"}, {"grace_seconds": -1}, {"colour": 1}} {
		s.post(t, path+"/rotate_secret", bad).refused(t, 400, "INVALID_ARGUMENT")
	}
	for _, a := range []answer{s.call(t, "GET", path, nil), s.call(t, "GET", endpoints+"?tenant=sec", nil)} {
		if strings.Contains(a.raw, "whsec_") {
			t.Errorf("a secret is shown again: %s", clip(a.raw))
		}
	}
}

// checkAnswers is the table of what an answer leads to.
func checkAnswers(t *testing.T, s *server) {
	slow := func(_ int, w http.ResponseWriter) { time.Sleep(2 * time.Second) }
	half := func(code int) func(int, http.ResponseWriter) {
		return func(_ int, w http.ResponseWriter) {
			c, b, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			fmt.Fprintf(b, "HTTP/1.1 %d X\r\nContent-Length: 100\r\n\r\nhalf", code)
			b.Flush()
			c.Close()
		}
	}
	redirect := func(_ int, w http.ResponseWriter) { w.Header().Set("Location", "/elsewhere"); w.WriteHeader(307) }
	long := object{"retry_ladder": []int{600}}
	no4xx := object{"retry_ladder": []int{600}, "retry_4xx": false}
	once := object{"retry_ladder": []int{600}, "policy": "once"}
	type reply = func(int, http.ResponseWriter)
	for _, c := range []struct {
		name     string
		answer   reply
		endpoint object
		state    string
		outcome  string
		class    any
		code     any
	}{
		{"204", status(204), long, "delivered", "delivered", nil, 204},
		{"299", status(299), long, "delivered", "delivered", nil, 299},
		{"200 cut", half(200), long, "delivered", "delivered", nil, 200},
		{"400", status(400), long, "retrying", "refused", "definite", 400},
		{"404", status(404), long, "retrying", "refused", "definite", 404},
		{"404 no retry", status(404), no4xx, "failed", "refused", "definite", 404},
		{"408 no retry", status(408), no4xx, "retrying", "refused", "definite", 408},
		{"409 no retry", status(409), no4xx, "retrying", "refused", "definite", 409},
		{"425 no retry", status(425), no4xx, "retrying", "refused", "definite", 425},
		{"429 no retry", status(429), no4xx, "retrying", "refused", "definite", 429},
		{"500 no retry", status(500), no4xx, "retrying", "refused", "definite", 500},
		{"302", status(302), long, "retrying", "refused", "definite", 302},
		{"307", redirect, long, "retrying", "refused", "definite", 307},
		{"500", status(500), long, "retrying", "refused", "definite", 500},
		{"503", status(503), long, "retrying", "refused", "definite", 503},
		{"500 cut", half(500), long, "retrying", "unknown", "ambiguous", 500},
		{"cut", cut, long, "retrying", "unknown", "ambiguous", nil},
		{"time-out", slow, object{"retry_ladder": []int{600}, "timeout_seconds": 1}, "retrying", "unknown", "ambiguous", nil},
		{"once 500", status(500), once, "stuck", "unknown", "ambiguous", 500},
		{"once 502", status(502), once, "stuck", "unknown", "ambiguous", 502},
		{"once 504", status(504), once, "stuck", "unknown", "ambiguous", 504},
		{"once 503", status(503), once, "retrying", "refused", "definite", 503},
		{"once 501", status(501), once, "retrying", "refused", "definite", 501},
		{"once 404", status(404), once, "retrying", "refused", "definite", 404},
		{"once cut", cut, once, "stuck", "unknown", "ambiguous", nil},
		{"once 200", status(200), once, "delivered", "delivered", nil, 200},
		{"410", status(410), long, "failed", "refused", "permanent", 410},
		{"last rung, definite", status(500), object{"retry_ladder": []int{}}, "failed", "refused", "definite", 500},
		{"last rung, ambiguous", cut, object{"retry_ladder": []int{}}, "stuck", "unknown", "ambiguous", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := receive(t)
			r.will(c.answer)
			d := s.deliver(t, r.url, c.endpoint, nil)
			d = s.until(t, d["delivery_id"], c.state)
			a := attempts(d)
			if len(a) != 1 || len(r.requests()) != 1 {
				t.Fatalf("%d attempts and %d requests, want 1: %v", len(a), len(r.requests()), d)
			}
			fields(t, "an attempt", a[0], attemptFields)
			is(t, "the attempt", a[0], object{"outcome": c.outcome, "class": c.class, "status_code": c.code, "cause": "event"})
			if refused := c.outcome == "refused"; refused != (a[0]["error"] == nil) && c.outcome != "delivered" {
				t.Errorf("an attempt that ended %s has the error %v: it says why where the status does not", c.outcome, a[0]["error"])
			}
			if c.state != "retrying" {
				is(t, "an ended delivery", d, object{"next_attempt_at": nil})
				return
			}
			is(t, "the delivery", d, object{"next_attempt_at": a[0]["next_attempt_at"], "delivered_at": nil})
			if w := stamp(t, a[0], "next_attempt_at").Sub(stamp(t, a[0], "finished_at")); w < 540*time.Second-time.Second || w > 660*time.Second+time.Second {
				t.Errorf("the rung of 600 s is %v", w)
			}
		})
	}
	t.Run("not sent", func(t *testing.T) {
		t.Parallel()
		for _, url := range []string{"http://127.0.0.1:1/", "http://no-such-host.invalid/"} {
			d := s.until(t, s.deliver(t, url, long, nil)["delivery_id"], "retrying")
			is(t, url, attempts(d)[0], object{"outcome": "not_sent", "class": "definite", "status_code": nil, "response_start": nil})
		}
		d := s.until(t, s.deliver(t, "http://127.0.0.1:1/", with(object{"tenant": "ns-once"}, once), object{"tenant": "ns-once"})["delivery_id"], "retrying")
		is(t, "once", attempts(d)[0], object{"outcome": "not_sent", "class": "definite"})
	})
}
