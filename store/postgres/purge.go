package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

var (
	queuePageSQL   = stmt("queue_page")
	queueHasSQL    = stmt("queue_has")
	queueDeleteSQL = stmt("queue_delete")
	queueLastSQL   = stmt("queue_last")
)

// purgeStep is how many messages one transaction of a purge looks at.
const purgeStep = 1000

// PurgeQueue deletes the messages that are there, those in flight too, in bounded steps.
func (db *DB) PurgeQueue(ctx context.Context, project int64, name string) (purged int64, err error) {
	q, err := db.Queue(ctx, project, name)
	if err != nil {
		return 0, err
	}
	purged, err = db.purge(ctx, q, "purged")
	return purged, wrap("purge", name, err)
}

// purge deletes, in steps, the messages of a queue that are there now. What somebody has locked it looks for again, for heldWait at most.
func (db *DB) purge(ctx context.Context, q queue.Queue, why string) (n int64, err error) {
	var end int64
	var until time.Time
	err = db.alone(ctx, func(ctx context.Context) error { return db.conn(ctx).QueryRow(ctx, queueLastSQL, q.ID).Scan(&end) })
	for try := 1; err == nil; try++ {
		step, left, err := db.purgeFree(ctx, q.ID, end, why)
		n += step
		switch {
		case err != nil || left == 0:
			return n, err
		case until.IsZero():
			until = time.Now().Add(heldWait)
		case time.Now().After(until):
			return n, queue.Left(q.Name, left)
		}
		if err := pause(ctx, min(try, maxTries)); err != nil {
			return n, err
		}
	}
	return n, err
}

// purgeFree deletes the messages up to end that nobody has locked.
func (db *DB) purgeFree(ctx context.Context, id, end int64, why string) (n int64, left int, err error) {
	for last := int64(0); err == nil && last < end; {
		if err = context.Cause(ctx); err != nil {
			break
		}
		var step int64
		var locked int
		var looked []int64
		err = db.in(ctx, func(ctx context.Context, tx *txn) (err error) {
			if looked, err = tx.ids(ctx, queuePageSQL, id, last, end, purgeStep); err != nil {
				return err
			}
			step, locked, err = db.removeIf(ctx, tx, looked, func(r *queue.Row) bool { return r.QueueID == id }, why)
			return err
		})
		if n, left = n+step, left+locked; len(looked) < purgeStep {
			break
		}
		last = looked[len(looked)-1]
	}
	return n, left, err
}

// removeIf deletes those of messages that gone says, with their bodies; their open keys are closed. It waits for nobody, and answers how many somebody else has locked:
// a key may be in a caller's open transaction.
func (db *DB) removeIf(ctx context.Context, tx *txn, ids []int64, gone func(*queue.Row) bool, why string) (n int64, left int, err error) {
	ch, rows, err := tx.lockFree(ctx, ids)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range byID(rows) {
		if !gone(r) {
			continue
		}
		n++
		ch.remove(r, why)
	}
	return n, len(ids) - len(rows), ch.flush(ctx, db.hub)
}

// remove deletes a message for good and ends what hangs on it: its group's slot, its key if that is open.
func (ch *changes) remove(r *queue.Row, why string) {
	ch.drop(r)
	if r.ClaimID != 0 {
		ch.closeKey(r, why)
	}
}

// DeleteQueue removes a queue and its messages. By force they go in bounded steps first, so that the queue's row, which every publish
// asks for, is locked for the last of them only; cut off in between, the queue is there with fewer.
func (db *DB) DeleteQueue(ctx context.Context, project int64, name string, force bool) error {
	q, err := db.Queue(ctx, project, name)
	if err != nil {
		return err
	}
	refuse := func(ctx context.Context, c querier) error {
		var full, used bool
		if err := c.QueryRow(ctx, queueHasSQL, q.ID).Scan(&full, &used); err != nil {
			return err
		}
		switch {
		case used:
			return queue.Takes(name)
		case full && !force:
			return queue.NotEmpty(name)
		}
		return nil
	}
	err = db.alone(ctx, func(ctx context.Context) error { return refuse(ctx, db.conn(ctx)) })
	if err == nil && force {
		_, err = db.purge(ctx, q, "its queue was deleted")
	}
	if err != nil {
		return wrap("delete queue", name, err)
	}
	var left int
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		left = 0
		// Waits for the publishes that have the row, whose messages are seen from then on; later ones find no queue. One in somebody's own
		// transaction may have it for long.
		if err := tx.waitAtMost(ctx, heldWait); err != nil {
			return err
		}
		locked, err := tx.ids(ctx, queueLockSQL, project, []string{name})
		if lockTimeout(err) {
			return queue.InUse(name)
		}
		if err == nil {
			err = tx.waitAtMost(ctx, 0)
		}
		if err != nil {
			return err
		}
		if len(locked) == 0 || locked[0] != q.ID {
			return queue.NoQueue(name)
		}
		if err := refuse(ctx, tx); err != nil {
			return err
		}
		for {
			page, err := tx.ids(ctx, queuePageSQL, q.ID, int64(0), int64(1<<62), purgeStep)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			if _, left, err = db.removeIf(ctx, tx, page, func(r *queue.Row) bool { return r.QueueID == q.ID }, "its queue was deleted"); err != nil {
				return err
			}
			if left > 0 {
				return errAgain // with the queue's row let go in between
			}
		}
		_, err = tx.Exec(ctx, queueDeleteSQL, q.ID)
		return err
	})
	switch {
	case err == nil:
		db.groupIDs.forget()
	case left > 0 && errors.Is(err, errAgain):
		err = queue.Left(name, left)
	}
	return wrap("delete queue", name, err)
}

// ids gives the numbers that a statement answers.
func (tx *txn) ids(ctx context.Context, sql string, args ...any) ([]int64, error) {
	return idsOf(ctx, tx, sql, args...)
}

func idsOf(ctx context.Context, c querier, sql string, args ...any) ([]int64, error) {
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}
