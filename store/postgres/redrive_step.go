package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

var (
	redriveRunningSQL = stmt("redrive_running")
	redriveLockSQL    = stmt("redrive_lock")
	redriveSaveSQL    = stmt("redrive_save")
	redriveNextSQL    = stmt("redrive_next")
	queueShareSQL     = stmt("queue_share")
)

// StepRedrives moves at most limit dead letters of running redrives, each as its rate allows. Any number of servers may:
// a redrive that one is stepping the others pass by, and its pace is in its row.
func (db *DB) StepRedrives(ctx context.Context, limit int) (moved int, again time.Duration, err error) {
	type running struct{ id, queue int64 }
	var all []running
	err = db.alone(ctx, func(ctx context.Context) error {
		rows, err := db.conn(ctx).Query(ctx, redriveRunningSQL)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (v running, err error) { return v, r.Scan(&v.id, &v.queue) })
		return err
	})
	for _, v := range all {
		n, wait := 0, time.Duration(0)
		e := db.in(ctx, func(ctx context.Context, tx *txn) (err error) {
			n, wait, err = db.stepRedrive(ctx, tx, v.id, v.queue, max(1, limit-moved))
			return err
		})
		if e != nil {
			err, n, wait = errors.Join(err, e), 0, time.Second
		}
		moved += n
		if wait > 0 && (again == 0 || wait < again) {
			again = wait
		}
	}
	return moved, again, wrap("step redrives", "", err)
}

// stepRedrive moves at most limit dead letters of one. It answers how many it moved or left, and when it is worth to call again; 0 when
// it is over.
func (db *DB) stepRedrive(ctx context.Context, tx *txn, id, source int64, limit int) (n int, again time.Duration, err error) {
	there, err := tx.ids(ctx, queueShareSQL, source)
	if err != nil {
		return 0, 0, err
	}
	r, err := tx.lockRedrive(ctx, id)
	if r == nil || err != nil {
		return 0, time.Second, err
	}
	allowed := r.allowed(tx.now, limit)
	if allowed == 0 {
		return 0, r.wait(tx.now), nil
	}
	before, done := r.moved+r.left, false
	switch {
	case r.queue == deliveriesQueue:
		done, again, err = db.stepDeliveryRedrive(ctx, tx, r, allowed)
	case len(there) == 0:
		done = true // the queue was deleted
	default:
		done, err = db.stepQueueRedrive(ctx, tx, r, allowed)
	}
	if err != nil {
		return 0, 0, err
	}
	state := queue.Running
	if r.spend(tx.now, int(r.moved+r.left-before)); done {
		// What it concerned and did not move, because somebody else took it meanwhile, is left.
		state, r.total = queue.Completed, max(r.total, r.moved+r.left)
		r.left, again = r.total-r.moved, 0
	} else {
		again = max(again, r.wait(tx.now), time.Millisecond)
	}
	_, err = tx.Exec(ctx, redriveSaveSQL, r.id, string(state), r.total, r.moved, r.left, r.lastID, r.pacedAt)
	return int(r.moved + r.left - before), again, err
}

