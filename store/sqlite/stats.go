package sqlite

import (
	"context"
	"strconv"
	"time"

	"github.com/onceward/onceward/queue"
)

// exactTo is up to where the three states are counted row by row, exact at this moment; beyond it by the kept counts.
const exactTo = 10_000

// QueueStats counts a queue's messages. How many there are is kept, and so exact at any depth.
func (db *DB) QueueStats(ctx context.Context, project int64, name string) (s queue.Stats, err error) {
	err = db.read(ctx, "stats "+strconv.Quote(name), func(t *tx) error {
		q, err := t.queueByName(project, name)
		if err != nil {
			return err
		}
		c, err := t.counts(q.ID)
		if err != nil {
			return err
		}
		s.Messages, s.Dead = c.total, c.dead
		if err := t.row("count_leased", q.ID, at(t.now), exactTo+1).Scan(&s.InFlight); err != nil {
			return err
		}
		if s.InFlight > exactTo {
			s.InFlight = c.leased
		}
		if err := t.row("count_delayed", q.ID, at(t.now), exactTo+1).Scan(&s.Delayed); err != nil {
			return err
		}
		if s.Delayed > exactTo {
			if err := t.row("count_delayed_kept", q.ID, t.now.Unix()).Scan(&s.Delayed); err != nil {
				return err
			}
		}
		s.Available = max(0, s.Messages-s.InFlight-s.Delayed)
		var oldest time.Time
		if ok, err := found(t.row("message_oldest", q.ID).Scan(toTime(&oldest))); err != nil || !ok {
			return err
		}
		s.OldestAge = max(0, t.now.Sub(oldest))
		return nil
	})
	return s, err
}
