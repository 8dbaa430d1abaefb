package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var (
	changeGroupsSQL = stmt("change_groups")
	lockGroupsSQL   = stmt("lock_groups")
	placesSQL       = stmt("places")
	claimsThereSQL  = stmt("claims_there")
	queuesShareSQL  = stmt("queues_share")
)

// changes gathers what rules made of the rows that a transaction has locked, and writes it in one round trip, in the order of locks. It
// may name a row more than once.
type changes struct {
	tx      *txn
	claims  map[int64]*claim // locked, by id
	touched map[int64]*claim // of them, those to save
	rows    map[int64]*queue.Row
	done    []int64        // claims of deliveries that are done, and of which nothing else changed
	ended   []int64        // the same of workers' keys
	granted []*claim       // claims of deliveries of which a grant changed what it does, and nothing else
	links   []*queue.Row   // of which nothing changes but the claim that they carry
	gone    map[int64]bool // messages to delete
	groups  map[int64]*groupChange
	wakes   map[int64]time.Time // queues that have something to receive, from when
	notes   []note
	dead    []deadAttempt        // of deliveries whose holder is gone
	trim    []int64              // claims whose history is long
	unseen  []int64              // claims to close that are not locked: they are gone, or were linked after the look
	toEnd   []*queue.Row         // to have a place after all in their groups
	extra   []func(b *pgx.Batch) // after the claims and before the messages
	last    []func(b *pgx.Batch) // after the groups
}

type groupChange struct {
	slot int
	wake time.Time
}

// newChanges begins. claims are those that the transaction has locked; nil if it has none.
func newChanges(tx *txn, claims map[int64]*claim) *changes {
	return &changes{
		tx: tx, claims: claims, touched: map[int64]*claim{}, rows: map[int64]*queue.Row{}, gone: map[int64]bool{},
		groups: map[int64]*groupChange{}, wakes: map[int64]time.Time{},
	}
}

