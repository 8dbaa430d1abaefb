package sqlite

import (
	"time"

	"github.com/onceward/onceward/queue"
)

// queueRow is a queue with what only the store knows of it.
type queueRow struct {
	queue.Queue
	DLQID   int64     // 0: it is one
	Grouped bool      // it has had a group: a receive then looks at them
	Turn    time.Time // of the ungrouped, who are one of the groups
}

func loadQueue(s scanner, q *queueRow) error {
	return s.Scan(&q.ID, &q.Project, &q.Name, toInt(&q.DLQID), toText(&q.DLQ), &q.IsDLQ, &q.FIFO, &q.Grouped, toTime(&q.Turn), &q.MaxReceives, toSpan(&q.Visibility),
		toSpan(&q.Retention), toSpan(&q.DedupWindow), &q.ContentDedup, &q.RequireReceipt, &q.Paused, toTime(&q.CreatedAt))
}

// queueByName finds a queue: ErrQueueNotFound. A transaction remembers those it found.
func (t *tx) queueByName(project int64, name string) (*queueRow, error) {
	k := queueName{project, name}
	if q := t.queues[k]; q != nil {
		return q, nil
	}
	q := new(queueRow)
	ok, err := found(loadQueue(t.row("queue_by_name", project, name), q))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, queue.NoQueue(name)
	}
	if t.queues == nil {
		t.queues = map[queueName]*queueRow{}
	}
	t.queues[k] = q
	return q, nil
}

type queueName struct {
	project int64
	name    string
}

// queueByID finds a queue: false if it is gone.
func (t *tx) queueByID(id int64) (q queueRow, ok bool, err error) {
	ok, err = found(loadQueue(t.row("queue_by_id", id), &q))
	return q, ok, err
}

// queuesChanged makes the transaction forget what it found of queues.
func (t *tx) queuesChanged() { t.queues, t.names, t.dlqs = nil, nil, nil }

// dlqOf gives where the dead letters of a queue go; zero for one that is a DLQ.
func (t *tx) dlqOf(queueID int64) (d queue.DLQ, err error) {
	if d, ok := t.dlqs[queueID]; ok {
		return d, nil
	}
	if _, err = found(t.row("queue_dlq", queueID).Scan(&d.ID, toSpan(&d.Retention))); err != nil {
		return d, err
	}
	if t.dlqs == nil {
		t.dlqs = map[int64]queue.DLQ{}
	}
	t.dlqs[queueID] = d
	return d, nil
}

// insertQueue stores a new queue under a new id.
func (t *tx) insertQueue(q *queueRow) error {
	var err error
	if q.ID, err = t.id(seqQueues); err != nil {
		return err
	}
	t.queuesChanged()
	_, err = t.exec("queue_insert", q.ID, q.Project, q.Name, orNull(q.DLQID), q.IsDLQ, q.FIFO, q.Grouped, q.MaxReceives, seconds(q.Visibility),
		seconds(q.Retention), seconds(q.DedupWindow), q.ContentDedup, q.RequireReceipt, q.Paused, at(q.CreatedAt))
	return err
}

// saveQueue stores what can change of a queue.
func (t *tx) saveQueue(q *queueRow) error {
	t.queuesChanged()
	_, err := t.exec("queue_save", orNull(q.DLQID), q.Grouped, q.MaxReceives, seconds(q.Visibility),
		seconds(q.Retention), seconds(q.DedupWindow), q.ContentDedup, q.RequireReceipt, q.Paused, q.ID)
	return err
}
