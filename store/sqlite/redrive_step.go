package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// StepRedrives moves at most limit dead letters of running redrives, each as its rate allows.
func (db *DB) StepRedrives(ctx context.Context, limit int) (moved int, again time.Duration, err error) {
	var running []int64
	err = db.read(ctx, "step_redrives", func(t *tx) (err error) {
		running, err = t.ids("redrives_running")
		return err
	})
	db.paces.keep(running)
	for _, id := range running {
		n, wait := 0, time.Duration(0)
		e := db.write(ctx, "step_redrives", 0, func(t *tx) (err error) {
			n, wait, err = db.stepRedrive(t, id, max(1, limit-moved))
			return err
		})
		if e != nil {
			err, wait = errors.Join(err, e), time.Second
		}
		moved += n
		if wait > 0 && (again == 0 || wait < again) {
			again = wait
		}
	}
	return moved, again, err
}

// stepRedrive moves at most limit dead letters of one, and answers how many it moved or left and when it is worth to
// call again; 0 when it is over.
func (db *DB) stepRedrive(t *tx, id int64, limit int) (n int, again time.Duration, err error) {
	var r redrive
	ok, err := found(loadRedrive(t.row("redrive_step", id), &r))
	if err != nil || !ok {
		return 0, 0, err
	}
	p := db.paces.of(id)
	allowed := p.allowed(t.now, r.Rate, limit)
	if allowed == 0 {
		return 0, p.next(r.Rate), nil
	}
	before := r.Moved + r.Left
	if r.QueueID == deliveriesQueue {
		err = db.stepDeliveryRedrive(t, &r, allowed)
	} else {
		err = t.stepQueueRedrive(&r, allowed)
	}
	if err != nil {
		return 0, 0, err
	}
	n = int(r.Moved + r.Left - before)
	p.spend(n, r.Rate)
	switch {
	case r.State != queue.Running:
		t.endRedrive(&r, r.State)
		n = int(r.Moved + r.Left - before)
	case n == 0:
		again = time.Second // it waits for something, a canary perhaps
	default:
		again = max(time.Millisecond, p.next(r.Rate))
	}
	return n, again, t.saveRedrive(&r)
}

// stepQueueRedrive moves at most limit of a queue's dead letters, oldest first.
func (t *tx) stepQueueRedrive(r *redrive, limit int) error {
	var f redriveFilter
	if err := json.Unmarshal(r.Filter, &f); err != nil {
		return err
	}
	if f.Max > 0 {
		limit = int(min(int64(limit), f.Max-(r.Moved+r.Left-f.Sourceless)))
	}
	if _, ok, err := t.queueByID(r.QueueID); err != nil || !ok || limit <= 0 {
		r.State = queue.Completed
		return err
	}
	ids, err := t.redriveNext(r, &f, limit)
	if err != nil {
		return err
	}
	for _, id := range ids {
		r.LastID = id
		m, ok, err := t.messageByID(id)
		if err != nil {
			return err
		}
		if !ok || m.DeadAt.IsZero() || m.SourceQueue != r.QueueID {
			continue // somebody took it meanwhile
		}
		moved, err := t.redriveMessage(&m, r.Who)
		if err != nil {
			return err
		}
		if moved {
			r.Moved++
		} else {
			r.Left++
		}
	}
	if len(ids) < limit {
		r.State = queue.Completed
	}
	return nil
}

// redriveNext gives the next dead letters that a redrive concerns: of those there were at its start.
func (t *tx) redriveNext(r *redrive, f *redriveFilter, limit int) ([]int64, error) {
	if len(f.IDs) == 0 {
		return t.ids("dead_next", r.QueueID, r.LastID, at(r.CreatedAt), limit)
	}
	var out []int64
	for _, id := range f.IDs { // sorted
		if id > r.LastID && len(out) < limit {
			out = append(out, id)
		}
	}
	return out, nil
}

// redriveMessage sends a dead letter back where it came from, its key reopened with it, and reports whether it did: not
// if the key is done, or stuck under policy once, which a person has to resolve.
func (t *tx) redriveMessage(m *queue.Row, who string) (bool, error) {
	if m.ClaimID != 0 {
		c, ok, err := t.claimByID(m.ClaimID)
		if err != nil {
			return false, err
		}
		if ok && c.State.Terminal() {
			if !c.Reopen(t.now) {
				return false, nil
			}
			if err := t.saveClaim(&c); err != nil {
				return false, err
			}
			if err := t.note(c.ID, ledger.Note{What: "reopened", Fence: c.Fence, Who: who, Detail: "redrive"}); err != nil {
				return false, err
			}
		}
	}
	was := *m
	c := m.Redrive(t.now)
	if m.GroupID != 0 {
		if _, ok, err := t.groupByID(m.GroupID); err != nil {
			return false, err
		} else if !ok {
			m.GroupID = 0
		}
	}
	return true, t.applyChange(&was, m, c)
}
