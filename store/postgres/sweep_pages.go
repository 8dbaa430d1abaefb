package postgres

import (
	"context"
	"time"
)

var (
	sweepExpiredSQL    = stmt("sweep_expired")
	sweepGroupsSQL     = stmt("sweep_groups")
	sweepGroupsLockSQL = stmt("sweep_groups_lock")
	sweepGroupsDropSQL = stmt("sweep_groups_drop")
	sweepGroupsWakeSQL = stmt("sweep_groups_wake")
	groupsAgainSQL     = stmt("sweep_groups_again")
)

const (
	messagePage = 5000
	groupPage   = 500
	groupRest   = 10 * time.Second // between looks through all groups: one that is made again and again costs more than its row
	forgetRest  = 10 * time.Second // the same, of events and their claims: they are kept for 90 days
	expiredID   = "older than its queue's retention"
)

// pages is a look through a table, page by page, with a rest after its end.
type pages struct {
	last  int64
	begun time.Time
	rest  time.Time // until then
}

// next gives where to go on; false while it rests.
func (p *pages) next() (int64, bool) {
	now := time.Now()
	if p.last == 0 {
		if now.Before(p.rest) {
			return 0, false
		}
		p.begun = now
	}
	return p.last, true
}

// walkRest is how long a look through a table rests after one that took so long: so that it is a twentieth of the time at most, up to a minute.
func walkRest(least, took time.Duration) time.Duration {
	return min(time.Minute, max(least, 20*took))
}

// end says that the table's end was reached.
func (p *pages) end(rest time.Duration) {
	p.last, p.rest = 0, time.Now().Add(rest)
}

// sweepExpired deletes messages whose retention is over and that are not in flight; of deliveries it dead-letters them, their
// claims closed: those are never just gone. There is no index by expiry, which every receive would have to keep: the
// table is looked through by id, at leisure.
func (db *DB) sweepExpired(ctx context.Context, limit int) (int, error) {
	return db.sweepPage(ctx, &db.sweeps.messages, limit, pageSweep{sql: sweepExpiredSQL, size: messagePage, do: db.expire})
}

// pageSweep is a sweep that looks through a table by id. Its statement takes the id after which to look and the page's size, then
// args; it answers the last id it looked at, how many it looked at, and those that do is to act on.
type pageSweep struct {
	sql  string
	size int64
	args []any
	rest time.Duration // at least, after the table's end
	do   func(context.Context, *txn, []int64) (int, error)
}

// sweepPage looks through the next page, and acts on at most limit rows.
func (db *DB) sweepPage(ctx context.Context, p *pages, limit int, s pageSweep) (n int, err error) {
	db.sweeps.mu.Lock()
	defer db.sweeps.mu.Unlock()
	last, ok := p.next()
	if !ok {
		return 0, nil
	}
	var end, looked int64
	var ids []int64
	err = db.alone(ctx, func(ctx context.Context) error {
		return db.conn(ctx).QueryRow(ctx, s.sql, append([]any{last, s.size}, s.args...)...).Scan(&end, &looked, &ids)
	})
	if err != nil {
		return 0, err
	}
	if len(ids) > limit {
		ids = ids[:limit]
		end, looked = ids[limit-1], s.size
	}
	n, err = db.eachApart(ctx, ids, s.do)
	if p.last = end; looked < s.size {
		p.end(walkRest(s.rest, time.Since(p.begun)))
	}
	return n, err
}

func (db *DB) expire(ctx context.Context, tx *txn, ids []int64) (n int, err error) {
	ch, rows, dlqs, err := tx.lockForSweep(ctx, ids)
	if err != nil {
		return 0, err
	}
	for _, r := range byID(rows) {
		if r.ExpiresAt.After(tx.now) || r.Leased && r.VisibleAt.After(tx.now) {
			continue
		}
		if r.QueueID == deliveriesQueue && (r.VisibleAt.Add(r.Retention).After(tx.now) || r.ReceivedAt.Add(r.Retention).After(tx.now)) {
			continue // tried since it was found
		}
		n++
		if dlq, ok := dlqs[r.QueueID]; ok && r.QueueID == deliveriesQueue {
			was := r.GroupID
			ch.message(r, was, r.DeadLetter(tx.now, dlq, "older than the 30 days that a delivery waits"))
			continue
		}
		ch.remove(r, expiredID)
	}
	return n, ch.flush(ctx, db.hub)
}

// sweepGroups deletes the rows of fair groups that have nothing, and gives a turn to groups that have work and do not know
// it, which nothing should bring about. The group of a queue's ungrouped messages, which it deletes when that is alone, it makes again where a publish that it could
// not see was making another one: without it they would have no turn.
func (db *DB) sweepGroups(ctx context.Context, limit int) (n int, err error) {
	db.sweeps.mu.Lock()
	defer db.sweeps.mu.Unlock()
	p := &db.sweeps.groups
	last, ok := p.next()
	if !ok {
		return 0, nil
	}
	var end, looked int64
	var empty, asleep, bereft []int64
	err = db.alone(ctx, func(ctx context.Context) error {
		return db.conn(ctx).QueryRow(ctx, sweepGroupsSQL, last, min(limit, groupPage)).Scan(&end, &looked, &empty, &asleep, &bereft)
	})
	if err != nil {
		return 0, err
	}
	if len(empty) > 0 {
		n, err = db.eachApart(ctx, empty, func(ctx context.Context, tx *txn, ids []int64) (int, error) {
			locked, err := tx.ids(ctx, sweepGroupsLockSQL, ids)
			if err != nil {
				return 0, err
			}
			tag, err := tx.Exec(ctx, sweepGroupsDropSQL, locked)
			return int(tag.RowsAffected()), err
		})
		db.groupIDs.forget()
	}
	for sql, ids := range map[string][]int64{sweepGroupsWakeSQL: asleep, groupsAgainSQL: bereft} {
		if err != nil || len(ids) == 0 {
			continue
		}
		err = db.alone(ctx, func(ctx context.Context) error {
			tag, err := db.conn(ctx).Exec(ctx, sql, ids)
			n += int(tag.RowsAffected())
			return err
		})
	}
	if p.last = end; looked < int64(min(limit, groupPage)) {
		if n == 0 {
			p.end(groupRest)
		} else {
			p.end(0) // the group of the ungrouped may be alone now
		}
	}
	return n, err
}
