package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/client"
)

// line is one answer of a server that is played: a status and what follows, or an error instead.
type line struct {
	status int
	head   string // "Name: value"
	body   string
	err    error
}

const (
	fine     = `{"ok":true,"data":{"message_id":"qmsg_1","queue":"jobs"},"error":null,"metadata":{"request_id":"r-1","idempotent_replay":true,"cost_usd":0.5}}`
	busy     = `{"ok":false,"data":null,"error":{"code":"UNAVAILABLE","message":"the store is away","hint":"wait","field":null},"metadata":{"request_id":"r-2"}}`
	limited  = `{"ok":false,"data":null,"error":{"code":"RATE_LIMITED","message":"too fast","hint":null,"field":null},"metadata":{"request_id":"r-3"}}`
	conflict = `{"ok":false,"data":null,"error":{"code":"CONFLICT","message":"not now","hint":null,"field":null},"metadata":{"request_id":"r-4"}}`
)

// play answers requests by a script, whose last line is said again for ever, and notes each.
type play struct {
	script []line
	asked  []*http.Request
	bodies []string
	at     []time.Time
}

func (p *play) RoundTrip(q *http.Request) (*http.Response, error) {
	var body []byte
	if q.Body != nil {
		body, _ = io.ReadAll(q.Body)
	}
	p.asked, p.bodies, p.at = append(p.asked, q), append(p.bodies, string(body)), append(p.at, time.Now())
	l := p.script[min(len(p.asked), len(p.script))-1]
	if l.err != nil {
		return nil, l.err
	}
	r := &http.Response{StatusCode: l.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(l.body)), Request: q}
	if name, value, ok := strings.Cut(l.head, ": "); ok {
		r.Header.Set(name, value)
	}
	return r, nil
}

