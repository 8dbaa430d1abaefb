package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward/queue"
)

// WaitMessages returns when the queue may have something to receive, or when ctx ends.
func (db *DB) WaitMessages(ctx context.Context, r queue.Receive) []queue.Message {
	db.waitMessages(ctx, r.Project, r.Queue)
	return nil
}

func (db *DB) waitMessages(ctx context.Context, project int64, name string) {
	id := int64(0)
	if q, err := db.Queue(ctx, project, name); err == nil {
		id = q.ID
	} // else the receive that follows says why
	for id != 0 && ctx.Err() == nil {
		news := db.hub.listen(id) // before the look, so that nothing falls between
		var due, now time.Time
		err := db.read(ctx, "wait", func(t *tx) error {
			q, err := t.queueByName(project, name)
			if err != nil || q.Paused {
				return err
			}
			if q.ID != id {
				return queue.NoQueue(name) // another of its name
			}
			now = t.now
			due, err = t.nextDue(q)
			return err
		})
		if err != nil || !due.IsZero() && !due.After(now) || !db.await(ctx, news, due, now) {
			return
		}
	}
}

// await waits for news, and reports whether it is worth to look again.
func (db *DB) await(ctx context.Context, news <-chan struct{}, due, now time.Time) bool {
	var alarm <-chan time.Time
	if !due.IsZero() {
		t := time.NewTimer(due.Sub(now))
		defer t.Stop()
		alarm = t.C
	}
	select {
	case <-news:
		return !db.hub.over()
	case <-alarm:
	case <-ctx.Done():
	}
	return false
}

// nextDue gives when a queue may next have something to receive; zero: when there is news of it.
func (t *tx) nextDue(q *queueRow) (time.Time, error) {
	looks := []string{"plain_next", "groups_next", "lease_next"}
	if !q.Grouped {
		looks = looks[:1]
	}
	var first time.Time
	for _, name := range looks {
		var next time.Time
		if err := t.row(name, q.ID).Scan(toTime(&next)); err != nil {
			return first, err
		}
		if !next.IsZero() && (first.IsZero() || next.Before(first)) {
			first = next
		}
	}
	return first, nil
}
