package sqlite

import (
	"context"
	"encoding/json"
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
	if err != nil {
		return 0, 0, err
	}
	return queue.StepEach(running, limit, func(id int64, limit int) (s queue.Stepped, err error) {
		err = db.write(ctx, "step_redrives", 0, func(t *tx) (err error) {
			s, err = t.stepRedrive(id, limit)
			return err
		})
		return s, err
	})
}

// stepRedrive moves at most limit dead letters of one.
func (t *tx) stepRedrive(id int64, limit int) (queue.Stepped, error) {
	var r redrive
	ok, err := found(loadRedrive(t.row("redrive_step", id), &r))
	if err != nil || !ok {
		return queue.Stepped{}, err
	}
	pace := queue.Pace{Rate: r.Rate, Used: r.Paced}
	s, err := r.Step(t.now, &pace, limit, func(allowed int) (over, idle bool, err error) {
		if r.QueueID == deliveriesQueue {
			return t.stepDeliveryRedrive(&r, allowed)
		}
		over, err = t.stepQueueRedrive(&r, allowed, limit)
		return over, false, err
	})
	if err != nil || !s.Save {
		return s, err
	}
	r.Paced = pace.Used
	return s, t.saveRedrive(&r)
}

// stepQueueRedrive looks at the next look of a queue's dead letters at most, oldest first, and moves at most limit.
func (t *tx) stepQueueRedrive(r *redrive, limit, look int) (over bool, err error) {
	var f queue.RedriveFilter
	if err := json.Unmarshal(r.Filter, &f); err != nil {
		return false, err
	}
	look = f.Room(&r.Redrive, look)
	if _, ok, err := t.queueByID(r.QueueID); err != nil || !ok || look == 0 {
		return true, err
	}
	ids, whole, err := t.redriveNext(r, &f, look)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if limit == 0 {
			return false, nil
		}
		r.LastID = max(id, -id)
		if id < 0 {
			continue // it died since the start
		}
		m, ok, err := t.messageByID(id)
		if err != nil {
			return false, err
		}
		if !ok || m.DeadAt.IsZero() || m.SourceQueue != r.QueueID {
			continue // somebody took it meanwhile
		}
		moved, err := t.redriveMessage(&m, r.Who)
		if err != nil {
			return false, err
		}
		if moved {
			r.Moved++
			limit--
		} else {
			r.Left++
		}
	}
	return whole, nil
}

// redriveNext gives the next dead letters to look at, those negative that died after the redrive's start, and whether there are no more.
func (t *tx) redriveNext(r *redrive, f *queue.RedriveFilter, limit int) (ids []int64, whole bool, err error) {
	if len(f.IDs) > 0 {
		ids = f.Next(r.LastID, limit)
		return ids, len(ids) < limit, nil
	}
	err = t.each("dead_next", func(s scanner) error {
		var id int64
		var there bool
		err := s.Scan(&id, &there)
		if !there {
			id = -id
		}
		ids = append(ids, id)
		return err
	}, r.QueueID, r.LastID, at(r.CreatedAt), f.Last(), limit)
	return ids, len(ids) < limit, err
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
			c.MessageID, c.Lease = m.ID, 0
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