func playing(t *testing.T, with client.Config, script ...line) (*client.Client, *play) {
	t.Helper()
	p := &play{script: script}
	with.HTTP, with.APIKey = &http.Client{Transport: p}, "a-key-of-16-or-more"
	c, err := client.New(with)
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

var errReset = errors.New("connection reset")

func TestRetries(t *testing.T) {
	t.Parallel()
	publish := func(ctx context.Context, c *client.Client) error {
		_, err := c.Publish(ctx, "jobs", client.NewMessage{Payload: 1})
		return err
	}
	purge := func(ctx context.Context, c *client.Client) error {
		_, err := c.PurgeQueue(ctx, "jobs")
		return err
	}
	date := func(d time.Duration) string { // of the bubble's clock, which begins with the year 2000
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Format(http.TimeFormat)
	}
	for _, c := range []struct {
		name        string
		call        func(context.Context, *client.Client) error
		script      []line
		tries       int
		least, most time.Duration // that it takes
		fails       error         // nil: it goes well
	}{
		{"at once", publish, []line{{200, "", fine, nil}}, 1, 0, 0, nil},
		{"429", publish, []line{{429, "", limited, nil}, {200, "", fine, nil}}, 2, 50 * time.Millisecond, 100 * time.Millisecond, nil},
		{"429 with seconds", publish, []line{{429, "Retry-After: 7", limited, nil}, {200, "", fine, nil}}, 2, 7 * time.Second, 8 * time.Second, nil},
		{"503 with a date", publish, []line{{503, "Retry-After: " + date(9*time.Second), busy, nil}, {200, "", fine, nil}}, 2, 9 * time.Second, 10 * time.Second, nil},
		{"503 with a date long past", publish, []line{{503, "Retry-After: " + date(-time.Hour), busy, nil}, {200, "", fine, nil}}, 2, 50 * time.Millisecond, 100 * time.Millisecond, nil},
		{"503 with rubbish", publish, []line{{503, "Retry-After: soon", busy, nil}, {200, "", fine, nil}}, 2, 50 * time.Millisecond, 100 * time.Millisecond, nil},
		{"503 with 0", publish, []line{{503, "Retry-After: 0", busy, nil}, {200, "", fine, nil}}, 2, 50 * time.Millisecond, 100 * time.Millisecond, nil},
		{"503 with an hour", publish, []line{{503, "Retry-After: 3600", busy, nil}, {200, "", fine, nil}}, 1, 0, 0, client.Unavailable},
		{"503 with 99999999999", publish, []line{{503, "Retry-After: 99999999999", busy, nil}, {200, "", fine, nil}}, 1, 0, 0, client.Unavailable},
		{"500 and 502 of somebody between", publish, []line{{500, "", "", nil}, {502, "", "<html>", nil}, {200, "", fine, nil}}, 3, 150 * time.Millisecond, 300 * time.Millisecond, nil},
		{"no answer", publish, []line{{err: errReset}, {err: io.ErrUnexpectedEOF}, {200, "", fine, nil}}, 3, 150 * time.Millisecond, 300 * time.Millisecond, nil},
		{"an answer that breaks off", publish, []line{{200, "", fine[:40], nil}}, 1, 0, 0, errAny},
		{"for ever", publish, []line{{503, "", busy, nil}}, 6, 1550 * time.Millisecond, 3100 * time.Millisecond, client.Unavailable},
		{"no answer for ever", publish, []line{{err: errReset}}, 6, 1550 * time.Millisecond, 3100 * time.Millisecond, errReset},
		{"400", publish, []line{{400, "Retry-After: 1", conflict, nil}}, 1, 0, 0, client.Conflict},
		{"409", publish, []line{{409, "Retry-After: 1", conflict, nil}}, 1, 0, 0, client.Conflict},
		{"404 of another server", publish, []line{{404, "", "not here", nil}}, 1, 0, 0, errAny},
		{"200 of another server", publish, []line{{200, "", "<html>welcome</html>", nil}}, 1, 0, 0, errAny},
		{"200 that is JSON of another server", publish, []line{{200, "", "{}", nil}}, 1, 0, 0, errAny},
		{"a redirect", publish, []line{{301, "Location: http://elsewhere/", "", nil}}, 1, 0, 0, errAny},
		{"once alone, and refused", purge, []line{{429, "Retry-After: 1", limited, nil}, {200, "", fine, nil}}, 2, time.Second, 2 * time.Second, nil},
		{"once alone, and nobody knows", purge, []line{{err: errReset}, {200, "", fine, nil}}, 1, 0, 0, errReset},
		{"once alone, and 503", purge, []line{{503, "", busy, nil}, {200, "", fine, nil}}, 1, 0, 0, client.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cl, p := playing(t, client.Config{}, c.script...)
				began := time.Now()
				err := c.call(t.Context(), cl)
				took := time.Since(began)
				if c.fails == errAny && err == nil || c.fails != errAny && !errors.Is(err, c.fails) || c.fails == nil && err != nil {
					t.Errorf("error: %v; want %v", err, c.fails)
				}
				if len(p.asked) != c.tries {
					t.Errorf("sent %d times, not %d", len(p.asked), c.tries)
				}
				if took < c.least || took > c.most {
					t.Errorf("it took %v, not %v to %v", took, c.least, c.most)
				}
				key := p.asked[0].Header.Get("Idempotency-Key")
				for i, q := range p.asked {
					if got := q.Header.Get("Idempotency-Key"); got != key || p.bodies[i] != p.bodies[0] || q.URL.String() != p.asked[0].URL.String() {
						t.Errorf("try %d is another call: key %q, not %q; %s", i+1, got, key, p.bodies[i])
					}
				}
				if publishes := strings.HasSuffix(p.asked[0].URL.Path, "publish"); publishes != (key != "") {
					t.Errorf("%s under the key %q", p.asked[0].URL.Path, key)
				}
			})
		})
	}
}

// errAny is any error.
var errAny = errors.New("any")

