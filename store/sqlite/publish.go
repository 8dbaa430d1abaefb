package sqlite

import (
	"context"
	"strconv"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

// Publish stores messages, each with its key.
func (db *DB) Publish(ctx context.Context, items ...queue.Publish) ([]queue.Published, error) {
	out := make([]queue.Published, len(items))
	op, size := "publish", 0
	for i := range items {
		size += len(items[i].Body) + 512
	}
	if len(items) > 0 {
		op += " " + strconv.Quote(items[0].Queue)
	}
	err := db.writeHot(ctx, op, len(items), size, func(t *tx) error {
		b := bills{}
		for i := range items {
			r, err := t.publish(&items[i], b)
			if _, ok := err.(*fault.Error); err != nil && !ok {
				return err
			}
			out[i] = r
			out[i].Err = err
		}
		return t.charge(b)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// publish stores one message. A fault.Error says that nothing of it was stored.
func (t *tx) publish(p *queue.Publish, b bills) (queue.Published, error) {
	if err := p.Check(); err != nil {
		return queue.Published{}, err
	}
	first, known, err := t.published(p)
	if err != nil || known {
		return first, err
	}
	q, err := t.queueByName(p.Project, p.Queue)
	if err != nil {
		return queue.Published{}, err
	}
	if err := p.Fits(q.Retention); err != nil {
		return queue.Published{}, err
	}
	if q.FIFO {
		if err := p.Orders(); err != nil {
			return queue.Published{}, err
		}
	}
	if q.ContentDedup && p.Key == "" {
		keyed, err := p.ByContent()
		if err != nil {
			return queue.Published{}, err
		}
		p = &keyed
		if first, known, err := t.published(p); err != nil || known {
			return first, err
		}
	}
	bill, err := t.afford(p, b)
	if err != nil {
		return queue.Published{}, err
	}
	var group int64
	if p.Group != "" {
		if group, err = t.groupOf(q, p.Group); err != nil {
			return queue.Published{}, err
		}
	}
	id, err := t.id(seqMessages)
	if err != nil {
		return queue.Published{}, err
	}
	m := p.New(t.now, q.Queue, id, group)
	if err := t.insertMessage(&m); err != nil {
		return queue.Published{}, err
	}
	if err := t.insertBody(id, p.Body, p.Headers); err != nil {
		return queue.Published{}, err
	}
	if p.Key != "" {
		_, err := t.exec("publish_key_insert", p.Project, p.Queue, p.Key, p.Hash, id, at(m.PublishedAt), at(m.VisibleAt), at(t.now.Add(q.DedupWindow)))
		if err != nil {
			return queue.Published{}, err
		}
	}
	bill.add(p.Price)
	return queue.Published{ID: id, PublishedAt: m.PublishedAt, VisibleAt: m.VisibleAt, Cost: p.Price}, t.wakeGroup(group, q.ID, m.VisibleAt)
}

// published looks for the first message of a publish key that is in its window.
func (t *tx) published(p *queue.Publish) (first queue.Published, known bool, err error) {
	if p.Key == "" {
		return first, false, nil
	}
	var hash []byte
	var until time.Time
	known, err = found(t.row("publish_key", p.Project, p.Queue, p.Key).Scan(&first.ID, &hash, toTime(&first.PublishedAt), toTime(&first.VisibleAt), toTime(&until)))
	switch {
	case err != nil || !known:
		return queue.Published{}, false, err
	case !until.After(t.now):
		_, err = t.exec("publish_key_delete", p.Project, p.Queue, p.Key)
		return queue.Published{}, false, err
	}
	if err := p.Again(hash); err != nil {
		return queue.Published{}, true, err
	}
	first.Replay = true
	return first, true, nil
}

// groupOf finds a group of a queue, or makes it.
func (t *tx) groupOf(q *queueRow, name string) (int64, error) {
	if !q.Grouped {
		grouped := *q
		grouped.Grouped = true
		if err := t.saveQueue(&grouped); err != nil {
			return 0, err
		}
	}
	var id int64
	ok, err := found(t.row("group_by_name", q.ID, name).Scan(&id))
	if err != nil || ok {
		return id, err
	}
	if id, err = t.id(seqGroups); err != nil {
		return 0, err
	}
	slots := unlimited
	if q.FIFO {
		slots = 1
	}
	return id, t.insertGroup(&group{ID: id, Queue: q.ID, Name: name, Slots: slots})
}
