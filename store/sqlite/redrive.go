package sqlite

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// StartRedrive begins to move a queue's dead letters back, or only counts them.
func (db *DB) StartRedrive(ctx context.Context, c queue.RedriveCall) (out queue.Redrive, err error) {
	op := "start_redrive " + strconv.Quote(c.Queue)
	count := func(t *tx) (redrive, error) {
		r := redrive{Redrive: queue.Redrive{Project: c.Project, Rate: c.Rate, DryRun: c.DryRun, State: queue.Running}, Who: c.Who}
		f := c.Filter()
		q, err := t.queueByName(c.Project, c.Queue)
		if err != nil {
			return r, err
		}
		r.Queue, r.QueueID = q.Name, q.ID
		if err := t.redriveTotal(q, &r, &f); err != nil {
			return r, err
		}
		r.Filter, err = json.Marshal(f)
		return r, err
	}
	var r redrive
	if c.DryRun { // it looks at each
		if r, err = lookAhead(ctx, db, op, count); err != nil {
			return out, err
		}
	}
	err = db.write(ctx, op, 8*len(c.IDs), func(t *tx) (err error) {
		if !c.DryRun {
			if r, err = count(t); err != nil {
				return err
			}
		}
		err = t.insertRedrive(&r)
		out = r.Redrive
		return err
	})
	return out, err
}

// redriveTotal counts what a redrive concerns and, for a dry run, of that what it would leave. What was published straight into the dead-letter
// queue came from nowhere: it is left.
func (t *tx) redriveTotal(q *queueRow, r *redrive, f *queue.RedriveFilter) (err error) {
	left := int64(0)
	switch {
	case len(f.IDs) > 0:
		r.Total, left, err = t.redriveNamed(q, r, f)
	case r.DryRun:
		r.Total, left, err = t.redriveWould(q.ID, f.Max)
	default:
		var c counts
		c, err = t.counts(q.ID)
		r.Total = c.dead
	}
	if err != nil {
		return err
	}
	if f.Max > 0 {
		r.Total = min(r.Total, f.Max)
	}
	if len(f.IDs) == 0 {
		if q.DLQID != 0 && f.Max == 0 {
			d, err := t.counts(q.DLQID)
			if err != nil {
				return err
			}
			f.Sourceless = max(0, d.total-d.deadHere)
		}
		if err := t.row("dead_last", q.ID).Scan(&f.Through); err != nil {
			return err
		}
	}
	r.Total, r.Left = r.Total+f.Sourceless, left+f.Sourceless
	return nil
}

// redriveNamed keeps of the named messages those that came from the source.
func (t *tx) redriveNamed(q *queueRow, r *redrive, f *queue.RedriveFilter) (total, left int64, err error) {
	known := f.IDs[:0]
	for _, id := range f.IDs {
		m, ok, err := t.messageByID(id)
		switch {
		case err != nil:
			return 0, 0, err
		case !ok || m.Project != q.Project:
		case m.DeadAt.IsZero():
			if m.QueueID == q.DLQID {
				f.Sourceless++
			}
		case m.SourceQueue == q.ID:
			known = append(known, id)
			if !r.DryRun || m.ClaimID == 0 || f.Max > 0 && int64(len(known)) > f.Max {
				continue
			}
			c, ok, err := t.claimByID(m.ClaimID)
			if err != nil {
				return 0, 0, err
			}
			if ok && c.State.Terminal() && !c.Reopens() {
				left++
			}
		}
	}
	total = int64(len(known))
	f.Known(known)
	return total, left, nil
}

// redriveWould counts a queue's dead letters, the oldest most of them if it is not 0, and those that a redrive leaves.
func (t *tx) redriveWould(source, most int64) (total, left int64, err error) {
	if most == 0 {
		most = -1
	}
	err = t.each("dead_claims", func(s scanner) error {
		var c ledger.Claim
		var state, policy string
		var n int64
		err := s.Scan(toText(&state), toText(&policy), &n)
		c.State, c.Policy = ledger.State(state), toPolicy(policy)
		if total += n; c.State.Terminal() && !c.Reopens() {
			left += n
		}
		return err
	}, source, most)
	return total, left, err
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
		err = queue.NoRedrive()
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
			r.End(t.now, queue.Cancelled)
			if _, err = t.exec("redrive_parts_cancel", id); err == nil {
				err = t.saveRedrive(&r)
			}
		}
		out = r.Redrive
		return err
	})
	return out, err
}
