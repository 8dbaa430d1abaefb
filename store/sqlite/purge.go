package sqlite

import (
	"context"
	"strconv"

	"github.com/onceward/onceward/queue"
)

// purgeStep is how many messages one transaction of a purge looks at.
const purgeStep = 500

// PurgeQueue deletes the messages of a queue that are there, those in flight too, in bounded steps.
func (db *DB) PurgeQueue(ctx context.Context, project int64, name string) (purged int64, err error) {
	op := "purge_queue " + strconv.Quote(name)
	var q *queueRow
	var last, end int64
	err = db.read(ctx, op, func(t *tx) error {
		if q, err = t.queueByName(project, name); err != nil {
			return err
		}
		return t.row("message_last", q.ID).Scan(&end)
	})
	for err == nil && last < end {
		var n int64
		err = db.write(ctx, op, 0, func(t *tx) error {
			ids, err := t.ids("message_ids", q.ID, last, end, purgeStep)
			if err != nil {
				return err
			}
			for _, id := range ids {
				gone, err := t.purge(id)
				if err != nil {
					return err
				}
				if gone {
					n++
				}
			}
			last = end
			if len(ids) == purgeStep {
				last = ids[len(ids)-1]
			}
			return nil
		})
		if err == nil {
			purged += n
		}
	}
	return purged, err
}

// purge deletes a message.
func (t *tx) purge(id int64) (bool, error) {
	m, ok, err := t.messageByID(id)
	if err != nil || !ok {
		return false, err
	}
	return true, t.remove(&m, "purged")
}

// remove deletes a message for good and ends what hangs on it: its group's slot, its key if that is open.
func (t *tx) remove(m *queue.Row, why string) error {
	if err := t.removeMessage(m); err != nil {
		return err
	}
	return t.closeKey(m, why)
}
