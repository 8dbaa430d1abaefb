package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// H-Q27: servers that push are killed under load, and the queue is unsubscribed and subscribed again. Each message that was answered 2xx is pushed; one is pushed a second
// time only if the server died that was at it; no more are under way than the subscription says; and nothing is left.
func TestPushKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		n := 1
		if strings.HasPrefix(store, "postgres") {
			n = 2
		}
		const inFlight = 4
		f := startFleet(t, store, n)
		r := receiveCrowd(t, 30*time.Millisecond)
		f.at(0).must(t, "POST", "/v1/queue/create", object{"name": "jobs", "max_receive_count": 1000})
		times := 0
		subscribe := func() string { // each to a path of its own: what the one before had under way when it was removed is not counted with it
			times++
			a, _ := (&traveller{f: f, lenient: true}).call(t.Context(), "/v1/queue/push_subscribe/jobs", object{"url": fmt.Sprint(r.URL, "/", times), "timeout_seconds": 1, "max_in_flight": inFlight})
			if !a.ok() {
				t.Fatalf("subscribe: %v", a)
			}
			return a.data["id"].(string)
		}
		id := subscribe()
		ctx, stop := context.WithCancel(t.Context())
		published := make(chan []string, 1)
		t.Cleanup(stop)
		go func() {
			var ids []string
			v := &traveller{f: f, roams: true, lenient: true}
			for i := 0; ctx.Err() == nil; i++ {
				if a, _ := v.call(t.Context(), "/v1/queue/publish", object{"queue": "jobs", "payload": i, "idempotency_key": fmt.Sprint("k", i)}); a.ok() {
					ids = append(ids, a.data["message_id"].(string))
				} else if t.Context().Err() == nil {
					t.Errorf("publish %d: %v", i, a)
				}
				select {
				case <-ctx.Done():
				case <-time.After(15 * time.Millisecond):
				}
			}
			published <- ids
		}()
		var kills []time.Time
		for i := range size(2, 12) {
			some, _ := r.effects()
			eventually(t, time.Minute, "20 more are pushed", func() bool { n, _ := r.effects(); return n >= some+20 })
			<-time.After(rand.N(100 * time.Millisecond)) // any instant of the load will do
			dead := f.at(rand.N(n))
			dead.kill()
			kills = append(kills, time.Now())
			if n > 1 {
				f.replace(dead)
			}
			f.replace(dead, f.spawn())
			if i%2 == 1 {
				f.at(0).must(t, http.MethodDelete, "/v1/queue/push_unsubscribe/jobs/"+id, nil)
				if again := subscribe(); again == id {
					t.Errorf("a new subscription has the id of the one that was removed, %s", id)
				} else {
					id = again
				}
			}
		}
		stop()
		ids := <-published
		eventually(t, time.Minute, "nothing is left", func() bool { return f.at(0).stats(t, "jobs")("message_count") == 0 })
		if dead := f.at(0).stats(t, "jobs")("dlq_count"); dead != 0 {
			t.Errorf("%d dead letters", dead)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		again := 0
		for _, id := range ids {
			posts := r.posts[id]
			if len(posts) == 0 {
				t.Errorf("%s was published and not pushed", id)
			}
			for i := range len(posts) - 1 {
				again++
				if !diedAt(kills, posts[i]) {
					t.Errorf("%s was pushed again %v after a push whose server did not die", id, posts[i+1].Sub(posts[i]))
				}
			}
		}
		if len(r.posts) != len(ids) {
			t.Errorf("%d messages were pushed, and %d published", len(r.posts), len(ids))
		}
		if again > inFlight*len(kills) {
			t.Errorf("%d pushes beside the first of each in %d kills of a server that had at most %d under way", again, len(kills), inFlight)
		}
		for path, most := range r.most {
			if most > inFlight {
				t.Errorf("%d pushes were under way at once to %s; its subscription says %d", most, path, inFlight)
			}
		}
		t.Logf("%d messages, %d pushes beside the first of each, in %d kills", len(ids), again, len(kills))
	})
}

// diedAt reports whether a server was killed while a push that began then may not have been recorded: its time-out of 1 s, and as much for the record.
func diedAt(kills []time.Time, push time.Time) bool {
	for _, k := range kills {
		if d := k.Sub(push); d > -100*time.Millisecond && d < 2*time.Second {
			return true
		}
	}
	return false
}
