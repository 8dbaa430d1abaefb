package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

var (
	statsSQL       = stmt("stats")
	statsKeptSQL   = stmt("stats_kept")
	statsOldestSQL = stmt("stats_oldest")
)

// exactTo is up to where a count is made of the rows themselves; beyond it the kept counts answer, at most a second behind
// in which state a message is. They also do where the rows take long to count, since that many have gone which the database could not clean up.
const exactTo = 10_000

// QueueStats counts a queue's messages, bounded in time at any depth.
func (db *DB) QueueStats(ctx context.Context, project int64, name string) (s queue.Stats, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		q, err := queueNamed(ctx, db.conn(ctx), project, name)
		if err != nil {
			return err
		}
		s = queue.Stats{}
		from, full := db.oldest.of(q.ID)
		if !full {
			full, err = db.statsKept(ctx, q.ID, from, &s)
		}
		if full && err == nil {
			err = db.statsFull(ctx, q.ID, &s)
		}
		s.Available = max(0, s.Messages-s.InFlight-s.Delayed)
		return err
	})
	return s, wrap("stats", name, err)
}

// statsFull counts the rows, and takes the kept counts where there are many.
func (db *DB) statsFull(ctx context.Context, q int64, s *queue.Stats) error {
	var age float64
	var oldest, gone int64
	start := time.Now()
	if err := db.conn(ctx).QueryRow(ctx, statsSQL, q).Scan(&s.Messages, &s.InFlight, &s.Delayed, &s.Dead, &age, &oldest, &gone); err != nil {
		return err
	}
	took := time.Since(start)
	if gone <= exactTo {
		took = 0 // not for that
	}
	db.oldest.saw(q, oldest, took)
	s.OldestAge = duration(age)
	if s.Messages <= exactTo && s.Dead <= exactTo {
		return nil
	}
	k, err := db.keptCounts(ctx, q)
	if err == nil && s.Messages > exactTo {
		s.Messages, s.InFlight, s.Delayed = k.Messages, k.InFlight, k.Delayed
	}
	if err == nil && s.Dead > exactTo {
		s.Dead = k.Dead
	}
	return err
}

// statsKept answers by the kept counts, and looks for the oldest from a message on. It reports whether that takes a full look.
func (db *DB) statsKept(ctx context.Context, q, from int64, s *queue.Stats) (full bool, err error) {
	if *s, err = db.keptCounts(ctx, q); err != nil || s.Messages == 0 {
		return false, err
	}
	var age float64
	err = db.conn(ctx).QueryRow(ctx, statsOldestSQL, q, from).Scan(&from, &age)
	if errors.Is(err, pgx.ErrNoRows) {
		return true, nil
	}
	s.OldestAge = duration(age)
	db.oldest.move(q, from)
	return false, err
}

func (db *DB) keptCounts(ctx context.Context, q int64) (s queue.Stats, err error) {
	err = db.conn(ctx).QueryRow(ctx, statsKeptSQL, q, db.sweeps.counts.from()).Scan(&s.Messages, &s.InFlight, &s.Delayed, &s.Dead)
	return s, err
}

// oldestMarks say for each queue whose rows take long to count which was its oldest message. One that came in behind it, by a redrive or
// a slow publish, is not the oldest before the next full look.
type oldestMarks struct {
	mu    sync.Mutex
	marks map[int64]*oldestMark
}

type oldestMark struct {
	id int64
	looks
}

func (o *oldestMarks) of(queue int64) (id int64, full bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.marks[queue]
	if m == nil || m.wanted(lowFrom, lowFull) {
		return 0, true
	}
	return m.id, false
}

// saw takes in a full look.
func (o *oldestMarks) saw(queue, id int64, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := marked(&o.marks, queue, took >= lowFrom)
	if m == nil {
		return
	}
	m.id = id
	m.full(took)
}

func (o *oldestMarks) move(queue, id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.marks[queue]; m != nil {
		m.id = max(m.id, id)
	}
}
