package verify

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
)

// request is one request that the receiver read to its end.
type request struct {
	key, event string
	answer     chan int // the run says what to answer
	gone       <-chan struct{}
}

// receiver reads requests, makes one effect of each new key, and answers when the run says so.
type receiver struct {
	server  *httptest.Server
	arrived chan *request // for runs that answer by hand; requests beyond its size answer themselves

	mu       sync.Mutex
	byHand   int            // so many more requests
	requests map[string]int // by key
	effects  map[string]int
}

// newReceiver listens on l, or on a free port. The first byHand requests are answered by hand.
func newReceiver(l net.Listener, byHand int) *receiver {
	r := &receiver{arrived: make(chan *request, 2), byHand: byHand, requests: map[string]int{}, effects: map[string]int{}}
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
	r.mu.Lock()
	r.requests[q.key]++
	if r.requests[q.key] == 1 {
		r.effects[q.key]++ // it dedups
	}
	byHand := r.byHand > 0
	r.byHand--
	r.mu.Unlock()
	if !byHand {
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

// seen gives how many requests it read by key, and the effects.
func (r *receiver) seen() (requests, effects map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	requests, effects = map[string]int{}, map[string]int{}
	for k, n := range r.requests {
		requests[k] = n
	}
	for k, n := range r.effects {
		effects[k] = n
	}
	return requests, effects
}

func (r *receiver) close() {
	r.server.CloseClientConnections()
	r.server.Close()
}
