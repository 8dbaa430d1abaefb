package sqlite

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/onceward/onceward/queue"
)

// redriveFilter is what a redrive of a queue's dead letters concerns, as its row keeps it.
type redriveFilter struct {
	IDs []int64 `json:"message_ids,omitempty"` // sorted; these alone
	Max int64   `json:"max_messages,omitempty"`
	// Sourceless is how many there were of no source: they are left, and were counted so at the start.
	Sourceless int64 `json:"sourceless,omitempty"`
}

// StartRedrive begins to move a queue's dead letters back, or only counts them.
func (db *DB) StartRedrive(ctx context.Context, c queue.RedriveCall) (out queue.Redrive, err error) {
	err = db.write(ctx, "start_redrive "+strconv.Quote(c.Queue), 8*len(c.IDs), func(t *tx) error {
		q, err := t.queueByName(c.Project, c.Queue)
		if err != nil {
			return err
		}
		r := redrive{Redrive: queue.Redrive{Project: c.Project, Queue: q.Name, Rate: c.Rate, DryRun: c.DryRun, State: queue.Running}, QueueID: q.ID, Who: c.Who}
		f := redriveFilter{IDs: slices.Compact(slices.Sorted(slices.Values(c.IDs))), Max: c.Max}
		if err := t.redriveTotal(q, &r, &f); err != nil {
			return err
		}
		if c.DryRun {
			r.State, r.FinishedAt, r.Left = queue.Completed, t.now, 0
		}
		if r.Filter, err = json.Marshal(f); err != nil {
			return err
		}
		err = t.insertRedrive(&r)
		out = r.Redrive
		return err
	})
	return out, err
}

// redriveTotal counts what a redrive concerns. What was published straight into the dead-letter queue came from nowhere:
// it is left.
func (t *tx) redriveTotal(q *queueRow, r *redrive, f *redriveFilter) error {
	if len(f.IDs) > 0 {
		known := f.IDs[:0]
		for _, id := range f.IDs {
			m, ok, err := t.messageByID(id)
			if err != nil {
				return err
			}
			switch {
			case !ok || m.Project != q.Project:
			case !m.DeadAt.IsZero() && m.SourceQueue == q.ID:
				known = append(known, id)
			case m.QueueID == q.DLQID && m.DeadAt.IsZero():
				f.Sourceless++
			}
		}
		f.IDs, r.Total = known, int64(len(known))
		if len(known) == 0 {
			f.IDs = []int64{0} // none, not all
		}
	} else {
		c, err := t.counts(q.ID)
		if err != nil {
			return err
		}
		r.Total = c.dead
		if q.DLQID != 0 && f.Max == 0 {
			d, err := t.counts(q.DLQID)
			if err != nil {
				return err
			}
			f.Sourceless = max(0, d.total-d.deadHere)
		}
	}
	if f.Max > 0 {
		r.Total = min(r.Total, f.Max)
	}
	r.Total, r.Left = r.Total+f.Sourceless, f.Sourceless
	return nil
}

// Redrive finds one.
func (db *DB) Redrive(ctx context.Context, project, id int64) (out queue.Redrive, err error) {
	err = db.read(ctx, "redrive", func(t *tx) error {
		r, err := t.redriveByID(project, id)
		out = r.Redrive
		return err
	})
	return out, err
}

func (t *tx) redriveByID(project, id int64) (r redrive, err error) {
	ok, err := found(loadRedrive(t.row("redrive_by_id", project, id), &r))
	if err == nil && !ok {
		err = notFound("there is no such redrive")
	}
	return r, err
}

// Redrives lists a project's, newest first.
func (db *DB) Redrives(ctx context.Context, project int64, p queue.Page) (out []queue.Redrive, err error) {
	if p.After == 0 {
		p.After = math.MaxInt64
	}
	err = db.read(ctx, "redrives", func(t *tx) error {
		return t.each("redrive_list", func(s scanner) error {
			var r redrive
			err := loadRedrive(s, &r)
			out = append(out, r.Redrive)
			return err
		}, project, p.After, pageSize(p))
	})
	return out, err
}

// CancelRedrive stops one; what it had not moved is left.
func (db *DB) CancelRedrive(ctx context.Context, project, id int64) (out queue.Redrive, err error) {
	err = db.write(ctx, "cancel_redrive", 0, func(t *tx) error {
		r, err := t.redriveByID(project, id)
		if err != nil {
			return err
		}
		if r.State == queue.Running {
			t.endRedrive(&r, queue.Cancelled)
			err = t.saveRedrive(&r)
		}
		out = r.Redrive
		return err
	})
	return out, err
}

// endRedrive ends a redrive. What it concerned and did not move, because it was cancelled or because somebody else took
// it meanwhile, is left.
func (t *tx) endRedrive(r *redrive, s queue.RedriveState) {
	r.State, r.FinishedAt = s, t.now
	r.Total = max(r.Total, r.Moved+r.Left)
	r.Left = r.Total - r.Moved
}
