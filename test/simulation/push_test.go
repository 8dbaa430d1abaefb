package simulation

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// pushes is a queue whose messages the server itself sends to a receiver.
type pushes struct {
	w      *world
	server *http.Server
	most   int // receives of a message
	sent   []string

	mu    sync.Mutex
	posts map[string][]*post // by the message's name
}

const pushTimeout = 5 * time.Second

// buildPushes makes the queue and its subscription.
func (w *world) buildPushes() {
	p := &pushes{w: w, most: 2 + w.dice.IntN(4), posts: map[string][]*post{}}
	p.server = &http.Server{Handler: p}
	l := w.net.listen("push.sim")
	w.going.Go(func() { p.server.Serve(l) })
	w.pushes = p
	w.must("POST", "queue/create", fields{"name": "pushed", "max_receive_count": p.most}, nil)
	w.must("POST", "queue/push_subscribe/pushed", fields{"url": "http://push.sim/", "timeout_seconds": seconds(pushTimeout), "max_in_flight": 3}, nil)
}

// push publishes something to be pushed.
func (w *world) push() {
	if w.process == nil {
		return
	}
	name := w.name("p")
	w.pushes.sent = append(w.pushes.sent, name)
	a := w.callOr(w.chance(6), "POST", "queue/publish", fields{"queue": "pushed", "payload": fields{"name": name}})
	w.say("publish pushed %s: %d", name, a.status)
}

// ServeHTTP is the receiver.
func (p *pushes) ServeHTTP(a http.ResponseWriter, q *http.Request) {
	w := p.w
	w.going.Add(1)
	defer w.going.Done()
	body, err := io.ReadAll(q.Body)
	var is struct{ Name string }
	json.Unmarshal(body, &is)
	attempt, _ := strconv.Atoi(q.Header.Get("Webhook-Attempt"))
	w.mu.Lock()
	calm := w.calm
	w.mu.Unlock()
	what := "200"
	if n := w.roll(100, "push", is.Name, attempt); !calm && n < 50 {
		what = []string{"500", "hangs", "302"}[n%3]
	}
	w.say("push.sim gets %s attempt %d: %s", is.Name, attempt, what)
	t := &post{attempt: attempt, at: w.now(), did: what, key: q.Header.Get("Idempotency-Key")}
	p.mu.Lock()
	before := p.posts[is.Name]
	p.posts[is.Name] = append(before, t)
	p.mu.Unlock()
	if err != nil || t.key == "" || t.key != q.Header.Get("Webhook-Id") || attempt > p.most {
		w.fail("push.sim gets %s as attempt %d of %d, key %q, %v", is.Name, attempt, p.most, t.key, err)
	}
	if n := len(before); n > 0 {
		last := before[n-1]
		known := !w.disturbed(last.at, last.at.Add(2*pushTimeout))
		wait := 30 * time.Second << max(0, last.attempt-1)
		if known && (last.did == "200" || attempt != last.attempt+1 || t.at.Before(last.at.Add(wait))) || last.key != t.key {
			w.fail("push.sim gets %s as attempt %d %v after attempt %d, which it answered with %s", is.Name, attempt, t.at.Sub(last.at), last.attempt, last.did)
		}
	}
	rest(q.Context(), time.Duration(w.roll(500_000, "push took", is.Name, attempt))*time.Microsecond)
	if what == "hangs" {
		<-q.Context().Done()
		panic(http.ErrAbortHandler)
	}
	status, _ := strconv.Atoi(what)
	a.WriteHeader(status)
}

// settlePushes waits until the queue is empty: each message was taken by the receiver, or is a dead letter.
func (w *world) settlePushes() {
	for range 100 {
		var stats struct {
			Messages int `json:"message_count"`
		}
		if w.must("GET", "queue/stats/pushed", nil, &stats); stats.Messages == 0 || w.failed() {
			break
		}
		w.wait(20 * time.Second)
	}
	if w.failed() {
		return
	}
	dead := map[string]bool{}
	for _, s := range list[seen](w, "queue/dlq/list/pushed?") {
		dead[s.name()] = true
	}
	w.pushes.mu.Lock()
	defer w.pushes.mu.Unlock()
	for _, name := range w.pushes.sent {
		posts := w.pushes.posts[name]
		if len(posts) == 0 {
			w.fail("%s was never pushed; dead: %v", name, dead[name])
			continue
		}
		last := posts[len(posts)-1]
		if w.disturbed(last.at, last.at.Add(2*pushTimeout)) {
			continue // nobody may have heard the answer
		}
		if ok := last.did == "200"; ok == dead[name] || !ok && last.attempt != w.pushes.most {
			w.fail("%s was pushed %d times, the last answered with %s; a dead letter: %v", name, last.attempt, last.did, dead[name])
		}
	}
	w.say("pushed %d, of them %d dead", len(w.pushes.sent), len(dead))
}
