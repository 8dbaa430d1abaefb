package postgres

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

const (
	pollEvery   = 700 * time.Millisecond // how late a message is at most that no wake-up told of; with jitter
	polledFor   = 900 * time.Millisecond // the same of deliveries, after one that a sweep made: those rest 0.61 to 0.79 s
	wakeHorizon = time.Minute            // how far ahead a wake-up is remembered; the poll sees the rest
	lookEvery   = 4 * time.Millisecond   // those who waited look so far apart: what comes in between is handed out together
	emptyFor    = 25 * time.Millisecond  // how long who would wait anyhow believes that there is still nothing
)

// hub wakes those who wait for a queue to have something. Work that this process commits wakes its own waiters at once,
// other processes hear of it by NOTIFY, and a poll stands behind both: each tick has one waiter of a queue look. So a
// lost wake-up is late by a poll at most, and a thousand waiters cost no more looks than one.
type hub struct {
	db   *DB
	self string // whose notifications are not listened to

	mu     sync.Mutex
	queues map[int64]*waiting
	dirty  map[int64]bool // queues that other processes are to be told of
	kick   chan struct{}
	closed bool
}

// waiting is who waits for one queue.
type waiting struct {
	line   []*waiter // in turn
	riders []*waiter // who wait for a ride alone
	missed bool      // a wake-up that found nobody: the next to come looks at once
	poll   *time.Timer
	due    *time.Timer // the next wake-up known ahead
	dueAt  time.Time

	looked time.Time   // when the last of those who waited went to look
	pace   *time.Timer // the first in line goes then: what comes before that is for him
	wakes  int64       // so far
	empty  time.Time   // when a look had left nothing, that no wake-up came after
}

// waiter is one who waits for a queue.
type waiter struct {
	receive queue.Receive   // what it came to receive; of at most 0 messages it only wants to be woken
	take    webhook.Take    // or to take
	turn    chan struct{}   // closed when it is its turn, to look or with what it got
	got     []queue.Message // by a commit that it rode on
	taken   webhook.Taken
	rides   bool // it is not woken: it waits for a ride alone, for a while
	leaves  bool // it waits for nothing but what it rides on
}

func (w *waiter) filled() bool { return len(w.got) > 0 || len(w.taken.Jobs) > 0 }

func newHub(db *DB) *hub {
	return &hub{db: db, self: randomName(), queues: map[int64]*waiting{}, dirty: map[int64]bool{}, kick: make(chan struct{}, 1)}
}

func (h *hub) of(queue int64) *waiting {
	w := h.queues[queue]
	if w == nil {
		w = &waiting{}
		h.queues[queue] = w
	}
	return w
}

// wait returns when queue may have something, or ctx ends; with what was received or taken for me meanwhile, even if ctx has ended too.
func (h *hub) wait(ctx context.Context, queue int64, me *waiter) {
	me.turn = make(chan struct{})
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	w := h.of(queue)
	w.line = append(w.line, me)
	if w.missed {
		h.turn(w)
	}
	if w.poll == nil {
		h.armPoll(queue, w)
	}
	h.mu.Unlock()
	select {
	case <-me.turn:
	case <-ctx.Done():
		if h.leave(&w.line, me); !me.filled() && me.leaves { // it was our turn, and we are going: the next one's
			h.mu.Lock()
			h.wakeOne(w)
			h.mu.Unlock()
		}
	}
}

// ride waits for a ride for so long, or until ctx ends.
func (h *hub) ride(ctx context.Context, queue int64, me *waiter, long time.Duration) {
	me.turn, me.rides = make(chan struct{}), true
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	w := h.of(queue)
	w.riders = append(w.riders, me)
	h.mu.Unlock()
	over := time.NewTimer(long)
	defer over.Stop()
	select {
	case <-me.turn:
		return
	case <-over.C:
	case <-ctx.Done():
	}
	h.leave(&w.riders, me)
}

// leave takes me out of a line. If it is on a ride, that is waited for.
func (h *hub) leave(line *[]*waiter, me *waiter) {
	h.mu.Lock()
	i := slices.Index(*line, me)
	if i >= 0 {
		*line = slices.Delete(*line, i, i+1)
	}
	me.leaves = i < 0
	h.mu.Unlock()
	if i < 0 {
		<-me.turn
	}
}

// waitFor waits to receive from a queue, and gives what was received meanwhile.
func (h *hub) waitFor(ctx context.Context, queue int64, r queue.Receive) []queue.Message {
	me := &waiter{receive: r}
	h.wait(ctx, queue, me)
	return me.got
}

