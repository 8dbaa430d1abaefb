package sqlite

import (
	"context"

	"github.com/onceward/onceward/ledger"
)

// ReapClaims moves workers' keys whose holders are gone, or whose wait can lead nowhere.
func (db *DB) ReapClaims(ctx context.Context, limit int) (done int, err error) {
	err = db.write(ctx, "reap_claims", 0, func(t *tx) error {
		done = 0
		for _, list := range []string{"claim_lapsed", "claim_window_over", "claim_too_old"} {
			since := t.now
			if list == "claim_too_old" {
				since = since.Add(-ledger.Memory)
			}
			ids, err := t.ids(list, at(since), limit-done)
			if err != nil {
				return err
			}
			for _, id := range ids {
				moved := 0
				err := t.nest(func(t *tx) (err error) {
					moved, err = t.reap(id)
					return err
				})
				switch {
				case t.undone:
					return err
				case err != nil:
					db.options.Logger.Error("a claim whose holder is gone could not be moved", "claim", id, "error", err)
				default:
					done += moved
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return done, nil
}

func (t *tx) reap(id int64) (int, error) {
	c, ok, err := t.claimByID(id)
	if err != nil || !ok {
		return 0, err
	}
	held := c
	if !c.Reap(t.now) {
		return 0, nil
	}
	if err := t.saveClaim(&c); err != nil {
		return 0, err
	}
	if err := t.note(c.ID, c.ReapNotes(&held)...); err != nil {
		return 0, err
	}
	if !c.State.Terminal() {
		return 1, nil
	}
	return 1, t.buryLinked(&c)
}

// buryLinked dead-letters the message of a key that can be tried no more, unless somebody holds it: who does will find
// the claim as it is, and do it.
func (t *tx) buryLinked(c *ledger.Claim) error {
	m, ok, err := t.linked(c)
	if err != nil || !ok || !m.DeadAt.IsZero() || m.Leased && m.VisibleAt.After(t.now) {
		return err
	}
	dlq, err := t.dlqOf(m.QueueID)
	if err != nil || dlq.ID == 0 {
		return err
	}
	was := m
	return t.applyChange(&was, &m, m.DeadLetter(t.now, dlq, c.LastError))
}

// ForgetClaims deletes workers' keys that ended longer ago than they are to be remembered.
func (db *DB) ForgetClaims(ctx context.Context, limit int) (done int, err error) {
	err = db.write(ctx, "forget_claims", 0, func(t *tx) error {
		ids, err := t.ids("claim_forgettable", at(t.now.Add(-ledger.Memory)), limit)
		if err != nil {
			return err
		}
		own, err := t.ids("claim_unkept", at(t.now), limit-len(ids))
		if err != nil {
			return err
		}
		for _, id := range append(ids, own...) {
			if err := t.forgetKey(id); err != nil {
				return err
			}
		}
		done = len(ids) + len(own)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return done, nil
}

// forgetKey deletes a claim with its history.
func (t *tx) forgetKey(id int64) error {
	for _, what := range []string{"claim_notes_forget", "claim_forget"} {
		if _, err := t.exec(what, id); err != nil {
			return err
		}
	}
	return nil
}
