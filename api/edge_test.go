package api_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"uuid"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	s := newStub()
	s.publish = func(_ context.Context, items []queue.Publish) ([]queue.Published, error) {
		return []queue.Published{{ID: items[0].Project, PublishedAt: time.Now(), VisibleAt: time.Now()}}, nil
	}
	now := time.Now()
	for name, k := range map[string]access.Key{
		"revoked-key-0123456789": {Scopes: []access.Scope{access.Root}, RevokedAt: now}, "expired-key-0123456789": {Scopes: []access.Scope{access.Root}, ExpiresAt: now.Add(-time.Second)},
		"reader-key-0123456789": {Scopes: []access.Scope{access.Read}}, "publisher-key-0123456789": {Scopes: []access.Scope{access.Publish}},
		"consumer-key-0123456789": {Scopes: []access.Scope{access.Consume}}, "admin-key-0123456789": {Scopes: []access.Scope{access.Admin}},
	} {
		k.Project = 1
		s.keys[name] = k
	}
	e := serve(t, api.Config{Store: s})
	const path, body = "/v1/queue/publish", `{"queue":"jobs","payload":1}`

	t.Run("401 in the same bytes", func(t *testing.T) {
		var first string
		for _, header := range []string{
			"", "Bearer", "Bearer ", "Bearer nobody-knows-this-key", "Basic " + rootKey, rootKey, "Bearer revoked-key-0123456789",
			"Bearer expired-key-0123456789", "Bearer " + strings.Repeat("k", 300), "Bearer " + rootKey + "x",
		} {
			a := e.do("POST", path, body, "Authorization", header).fails(401, "UNAUTHENTICATED", "")
			if a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%q: no WWW-Authenticate", header)
			}
			said, _, _ := strings.Cut(string(a.raw), `"metadata"`)
			if first == "" {
				first = said
			} else if said != first {
				t.Errorf("%q: %s; want %s", header, said, first)
			}
		}
	})
	t.Run("two keys", func(t *testing.T) {
		req, _ := http.NewRequest("GET", e.url+"/v1/queue/list", nil)
		req.Header["Authorization"] = []string{"Bearer " + rootKey, "Bearer " + rootKey}
		e.send(req).fails(401, "UNAUTHENTICATED", "")
	})
	t.Run("scopes", func(t *testing.T) {
		e.do("POST", path, body, "Authorization", "bearer  publisher-key-0123456789").ok(nil)
		e.do("POST", path, body, "Authorization", "Bearer admin-key-0123456789").ok(nil)
		for _, k := range []string{"reader", "consumer"} {
			a := e.do("POST", path, body, "Authorization", "Bearer "+k+"-key-0123456789").fails(403, "FORBIDDEN", "")
			if !strings.Contains(a.Error.Message, "publish") {
				t.Errorf("%s: %s: which scope?", k, a.Error.Message)
			}
		}
		for _, k := range []string{"reader", "publisher", "consumer"} {
			e.do("DELETE", "/v1/queue/delete/jobs", "", "Authorization", "Bearer "+k+"-key-0123456789").fails(403, "FORBIDDEN", "")
			e.do("POST", "/v1/webhooks/events", `{}`, "Authorization", "Bearer "+k+"-key-0123456789").fails(403, "FORBIDDEN", "")
		}
		e.do("GET", "/v1/queue/list", "", "Authorization", "Bearer publisher-key-0123456789").fails(403, "FORBIDDEN", "")
		e.do("POST", "/v1/queue/consume", `{}`, "Authorization", "Bearer publisher-key-0123456789").fails(403, "FORBIDDEN", "")
	})
	t.Run("remembered for a second", func(t *testing.T) {
		s.keys["fresh-key-0123456789"] = access.Key{Project: 1, Scopes: []access.Scope{access.Publish}}
		before, began := s.lookups.Load(), time.Now()
		for range 20 {
			e.do("POST", path, body, "Authorization", "Bearer fresh-key-0123456789").ok(nil)
		}
		if n := s.lookups.Load() - before; time.Since(began) < 900*time.Millisecond && n != 1 {
			t.Errorf("%d look-ups of one key within a second; want 1", n)
		}
		delete(s.keys, "fresh-key-0123456789")
		revoked := time.Now()
		eventually(t, "the key that was revoked is refused", func() bool {
			called := time.Now()
			a := e.do("POST", path, body, "Authorization", "Bearer fresh-key-0123456789")
			if d := called.Sub(revoked); a.status == 200 && d > time.Second {
				t.Errorf("a key acted %v after it was revoked", d)
			}
			return a.status == 401
		})
	})
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	e := serve(t, api.Config{Store: newStub()})
	for _, path := range []string{
		"/", "/v1", "/v1/", "/v2/queue/list", "/v1/queue", "/v1/queue/nothing", "/v1/cron/create",
		"/v1/audit", "/v1/cron/create", "/dashboard", "/v1/projects/", "/v1/keys/", "/metrics",
		"/v1//queue/list", "/v1/queue/../queue/list", "/v1/queue/list/", "/v1/queue/get/", "/v1/queue/get/a/b",
	} {
		for _, m := range []string{"GET", "POST"} {
			e.do(m, path, "").fails(404, "NOT_FOUND", "")
			e.do(m, path, "", "Authorization", "").fails(404, "NOT_FOUND", "")
		}
	}
	for _, test := range []struct{ method, path, allow string }{
		{"GET", "/v1/queue/create", "POST"},
		{"PUT", "/v1/queue/publish", "POST"},
		{"POST", "/v1/queue/list", "GET, HEAD"},
		{"DELETE", "/v1/queue/get/jobs", "GET, HEAD"},
		{"POST", "/v1/queue/delete/jobs", "DELETE"},
		{"DELETE", "/v1/webhooks/endpoints", "GET, HEAD, POST"},
		{"POST", "/v1/webhooks/endpoints/ep_1", "DELETE, GET, HEAD, PATCH"},
		{"PATCH", "/v1/queue/dlq/redrive/jobs", "GET, HEAD, POST"},
		{"POST", "/healthz", "GET, HEAD"},
		{"FROB", "/v1/queue/ack", "POST"},
		{"OPTIONS", "/v1/queue/ack", "POST"},
	} {
		a := e.do(test.method, test.path, "").fails(405, "METHOD_NOT_ALLOWED", "")
		if got := a.header.Get("Allow"); got != test.allow {
			t.Errorf("%s %s: Allow = %q; want %q", test.method, test.path, got, test.allow)
		}
	}
	if !e.seen.has(observed{"/v1/queue/get/{queue}", "DELETE", 405}) || !e.seen.has(observed{"other", "GET", 404}) || !e.seen.has(observed{"/v1/queue/ack", "OTHER", 405}) {
		t.Errorf("observed %v", e.seen.rows)
	}
}

