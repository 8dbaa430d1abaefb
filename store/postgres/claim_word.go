package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// noKey is why a word on a key that is not there changes nothing.
const noKey = "not_found"

// Begin makes the line before the effect durable, or extends the holder's lease: see [ledger.Store].
func (db *DB) Begin(ctx context.Context, beats ...ledger.Beat) ([]ledger.Applied, error) {
	return all(ctx, db, "begin keys", db.lanes.beat, db.beatKeys, beats)
}

func (db *DB) commitBeats(ctx context.Context, beats []ledger.Beat) ([]batch.Result[ledger.Applied], error) {
	return commitTx(ctx, db, beats, db.beatKeys)
}

func (db *DB) beatKeys(ctx context.Context, beats []ledger.Beat) ([]ledger.Applied, error) {
	tx := db.carried(ctx)
	hashes := column(beats, func(b ledger.Beat) keyHash { return ledger.Hash(b.Project, b.Scope, b.Key) })
	keys, byHash, err := tx.lockKeys(ctx, &pgx.Batch{}, hashes)
	if err != nil {
		return nil, err
	}
	ch := newChanges(tx, keys)
	out := make([]ledger.Applied, len(beats))
	extend := map[int64]ledger.Beat{} // by message
	for i, b := range beats {
		c := byHash[hashes[i]]
		if c == nil {
			out[i] = ledger.Applied{Reason: noKey}
			continue
		}
		begun := c.Begun
		if out[i] = c.Begin(tx.now, b.Fence, b.Lease); !out[i].Applied {
			continue
		}
		if c.Begun != begun {
			ch.note(note{claim: c.ID, what: "begun", fence: c.Fence, who: c.Owner})
		}
		ch.saveClaim(c)
		if c.MessageID != 0 {
			extend[c.MessageID] = b
		}
	}
	if err := ch.extend(ctx, extend, byHash); err != nil {
		return nil, err
	}
	return out, ch.flush(ctx, db.hub)
}

// extend takes the leases of the messages that carry keys along with the keys'. A message whose lease is lost stays
// as it is: the key is what counts.
func (ch *changes) extend(ctx context.Context, beats map[int64]ledger.Beat, byHash map[keyHash]*claim) error {
	if len(beats) == 0 {
		return nil
	}
	var ids []int64
	for id := range beats {
		ids = append(ids, id)
	}
	messages, err := ch.tx.lockMessages(ctx, ids)
	if err != nil {
		return err
	}
	var grouped []int64
	for _, m := range messages {
		if m.GroupID != 0 && !m.VisibleAt.After(ch.tx.now) {
			grouped = append(grouped, m.GroupID)
		}
	}
	groups, err := ch.tx.lockGroups(ctx, grouped)
	if err != nil {
		return err
	}
	for id, m := range messages {
		b := beats[id]
		c := byHash[ledger.Hash(b.Project, b.Scope, b.Key)]
		if m.Project != c.Project || c.Lease == 0 {
			continue
		}
		known := groups[m.GroupID]
		var g queue.Group
		if known != nil {
			g = queue.Group{Free: known.inFlight < known.slots, Disabled: known.disabled}
		}
		s, change := m.Settle(ch.tx.now, queue.Settle{Verb: queue.Extend, Lease: c.Lease, Visibility: b.Lease}, g, queue.DLQ{})
		if !s.Applied {
			continue
		}
		if known != nil {
			known.inFlight += change.Slot
		}
		if err := ch.message(m, m.GroupID, change); err != nil {
			return err
		}
	}
	return nil
}

// SettleClaims applies what holders say of their grants: see [ledger.Store].
func (db *DB) SettleClaims(ctx context.Context, words ...ledger.Word) ([]ledger.Applied, error) {
	return all(ctx, db, "settle keys", db.lanes.word, db.settleWords, words)
}

func (db *DB) commitWords(ctx context.Context, words []ledger.Word) ([]batch.Result[ledger.Applied], error) {
	return commitTx(ctx, db, words, db.settleWords)
}

func (db *DB) settleWords(ctx context.Context, words []ledger.Word) ([]ledger.Applied, error) {
	tx := db.carried(ctx)
	hashes := column(words, func(w ledger.Word) keyHash { return ledger.Hash(w.Project, w.Scope, w.Key) })
	keys, byHash, err := tx.lockKeys(ctx, &pgx.Batch{}, hashes)
	if err != nil {
		return nil, err
	}
	ch := newChanges(tx, keys)
	out := make([]ledger.Applied, len(words))
	var late []int64 // messages that may be dead letters of keys that are done after all
	for i, w := range words {
		c := byHash[hashes[i]]
		if c == nil {
			out[i] = ledger.Applied{Reason: noKey}
			continue
		}
		before := c.State
		out[i] = c.Settle(tx.now, w.Fence, w.Kind, w.RetryIn, clean(w.Error), w.Result)
		switch {
		case !out[i].Applied:
			ch.note(note{claim: c.ID, what: out[i].Reason, fence: w.Fence, detail: joinWord(string(w.Kind), w.Error)})
			continue
		case before == ledger.Done:
			continue // the same word again
		}
		ch.saveClaim(c)
		ch.note(note{claim: c.ID, what: string(w.Kind), fence: w.Fence, who: c.Owner, detail: w.Error})
		if c.State == ledger.Done && !before.Held() && c.MessageID != 0 {
			late = append(late, c.MessageID)
		}
	}
	messages, err := tx.lockMessages(ctx, late)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		if keys[m.ClaimID] != nil && !m.DeadAt.IsZero() {
			if err := ch.message(m, 0, queue.Change{Delete: true}); err != nil {
				return nil, err
			}
		}
	}
	return out, ch.flush(ctx, db.hub)
}

func joinWord(kind, text string) string {
	if text == "" {
		return kind
	}
	return kind + ": " + text
}
