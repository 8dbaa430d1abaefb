package sqlite

import (
	"context"
	"slices"

	"github.com/onceward/onceward/ledger"
)

var _ ledger.Lister = (*DB)(nil)

// ResolveClaim applies a person's act to a stuck claim, or a retry to a failed one, and does to its message what follows.
func (db *DB) ResolveClaim(ctx context.Context, r ledger.Resolution) (out ledger.Resolved, err error) {
	err = db.write(ctx, "resolve_claim", 0, func(t *tx) error {
		c, err := t.workerClaim(r.Project, r.Scope, r.Key)
		if err != nil {
			return err
		}
		if err := r.Apply(t.now, &c); err != nil {
			return err
		}
		if err := t.saveClaim(&c); err != nil {
			return err
		}
		if err := t.note(c.ID, ledger.Note{What: "resolved", Fence: c.Fence, Who: r.Who, Detail: ledger.Said(string(r.As), r.Note)}); err != nil {
			return err
		}
		out.Claim = c
		out.Requeued, err = t.followLetter(&c, r.Who)
		return err
	})
	if err != nil {
		return ledger.Resolved{}, err
	}
	return out, nil
}

// ReopenClaim is a redrive of one key, and of its dead letter if it has one.
func (db *DB) ReopenClaim(ctx context.Context, project int64, scope, key, who string) (c ledger.Claim, err error) {
	err = db.write(ctx, "reopen_claim", 0, func(t *tx) error {
		if c, err = t.workerClaim(project, scope, key); err != nil {
			return err
		}
		if err := c.Redrive(t.now); err != nil {
			return err
		}
		if err := t.saveClaim(&c); err != nil {
			return err
		}
		if err := t.note(c.ID, ledger.Note{What: "reopened", Fence: c.Fence, Who: who}); err != nil {
			return err
		}
		_, err = t.followLetter(&c, who)
		return err
	})
	return c, err
}

// followLetter lets the dead letter of a key follow what a person made of that: it goes back to its queue to be tried
// again, which it reports, or goes away because it is done.
func (t *tx) followLetter(c *ledger.Claim, who string) (requeued bool, err error) {
	m, ok, err := t.linked(c)
	if err != nil || !ok || m.DeadAt.IsZero() {
		return false, err
	}
	switch c.State {
	case ledger.Done:
		return false, t.removeMessage(&m)
	case ledger.Retry:
		if _, there, err := t.queueByID(m.SourceQueue); err != nil || !there {
			return false, err
		}
		return t.redriveMessage(&m, who)
	}
	return false, nil
}

// workerClaim finds a worker's key.
func (t *tx) workerClaim(project int64, scope, key string) (ledger.Claim, error) {
	c, ok, err := t.claimByHash(ledger.Hash(project, scope, key), workerClaim)
	if err == nil && !ok {
		err = ledger.NoClaim(scope, key)
	}
	return c, err
}

// Claims lists a project's keys in a state, newest first.
func (db *DB) Claims(ctx context.Context, project int64, state ledger.State, after int64, limit int) (out []ledger.Claim, err error) {
	err = db.read(ctx, "claims", func(t *tx) error {
		return t.each("claim_page", func(r scanner) error {
			var c ledger.Claim
			err := r.Scan(claimColumns(&c)...)
			out = append(out, c)
			return err
		}, project, state, before(after), limit)
	})
	return out, err
}

// FindClaim gives a claim with its newest notes, oldest first.
func (db *DB) FindClaim(ctx context.Context, project int64, scope, key string) (c ledger.Claim, notes []ledger.Note, err error) {
	err = db.read(ctx, "find_claim", func(t *tx) error {
		if c, err = t.workerClaim(project, scope, key); err != nil {
			return err
		}
		return t.each("claim_notes_list", func(r scanner) error {
			var n ledger.Note
			err := r.Scan(toTime(&n.At), &n.What, &n.Fence, toText(&n.Who), toText(&n.Detail))
			notes = append(notes, n)
			return err
		}, c.ID, keptNotes)
	})
	slices.Reverse(notes)
	return c, notes, err
}
