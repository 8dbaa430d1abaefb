package postgres

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var (
	takeMessagesSQL = stmt("take_messages")
	takeClaimsSQL   = stmt("take_claims")
	takeGroupsSQL   = stmt("take_groups")
	takePostponeSQL = stmt("take_postpone")
)

const (
	takeQuantum = 4 // of a visit to an endpoint, at least, where so many may go at once
	maxTake     = 1000
	maxApart    = 50
	busyWait    = time.Second           // for a claim that somebody has locked
	takeGap     = 10 * time.Millisecond // at most
	takeStep    = 2 * time.Millisecond  // after one that took a single delivery, and so long again for each more
)

// gather keeps takes that were not filled a little apart: each costs a visit to every endpoint that has something, be it one
// delivery or fifty. A take that comes after a while goes at once.
type gather struct{ next atomic.Int64 }

// left is how long the next take is to wait.
func (g *gather) left() time.Duration {
	return min(takeGap, time.Until(time.Unix(0, g.next.Load()))) // not more: the clock may have been set back
}

func (g *gather) took(n, most int) {
	if n > 0 && n < most {
		g.next.Store(time.Now().Add(min(takeGap, time.Duration(n)*takeStep)).UnixNano())
	}
}

// TakeDeliveries receives and claims deliveries: see [webhook.Sender].
func (db *DB) TakeDeliveries(ctx context.Context, t webhook.Take) (webhook.Taken, error) {
	if t.Max <= 0 {
		return webhook.Taken{}, nil
	}
	if left := db.takes.left(); left > 0 { // what is sent meanwhile may be handed out by its commit
		me := &waiter{take: t}
		if db.hub.ride(ctx, deliveriesQueue, me, left); me.filled() {
			return me.taken, nil
		}
	}
	started := time.Now()
	if t.Max = min(t.Max, maxTake); t.Each <= 0 {
		t.Each = math.MaxInt32
	}
	k, err := db.takeSure(ctx, t)
	if badItem(err) {
		k, err = db.takeApart(ctx, t)
	}
	if err != nil {
		return webhook.Taken{}, fmt.Errorf("take deliveries: %w", err)
	}
	db.takes.took(len(k.out.Jobs), t.Max)
	if k.looked >= t.Max {
		db.hub.more(deliveriesQueue)
	}
	if len(k.out.Verdicts) > 0 {
		db.observe("take deliveries", len(k.out.Jobs), started)
	}
	return k.out, nil
}

// takeSure takes from the mark of the groups' turns, and from their beginning when that gave nothing. Deliveries that were sent inside
// transactions of others get their groups on the way.
func (db *DB) takeSure(ctx context.Context, t webhook.Take) (k *taking, err error) {
	for again := false; ; again = true {
		turn, full := db.turns.of(deliveriesQueue, again)
		from, all := db.wakes.of(deliveriesName)
		start := time.Now()
		if k, err = db.take(ctx, t, t.Max, turn); err != nil {
			return k, err
		}
		db.turns.passed(deliveriesQueue, full, time.Since(start), k.head)
		db.wakes.looked(deliveriesName, all, time.Since(start))
		folded := 0
		if k.wakes {
			if folded, err = db.fold(ctx, deliveriesName, deliveriesQueue, from); err != nil && k.looked == 0 {
				return k, err
			}
		}
		if k.looked > 0 || full && folded == 0 {
			return k, nil // what is leased is handed out, whatever became of the others
		}
	}
}

// take takes at most t.Max deliveries of at most so many endpoints, in one transaction. What it looked at is answered with an error too.
func (db *DB) take(ctx context.Context, t webhook.Take, endpoints int, turn time.Time) (k *taking, err error) {
	grant := randomName()
	look := func(b *pgx.Batch) {
		k = &taking{took: map[int64]int{}, out: webhook.Taken{Verdicts: map[ledger.Verdict]int{}}}
		from, _ := db.wakes.of(deliveriesName)
		b.Queue(wakesThereSQL, deliveriesQueue, from).QueryRow(func(r pgx.Row) error { return r.Scan(&k.wakes) })
		b.Queue(takeMessagesSQL, t.Max, endpoints, takeQuantum, t.Each, turn).Query(k.visit)
	}
	alone := db.carried(ctx) == nil
	err = db.inWith(ctx, look, func(ctx context.Context, tx *txn) error {
		if len(k.visited) == 0 {
			return nil
		}
		claims, err := tx.readClaims(ctx, takeClaimsSQL, column(k.messages, func(m takenMessage) int64 { return m.ClaimID }))
		if err != nil {
			return err
		}
		tx.flushCommits = tx.flushCommits || alone
		k.changes = newChanges(tx, claims)
		for _, m := range k.messages {
			v, err := k.rule(m, t, grant)
			if err != nil {
				return err
			}
			k.out.Verdicts[v]++
		}
		return k.save(ctx, db.hub)
	})
	if err == nil {
		db.unsent(ctx, k.unread)
	}
	return k, err
}

