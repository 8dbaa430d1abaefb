package verify

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/history"
)

// load hands things over until the round stops it: messages, and events for an endpoint of each policy, each under a key of its own, again until it is answered.
func (l *long) load(ctx context.Context) {
	l.callers.Go(func() { l.neighbour(ctx) })
	for _, kind := range []string{"work", "work", "again", "once"} {
		l.callers.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				case <-ctx.Done():
					return
				case <-time.After(10 * time.Millisecond):
				}
				l.hand(ctx, kind, fmt.Sprint(kind, "-", l.things.Add(1)))
			}
		})
	}
}

// thing is the payload of whatever is handed over.
type thing struct {
	Thing string `json:"thing"`
}

// hand hands one thing over, and goes on until it was answered or ctx ends.
func (l *long) hand(ctx context.Context, kind, name string) {
	path, do := "/v1/webhooks/events", history.Send
	body := object{"event_id": name, "event_type": kind + ".made", "payload": thing{name}}
	if kind == "work" {
		path, do = "/v1/queue/publish", history.Publish
		body = object{"queue": jobs, "payload": thing{name}, "idempotency_key": name}
	}
	for ctx.Err() == nil {
		s := l.one()
		if s == nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		end := l.log.Begin(history.Event{Do: do, Key: name, Thing: name})
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		var d struct {
			Message string `json:"message_id"`
			sent
		}
		replay, err := s.call(within, "POST", path, body, &d)
		cancel()
		if err == nil {
			end(history.Event{Answer: newOrReplay(nil, replay), Message: d.Message + d.EventID})
			l.mu.Lock()
			l.handed[name], l.newest[path] = true, d.Message+d.EventID
			if len(d.Deliveries) > 0 {
				l.newest["delivery"] = d.Deliveries[0].ID
			}
			l.mu.Unlock()
			l.answered.Add(1)
			return
		}
		if no, ok := errors.AsType[*refusal](err); ok {
			end(history.Event{Answer: no.Code})
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// dedup is a receiver that makes one effect of each key of ours.
type dedup struct {
	log    *history.Log
	server *httptest.Server
	url    string

	mu   sync.Mutex
	dice *rand.Rand
	keys map[string]int            // requests by key
	of   map[string]map[string]int // requests by thing and key
}

func newDedup(log *history.Log, dice *rand.Rand) *dedup {
	d := &dedup{log: log, dice: dice, keys: map[string]int{}, of: map[string]map[string]int{}}
	d.server = httptest.NewServer(d)
	d.url = d.server.URL
	return d
}

func (d *dedup) close() {
	d.server.CloseClientConnections()
	d.server.Close()
}

func (d *dedup) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // cut before its end: not a request
	}
	var p thing
	if err := json.Unmarshal(body, &p); err != nil {
		http.Error(w, "not ours", http.StatusBadRequest)
		return
	}
	key := req.Header.Get("Idempotency-Key")
	end := d.log.Begin(history.Event{Do: history.Post, Key: key, Thing: p.Thing, Policy: req.URL.Path[1:]})
	d.mu.Lock()
	refuse := d.dice.IntN(20) == 0
	if !refuse {
		d.keys[key]++
		if d.of[p.Thing] == nil {
			d.of[p.Thing] = map[string]int{}
		}
		d.of[p.Thing][key]++
	}
	wait := time.Duration(d.dice.Int64N(int64(15 * time.Millisecond)))
	d.mu.Unlock()
	time.Sleep(wait)
	status := http.StatusOK
	if refuse {
		status = http.StatusServiceUnavailable
	}
	end(history.Event{Answer: fmt.Sprint(status)})
	w.WriteHeader(status)
}

// saw reports whether a thing came.
func (d *dedup) saw(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.of[name]) > 0
}
