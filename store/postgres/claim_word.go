package postgres

import (
	"context"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// Begin makes the line before the effect durable, or extends the holder's lease: see [ledger.Store].
func (db *DB) Begin(ctx context.Context, beats ...ledger.Beat) ([]ledger.Applied, error) {
	return all(ctx, db, "begin keys", db.lanes.beat, db.beatKeys, beats)
}

func (db *DB) commitBeats(ctx context.Context, beats []ledger.Beat) ([]batch.Result[ledger.Applied], error) {
	return commitKeys(ctx, db, beats, func(b ledger.Beat) keyHash { return ledger.Hash(b.Project, b.Scope, b.Key) }, db.beatKeys)
}

func (db *DB) beatKeys(ctx context.Context, beats []ledger.Beat) ([]ledger.Applied, error) {
	tx := db.carried(ctx)
	hashes := column(beats, func(b ledger.Beat) keyHash { return ledger.Hash(b.Project, b.Scope, b.Key) })
	keys, byHash, err := tx.lockKeys(ctx, hashes)
	if err != nil {
		return nil, err
	}
	ch := newChanges(tx, keys)
	out := make([]ledger.Applied, len(beats))
	extend := map[int64]ledger.Beat{} // by message
	for i, b := range beats {
		c := byHash[hashes[i]]
		if c == nil {
			out[i] = ledger.Applied{Reason: ledger.NoKey}
			continue
		}
		begun := c.Begun
		if out[i] = c.Begin(tx.now, b.Fence, b.Lease); !out[i].Applied {
			if out[i].Reason == ledger.Fenced {
				ch.refused(c, out[i], b.Fence, "begin")
			}
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
	groups, err := ch.tx.lockGroupsOfLapsed(ctx, messages)
	if err != nil {
		return err
	}
	for id, m := range messages {
		b := beats[id]
		c := byHash[ledger.Hash(b.Project, b.Scope, b.Key)]
		if m.ClaimID != c.ID || c.Lease == 0 {
			continue
		}
		known := groups[m.GroupID]
		s, change := m.Settle(ch.tx.now, queue.Settle{Verb: queue.Extend, Lease: c.Lease, Visibility: b.Lease}, known.seen(), queue.DLQ{})
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
	return commitKeys(ctx, db, words, func(w ledger.Word) keyHash { return ledger.Hash(w.Project, w.Scope, w.Key) }, db.settleWords)
}

func (db *DB) settleWords(ctx context.Context, words []ledger.Word) ([]ledger.Applied, error) {
	tx := db.carried(ctx)
	hashes := column(words, func(w ledger.Word) keyHash { return ledger.Hash(w.Project, w.Scope, w.Key) })
	keys, byHash, err := tx.lockKeys(ctx, hashes)
	if err != nil {
		return nil, err
	}
	s := &saying{changes: newChanges(tx, keys)}
	var ids []int64 // messages that may follow
	for i, w := range words {
		if c := byHash[hashes[i]]; c != nil && c.MessageID != 0 && (w.Settle || !c.State.Held()) {
			ids = append(ids, c.MessageID)
		}
	}
	if s.messages, err = tx.lockMessages(ctx, ids); err != nil {
		return nil, err
	}
	if s.dlqs, err = tx.dlqsIfAny(ctx, s.messages); err != nil {
		return nil, err
	}
	out := make([]ledger.Applied, len(words))
	for i := range words {
		out[i] = ledger.Applied{Reason: ledger.NoKey}
		if c := byHash[hashes[i]]; c != nil {
			if out[i], err = s.rule(c, &words[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, s.flush(ctx, db.hub)
}

// saying is one transaction's words. One key may stand in it more than once: each word finds what the former left.
type saying struct {
	*changes
	messages map[int64]*queue.Row
	dlqs     map[int64]queue.DLQ
}

func (s *saying) rule(c *claim, w *ledger.Word) (ledger.Applied, error) {
	again := c.State == ledger.Done
	a := c.Settle(s.tx.now, w.Fence, w.Kind, w.RetryIn, clean(w.Error), w.Result)
	switch {
	case !a.Applied:
		s.refused(c, a, w.Fence, ledger.Said(string(w.Kind), w.Error))
		return a, nil
	case !again: // the same word again may settle the message now
		s.saveClaim(c)
		s.note(note{claim: c.ID, what: string(w.Kind), fence: w.Fence, who: c.Owner, detail: w.Error})
	}
	m := s.messages[c.MessageID]
	if m == nil || m.ClaimID != c.ID {
		return a, nil
	}
	if !again && c.State == ledger.Done && !m.DeadAt.IsZero() {
		return a, s.message(m, 0, queue.Change{Delete: true}) // it came late: there is nothing left to redrive
	}
	if !w.Settle || c.Lease == 0 {
		return a, nil
	}
	do := queue.Settle{Lease: c.Lease}
	switch c.State {
	case ledger.Done:
		do.Verb = queue.Ack
	case ledger.Retry:
		do.Verb, do.Delay = queue.Release, c.NextAt.Sub(s.tx.now)
	default:
		do.Verb, do.DeadLetter, do.Error = queue.Nack, true, c.LastError
	}
	group := m.GroupID
	done, change := m.Settle(s.tx.now, do, queue.Group{}, s.dlqs[m.QueueID])
	if !done.Applied {
		return a, nil // the lease is lost: whoever has the message finds the key as it is
	}
	if change.Delete {
		delete(s.messages, m.ID)
	}
	return a, s.message(m, group, change)
}

// dlqsIfAny is dlqsOf that asks nothing where there are no rows.
func (tx *txn) dlqsIfAny(ctx context.Context, rows map[int64]*queue.Row) (map[int64]queue.DLQ, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	return tx.dlqsOf(ctx, rows)
}

// lockGroupsOfLapsed locks the groups of messages if a slot of one may have to be taken again: then all of them, in their order.
func (tx *txn) lockGroupsOfLapsed(ctx context.Context, messages map[int64]*queue.Row) (map[int64]*group, error) {
	lapsed := false
	var ids []int64
	for _, m := range messages {
		if m.GroupID != 0 {
			ids = append(ids, m.GroupID)
			lapsed = lapsed || m.Lapsed(tx.now)
		}
	}
	if !lapsed {
		return nil, nil
	}
	return tx.lockGroups(ctx, ids)
}

// seen gives what a rule needs to know of a group; of one that was not looked at nothing is asked.
func (g *group) seen() queue.Group {
	if g == nil {
		return queue.Group{}
	}
	return queue.Group{Free: g.inFlight < g.slots, Disabled: g.disabled}
}