// takeApart takes one at a time, since the database refuses some row of those that are next. What it refuses is put
// off: first the attempt of a holder that died, which is only told of, then the message.
func (db *DB) takeApart(ctx context.Context, t webhook.Take) (*taking, error) {
	all := &taking{out: webhook.Taken{Verdicts: map[ledger.Verdict]int{}}}
	one := t
	one.Max = 1
	for range min(t.Max, maxApart) {
		k, err := db.take(ctx, one, 1, time.Time{})
		if badItem(err) {
			k, err = db.take(context.WithValue(ctx, untold{}, true), one, 1, time.Time{})
		}
		if badItem(err) && len(k.messages) > 0 {
			m := k.messages[0]
			db.opts.Logger.ErrorContext(ctx, "a delivery cannot be taken; it is put off", "message", m.ID, "error", err)
			err = db.in(ctx, func(ctx context.Context, tx *txn) error {
				if _, err := tx.Exec(ctx, takePostponeSQL, m.ID); err != nil {
					return err
				}
				if _, err := tx.lockGroups(ctx, []int64{m.group}); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, takeGroupsSQL, []int64{m.group}, []int32{0}, []int64{0})
				return err
			})
			k.out = webhook.Taken{}
		}
		if err != nil && len(all.out.Jobs) > 0 {
			break // what is leased is handed out
		}
		if err != nil {
			return nil, err
		}
		if k.looked == 0 {
			break
		}
		all.looked += k.looked
		all.out.Jobs = append(all.out.Jobs, k.out.Jobs...)
		for v, n := range k.out.Verdicts {
			all.out.Verdicts[v] += n
		}
	}
	return all, nil
}

// untold marks a context whose attempts are not written: what is only told of must not stand in the way of what is done.
type untold struct{}

// WaitDeliveries returns when there may be something to take, or ctx ends; or with what a send of this process handed out (send_ride.go).
func (db *DB) WaitDeliveries(ctx context.Context, t webhook.Take) webhook.Taken {
	me := &waiter{take: t}
	db.hub.wait(ctx, deliveriesQueue, me)
	return me.taken
}

// taking is one transaction's take.
type taking struct {
	*changes
	out      webhook.Taken
	messages []takenMessage
	visited  []int64   // groups, in turn
	ticks    []int64   // theirs
	head     time.Time // the first turn that was seen
	looked   int       // rows
	wakes    bool      // deliveries wait to be given their groups
	took     map[int64]int
	granted  []grantedJob
	unread   []error // why some of them are no jobs
}

type takenMessage struct {
	*queue.Row
	group int64 // its group before the rule
	hold  time.Duration
}

type grantedJob struct {
	takenMessage
	claim *claim
	lease time.Duration
}

// visit takes in the groups visited and the messages taken. What somebody else has locked is passed by.
func (k *taking) visit(rows pgx.Rows) error {
	for rows.Next() {
		var group, tick int64
		var hold float64
		m, err := newRowScan(&group, &hold, &tick, &k.head).next(rows)
		if err != nil {
			return err
		}
		k.looked++
		if n := len(k.visited); n == 0 || k.visited[n-1] != group {
			k.visited, k.ticks = append(k.visited, group), append(k.ticks, tick)
		}
		if m.ID != 0 {
			k.messages = append(k.messages, takenMessage{m, group, duration(hold)})
		}
	}
	return rows.Err()
}

// rule asks for one message's key and does with the message what the verdict says. One that is not granted is not
// received either: nothing of its count or lease changes.
func (k *taking) rule(m takenMessage, t webhook.Take, grant string) (ledger.Verdict, error) {
	now := k.tx.now
	c := k.claims[m.ClaimID]
	if c == nil {
		return ledger.Busy, k.wait(m, busyWait) // somebody is at it in this moment
	}
	lease := m.hold + t.Slack
	was := c.Claim
	r := c.Grant(now, ledger.Grant{GrantID: grant, Owner: t.Owner, Lease: lease})
	if r.Lapsed {
		var next time.Time
		if r.Verdict == ledger.Granted {
			next = now
		}
		k.dead = append(k.dead, deadHolder(&was, m.Row, now, next))
	}
	switch {
	case r.Verdict == ledger.Granted && was.MessageID == m.ID:
		k.changes.granted = append(k.changes.granted, c)
	case r.Changed:
		k.saveClaim(c)
	}
	switch r.Verdict {
	case ledger.Granted:
		change := m.Receive(now, lease)
		c.MessageID, c.Lease = m.ID, m.Lease
		k.took[m.group] += change.Slot
		k.granted = append(k.granted, grantedJob{m, c, lease})
		change.Slot = 0 // the group is written with its next turn
		return r.Verdict, k.message(m.Row, m.group, change)
	case ledger.WasDone:
		return r.Verdict, k.message(m.Row, m.group, queue.Change{Delete: true})
	case ledger.Busy:
		return r.Verdict, k.wait(m, r.Wait)
	}
	why := c.LastError
	if why == "" {
		why = string(r.Verdict)
	}
	return r.Verdict, k.message(m.Row, m.group, m.DeadLetter(now, deadLetters, why))
}

// wait puts a message off.
func (k *taking) wait(m takenMessage, d time.Duration) error {
	m.VisibleAt = k.tx.now.Add(d)
	k.changes.wake(deliveriesQueue, m.VisibleAt)
	return k.message(m.Row, m.group, queue.Change{})
}

// save writes it all, and reads what the granted attempts need. A group that was visited goes to the tail, or waits for
// its next message.
func (k *taking) save(ctx context.Context, h *hub) error {
	took := column(k.visited, func(id int64) int32 { return int32(k.took[id]) })
	k.extra = append(k.extra, func(b *pgx.Batch) {
		queueJobs(b, k.granted, func(jobs []webhook.Job, unread []error) { k.out.Jobs, k.unread = jobs, unread })
	})
	k.last = append(k.last, func(b *pgx.Batch) { b.Queue(takeGroupsSQL, k.visited, took, k.ticks) })
	k.tx.afterCommit(func() { k.tx.ticks.changed(k.tx.now, k.visited...) })
	return k.flush(ctx, h)
}
