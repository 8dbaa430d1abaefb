package worker

import (
	"context"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
)

// hold keeps a job's lease: it extends it from the first third on and ends the effect's context when it is lost.
type hold[J, O any] struct {
	l     *Loop[J, O]
	j     J
	lease time.Duration
	ctx   context.Context
	lose  context.CancelCauseFunc

	beating sync.Mutex // held by a heartbeat

	mu    sync.Mutex
	until time.Time // by our monotonic clock, no later than the store's
	beat  *time.Timer
	over  *time.Timer
	still bool // no heartbeat any more
	done  bool
}

func (l *Loop[J, O]) hold(j J, lease time.Duration, at time.Time) *hold[J, O] {
	h := &hold[J, O]{l: l, j: j, lease: lease, until: at.Add(lease)}
	h.ctx, h.lose = context.WithCancelCause(l.effects)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = time.AfterFunc(time.Until(h.until), func() { h.lose(ErrLeaseLost) })
	h.beat = time.AfterFunc(time.Until(at.Add(lease/3)), h.pulse)
	return h
}

// ends is when the lease is over, as far as we know.
func (h *hold[J, O]) ends() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

// begin makes the line before the effect durable, and extends the lease.
func (h *hold[J, O]) begin() (ledger.Applied, error) {
	at := time.Now()
	a, err := one(h.l.begins.Do(h.l.words, h.j))
	if err == nil && a.Applied {
		h.extended(at.Add(h.lease))
	}
	return a, err
}

func (h *hold[J, O]) extended(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done || h.ctx.Err() != nil || !until.After(h.until) {
		return
	}
	h.until = until
	h.over.Reset(time.Until(until))
}

// pulse is one heartbeat.
func (h *hold[J, O]) pulse() {
	h.beating.Lock()
	defer h.beating.Unlock()
	h.mu.Lock()
	still := h.still || h.done
	h.mu.Unlock()
	if still {
		return
	}
	next := h.lease / 3
	switch a, err := h.begin(); {
	case err != nil:
		next = h.lease / 12 // some more tries before the lease is over
	case !a.Applied:
		h.lose(ErrLeaseLost)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.done && !h.still {
		h.beat.Reset(next)
	}
}

// rest extends the lease no further.
func (h *hold[J, O]) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.still = true
	h.beat.Stop()
}

// release ends the keeping, and waits for a heartbeat that is under way.
func (h *hold[J, O]) release() {
	h.mu.Lock()
	h.done = true
	h.beat.Stop()
	h.over.Stop()
	h.mu.Unlock()
	h.lose(nil)
	h.beating.Lock()
	defer h.beating.Unlock()
}

// one takes the only result of a batch.
func one[T any](r []batch.Result[T], err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return r[0].Value, r[0].Err
}
