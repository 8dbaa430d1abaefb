package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"
)

const apiKey = "faults-test-key-0123456789"

type object = map[string]any

// client calls a server's API.
type client struct {
	url  string
	http *http.Client
}

func newClient(t testing.TB, url string) *client {
	rt := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(rt.CloseIdleConnections)
	return &client{url, &http.Client{Transport: rt, Timeout: time.Minute}}
}

// answer is what came back; err says that nothing did.
type answer struct {
	err    error
	status int
	after  int // Retry-After
	code   string
	replay bool
	data   object
	raw    string
}

func (a answer) ok() bool { return a.err == nil && a.status == http.StatusOK }

func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprintf("%d %.300s", a.status, a.raw)
}

// away reports whether a is the answer of a server whose store is away: UNAVAILABLE, and when to try again.
func (a answer) away() bool {
	return a.err == nil && a.status == http.StatusServiceUnavailable && a.code == "UNAVAILABLE" && a.after > 0
}

// items gives a list of the answer's data.
func (a answer) items(name string) (out []object) {
	l, _ := a.data[name].([]any)
	for _, v := range l {
		out = append(out, v.(object))
	}
	return out
}

func (c *client) call(ctx context.Context, method, path string, body any) (a answer) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return answer{err: err}
		}
		in = bytes.NewReader(b)
	}
	q, err := http.NewRequestWithContext(ctx, method, c.url+path, in)
	if err != nil {
		return answer{err: err}
	}
	q.Header.Set("Authorization", "Bearer "+apiKey)
	q.Header.Set("Content-Type", "application/json")
	r, err := c.http.Do(q)
	if err != nil {
		return answer{err: err}
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return answer{err: err}
	}
	var e struct {
		Data     object
		Error    struct{ Code string }
		Metadata struct {
			Replay bool `json:"idempotent_replay"`
		}
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return answer{err: fmt.Errorf("%d %.200s: %w", r.StatusCode, b, err)}
	}
	after, _ := strconv.Atoi(r.Header.Get("Retry-After"))
	return answer{nil, r.StatusCode, after, e.Error.Code, e.Metadata.Replay, e.Data, string(b)}
}

func (c *client) post(ctx context.Context, path string, body object) answer {
	return c.call(ctx, "POST", path, body)
}

// must makes a call that has to work.
func (c *client) must(t testing.TB, method, path string, body any) answer {
	t.Helper()
	a := c.call(t.Context(), method, path, body)
	if !a.ok() {
		t.Fatalf("%s %s: %v", method, path, a)
	}
	return a
}

// consume receives at most n messages.
func (c *client) consume(t testing.TB, queue string, n int, visibility, wait float64) []object {
	t.Helper()
	a := c.must(t, "POST", "/v1/queue/consume", object{"queue": queue, "max_messages": n, "visibility_timeout": visibility, "wait_seconds": wait})
	return a.items("items")
}

// ack acks received messages and sees that each was.
func (c *client) ack(t testing.TB, queue string, l []object) {
	t.Helper()
	if len(l) == 0 {
		return
	}
	var items []object
	for _, m := range l {
		items = append(items, object{"receipt_handle": m["receipt_handle"]})
	}
	a := c.must(t, "POST", "/v1/queue/ack_batch", object{"queue": queue, "items": items})
	for _, i := range a.items("items") {
		if d, _ := i["data"].(object); i["acked"] != true && d["acked"] != true {
			t.Errorf("ack: %v", i)
		}
	}
}

func (c *client) stats(t testing.TB, queue string) func(string) int {
	t.Helper()
	a := c.must(t, "GET", "/v1/queue/stats/"+queue, nil)
	return func(name string) int { n, _ := a.data[name].(float64); return int(n) }
}