// message takes what a rule changed of r, whose group before the rule was group. A key that is to be closed with it is
// closed.
func (ch *changes) message(r *queue.Row, group int64, c queue.Change) error {
	if c.Delete {
		ch.gone[r.ID] = true
		delete(ch.rows, r.ID)
	} else {
		ch.rows[r.ID] = r
	}
	if group != 0 && c.Slot != 0 {
		ch.group(group, c.Slot, time.Time{})
	}
	if c.Next {
		ch.group(group, 0, ch.tx.now)
		from := r.QueueID
		if c.Dead {
			from = r.SourceQueue
		}
		ch.wake(from, ch.tx.now)
	}
	if c.ToEnd {
		ch.toEnd = append(ch.toEnd, r)
	}
	if !c.Wake.IsZero() {
		if r.GroupID != 0 { // never told of a time after the message's own: a visit looks at nothing before it
			ch.group(r.GroupID, 0, earlier(c.Wake, r.VisibleAt))
		}
		ch.wake(r.QueueID, c.Wake)
	}
	if c.Dead {
		ch.wake(r.QueueID, r.VisibleAt)
	}
	if c.CloseKey {
		ch.closeKey(r, r.LastError)
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// closeKey closes a message's claim if it is open, unless another message carries that by now. flush answers errAgain if the claim is there
// and was not locked.
func (ch *changes) closeKey(r *queue.Row, why string) {
	c := ch.claims[r.ClaimID]
	if c == nil {
		ch.unseen = append(ch.unseen, r.ClaimID)
		return
	}
	if c.MessageID == r.ID {
		ch.closeClaim(c, why)
	}
}

func (ch *changes) closeClaim(c *claim, why string) {
	if why == "" {
		why = "its message was dead-lettered"
	}
	was := c.Claim
	if c.Close(ch.tx.now, why) {
		ch.saveClaim(c)
		if c.kind == ofDelivery && was.State.Held() {
			ch.dead = append(ch.dead, deadHolder(&was, nil, ch.tx.now, time.Time{}))
		}
		ch.note(note{claim: c.ID, what: "closed", fence: c.Fence, detail: why})
	}
}

// link has written which claim a locked message carries now.
func (ch *changes) link(r *queue.Row) { ch.links = append(ch.links, r) }

// saveClaim has a claim written that is locked, or fresh.
func (ch *changes) saveClaim(c *claim) { ch.touched[c.ID] = c }

func (ch *changes) note(n note) { ch.notes = append(ch.notes, n) }

// said records lines of a claim's history.
func (ch *changes) said(c *claim, notes ...ledger.Note) {
	for _, n := range notes {
		ch.note(note{claim: c.ID, what: n.What, fence: n.Fence, who: n.Who, detail: n.Detail})
	}
}

// refused records a worker's word that changed nothing, and keeps the newest of such notes.
func (ch *changes) refused(c *claim, a ledger.Applied, fence int64, word string) {
	ch.said(c, a.Refused(fence, word))
	ch.trim = append(ch.trim, c.ID)
}

// group adds to a group's slots in flight, and tells it when it has work: the zero time says nothing.
func (ch *changes) group(id int64, slot int, wake time.Time) {
	g := ch.groups[id]
	if g == nil {
		g = &groupChange{}
		ch.groups[id] = g
	}
	g.slot += slot
	if g.wake.IsZero() || !wake.IsZero() && wake.Before(g.wake) {
		g.wake = wake
	}
}

// wake tells those who wait for a queue, after the commit, that it has something from then on.
func (ch *changes) wake(queue int64, at time.Time) {
	if t, ok := ch.wakes[queue]; !ok || at.Before(t) {
		ch.wakes[queue] = at
	}
}

// write adds a statement of the caller's own, sent after the claims and before the messages.
func (ch *changes) write(sql string, args ...any) {
	ch.extra = append(ch.extra, func(b *pgx.Batch) { b.Queue(sql, args...) })
}

// flush writes it all. hub is told after the commit.
func (ch *changes) flush(ctx context.Context, h *hub) error {
	if len(ch.unseen) > 0 {
		there, err := ch.tx.ids(ctx, claimsThereSQL, ch.unseen)
		if err != nil {
			return err
		}
		if len(there) > 0 {
			return errAgain
		}
	}
	if err := ch.holdDeadLetterQueues(ctx); err != nil {
		return err
	}
	if err := ch.placeLast(ctx); err != nil {
		return err
	}
	b := &pgx.Batch{}
	sends := queueGrants(b, ch.granted)
	var stored, fresh []*claim
	for _, c := range byID(ch.touched) {
		switch {
		case c.kind == ofDelivery:
			sends = append(sends, c)
		case c.fresh:
			fresh = append(fresh, c)
		default:
			stored = append(stored, c)
		}
	}
	queueSaveClaims(b, saveSendsSQL, sends)
	queueDone(b, doneSendsSQL, ch.done, ch.tx.now)
	queueDone(b, doneKeysSQL, ch.ended, ch.tx.now)
	queueSaveClaims(b, saveClaimsSQL, stored)
	queueInsertClaims(b, fresh)
	queueNotes(b, ch.notes)
	if len(ch.trim) > 0 {
		b.Queue(trimNotesSQL, ch.trim, maxNotes)
	}
	if ctx.Value(untold{}) == nil {
		queueDeadAttempts(b, ch.dead)
	}
	for _, f := range ch.extra {
		f(b)
	}
	queueDeleteMessages(b, slices.Sorted(maps.Keys(ch.gone)))
	queueSaveMessages(b, byID(ch.rows))
	if len(ch.links) > 0 {
		b.Queue(linkMessagesSQL, column(ch.links, func(r *queue.Row) int64 { return r.ID }), column(ch.links, func(r *queue.Row) int64 { return r.ClaimID }))
	}
	if len(ch.groups) > 0 {
		ids := slices.SortedFunc(maps.Keys(ch.groups), cmp.Compare[int64])
		b.Queue(changeGroupsSQL, ids,
			column(ids, func(id int64) int32 { return int32(ch.groups[id].slot) }),
			column(ids, func(id int64) time.Time { return ch.groups[id].wake }), ch.tx.ticks.of(ids))
		ch.tx.afterCommit(func() { ch.tx.ticks.changed(ch.tx.now, ids...) })
	}
	for _, f := range ch.last {
		f(b)
	}
	if err := ch.tx.send(ctx, b); err != nil {
		return err
	}
	for q, at := range ch.wakes {
		ch.tx.afterCommit(func() { h.wake(q, at.Sub(ch.tx.now)) })
	}
	return nil
}

// placeLast gives places to what goes to the end of its group: under the groups' locks, as a publish does.
func (ch *changes) placeLast(ctx context.Context) error {
	if len(ch.toEnd) == 0 {
		return nil
	}
	if _, err := ch.tx.lockGroups(ctx, slices.Sorted(maps.Keys(ch.groups))); err != nil {
		return err
	}
	places, err := ch.tx.ids(ctx, placesSQL, len(ch.toEnd))
	if err != nil {
		return err
	}
	for i, r := range ch.toEnd {
		r.Place = places[i]
	}
	return nil
}

// holdDeadLetterQueues keeps the queues that rows are dead-lettered to from being deleted before the commit: their source may
// have been given another one since it was read. It answers errAgain if one is gone. Dead letters are few, so that this costs
// the others nothing; out of the order of locks it may end in a deadlock with a deletion, and then runs again.
func (ch *changes) holdDeadLetterQueues(ctx context.Context) error {
	var to []int64
	for _, r := range ch.rows {
		if r.DeadAt.Equal(ch.tx.now) && r.QueueID != deadDeliveries && !slices.Contains(to, r.QueueID) {
			to = append(to, r.QueueID)
		}
	}
	if len(to) == 0 {
		return nil
	}
	there, err := ch.tx.ids(ctx, queuesShareSQL, to)
	if err == nil && len(there) < len(to) {
		err = errAgain
	}
	return err
}

// byID gives a map's values in the order of its keys.
func byID[V any](m map[int64]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// group is a row of groups as a rule sees it.
type group struct {
	slots, inFlight int
	disabled        bool
}

// lockGroups locks groups by id and reads those that are there. It comes last in the order of locks.
func (tx *txn) lockGroups(ctx context.Context, ids []int64) (map[int64]*group, error) {
	out := map[int64]*group{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := tx.Query(ctx, lockGroupsSQL, ids, tx.ticks.of(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		g := &group{}
		if err := rows.Scan(&id, &g.slots, &g.inFlight, &g.disabled); err != nil {
			return nil, err
		}
		out[id] = g
	}
	return out, rows.Err()
}
