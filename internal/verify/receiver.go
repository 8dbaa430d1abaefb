package verify

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
)

// request is one request that the receiver read to its end.
type request struct {
	key, event string
	answer     chan int // the run says what to answer
	gone       <-chan struct{}
}

// tally counts what was read under each key, and the effects: one of each new key.
type tally struct {
	mu                sync.Mutex
	requests, effects map[string]int
}

func newTally() *tally { return &tally{requests: map[string]int{}, effects: map[string]int{}} }

func (t *tally) read(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests[key]++
	if t.requests[key] == 1 {
		t.effects[key]++ // it dedups
	}
}

// seen gives how much was read by key, and the effects.
func (t *tally) seen() (requests, effects map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.requests), maps.Clone(t.effects)
}

// sum gives how much was read, and under how many keys.
func (t *tally) sum() (n, keys int) {
	requests, _ := t.seen()
	for _, times := range requests {
		n += times
	}
	return n, len(requests)
}

// receiver reads requests, makes one effect of each new key, and answers when the run says so.
type receiver struct {
	*tally
	server  *httptest.Server
	arrived chan *request // for runs that answer by hand; requests beyond its size answer themselves
	byHand  atomic.Int64  // so many more requests
	linger  func()        // before an answer that is not given by hand
}

// newReceiver listens on l, or on a free port. The first byHand requests are answered by hand.
func newReceiver(l net.Listener, byHand int) *receiver {
	r := &receiver{tally: newTally(), arrived: make(chan *request, 2), linger: func() {}}
	r.byHand.Store(int64(byHand))
	r.server = httptest.NewUnstartedServer(r)
	if l != nil {
		r.server.Listener.Close()
		r.server.Listener = l
	}
	r.server.Start()
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return // cut before its end: not a request
	}
	q := &request{key: req.Header.Get("Idempotency-Key"), event: req.Header.Get("webhook-id"), answer: make(chan int, 1), gone: req.Context().Done()}
	r.read(q.key)
	if r.byHand.Add(-1) < 0 {
		r.linger()
		w.WriteHeader(http.StatusOK)
		return
	}
	r.arrived <- q
	select {
	case status := <-q.answer:
		w.WriteHeader(status)
	case <-q.gone:
	}
}

// next waits for the request that is answered by hand.
func (r *receiver) next(ctx context.Context) (*request, error) {
	select {
	case q := <-r.arrived:
		return q, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (r *receiver) close() {
	r.server.CloseClientConnections()
	r.server.Close()
}
