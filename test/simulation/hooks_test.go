package simulation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/onceward/onceward/webhook"
)

// host is a receiver, with the endpoint that leads to it.
type host struct {
	w        *world
	name     string
	server   *http.Server
	endpoint string // its id
	ladder   []time.Duration
	once     bool
	timeout  time.Duration
	retry4xx bool
	most     int // in flight

	mu      sync.Mutex
	secrets []secret
	posts   map[string][]*post // by event
	under   int                // requests at a time
	offs    []gap              // when it was disabled
}

// secret is one of an endpoint's, and until when it signs.
type secret struct {
	text  string
	until time.Time
}

// post is a request that a receiver got, and what it did.
type post struct {
	attempt  int
	at, over time.Time
	key      string
	did      string
	status   int // that it answered; 0: none
	after    time.Duration
}

// the things that a receiver does, and what they must be taken for.
var (
	delivers = []string{"ok", "ok", "ok", "ok", "ok", "204", "ok, then reset", "ok, drips"}
	refuses  = []string{"500", "503", "404", "302", "429 later", "503 later", "400"}
	unknowns = []string{"hangs", "resets", "closes"}
)

// does draws what the receiver does with an attempt.
func (h *host) does(event string, attempt int) string {
	w := h.w
	w.mu.Lock()
	calm := w.calm
	w.mu.Unlock()
	from := delivers
	switch n := w.roll(100, h.name, event, attempt); {
	case calm:
	case n < 2:
		return "410"
	case n < 45:
		from = refuses
	case n < 62:
		from = unknowns
	}
	return from[w.roll(len(from), h.name, event, attempt, "what")]
}

// ServeHTTP is the receiver.
func (h *host) ServeHTTP(a http.ResponseWriter, q *http.Request) {
	w, event := h.w, q.Header.Get("Webhook-Id")
	w.going.Add(1)
	defer w.going.Done()
	attempt, _ := strconv.Atoi(q.Header.Get("Webhook-Attempt"))
	p := &post{attempt: attempt, at: w.now(), key: q.Header.Get("Idempotency-Key"), did: h.does(event, attempt)}
	body, err := io.ReadAll(q.Body)
	h.mu.Lock()
	h.posts[event] = append(h.posts[event], p)
	h.under++
	busy, secrets := h.under, []string{}
	if n := len(h.offs); n > 0 && h.offs[n-1].to.IsZero() && h.offs[n-1].from.Before(p.at) {
		w.fail("%s gets %s, and is disabled", h.name, event)
	}
	for _, s := range h.secrets {
		if s.until.IsZero() || w.now().Before(s.until) {
			secrets = append(secrets, s.text)
		}
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.under--
		p.over = w.now()
	}()
	w.say("%s gets %s attempt %d: %s", h.name, event, attempt, p.did)
	if err != nil || string(body) != payloadOf(event) {
		w.fail("%s gets %s as %q, %v", h.name, event, body, err)
	}
	for _, s := range secrets { // each signs: a receiver that knows one of them is enough
		if err := webhook.Verify(q.Header, body, w.now(), s); err != nil {
			w.fail("%s gets %s, and one of its %d secrets does not verify: %v", h.name, event, len(secrets), err)
		}
	}
	if busy > h.most {
		w.fail("%s gets %d requests at a time; %d are allowed", h.name, busy, h.most)
	}
	rest(q.Context(), time.Duration(w.roll(900_000, h.name, event, attempt, "took"))*time.Microsecond)
	h.answer(a, q, p)
}

func (h *host) answer(a http.ResponseWriter, q *http.Request, p *post) {
	p.status = 200
	switch p.did {
	case "204":
		p.status = 204
	case "ok, then reset", "ok, drips":
		a.Header().Set("Content-Length", "10")
	case "500", "503", "404", "302", "400", "410":
		p.status, _ = strconv.Atoi(p.did)
	case "429 later", "503 later":
		p.status, _ = strconv.Atoi(p.did[:3])
		p.after = time.Duration(1+h.w.roll(200, h.name, q.Header.Get("Webhook-Id"), p.attempt)) * time.Second
		when := strconv.Itoa(int(p.after.Seconds()))
		if p.attempt%2 == 0 {
			when = h.w.now().Add(p.after).UTC().Format(http.TimeFormat)
			p.after -= time.Second // a date has no more than seconds
		}
		a.Header().Set("Retry-After", when)
	case "hangs":
		p.status = 0
		<-q.Context().Done()
		panic(http.ErrAbortHandler)
	case "resets", "closes":
		p.status = 0
		if c, _, err := a.(http.Hijacker).Hijack(); err == nil {
			if p.did == "resets" {
				c.(*conn).reset()
			}
			c.Close()
		}
		return
	}
	if p.status == 302 {
		a.Header().Set("Location", "http://"+h.name+"/elsewhere")
	}
	if p.status == 410 && q.Context().Err() == nil {
		h.mu.Lock()
		h.off(true, h.w.now())
		h.mu.Unlock()
	}
	a.WriteHeader(p.status)
	switch p.did {
	case "ok, then reset":
		http.NewResponseController(a).Flush()
		panic(http.ErrAbortHandler)
	case "ok, drips":
		for range 10 {
			fmt.Fprint(a, "x")
			http.NewResponseController(a).Flush()
			rest(q.Context(), 700*time.Millisecond)
		}
	}
}

// rest waits for d, or until the sender hangs up.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// payloadOf is what an event says.
func payloadOf(event string) string { return `{"z": 1.0, "event":"` + event + `"}` }
