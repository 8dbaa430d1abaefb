package postgres

import (
	"context"
	"encoding/json"
	"errors"
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
	lettersThereSQL   = stmt("letters_there")
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
	if err == nil {
		moved, again, err = queue.StepEach(all, limit, func(v running, limit int) (s queue.Stepped, err error) {
			err = db.in(ctx, func(ctx context.Context, tx *txn) (err error) {
				s, err = db.stepRedrive(ctx, tx, v.id, v.queue, limit)
				return err
			})
			return s, err
		})
	}
	return moved, again, wrap("step redrives", "", err)
}

// stepRedrive moves at most limit dead letters of one.
func (db *DB) stepRedrive(ctx context.Context, tx *txn, id, source int64, limit int) (queue.Stepped, error) {
	there, err := tx.ids(ctx, queueShareSQL, source)
	if err != nil {
		return queue.Stepped{}, err
	}
	r, err := tx.lockRedrive(ctx, id)
	if r == nil || err != nil {
		return queue.Stepped{Again: time.Second}, err
	}
	pace := queue.Pace{Rate: r.Rate, Used: r.paced}
	s, err := r.Step(tx.now, &pace, limit, func(allowed int) (over, idle bool, err error) {
		switch {
		case r.queue == deliveriesQueue:
			return db.stepDeliveryRedrive(ctx, tx, r, allowed)
		case len(there) == 0:
			return true, false, nil // the queue was deleted
		}
		return db.stepQueueRedrive(ctx, tx, r, allowed, limit)
	})
	if err != nil || !s.Save {
		return s, err
	}
	_, err = tx.Exec(ctx, redriveSaveSQL, r.ID, string(r.State), r.Total, r.Moved, r.Left, r.lastID, pace.Used)
	return s, err
}

// lockRedrive locks a running redrive; nil if it is not running any more, or another server is at it.
func (tx *txn) lockRedrive(ctx context.Context, id int64) (*redriveRow, error) {
	var r redriveRow
	var filter string
	err := tx.QueryRow(ctx, redriveLockSQL, id).Scan(&r.ID, &r.Project, &r.queue, &filter, &r.Rate, &r.canary, &r.Total, &r.Moved, &r.Left, &r.lastID,
		&r.who, &r.CreatedAt, &r.paced)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	r.Filter, r.State = json.RawMessage(filter), queue.Running
	return &r, err
}

// stepQueueRedrive looks at the next look of a queue's dead letters at most, oldest first, and moves at most limit, their keys reopened with
// them. It goes up to the first that somebody has locked, whose key may be in a caller's open transaction, and is idle where that is the next.
func (db *DB) stepQueueRedrive(ctx context.Context, tx *txn, r *redriveRow, limit, look int) (over, idle bool, err error) {
	var f queue.RedriveFilter
	if err := json.Unmarshal(r.Filter, &f); err != nil {
		return false, false, err
	}
	if look = f.Room(&r.Redrive, min(look, max(limit, lettersAtOnce))); look == 0 {
		return true, false, nil
	}
	letters, whole, err := tx.redriveNext(ctx, r, &f, look)
	if err != nil {
		return false, false, err
	}
	var ids []int64
	for _, l := range letters {
		if l.wanted && len(ids) < limit+lettersBeside {
			ids = append(ids, l.message)
		}
	}
	ch, rows, err := tx.lockFree(ctx, ids)
	if err != nil {
		return false, false, err
	}
	held, err := tx.heldLetters(ctx, ids, rows)
	if err != nil {
		return false, false, err
	}
	groups, err := tx.lockGroups(ctx, sourceGroups(rows))
	if err != nil {
		return false, false, err
	}
	was := r.lastID
	for _, l := range letters {
		if l.wanted && (limit == 0 || len(ids) == 0 || slices.Contains(held, l.message)) {
			return false, r.lastID == was, ch.flush(ctx, db.hub)
		}
		if r.lastID = l.message; !l.wanted {
			continue // it died since the start
		}
		ids = ids[1:]
		m := rows[l.message]
		if m == nil || m.DeadAt.IsZero() || m.SourceQueue != r.queue {
			continue // somebody took it meanwhile
		}
		if !ch.reopenKey(m, r.who, "redrive") {
			r.Left++
			continue
		}
		c := m.Redrive(tx.now)
		if groups[m.GroupID] == nil {
			m.GroupID = 0
		}
		if err := ch.message(m, 0, c); err != nil {
			return false, false, err
		}
		r.Moved++
		limit--
	}
	return whole, false, ch.flush(ctx, db.hub)
}

// heldLetters gives those dead letters of ids that are there and that are not among the locked.
func (tx *txn) heldLetters(ctx context.Context, ids []int64, locked map[int64]*queue.Row) ([]int64, error) {
	var rest []int64
	for _, id := range ids {
		if locked[id] == nil {
			rest = append(rest, id)
		}
	}
	if len(rest) == 0 {
		return nil, nil
	}
	return tx.ids(ctx, lettersThereSQL, rest)
}

const (
	lettersAtOnce = 500
	lettersBeside = 20 // looked at beyond what may move: some are left
)

// reopenKey reopens a message's claim, if it has one that ended, and that message carries it from now on. It reports false where the message is to be left: its key is done, or
// stuck under policy once, which a person has to resolve.
func (ch *changes) reopenKey(m *queue.Row, who, why string) bool {
	if m.ClaimID == 0 {
		return true
	}
	c := ch.claims[m.ClaimID]
	if c == nil {
		ch.unseen = append(ch.unseen, m.ClaimID)
		return true
	}
	if !c.State.Terminal() {
		return true
	}
	if !c.Reopen(ch.tx.now) {
		return false
	}
	c.MessageID, c.Lease = m.ID, 0
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

// redriveNext gives the next dead letters to look at, and whether there are no more. Wanted are those that were dead at the redrive's start.
func (tx *txn) redriveNext(ctx context.Context, r *redriveRow, f *queue.RedriveFilter, look int) (out []deadLetter, whole bool, err error) {
	if len(f.IDs) > 0 {
		for _, id := range f.Next(r.lastID, look) {
			out = append(out, deadLetter{message: id, wanted: true})
		}
		return out, len(out) < look, nil
	}
	rows, err := tx.Query(ctx, redriveNextSQL, r.queue, r.lastID, r.CreatedAt, f.Last(), look)
	if err != nil {
		return nil, false, err
	}
	var l deadLetter
	_, err = pgx.ForEachRow(rows, []any{&l.message, &l.wanted}, func() error {
		out = append(out, l)
		return nil
	})
	return out, len(out) < look, err
}