// turn lets the first in line go to look, not too soon after the last.
func (h *hub) turn(w *waiting) {
	switch wait := time.Until(w.looked.Add(lookEvery)); {
	case w.pace != nil:
	case len(w.line) == 0:
		w.missed = true
	case wait > 0:
		w.pace = time.AfterFunc(wait, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			if w.pace != nil { // else it was stopped too late
				w.pace = nil
				h.turn(w)
			}
		})
	default:
		w.missed, w.looked = false, time.Now()
		close(w.line[0].turn)
		w.line = w.line[1:]
	}
}

// rider takes the first in line for queue to ride on a commit that has something for it, if there is one that can. It is given back by rode.
func (h *hub) rider(queue int64) (me *waiter, seen int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.queues[queue]
	switch {
	case w == nil:
		return nil, 0
	case len(w.line) > 0 && max(w.line[0].receive.Max, w.line[0].take.Max) > 0:
		me, w.line = w.line[0], w.line[1:]
	case len(w.riders) > 0:
		me, w.riders = w.riders[0], w.riders[1:]
	default:
		return nil, 0
	}
	return me, w.wakes
}

// rode lets go who rode and was filled. If it was not it waits on, the first in line.
func (h *hub) rode(queue int64, me *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if me.filled() || me.leaves || h.closed {
		close(me.turn)
		return
	}
	w := h.of(queue)
	if me.rides {
		w.riders = append(w.riders, me)
		return
	}
	if w.line = slices.Insert(w.line, 0, me); w.missed {
		h.turn(w)
	}
	if w.poll == nil {
		h.armPoll(queue, w)
	}
}

// seen gives a number of a queue that grows with every wake-up.
func (h *hub) seen(queue int64) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of(queue).wakes
}

// nothing says that a look that began when seen was asked left nothing: who was to look need not.
func (h *hub) nothing(queue, seen int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.of(queue); w.wakes == seen {
		w.empty, w.missed = time.Now(), false
		if w.pace != nil {
			w.pace.Stop()
			w.pace = nil
		}
	}
}

// still reports whether a look left nothing a moment ago, and nothing was heard of since.
func (h *hub) still(queue int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.queues[queue]
	return w != nil && time.Since(w.empty) < emptyFor
}

func (h *hub) armPoll(queue int64, w *waiting) {
	w.poll = time.AfterFunc(pollEvery/2+rand.N(pollEvery/2), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		w.poll = nil
		if len(w.line) > 0 && !h.closed {
			h.wakeOne(w)
			h.armPoll(queue, w)
		}
	})
}

// polled is a poll of queue at a moment at which the process is awake anyway.
func (h *hub) polled(queue int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.of(queue)
	if len(w.line) == 0 || h.closed || time.Since(w.looked) < pollEvery/2 || w.poll == nil || !w.poll.Stop() {
		return
	}
	h.wakeOne(w)
	w.poll.Reset(polledFor)
}

func (h *hub) wakeOne(w *waiting) {
	w.wakes++
	w.empty = time.Time{}
	h.turn(w)
}

// wake says that queue has something to receive from in on.
func (h *hub) wake(queue int64, in time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.of(queue)
	if in <= 0 {
		h.wakeOne(w)
		h.dirty[queue] = true
		select {
		case h.kick <- struct{}{}:
		default:
		}
		return
	}
	at := time.Now().Add(in)
	if in > wakeHorizon || h.closed || w.due != nil && w.dueAt.Before(at) {
		return
	}
	if w.due != nil {
		w.due.Stop()
	}
	w.dueAt = at
	w.due = time.AfterFunc(in, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		w.due = nil
		h.wakeOne(w)
	})
}

// more has the next waiter of queue look too: a receive that was filled may have left something, a slot is free. Nobody waits: the next to
// come may have looked before that.
func (h *hub) more(queue int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.of(queue)
	if len(w.line) > 0 {
		w.looked = time.Time{}
	}
	h.wakeOne(w)
}

// heard wakes waiters for what another process did.
func (h *hub) heard(queues ...int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, q := range queues {
		h.wakeOne(h.of(q))
	}
}

// all has one waiter of every queue look: what was told while nobody listened is not known.
func (h *hub) all() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.queues {
		h.wakeOne(w)
	}
}

// close ends all waiting.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, w := range h.queues {
		for _, c := range slices.Concat(w.line, w.riders) {
			close(c.turn)
		}
		w.line, w.riders = nil, nil
		for _, t := range []*time.Timer{w.poll, w.due, w.pace} {
			if t != nil {
				t.Stop()
			}
		}
	}
}
