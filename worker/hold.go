package worker

import (
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/lease"
	"github.com/onceward/onceward/ledger"
)

// hold is a job whose lease is kept.
type hold[J, O any] struct {
	*lease.Lease
	l *Loop[J, O]
	j J
}

func (l *Loop[J, O]) hold(j J, length time.Duration, at time.Time) *hold[J, O] {
	h := &hold[J, O]{l: l, j: j}
	h.Lease = lease.Keep(l.effects, lease.Terms{Length: length, From: at, Lost: ErrLeaseLost, Beat: func() (bool, error) {
		a, err := h.word()
		return a.Applied, err
	}})
	return h
}

// begin makes the line before the effect durable, and extends the lease.
func (h *hold[J, O]) begin() (ledger.Applied, error) {
	at := time.Now()
	a, err := h.word()
	if err == nil && a.Applied {
		h.Extended(at)
	}
	return a, err
}

func (h *hold[J, O]) word() (ledger.Applied, error) { return one(h.l.begins.Do(h.l.words, h.j)) }

// one takes the only result of a batch.
func one[T any](r []batch.Result[T], err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return r[0].Value, r[0].Err
}
