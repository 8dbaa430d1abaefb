package sqlite

import (
	"sync"
	"time"
)

// hub wakes who waits for a queue. All who could bring work are in this process.
type hub struct {
	mu      sync.Mutex
	waiting map[int64]chan struct{} // by queue; closed to wake, and only made where somebody waits
	closed  bool
}

// wake is news of a queue: it may have something to receive from when on.
type wake struct {
	queue int64
	when  time.Time
}

// wake tells who waits for the queue, once the transaction is committed.
func (t *tx) wake(queueID int64, when time.Time) {
	for _, w := range t.wakes {
		if w.queue == queueID && !w.when.After(when) {
			return
		}
	}
	t.wakes = append(t.wakes, wake{queueID, when})
}

// listen gives a channel that is closed at the next news of the queue. Listen first, then look.
func (h *hub) listen(queueID int64) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.waiting[queueID]
	if c == nil {
		c = make(chan struct{})
		if h.closed {
			close(c)
			return c
		}
		if h.waiting == nil {
			h.waiting = map[int64]chan struct{}{}
		}
		h.waiting[queueID] = c
	}
	return c
}

func (h *hub) wake(news []wake) {
	if len(news) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range news {
		if c := h.waiting[w.queue]; c != nil {
			close(c)
			delete(h.waiting, w.queue)
		}
	}
}

// wakeAll wakes everybody, for good.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for q, c := range h.waiting {
		close(c)
		delete(h.waiting, q)
	}
}

// over reports whether the store is closed.
func (h *hub) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}
