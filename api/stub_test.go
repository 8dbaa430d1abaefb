package api_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
)

const rootKey = "test-root-key-0123456789"

var codec = ids.New(bytes.Repeat([]byte{7}, 32))

// stub is a store of which a test says only what it needs; anything else panics.
type stub struct {
	api.Store
	keys    map[string]access.Key
	lookups atomic.Int32

	ping    func() error
	publish func(context.Context, []queue.Publish) ([]queue.Published, error)
	receive func(context.Context, queue.Receive) ([]queue.Message, error)
	settle  func(context.Context, []queue.Settle) ([]queue.Settled, error)
	wait    func(context.Context) []queue.Message

	messages func() []queue.Message
}

func (s *stub) KeyByHash(_ context.Context, hash []byte) (access.Key, bool, error) {
	s.lookups.Add(1)
	for secret, k := range s.keys {
		if bytes.Equal(access.Hash(secret), hash) {
			return k, k.Live(time.Now()), nil
		}
	}
	return access.Key{}, false, access.ErrNotFound
}

func (s *stub) Ping(context.Context) error { return s.ping() }

func (s *stub) Publish(ctx context.Context, items ...queue.Publish) ([]queue.Published, error) {
	return s.publish(ctx, items)
}

func (s *stub) Messages(context.Context, int64, string, queue.Status, queue.Page) ([]queue.Message, int64, error) {
	return s.messages(), 0, nil
}

func (s *stub) Receive(ctx context.Context, r queue.Receive) ([]queue.Message, error) {
	return s.receive(ctx, r)
}

func (s *stub) Settle(ctx context.Context, items ...queue.Settle) ([]queue.Settled, error) {
	return s.settle(ctx, items)
}

func (s *stub) WaitMessages(ctx context.Context, _ queue.Receive) []queue.Message {
	if s.wait == nil {
		<-ctx.Done()
		return nil
	}
	return s.wait(ctx)
}

func newStub() *stub {
	return &stub{keys: map[string]access.Key{rootKey: {ID: 1, Project: 1, Name: "root", Scopes: []access.Scope{access.Root}}}}
}

// seen is what Observe was told.
type seen struct {
	mu   sync.Mutex
	rows []observed
}

type observed struct {
	route, method string
	status        int
}

func (s *seen) observe(route, method string, status int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, observed{route, method, status})
}

func (s *seen) has(o observed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r == o {
			return true
		}
	}
	return false
}

// eventually polls for what another goroutine brings about.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// edge is an API over real HTTP.
type edge struct {
	t    testing.TB
	url  string
	key  string
	seen *seen
	log  *bytes.Buffer

	handler http.Handler
}

func serve(t testing.TB, c api.Config) *edge {
	t.Helper()
	e := &edge{t: t, key: rootKey, seen: &seen{}, log: &bytes.Buffer{}}
	var mu sync.Mutex
	c.Logger = slog.New(slog.NewTextHandler(locked{&mu, e.log}, nil))
	c.Observe = e.seen.observe
	if c.IDs == nil {
		c.IDs = codec
	}
	e.handler = api.New(c)
	srv := httptest.NewServer(e.handler)
	t.Cleanup(srv.Close)
	e.url = srv.URL
	return e
}

// plain reports whether the answers of a path have no envelope.
func plain(path string) bool {
	return slices.Contains([]string{"/openapi.json", "/docs", "/llms.txt"}, path) || strings.HasPrefix(path, "/v1/discovery")
}

type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// answer is a response, read whole.
type answer struct {
	t      testing.TB
	what   string
	status int
	header http.Header
	raw    []byte
	envelope
}

type envelope struct {
	OK    bool           `json:"ok"`
	Data  jsontext.Value `json:"data"`
	Error *struct {
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Hint    *string `json:"hint"`
		Field   *string `json:"field"`
	} `json:"error"`
	Metadata struct {
		RequestID string  `json:"request_id"`
		Latency   float64 `json:"latency_ms"`
		Cost      float64 `json:"cost_usd"`
		Replay    *bool   `json:"idempotent_replay"`
	} `json:"metadata"`
}

// with sets headers: name, value, name, value. An empty value removes the header.
func (e *edge) do(method, path, body string, with ...string) *answer {
	e.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, e.url+path, r)
	if err != nil {
		e.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	for i := 0; i < len(with); i += 2 {
		if with[i+1] == "" {
			req.Header.Del(with[i])
		} else if with[i] == "Idempotency-Key" {
			req.Header.Add(with[i], with[i+1])
		} else {
			req.Header.Set(with[i], with[i+1])
		}
	}
	return e.send(req)
}

func (e *edge) send(req *http.Request) *answer {
	e.t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(req) // follows nothing
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	a := &answer{t: e.t, what: req.Method + " " + req.URL.RequestURI(), status: resp.StatusCode, header: resp.Header}
	if a.raw, err = io.ReadAll(resp.Body); err != nil {
		e.t.Fatal(err)
	}
	if req.Method == "HEAD" || plain(req.URL.Path) {
		return a
	}
	if err := json.Unmarshal(a.raw, &a.envelope, json.RejectUnknownMembers(true)); err != nil {
		e.t.Fatalf("%s: %d %s: %v", a.what, a.status, a.raw, err)
	}
	if a.Metadata.RequestID == "" || a.header.Get("X-Request-Id") != a.Metadata.RequestID || a.header.Get("Content-Type") != "application/json" || a.Metadata.Cost != 0 {
		e.t.Errorf("%s: metadata %+v, headers %v", a.what, a.Metadata, a.header)
	}
	if a.OK != (a.status == 200) || a.OK != (a.Error == nil) || a.OK == (string(a.Data) == "null") {
		e.t.Errorf("%s: %d %s: a broken envelope", a.what, a.status, a.raw)
	}
	return a
}

// ok demands success and reads the data into v, if v is not nil.
func (a *answer) ok(v any) *answer {
	a.t.Helper()
	if a.status != 200 {
		a.t.Fatalf("%s: %d %s", a.what, a.status, a.raw)
	}
	if v != nil {
		if err := json.Unmarshal(a.Data, v); err != nil {
			a.t.Fatalf("%s: %s: %v", a.what, a.raw, err)
		}
	}
	return a
}

// fails demands an error.
func (a *answer) fails(status int, code, field string) *answer {
	a.t.Helper()
	if a.status != status || a.Error == nil || a.Error.Code != code {
		a.t.Errorf("%s: %d %s; want %d %s", a.what, a.status, a.raw, status, code)
		return a
	}
	got := ""
	if a.Error.Field != nil {
		got = *a.Error.Field
	}
	if field != "*" && got != field {
		a.t.Errorf("%s: field %q of %s; want %q", a.what, got, a.raw, field)
	}
	if a.Error.Message == "" {
		a.t.Errorf("%s: %s: an error without a sentence", a.what, a.raw)
	}
	return a
}