// Each call refuses a parameter that it does not have, and whoever may not call is told that first.
func TestQueries(t *testing.T) {
	t.Parallel()
	s := newStub()
	s.ping = func() error { return nil }
	e := serve(t, api.Config{Store: s})
	for _, route := range api.Paths() {
		method, path, _ := strings.Cut(route, " ")
		path = strings.NewReplacer("{queue}", "jobs", "{id}", "x").Replace(path)
		if !strings.HasPrefix(path, "/v1/") {
			e.do(method, path+"?colour=red", "", "Authorization", "").ok(nil) // a prober's own
			continue
		}
		e.do(method, path+"?colour=red", "{}").fails(400, "INVALID_ARGUMENT", "/colour")
		e.do(method, path+"?colour=%zz", "{}").fails(400, "INVALID_ARGUMENT", "")
		e.do(method, path+"?colour=red", "{}", "Authorization", "").fails(401, "UNAUTHENTICATED", "")
	}
}

// H-L18: what does not call itself JSON, an empty body, two keys.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := newStub()
	s.publish = func(context.Context, []queue.Publish) ([]queue.Published, error) {
		return []queue.Published{{ID: 1, PublishedAt: time.Now(), VisibleAt: time.Now()}}, nil
	}
	e := serve(t, api.Config{Store: s})
	const path, body = "/v1/queue/publish", `{"queue":"jobs","payload":1}`
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", "application/jsonp", "application/json, text/plain", "json", ";"} {
		e.do("POST", path, body, "Content-Type", kind).fails(415, "UNSUPPORTED_MEDIA_TYPE", "")
	}
	e.do("POST", path, body, "Content-Type", "").fails(415, "UNSUPPORTED_MEDIA_TYPE", "")
	e.do("POST", path, body, "Content-Encoding", "gzip").fails(415, "UNSUPPORTED_MEDIA_TYPE", "")
	e.do("POST", path, "", "Content-Type", "text/plain").fails(415, "UNSUPPORTED_MEDIA_TYPE", "")
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"} {
		e.do("POST", path, body, "Content-Type", kind).ok(nil)
		e.do("POST", path, "", "Content-Type", kind).fails(400, "INVALID_ARGUMENT", "")
	}
	e.do("POST", path, "").fails(400, "INVALID_ARGUMENT", "")
	e.do("POST", path, body, "Idempotency-Key", "a", "Idempotency-Key", "a").fails(400, "INVALID_ARGUMENT", "")

	big := `{"queue":"jobs","payload":"` + strings.Repeat("x", 16<<20) + `"}`
	e.do("POST", path, big).fails(413, "PAYLOAD_TOO_LARGE", "")
	req, _ := http.NewRequest("POST", e.url+path, struct{ *strings.Reader }{strings.NewReader(big)}) // of unknown length
	req.Header.Set("Authorization", "Bearer "+rootKey)
	req.Header.Set("Content-Type", "application/json")
	e.send(req).fails(413, "PAYLOAD_TOO_LARGE", "")
	e.do("POST", path, `{"queue":"jobs","payload":"`+strings.Repeat("x", 256<<10)+`"}`).fails(413, "QUEUE_MESSAGE_TOO_LARGE", "/payload")
	e.do("POST", path, `{"queue":"jobs","body":"`+strings.Repeat("x", 256<<10)+`"}`).fails(413, "QUEUE_MESSAGE_TOO_LARGE", "/body")
}