// lockRedrive locks a running redrive; nil if it is not running any more, or another server is at it.
func (tx *txn) lockRedrive(ctx context.Context, id int64) (*redriveRow, error) {
	var r redriveRow
	var filter string
	err := tx.QueryRow(ctx, redriveLockSQL, id).Scan(&r.id, &r.project, &r.queue, &filter, &r.rate, &r.canary, &r.total, &r.moved, &r.left, &r.lastID,
		&r.who, &r.createdAt, &r.pacedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	r.filter = json.RawMessage(filter)
	return &r, err
}

// allowed gives how many may go now. What a second did not use is lost: a redrive that was held up does not catch up in one burst.
func (r *redriveRow) allowed(now time.Time, limit int) int {
	if r.rate <= 0 {
		return limit
	}
	if oldest := now.Add(-max(time.Second, duration(1/r.rate))); r.pacedAt.Before(oldest) {
		r.pacedAt = oldest
	}
	if r.pacedAt.After(now.Add(txTimeout)) {
		r.pacedAt = now // no step is so far ahead: the clock was set back
	}
	// Not below 0: another server, whose transaction began later, may have taken a step since ours began.
	return max(0, min(limit, int(math.Floor(now.Sub(r.pacedAt).Seconds()*r.rate+1e-9))))
}

func (r *redriveRow) spend(now time.Time, n int) {
	if r.rate > 0 {
		r.pacedAt = r.pacedAt.Add(duration(float64(n) / r.rate))
	} else {
		r.pacedAt = now
	}
}

// wait gives how long until the next one may go.
func (r *redriveRow) wait(now time.Time) time.Duration {
	if r.rate <= 0 {
		return 0
	}
	return max(time.Millisecond, r.pacedAt.Add(duration(1/r.rate)).Sub(now))
}

// stepQueueRedrive moves at most limit of a queue's dead letters, oldest first, their keys reopened with them.
func (db *DB) stepQueueRedrive(ctx context.Context, tx *txn, r *redriveRow, limit int) (done bool, err error) {
	var f redriveFilter
	if err := json.Unmarshal(r.filter, &f); err != nil {
		return false, err
	}
	if f.Max > 0 {
		limit = int(min(int64(limit), f.Max-(r.moved+r.left-f.Sourceless)))
	}
	if limit <= 0 {
		return true, nil
	}
	ids, err := tx.redriveNext(ctx, r, &f, limit)
	if err != nil {
		return false, err
	}
	claims, err := tx.lockClaimsOf(ctx, ids)
	if err != nil {
		return false, err
	}
	rows, err := tx.lockMessages(ctx, ids)
	if err != nil {
		return false, err
	}
	groups, err := tx.lockGroups(ctx, sourceGroups(rows))
	if err != nil {
		return false, err
	}
	ch := newChanges(tx, claims)
	for _, id := range ids {
		r.lastID = id
		m := rows[id]
		if m == nil || m.DeadAt.IsZero() || m.SourceQueue != r.queue {
			continue // somebody took it meanwhile
		}
		if !ch.reopenKey(m.ClaimID, r.who, "redrive") {
			r.left++
			continue
		}
		c := m.Redrive(tx.now)
		if groups[m.GroupID] == nil {
			m.GroupID = 0
		}
		if err := ch.message(m, 0, c); err != nil {
			return false, err
		}
		r.moved++
	}
	return len(ids) < limit, ch.flush(ctx, db.hub)
}

// reopenKey reopens a message's claim, if it has one that ended. It reports false where the message is to be left: its key is done, or
// stuck under policy once, which a person has to resolve.
func (ch *changes) reopenKey(id int64, who, why string) bool {
	if id == 0 {
		return true
	}
	c := ch.claims[id]
	if c == nil {
		ch.unseen = append(ch.unseen, id)
		return true
	}
	if !c.State.Terminal() {
		return true
	}
	if !c.Reopen(ch.tx.now) {
		return false
	}
	ch.saveClaim(c)
	ch.note(note{claim: c.ID, what: "reopened", fence: c.Fence, who: who, detail: why})
	return true
}

func sourceGroups(rows map[int64]*queue.Row) []int64 {
	var ids []int64
	for _, m := range rows {
		if m.SourceGroup != 0 {
			ids = append(ids, m.SourceGroup)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// redriveNext gives the next dead letters that a redrive concerns: of those there were at its start.
func (tx *txn) redriveNext(ctx context.Context, r *redriveRow, f *redriveFilter, limit int) ([]int64, error) {
	if len(f.IDs) == 0 {
		return tx.ids(ctx, redriveNextSQL, r.queue, r.lastID, r.createdAt, limit)
	}
	from, _ := slices.BinarySearch(f.IDs, r.lastID+1)
	return f.IDs[from:min(len(f.IDs), from+limit)], nil
}
