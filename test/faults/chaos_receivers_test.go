package faults

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// liar is a receiver that hangs, resets, drips and lies, now and then, and answers well in between.
type liar struct {
	*receiver
	mu   sync.Mutex
	told map[string]int       // by delivery key: the answers that said 200, however they ended
	last map[string]time.Time // the time of the first of those that ended well
	how  map[string][]int     // the kinds of its answers
}

func lying(t testing.TB) *liar {
	l := &liar{told: map[string]int{}, last: map[string]time.Time{}, how: map[string][]int{}}
	l.receiver = receive(t, func(w http.ResponseWriter, q *http.Request) {
		key := q.Header.Get("Idempotency-Key")
		saw := func(well bool) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.told[key]++
			if well && l.last[key].IsZero() {
				l.last[key] = time.Now()
			}
		}
		kind := rand.N(14)
		l.mu.Lock()
		l.how[key] = append(l.how[key], kind)
		l.mu.Unlock()
		if kind == 0 { // silence
			<-q.Context().Done()
			return
		}
		if kind > 6 {
			defer saw(true)
			w.Header().Set("Content-Length", "2")
			io.WriteString(w, "ok")
			return
		}
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(20 * time.Second))
		switch kind {
		case 1: // reset, without a word
			c.(*net.TCPConn).SetLinger(0)
		case 2: // headers that drip
			for _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "); err == nil; _, err = io.WriteString(c, "x") {
				time.Sleep(200 * time.Millisecond)
			}
		case 3: // less than was said
			saw(false)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
		case 4: // more than was said
			saw(false)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nmuch more than that")
		case 5: // 200, and a reset
			saw(false)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
			c.(*net.TCPConn).SetLinger(0)
		case 6: // refused
			io.WriteString(c, "HTTP/1.1 503 No\r\nRetry-After: -1\r\nContent-Length: 7\r\n\r\n")
		}
	})
	return l
}

// Receivers hang, reset, drip, lie about lengths, and answer 200 and reset. Each delivery comes to its end all the same, none that was refused counts as
// delivered, none that was answered well is sent again, and a receiver that is well has all of its own meanwhile.
func TestChaosReceivers(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		c, good := serve(t, store), receive(t, nil)
		liars := []*liar{lying(t), lying(t)}
		ladder := make([]int, 20)
		for i := range ladder {
			ladder[i] = 1
		}
		for _, l := range liars {
			c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": l.URL, "timeout_seconds": 4, "retry_ladder": ladder, "max_in_flight": 20})
		}
		c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": good.URL})
		c.must(t, "POST", "/v1/queue/create", object{"name": "jobs"})
		n := size(40, 2000)
		began := time.Now()
		for i := range n {
			c.must(t, "POST", "/v1/webhooks/events", object{"event_type": "thing.done", "event_id": fmt.Sprint("evt_", i), "payload": i})
		}
		eventually(t, 20*time.Second+time.Since(began), "the one that is well has all of its own", func() bool { keys, _ := good.effects(); return keys == n })
		c.comeToRest(t, size(time.Minute, 10*time.Minute)) // one attempt in seven takes four seconds
		(&load{t: t}).rests(c)
		again := 0
		for _, l := range liars {
			keys, _ := l.effects()
			if keys != n {
				t.Errorf("%d deliveries came to one that lies; %d events were answered", keys, n)
			}
			l.mu.Lock()
			for key, posts := range l.posts {
				again += len(posts) - 1
				if l.told[key] == 0 {
					t.Errorf("%s is delivered, and was never answered 200, but %v", key, l.how[key])
				}
				if at, ok := l.last[key]; ok && posts[len(posts)-1].After(at) {
					t.Errorf("%s was answered well, and sent again %v later", key, posts[len(posts)-1].Sub(at))
				}
			}
			l.mu.Unlock()
		}
		if _, most := good.effects(); most != 1 {
			t.Errorf("the one that is well got one %d times", most)
		}
		if again == 0 {
			t.Error("nothing was sent again: the test shows nothing")
		}
		t.Logf("%d events, %d POSTs beyond the first", n, again)
	})
}
