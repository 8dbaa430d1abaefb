package sqlite

import (
	"encoding/json"
	"time"

	"github.com/onceward/onceward/queue"
)

// redrive is a redrive's row: what a caller sees, and how far it came.
type redrive struct {
	queue.Redrive
	QueueID int64 // the source; 1: deliveries
	Canary  bool
	LastID  int64 // the dead letter looked at last
	Who     string
	Paced   time.Time // up to when its rate is used up
}

// deliveriesQueue and deadDeliveries are the server's own queues.
const (
	deliveriesQueue int64 = 1
	deadDeliveries  int64 = 2
)

func loadRedrive(s scanner, r *redrive) error {
	var filter string
	err := s.Scan(&r.ID, &r.Project, &r.QueueID, toText(&r.Queue), &filter, &r.Rate, &r.Canary, &r.DryRun, &r.State, &r.Total, &r.Moved, &r.Left,
		&r.LastID, toText(&r.Who), toTime(&r.CreatedAt), toTime(&r.FinishedAt), toTime(&r.Paced))
	r.Filter = json.RawMessage(filter)
	if r.QueueID == deliveriesQueue {
		r.Queue = ""
	}
	return err
}

// insertRedrive stores a new redrive under a new id. ErrConflict while another of its queue is running.
func (t *tx) insertRedrive(r *redrive) error {
	var err error
	if r.CreatedAt = t.now; r.DryRun {
		r.State, r.FinishedAt = queue.Completed, t.now
	} else if running, err := t.ids("redrive_running", r.Project, r.QueueID); err != nil || len(running) > 0 {
		if err == nil {
			err = queue.RedriveRunning(r.Queue)
		}
		return err
	}
	if r.ID, err = t.id(seqRedrives); err != nil {
		return err
	}
	r.Paced = queue.NewPace(t.now, r.Rate).Used
	_, err = t.exec("redrive_insert", r.ID, r.Project, r.QueueID, textOrNull(r.Queue), string(r.Filter), r.Rate, r.Canary, r.DryRun, r.State, r.Total, r.Moved, r.Left,
		r.LastID, textOrNull(r.Who), at(r.CreatedAt), at(r.FinishedAt), at(r.Paced))
	return err
}

// saveRedrive stores how far it is.
func (t *tx) saveRedrive(r *redrive) error {
	_, err := t.exec("redrive_save", r.State, r.Total, r.Moved, r.Left, r.LastID, at(r.FinishedAt), at(r.Paced), r.ID)
	return err
}

// sweepRedrives forgets redrives that were over long ago, with their parts.
func (t *tx) sweepRedrives(limit int) (int, error) {
	old, err := t.ids("redrive_forgettable", at(t.now.Add(-queue.RedriveMemory)), limit)
	for _, id := range old {
		for _, what := range []string{"redrive_parts_forget", "redrive_forget"} {
			if err == nil {
				_, err = t.exec(what, id)
			}
		}
	}
	return len(old), err
}
