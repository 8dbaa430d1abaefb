package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

var (
	queueGetSQL    = stmt("queue_get")
	queueHoldSQL   = stmt("queue_hold")
	queueLockSQL   = stmt("queue_lock")
	queueListSQL   = stmt("queue_list")
	queueInsertSQL = stmt("queue_insert")
	queueUpdateSQL = stmt("queue_update")
	queuePauseSQL  = stmt("queue_pause")
)

// CreateQueue makes a queue and its dead-letter queue, or answers the one there is.
func (db *DB) CreateQueue(ctx context.Context, s queue.Spec) (out queue.Queue, err error) {
	if err := s.Check(); err != nil {
		return out, err
	}
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		q, err := tx.queue(ctx, s.Project, s.Name)
		if err == nil {
			out = q
			return s.Again(q)
		}
		if !errors.Is(err, queue.ErrQueueNotFound) {
			return err
		}
		out = s.New(tx.now)
		dlq, err := tx.useDLQ(ctx, s.Project, out.DLQ, out.FIFO)
		if err != nil {
			return err
		}
		return tx.insertQueue(ctx, &out, dlq)
	})
	return out, wrap("create queue", s.Name, err)
}

// useDLQ finds the queue that is to take another's dead letters, or makes it.
func (tx *txn) useDLQ(ctx context.Context, project int64, name string, fifo bool) (int64, error) {
	d, err := tx.queue(ctx, project, name)
	switch {
	case err == nil:
		return d.ID, d.MayTake(fifo)
	case !errors.Is(err, queue.ErrQueueNotFound):
		return 0, err
	}
	made := queue.Spec{Project: project, Name: name, FIFO: &fifo}.New(tx.now)
	made.DLQ, made.IsDLQ = "", true
	err = tx.insertQueue(ctx, &made, 0)
	return made.ID, err
}

// insertQueue makes a queue; errAgain if somebody else has just made it, or deleted its dead-letter queue.
func (tx *txn) insertQueue(ctx context.Context, q *queue.Queue, dlq int64) error {
	err := tx.QueryRow(ctx, queueInsertSQL, q.Project, q.Name, dlq, q.IsDLQ, q.FIFO, q.MaxReceives, seconds(q.Visibility), seconds(q.Retention),
		seconds(q.DedupWindow), q.ContentDedup, q.RequireReceipt).Scan(&q.ID, &q.CreatedAt)
	if noSuchDLQ(err) || errors.Is(err, pgx.ErrNoRows) {
		return errAgain
	}
	return err
}

// noSuchDLQ reports whether a dead-letter queue was deleted between its look-up and the write that names it.
func noSuchDLQ(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "23503"
}

// UpdateQueue changes settings, for messages published after it.
func (db *DB) UpdateQueue(ctx context.Context, s queue.Spec) (out queue.Queue, err error) {
	if err := s.CheckSettings(); err != nil {
		return out, err
	}
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		if _, err := tx.Exec(ctx, queueHoldSQL, s.Project, s.Name); err != nil {
			return err
		}
		q, err := tx.queue(ctx, s.Project, s.Name)
		if err != nil {
			return err
		}
		name := q.DLQ
		if s.DLQ != nil && *s.DLQ != q.DLQ {
			if err := q.MayHave(*s.DLQ); err != nil {
				return err
			}
			name = *s.DLQ
		}
		dlq := int64(0)
		if name != "" {
			if dlq, err = tx.useDLQ(ctx, s.Project, name, q.FIFO); err != nil {
				return err
			}
		}
		s.Apply(&q)
		out = q
		_, err = tx.Exec(ctx, queueUpdateSQL, q.ID, dlq, q.MaxReceives, seconds(q.Visibility), seconds(q.Retention), seconds(q.DedupWindow),
			q.ContentDedup, q.RequireReceipt)
		if noSuchDLQ(err) {
			return errAgain
		}
		return err
	})
	return out, wrap("update queue", s.Name, err)
}

// PauseQueue makes receives answer nothing, or ends that.
func (db *DB) PauseQueue(ctx context.Context, project int64, name string, paused bool) (out queue.Queue, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) (err error) {
		if _, err := tx.Exec(ctx, queuePauseSQL, project, name, paused); err != nil {
			return err
		}
		out, err = tx.queue(ctx, project, name)
		tx.afterCommit(func() { db.hub.wake(out.ID, 0) })
		return err
	})
	return out, wrap("pause queue", name, err)
}

// Queue finds one.
func (db *DB) Queue(ctx context.Context, project int64, name string) (out queue.Queue, err error) {
	err = db.alone(ctx, func(ctx context.Context) (err error) {
		out, err = queueNamed(ctx, db.conn(ctx), project, name)
		return err
	})
	return out, wrap("queue", name, err)
}

// Queues lists a project's, newest first.
func (db *DB) Queues(ctx context.Context, project int64, p queue.Page) (out []queue.Queue, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		rows, err := db.conn(ctx).Query(ctx, queueListSQL, project, p.After, pageSize(p))
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (queue.Queue, error) { return scanQueue(r) })
		return err
	})
	return out, wrap("queues", "", err)
}

func (tx *txn) queue(ctx context.Context, project int64, name string) (queue.Queue, error) {
	return queueNamed(ctx, tx, project, name)
}

func queueNamed(ctx context.Context, c querier, project int64, name string) (queue.Queue, error) {
	q, err := scanQueue(c.QueryRow(ctx, queueGetSQL, project, name))
	if errors.Is(err, pgx.ErrNoRows) {
		err = queue.NoQueue(name)
	}
	return q, err
}

func scanQueue(r pgx.Row) (q queue.Queue, err error) {
	var visibility, retention, window float64
	err = r.Scan(&q.ID, &q.Project, &q.Name, &q.DLQ, &q.IsDLQ, &q.FIFO, &q.MaxReceives, &visibility, &retention, &window, &q.ContentDedup, &q.RequireReceipt, &q.Paused, &q.CreatedAt)
	q.Visibility, q.Retention, q.DedupWindow = duration(visibility), duration(retention), duration(window)
	return q, err
}

// wrap says what an error that is not the caller's own was about.
func wrap(verb, object string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Code != fault.Unavailable {
		return err
	}
	if object == "" {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return fmt.Errorf("%s %q: %w", verb, object, err)
}
