package sqlite

import (
	"encoding/json"

	"github.com/onceward/onceward/queue"
)

// redrive is a redrive's row: what a caller sees, and how far it came.
type redrive struct {
	queue.Redrive
	QueueID int64 // the source; 1: deliveries
	Canary  bool
	LastID  int64 // the dead letter looked at last
	Who     string
}

// deliveriesQueue and deadDeliveries are the server's own queues.
const (
	deliveriesQueue int64 = 1
	deadDeliveries  int64 = 2
)

func loadRedrive(s scanner, r *redrive) error {
	var filter string
	err := s.Scan(&r.ID, &r.Project, &r.QueueID, toText(&r.Queue), &filter, &r.Rate, &r.Canary, &r.DryRun, &r.State, &r.Total, &r.Moved, &r.Left,
		&r.LastID, toText(&r.Who), toTime(&r.CreatedAt), toTime(&r.FinishedAt))
	r.Filter = json.RawMessage(filter)
	if r.QueueID == deliveriesQueue {
		r.Queue = ""
	}
	return err
}

// insertRedrive stores a new redrive under a new id. ErrConflict while another of its queue, of its project, is running.
func (t *tx) insertRedrive(r *redrive) error {
	if r.State == queue.Running {
		running, err := t.ids("redrive_running", r.Project, r.QueueID)
		if err != nil {
			return err
		}
		if len(running) > 0 {
			return conflict("another redrive of it is running")
		}
	}
	var err error
	if r.ID, err = t.id(seqRedrives); err != nil {
		return err
	}
	r.CreatedAt = t.now
	if len(r.Filter) == 0 {
		r.Filter = json.RawMessage("{}")
	}
	_, err = t.exec("redrive_insert", r.ID, r.Project, r.QueueID, textOrNull(r.Queue), string(r.Filter), r.Rate, r.Canary, r.DryRun, r.State, r.Total, r.Moved, r.Left,
		r.LastID, textOrNull(r.Who), at(r.CreatedAt), at(r.FinishedAt))
	return err
}

// saveRedrive stores how far it is.
func (t *tx) saveRedrive(r *redrive) error {
	_, err := t.exec("redrive_save", r.State, r.Total, r.Moved, r.Left, r.LastID, at(r.FinishedAt), r.ID)
	return err
}
