package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// got is a request that a receiver saw.
type got struct {
	header http.Header
	method string
	host   string
	path   string
	body   string
	at     time.Time
}

// receiver answers as it is told, and remembers what came.
type receiver struct {
	url string

	mu     sync.Mutex
	seen   []got
	answer func(n int, w http.ResponseWriter) // n counts from 1
}

func receive(t testing.TB) *receiver {
	r := &receiver{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.seen = append(r.seen, got{q.Header.Clone(), q.Method, q.Host, q.URL.RequestURI(), string(b), time.Now()})
		n, answer := len(r.seen), r.answer
		r.mu.Unlock()
		if answer != nil {
			answer(n, w)
		}
	}))
	t.Cleanup(srv.Close)
	r.url = srv.URL + "/hook?x=1"
	return r
}

// will says how it answers from now on.
func (r *receiver) will(answer func(n int, w http.ResponseWriter)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) requests() []got {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]got(nil), r.seen...)
}

func status(codes ...int) func(int, http.ResponseWriter) {
	return func(n int, w http.ResponseWriter) { w.WriteHeader(codes[min(n, len(codes))-1]) }
}

// cut breaks the connection off after the request.
func cut(_ int, w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		c.Close()
	}
}

func (s *server) endpoint(t testing.TB, url string, more object) object {
	t.Helper()
	return s.do(t, "POST", "/v1/webhooks/endpoints", with(object{"url": url}, more))
}

func (s *server) event(t testing.TB, body object, headers ...string) object {
	t.Helper()
	return s.do(t, "POST", "/v1/webhooks/events", body, headers...)
}

// deliver makes an endpoint of its own tenant and sends it an event: the delivery as the event's answer shows it.
func (s *server) deliver(t testing.TB, url string, endpoint, event object) object {
	t.Helper()
	e := s.endpoint(t, url, with(object{"tenant": tenant(t)}, endpoint))
	d := s.event(t, with(object{"event_type": "wire.test", "payload": object{"n": 1}, "tenant": e["tenant"], "endpoint_ids": []any{e["endpoint_id"]}}, event))
	return d["deliveries"].([]any)[0].(object)
}

func tenant(t testing.TB) string {
	name := []byte(t.Name())
	for i, c := range name {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			name[i] = '-'
		}
	}
	return string(name)
}

func (s *server) delivery(t testing.TB, id any) object {
	t.Helper()
	return s.do(t, "GET", "/v1/webhooks/deliveries/"+text(id), nil)
}

// until waits for a delivery's state.
func (s *server) until(t testing.TB, id any, state string) object {
	t.Helper()
	var d object
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if d = s.delivery(t, id); d["state"] == state {
			return d
		}
		if time.Now().After(end) {
			t.Fatalf("the delivery is not %s within 30 s but %v", state, d)
		}
	}
}

func attempts(d object) []object {
	list := d["attempts"].([]any)
	out := make([]object, len(list))
	for i, a := range list {
		out[i] = a.(object)
	}
	return out
}
