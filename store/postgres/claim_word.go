package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// Begin makes the line before the effect durable, or extends the holder's lease: see [ledger.Store].
func (db *DB) Begin(ctx context.Context, beats ...ledger.Beat) ([]ledger.Applied, error) {
	return all(ctx, db, "begin keys", db.lanes.beat, inKeys(db, db.beats), beats)
}

func (db *DB) commitBeats(ctx context.Context, beats []ledger.Beat) ([]batch.Result[ledger.Applied], error) {
	return commitKeys(ctx, db, beats, db.beats)
}

func (db *DB) beats(beats []ledger.Beat) keyAct[ledger.Applied] {
	return &beating{
		keys: keysOf(beats, func(b ledger.Beat) keyHash { return ledger.Hash(b.Project, b.Scope, b.Key) }), hub: db.hub,
		beats: beats, always: slices.Repeat([]bool{true}, len(beats)),
	}
}

// beating is one transaction's heartbeats.
type beating struct {
	keys
	hub    *hub
	beats  []ledger.Beat
	always []bool
}

func (k *beating) look(b *pgx.Batch, wait string) {
	k.lock(b, wait)
	k.lockMessages(b, wait, k.always)
}

func (k *beating) rule(ctx context.Context, tx *txn) ([]ledger.Applied, error) {
	ch := newChanges(tx, k.byID)
	out := make([]ledger.Applied, len(k.beats))
	extend := map[int64]int{} // by message, the place of its key
	for i, b := range k.beats {
		c := k.byHash[k.hashes[i]]
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
			extend[c.MessageID] = i
		}
	}
	if err := k.extend(ctx, ch, extend); err != nil {
		return nil, err
	}
	return out, ch.flush(ctx, k.hub)
}

// extend takes the leases of the messages that carry keys along with the keys'. A message whose lease is lost stays
// as it is: the key is what counts.
func (k *beating) extend(ctx context.Context, ch *changes, beats map[int64]int) error {
	if len(beats) == 0 {
		return nil
	}
	messages, err := k.messages(ctx, ch.tx, k.always)
	if err != nil {
		return err
	}
	maps.DeleteFunc(messages, func(id int64, _ *queue.Row) bool { _, beats := beats[id]; return !beats })
	groups, err := ch.tx.lockGroupsOfLapsed(ctx, messages)
	if err != nil {
		return err
	}
	for id, m := range messages {
		i := beats[id]
		c := k.byHash[k.hashes[i]]
		if m.ClaimID != c.ID || c.Lease == 0 {
			continue
		}
		if err := ch.extendOne(m, c.Lease, k.beats[i].Lease, groups[m.GroupID]); err != nil {
			return err
		}
	}
	return nil
}

// extendOne takes a message's lease along; known is its group, where that was looked at.
func (ch *changes) extendOne(m *queue.Row, lease int, by time.Duration, known *group) error {
	s, change := m.Settle(ch.tx.now, queue.Settle{Verb: queue.Extend, Lease: lease, Visibility: max(0, by)}, known.seen(), queue.DLQ{})
	if !s.Applied {
		return nil
	}
	if known != nil {
		known.inFlight += change.Slot
	}
	return ch.message(m, m.GroupID, change)
}

// SettleClaims applies what holders say of their grants: see [ledger.Store].
func (db *DB) SettleClaims(ctx context.Context, words ...ledger.Word) ([]ledger.Applied, error) {
	return all(ctx, db, "settle keys", db.lanes.word, inKeys(db, db.words), words)
}

func (db *DB) commitWords(ctx context.Context, words []ledger.Word) ([]batch.Result[ledger.Applied], error) {
	return commitKeys(ctx, db, words, db.words)
}

func (db *DB) words(words []ledger.Word) keyAct[ledger.Applied] {
	return &saying{
		keys: keysOf(words, func(w ledger.Word) keyHash { return ledger.Hash(w.Project, w.Scope, w.Key) }), hub: db.hub,
		words: words, settles: column(words, func(w ledger.Word) bool { return w.Settle }),
	}
}

// saying is one transaction's words. One key may stand in it more than once: each word finds what the former left.
type saying struct {
	keys
	*changes
	hub     *hub
	words   []ledger.Word
	settles []bool
	follow  map[int64]*queue.Row // the messages
	dlqs    map[int64]queue.DLQ
}

func (s *saying) look(b *pgx.Batch, wait string) {
	s.lock(b, wait)
	s.lockMessages(b, wait, s.settles)
}

func (s *saying) rule(ctx context.Context, tx *txn) (out []ledger.Applied, err error) {
	s.changes = newChanges(tx, s.byID)
	if s.follow, err = s.messages(ctx, tx, s.settles); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.words, func(w ledger.Word) bool { return w.Kind != ledger.Succeeded }) { // else none is dead-lettered
		if s.dlqs, err = tx.dlqsIfAny(ctx, s.follow); err != nil {
			return nil, err
		}
	}
	out = make([]ledger.Applied, len(s.words))
	for i := range s.words {
		out[i] = ledger.Applied{Reason: ledger.NoKey}
		if c := s.byHash[s.hashes[i]]; c != nil {
			if out[i], err = s.one(c, &s.words[i]); err != nil {
				return nil, err
			}
		}
	}
	return out, s.flush(ctx, s.hub)
}

func (s *saying) one(c *claim, w *ledger.Word) (ledger.Applied, error) {
	again := c.State == ledger.Done
	a := c.Settle(s.tx.now, w.Fence, w.Kind, w.RetryIn, clean(w.Error), w.Result)
	switch {
	case !a.Applied:
		s.refused(c, a, w.Fence, ledger.Said(string(w.Kind), w.Error))
		return a, nil
	case !again: // the same word again may settle the message now
		if c.State == ledger.Done && w.Result == nil && s.touched[c.ID] == nil {
			s.ended = append(s.ended, c.ID)
		} else {
			s.saveClaim(c)
		}
		s.note(note{claim: c.ID, what: string(w.Kind), fence: w.Fence, who: c.Owner, detail: w.Error})
	}
	m := s.follow[c.MessageID]
	if m == nil || m.ClaimID != c.ID {
		return a, nil
	}
	if !again && c.State == ledger.Done && !m.DeadAt.IsZero() {
		return a, s.message(m, 0, queue.Change{Delete: true}) // it came late: there is nothing left to redrive
	}
	if !w.Settle || c.Lease == 0 {
		return a, nil
	}
	gone, err := s.settleCarrier(c, m, s.dlqs[m.QueueID])
	if gone {
		delete(s.follow, m.ID)
	}
	return a, err
}

// settleCarrier settles the message that carries a key by where the key stands: acked, released for its next try, or dead-lettered.
func (ch *changes) settleCarrier(c *claim, m *queue.Row, dlq queue.DLQ) (gone bool, err error) {
	do := queue.Settle{Lease: c.Lease}
	switch c.State {
	case ledger.Done:
		do.Verb = queue.Ack
	case ledger.Retry:
		do.Verb, do.Delay = queue.Release, max(0, c.NextAt.Sub(ch.tx.now))
	default:
		do.Verb, do.DeadLetter, do.Error = queue.Nack, true, c.LastError
	}
	group := m.GroupID
	done, change := m.Settle(ch.tx.now, do, queue.Group{}, dlq)
	if !done.Applied {
		return false, nil // the lease is lost: whoever has the message finds the key as it is
	}
	return change.Delete, ch.message(m, group, change)
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