func TestErrorsOfTheStore(t *testing.T) {
	t.Parallel()
	s := newStub()
	var fail error
	s.publish = func(context.Context, []queue.Publish) ([]queue.Published, error) {
		if fail == nil {
			panic("secret of the database")
		}
		return nil, fail
	}
	s.ping = func() error { return errors.New("secret of the database") }
	e := serve(t, api.Config{Store: s})
	const path, body = "/v1/queue/publish", `{"queue":"jobs","payload":1}`
	for _, test := range []struct {
		err           error
		status        int
		code          string
		retry, logged string
	}{
		{nil, 500, "INTERNAL", "", "panicked"},
		{errors.New("secret of the database"), 500, "INTERNAL", "", "secret of the database"},
		{&fault.Error{Code: fault.Internal, Message: "secret of the database"}, 500, "INTERNAL", "", "secret of the database"},
		{fmt.Errorf("publish: %w", &fault.Error{Code: fault.Unavailable, Message: "the database is away", RetryAfter: 1500 * time.Millisecond, Err: errors.New("secret of the database")}), 503, "UNAVAILABLE", "2", "secret"},
		{fault.New(fault.Unavailable, "the disk is full"), 503, "UNAVAILABLE", "1", ""},
		{context.DeadlineExceeded, 503, "UNAVAILABLE", "1", ""},
		{&fault.Error{Code: fault.RateLimited, Message: "slowly", RetryAfter: 7 * time.Second}, 429, "RATE_LIMITED", "7", ""},
		{queue.ErrQueueNotFound, 404, "QUEUE_NOT_FOUND", "", ""},
	} {
		fail = test.err
		a := e.do("POST", path, body).fails(test.status, test.code, "*")
		if got := a.header.Get("Retry-After"); got != test.retry {
			t.Errorf("%v: Retry-After = %q; want %q", test.err, got, test.retry)
		}
		if bytes.Contains(a.raw, []byte("secret")) {
			t.Errorf("%v: %s: a detail leaks", test.err, a.raw)
		}
		if test.logged != "" && !strings.Contains(e.log.String(), test.logged) {
			t.Errorf("%v: not logged: %s", test.err, e.log)
		}
		if _, err := uuid.Parse(a.Metadata.RequestID); err != nil || a.Metadata.RequestID[14] != '7' {
			t.Errorf("request_id %s is no UUIDv7", a.Metadata.RequestID)
		}
		if a.Metadata.Replay == nil || *a.Metadata.Replay {
			t.Errorf("%v: idempotent_replay of a failed write: %v", test.err, a.Metadata.Replay)
		}
	}
	e.do("GET", "/healthz", "", "Authorization", "").ok(nil)
	e.do("HEAD", "/healthz", "", "Authorization", "").ok(nil)
	if a := e.do("GET", "/readyz", "", "Authorization", "").fails(503, "UNAVAILABLE", ""); bytes.Contains(a.raw, []byte("secret")) || a.header.Get("Retry-After") == "" {
		t.Errorf("readyz: %s %v", a.raw, a.header)
	}
	s.ping = func() error { return nil }
	if a := e.do("GET", "/readyz", "", "Authorization", "").ok(nil); a.Metadata.Replay != nil {
		t.Errorf("a look says whether it is a replay: %s", a.raw)
	}
}

// Who writes a body that is too large to its end before he reads, as many clients do, hears why it is refused.
func TestTooLargeIsHeard(t *testing.T) {
	t.Parallel()
	e := serve(t, api.Config{Store: newStub()})
	const size = 40 << 20
	conn, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range []string{
		"POST /v1/queue/publish HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + rootKey + "\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(size) + "\r\n\r\n",
		strings.Repeat("x", size),
	} {
		if _, err := io.WriteString(conn, s); err != nil {
			t.Fatal(err)
		}
	}
	a, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%+v, %v", a, err)
	}
}
