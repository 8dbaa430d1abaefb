package sqlite

import (
	"context"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// Begin makes the line before the effect durable, or extends the holder's lease and that of the message it holds.
func (db *DB) Begin(ctx context.Context, beats ...ledger.Beat) ([]ledger.Applied, error) {
	out := make([]ledger.Applied, len(beats))
	err := db.write(ctx, "begin_claims", 0, func(t *tx) (err error) {
		for i := range beats {
			if out[i], err = t.begin(&beats[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t *tx) begin(b *ledger.Beat) (ledger.Applied, error) {
	c, ok, err := t.claimByHash(ledger.Hash(b.Project, b.Scope, b.Key), workerClaim)
	if err != nil || !ok {
		return ledger.Applied{Reason: ledger.NoKey}, err
	}
	held := c
	a := c.Begin(t.now, b.Fence, b.Lease)
	if !a.Applied {
		if a.Reason != ledger.Fenced {
			return a, nil
		}
		return a, t.noteRefused(&c, a, b.Fence, "begin")
	}
	if err := t.saveClaim(&c); err != nil {
		return a, err
	}
	if held.Begun != c.Begun {
		if err := t.note(c.ID, ledger.Note{What: "begun", Fence: c.Fence, Who: c.Owner}); err != nil {
			return a, err
		}
	}
	return a, t.settleLinked(&c, queue.Settle{Verb: queue.Extend, Visibility: b.Lease})
}

// settleLinked applies an act to the message that carries a key, by the lease under which that was claimed. If the
// lease is lost nothing changes: whoever has the message now will find the claim as it is.
func (t *tx) settleLinked(c *ledger.Claim, s queue.Settle) error {
	m, ok, err := t.linked(c)
	if err != nil || !ok || c.Lease == 0 {
		return err
	}
	dlq, err := t.dlqOf(m.QueueID)
	if err != nil {
		return err
	}
	s.Lease = c.Lease
	was := m
	out, change, err := t.settleRow(&m, s, dlq)
	if err != nil || !out.Applied {
		return err
	}
	return t.applyChange(&was, &m, change)
}

// SettleClaims applies outcomes.
func (db *DB) SettleClaims(ctx context.Context, words ...ledger.Word) ([]ledger.Applied, error) {
	out := make([]ledger.Applied, len(words))
	size := 0
	for i := range words {
		size += len(words[i].Result) + 256
	}
	err := db.writeHot(ctx, "settle_claims", 1, size, func(t *tx) (err error) {
		for i := range words {
			if out[i], err = t.settleClaim(&words[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t *tx) settleClaim(w *ledger.Word) (ledger.Applied, error) {
	c, ok, err := t.claimByHash(ledger.Hash(w.Project, w.Scope, w.Key), workerClaim)
	if err != nil || !ok {
		return ledger.Applied{Reason: ledger.NoKey}, err
	}
	held := c
	a := c.Settle(t.now, w.Fence, w.Kind, w.RetryIn, w.Error, w.Result)
	if !a.Applied {
		return a, t.noteRefused(&c, a, w.Fence, ledger.Said(string(w.Kind), w.Error))
	}
	if held.State == ledger.Done { // the same word again, which may settle the message now
		if w.Settle {
			err = t.settleLinked(&c, queue.Settle{Verb: queue.Ack})
		}
		return a, err
	}
	if err := t.saveClaim(&c); err != nil {
		return a, err
	}
	if err := t.note(c.ID, ledger.Note{What: string(w.Kind), Fence: c.Fence, Who: c.Owner, Detail: w.Error}); err != nil {
		return a, err
	}
	if c.State == ledger.Done && !held.State.Held() {
		m, ok, err := t.linked(&c)
		if err == nil && ok && !m.DeadAt.IsZero() {
			err = t.removeMessage(&m) // it came late: there is nothing left to redrive
		}
		if err != nil {
			return a, err
		}
	}
	if !w.Settle {
		return a, nil
	}
	switch c.State {
	case ledger.Done:
		err = t.settleLinked(&c, queue.Settle{Verb: queue.Ack})
	case ledger.Retry:
		err = t.settleLinked(&c, queue.Settle{Verb: queue.Release, Delay: c.NextAt.Sub(t.now)})
	default:
		err = t.settleLinked(&c, queue.Settle{Verb: queue.Nack, DeadLetter: true, Error: c.LastError})
	}
	return a, err
}
