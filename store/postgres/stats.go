package postgres

import (
	"context"

	"github.com/onceward/onceward/queue"
)

var (
	statsSQL     = stmt("stats")
	statsKeptSQL = stmt("stats_kept")
)

// exactTo is up to where a count is made of the rows themselves; beyond it the kept counts answer, at most a second behind
// in which state a message is.
const exactTo = 10_000

// QueueStats counts a queue's messages, bounded in time at any depth.
func (db *DB) QueueStats(ctx context.Context, project int64, name string) (s queue.Stats, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		q, err := queueNamed(ctx, db.conn(ctx), project, name)
		if err != nil {
			return err
		}
		var age float64
		s = queue.Stats{}
		if err := db.conn(ctx).QueryRow(ctx, statsSQL, q.ID).Scan(&s.Messages, &s.InFlight, &s.Delayed, &s.Dead, &age); err != nil {
			return err
		}
		s.OldestAge = duration(age)
		if s.Messages > exactTo || s.Dead > exactTo {
			var all, flying, delayed, dead int64
			if err := db.conn(ctx).QueryRow(ctx, statsKeptSQL, q.ID).Scan(&all, &flying, &delayed, &dead); err != nil {
				return err
			}
			if s.Messages > exactTo {
				s.Messages, s.InFlight, s.Delayed = all, flying, delayed
			}
			if s.Dead > exactTo {
				s.Dead = dead
			}
		}
		s.Available = max(0, s.Messages-s.InFlight-s.Delayed)
		return nil
	})
	return s, wrap("stats", name, err)
}