// A pause never outlasts the caller's context: who has no time for it is told at once.
func TestRetriesEndWithTheContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head  string
		tries int
		most  time.Duration
	}{
		"no time for what is asked": {"Retry-After: 5", 1, 0},
		"time for some tries":       {"", 6, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cl, p := playing(t, client.Config{MaxTries: 100}, line{503, c.head, busy, nil})
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				began := time.Now()
				_, err := cl.Publish(ctx, "jobs", client.NewMessage{Payload: 1})
				if !errors.Is(err, client.Unavailable) {
					t.Errorf("%v: not what the server said last", err)
				}
				if took := time.Since(began); took > c.most {
					t.Errorf("it took %v", took)
				}
				if len(p.asked) > c.tries || c.tries > 1 && len(p.asked) < 3 {
					t.Errorf("sent %d times", len(p.asked))
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // somebody takes the call back in the middle of a pause
		cl, _ := playing(t, client.Config{}, line{503, "Retry-After: 30", busy, nil})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if _, err := cl.Publish(ctx, "jobs", client.NewMessage{Payload: 1}); err == nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// Each try has a time of its own: a server that says nothing is asked again.
func TestTryHasItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		hang := roundTrip(func(q *http.Request) (*http.Response, error) {
			if tries++; tries == 1 {
				<-q.Context().Done()
				return nil, q.Context().Err()
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(fine)), Header: http.Header{}}, nil
		})
		c, err := client.New(client.Config{HTTP: &http.Client{Transport: hang}, Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := c.Consume(t.Context(), "jobs", client.Receive{Wait: 10 * time.Second}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 15*time.Second || took > 16*time.Second {
			t.Errorf("the try and the wait took %v", took)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// With one try alone nothing is repeated and no key is made; the caller's own goes along.
func TestOneTry(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "order-7"} {
		c, p := playing(t, client.Config{MaxTries: 1}, line{503, "", busy, nil})
		_, err := c.Publish(t.Context(), "jobs", client.NewMessage{Payload: 1, Key: key})
		if !errors.Is(err, client.Unavailable) || len(p.asked) != 1 || p.asked[0].Header.Get("Idempotency-Key") != key {
			t.Errorf("%v; sent %d times, key %q", err, len(p.asked), p.asked[0].Header.Get("Idempotency-Key"))
		}
	}
}

// An error says all that the server did, and the key to go on with.
func TestErrors(t *testing.T) {
	t.Parallel()
	const answer = `{"ok":false,"data":null,"error":{"code":"QUEUE_NOT_FOUND","message":"there is no queue \"jobs\"","hint":"make it","field":"/queue"},"metadata":{"request_id":"r-9"}}`
	c, _ := playing(t, client.Config{}, line{404, "", answer, nil})
	_, err := c.Publish(t.Context(), "jobs", client.NewMessage{Payload: 1, Key: "order-7"})
	e, ok := errors.AsType[*client.Error](err)
	if !ok || !errors.Is(err, client.QueueNotFound) || errors.Is(err, client.NotFound) {
		t.Fatalf("%#v", err)
	}
	want := client.Error{
		Call: "POST /v1/queue/publish", Status: 404, Code: client.QueueNotFound, Message: `there is no queue "jobs"`, Hint: "make it", Field: "/queue",
		RequestID: "r-9", Key: "order-7",
	}
	if *e != want {
		t.Errorf("%+v", *e)
	}
	if got := err.Error(); got != `POST /v1/queue/publish: there is no queue "jobs" (QUEUE_NOT_FOUND): make it` {
		t.Error(got)
	}

	c, _ = playing(t, client.Config{MaxTries: 2}, line{err: errReset})
	_, err = c.SendEvent(t.Context(), client.NewEvent{Type: "a", Payload: 1})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Key == "" || e.Status != 0 || !errors.Is(err, errReset) || !e.Temporary() {
		t.Errorf("%#v", err)
	}
}

// A body that does not end is not read to its end.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	read := 0
	endless := roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(readFunc(func(p []byte) (int, error) {
			read += len(p)
			return len(p), nil
		}))}, nil
	})
	c, err := client.New(client.Config{HTTP: &http.Client{Transport: endless}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Queue(t.Context(), "jobs"); err == nil || !strings.Contains(err.Error(), "more than 67108864 bytes") {
		t.Error(err)
	}
	if read > 80<<20 {
		t.Errorf("%d bytes were read", read)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestNew(t *testing.T) {
	t.Parallel()
	for url, ok := range map[string]bool{
		"": true, "http://127.0.0.1:6623": true, "https://example.com/queue/": true, "127.0.0.1:6623": false, "ftp://a": false, "http://": false,
		"http://a?b=c": false, "http://a#b": false, "http://me:secret@a": false, "http://a b": false,
	} {
		if _, err := client.New(client.Config{URL: url}); (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := client.New(client.Config{MaxTries: -1}); err == nil {
		t.Error("-1 tries")
	}
}
