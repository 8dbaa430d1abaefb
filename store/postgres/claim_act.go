package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var (
	findKeySQL     = stmt("claim_find")
	pageKeysSQL    = stmt("claim_page")
	sourceOfKeySQL = stmt("claim_source")
	listNotesSQL   = stmt("claim_notes_list")
)

// maxNotes is how much of a claim's history is shown.
const maxNotes = 50

// ResolveClaim applies a person's word on a key, and sends its message where that says: see [ledger.Store].
func (db *DB) ResolveClaim(ctx context.Context, r ledger.Resolution) (ledger.Resolved, error) {
	requeued := false
	c, err := db.actOnKey(ctx, r.Project, r.Scope, r.Key, func(ctx context.Context, ch *changes, c *claim, source int64) (err error) {
		if err := r.Apply(ch.tx.now, &c.Claim); err != nil {
			return err
		}
		ch.note(note{claim: c.ID, what: "resolved", fence: c.Fence, who: r.Who, detail: ledger.Said(string(r.As), r.Note)})
		requeued, err = ch.follow(ctx, c, source)
		return err
	})
	if err != nil {
		return ledger.Resolved{}, fmt.Errorf("resolve key: %w", err)
	}
	return ledger.Resolved{Claim: c, Requeued: requeued}, nil
}

// follow lets the dead letter of a key follow what a person made of that: it goes back to its queue to be tried again,
// which it reports, or goes away because it is done.
func (ch *changes) follow(ctx context.Context, c *claim, source int64) (requeued bool, err error) {
	if c.MessageID == 0 || c.State != ledger.Retry && c.State != ledger.Done {
		return false, nil
	}
	messages, err := ch.tx.lockMessages(ctx, []int64{c.MessageID})
	m := messages[c.MessageID]
	if err != nil || m == nil || m.DeadAt.IsZero() || m.ClaimID != c.ID {
		return false, err
	}
	if c.State == ledger.Done {
		return false, ch.message(m, 0, queue.Change{Delete: true})
	}
	if m.SourceQueue != source {
		return false, nil // its queue is gone
	}
	change := m.Redrive(ch.tx.now)
	groups, err := ch.tx.lockGroups(ctx, []int64{m.GroupID})
	if err != nil {
		return false, err
	}
	if groups[m.GroupID] == nil {
		m.GroupID = 0 // swept: of the ungrouped now
	}
	return true, ch.message(m, 0, change)
}

// ReopenClaim is a redrive of one key by itself: see [ledger.Store].
func (db *DB) ReopenClaim(ctx context.Context, project int64, scope, key, who string) (ledger.Claim, error) {
	out, err := db.actOnKey(ctx, project, scope, key, func(ctx context.Context, ch *changes, c *claim, source int64) error {
		if err := c.Redrive(ch.tx.now); err != nil {
			return err
		}
		ch.note(note{claim: c.ID, what: "reopened", fence: c.Fence, who: who})
		_, err := ch.follow(ctx, c, source)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("reopen key: %w", err)
	}
	return out, nil
}

// actOnKey runs act on a key under its lock. source is the queue that the key's dead letter came from, if it is there.
func (db *DB) actOnKey(ctx context.Context, project int64, scope, key string, act func(ctx context.Context, ch *changes, c *claim, source int64) error) (ledger.Claim, error) {
	var out ledger.Claim
	hash := ledger.Hash(project, scope, key)
	err := db.in(ctx, func(ctx context.Context, tx *txn) error {
		var source int64
		if err := tx.QueryRow(ctx, sourceOfKeySQL, hash[:]).Scan(&source); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		k := keysOf([]keyHash{hash}, func(h keyHash) keyHash { return h })
		b := &pgx.Batch{}
		k.lock(b, "")
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		c := k.byHash[hash]
		if c == nil {
			return ledger.NoClaim(scope, key)
		}
		ch := newChanges(tx, k.byID)
		if err := act(ctx, ch, c, source); err != nil {
			return err
		}
		ch.saveClaim(c)
		out = c.Claim
		return ch.flush(ctx, db.hub)
	})
	if err != nil {
		return ledger.Claim{}, err
	}
	return out, nil
}

// Claims lists a project's keys in a state, newest first.
func (db *DB) Claims(ctx context.Context, project int64, state ledger.State, after int64, limit int) (out []ledger.Claim, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		rows, err := db.conn(ctx).Query(ctx, pageKeysSQL, project, string(state), before(queue.Page{After: after}), limit)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(pgx.CollectableRow) (ledger.Claim, error) {
			c, err := scanClaim(rows)
			if err != nil {
				return ledger.Claim{}, err
			}
			return c.Claim, nil
		})
		return err
	})
	return out, wrap("claims", "", err)
}

// FindClaim gives a key's claim with its newest notes, oldest first.
func (db *DB) FindClaim(ctx context.Context, project int64, scope, key string) (ledger.Claim, []ledger.Note, error) {
	c, notes, err := db.findKey(ctx, project, scope, key)
	if err != nil {
		return ledger.Claim{}, nil, fmt.Errorf("find key: %w", db.fault(ctx, err))
	}
	return c.Claim, notes, nil
}

func (db *DB) findKey(ctx context.Context, project int64, scope, key string) (*claim, []ledger.Note, error) {
	q, hash := db.conn(ctx), ledger.Hash(project, scope, key)
	rows, err := q.Query(ctx, findKeySQL, hash[:])
	if err != nil {
		return nil, nil, err
	}
	found, err := pgx.CollectRows(rows, func(pgx.CollectableRow) (*claim, error) { return scanClaim(rows) })
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 0 {
		return nil, nil, ledger.NoClaim(scope, key)
	}
	if rows, err = q.Query(ctx, listNotesSQL, found[0].ID, maxNotes); err != nil {
		return nil, nil, err
	}
	notes, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (n ledger.Note, err error) {
		return n, r.Scan(&n.At, &n.What, &n.Fence, &n.Who, &n.Detail)
	})
	slices.Reverse(notes)
	return found[0], notes, err
}
