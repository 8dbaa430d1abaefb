package sqlite

import (
	"context"
	"math"
	"strconv"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

// CreateQueue makes a queue and its dead-letter queue, or answers the one there is.
func (db *DB) CreateQueue(ctx context.Context, s queue.Spec) (out queue.Queue, err error) {
	if err := s.Check(); err != nil {
		return out, err
	}
	err = db.write(ctx, "create_queue "+strconv.Quote(s.Name), 0, func(t *tx) error {
		q, err := t.queueByName(s.Project, s.Name)
		if err == nil {
			out = q.Queue
			return s.Again(out)
		} else if fault.CodeOf(err) != fault.QueueNotFound {
			return err
		}
		made := queueRow{Queue: s.New(t.now)}
		if made.DLQID, err = t.useDLQ(s.Project, made.DLQ, made.FIFO); err != nil {
			return err
		}
		err = t.insertQueue(&made)
		out = made.Queue
		return err
	})
	return out, err
}

// useDLQ finds the queue that is to take another's dead letters, or makes it.
func (t *tx) useDLQ(project int64, name string, fifo bool) (int64, error) {
	d, err := t.queueByName(project, name)
	switch {
	case err == nil:
		return d.ID, d.MayTake(fifo)
	case fault.CodeOf(err) != fault.QueueNotFound:
		return 0, err
	}
	made := queueRow{Queue: queue.Spec{Project: project, Name: name, FIFO: &fifo}.New(t.now)}
	made.DLQ, made.IsDLQ = "", true
	err = t.insertQueue(&made)
	return made.ID, err
}

// UpdateQueue changes settings, for messages published after it.
func (db *DB) UpdateQueue(ctx context.Context, s queue.Spec) (queue.Queue, error) {
	if err := s.CheckSettings(); err != nil {
		return queue.Queue{}, err
	}
	return db.changeQueue(ctx, "update_queue", s.Project, s.Name, func(t *tx, q *queueRow) error {
		if s.DLQ != nil && *s.DLQ != q.DLQ {
			if err := q.MayHave(*s.DLQ); err != nil {
				return err
			}
			id, err := t.useDLQ(s.Project, *s.DLQ, q.FIFO)
			if err != nil {
				return err
			}
			q.DLQID = id
		}
		s.Apply(&q.Queue)
		return nil
	})
}

// PauseQueue makes receives answer nothing, or ends that.
func (db *DB) PauseQueue(ctx context.Context, project int64, name string, paused bool) (queue.Queue, error) {
	return db.changeQueue(ctx, "pause_queue", project, name, func(t *tx, q *queueRow) error {
		q.Paused = paused
		t.wake(q.ID, t.now)
		return nil
	})
}

func (db *DB) changeQueue(ctx context.Context, op string, project int64, name string, change func(*tx, *queueRow) error) (out queue.Queue, err error) {
	err = db.write(ctx, op+" "+strconv.Quote(name), 0, func(t *tx) error {
		q, err := t.queueByName(project, name)
		if err != nil {
			return err
		}
		changed := *q
		if err := change(t, &changed); err != nil {
			return err
		}
		out = changed.Queue
		return t.saveQueue(&changed)
	})
	return out, err
}

// Queue finds one.
func (db *DB) Queue(ctx context.Context, project int64, name string) (out queue.Queue, err error) {
	err = db.read(ctx, "queue "+strconv.Quote(name), func(t *tx) error {
		q, err := t.queueByName(project, name)
		if err == nil {
			out = q.Queue
		}
		return err
	})
	return out, err
}

// Queues lists a project's, newest first.
func (db *DB) Queues(ctx context.Context, project int64, p queue.Page) (out []queue.Queue, err error) {
	if p.After == 0 {
		p.After = math.MaxInt64
	}
	err = db.read(ctx, "queues", func(t *tx) error {
		return t.each("queue_list", func(s scanner) error {
			var q queueRow
			err := loadQueue(s, &q)
			out = append(out, q.Queue)
			return err
		}, project, p.After, pageSize(p))
	})
	return out, err
}

// DeleteQueue removes a queue. Its messages can be found no more from then on; the rows of those past the first thousand go
// by and by, with Sweep, since a million of them in one transaction would hold up every other write.
func (db *DB) DeleteQueue(ctx context.Context, project int64, name string, force bool) error {
	return db.write(ctx, "delete_queue "+strconv.Quote(name), 0, func(t *tx) error {
		q, err := t.queueByName(project, name)
		if err != nil {
			return err
		}
		sources, err := t.ids("queue_sources", q.ID)
		if err != nil {
			return err
		}
		if len(sources) > 0 {
			return queue.Takes(name)
		}
		n, err := t.counts(q.ID)
		if err != nil {
			return err
		}
		if n.total > 0 && !force {
			return queue.NotEmpty(name)
		}
		if _, err := t.exec("redrive_cancel_queue", at(t.now), q.ID); err != nil {
			return err
		}
		t.queuesChanged()
		t.wake(q.ID, t.now)
		if _, err = t.exec("queue_delete", q.ID); err != nil {
			return err
		}
		_, err = t.removeQueue(q.ID, deleteAtOnce)
		return err
	})
}

// deleteAtOnce is how many messages go with their queue in one transaction.
const deleteAtOnce = 1000

// counts are a queue's kept counts.
type counts struct{ total, leased, dead, deadHere int64 }

func (t *tx) counts(queueID int64) (c counts, err error) {
	if err := t.saveCounts(); err != nil {
		return c, err
	}
	_, err = found(t.row("counts", queueID).Scan(&c.total, &c.leased, &c.dead, &c.deadHere))
	return c, err
}
