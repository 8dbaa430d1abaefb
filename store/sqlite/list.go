package sqlite

import (
	"context"
	"strconv"

	"github.com/onceward/onceward/queue"
)

// lookMax is the most rows that one page of a list looks at.
const lookMax = 1000

// pageSize bounds what a caller asks for.
func pageSize(p queue.Page) int {
	if p.Limit <= 0 {
		return 50
	}
	return min(p.Limit, lookMax)
}

// Messages looks at a queue's messages, oldest first.
func (db *DB) Messages(ctx context.Context, project int64, name string, s queue.Status, p queue.Page) (out []queue.Message, next int64, err error) {
	err = db.read(ctx, "messages "+strconv.Quote(name), func(t *tx) error {
		q, err := t.queueByName(project, name)
		if err != nil {
			return err
		}
		out, next, err = t.page("message_page", q.ID, p, func(m *queue.Row) bool { return s == "" || m.Status(t.now) == s })
		return err
	})
	return out, next, err
}

// DeadLetters looks at the dead letters that came from a queue, oldest first.
func (db *DB) DeadLetters(ctx context.Context, project int64, source string, p queue.Page) (out []queue.Message, next int64, err error) {
	err = db.read(ctx, "dead_letters "+strconv.Quote(source), func(t *tx) error {
		q, err := t.queueByName(project, source)
		if err != nil {
			return err
		}
		out, next, err = t.page("dead_page", q.ID, p, func(*queue.Row) bool { return true })
		return err
	})
	return out, next, err
}

// page reads rows past p.After until p.Limit of them are wanted, lookMax were looked at, or their bodies are 8 MiB.
func (t *tx) page(statement string, of int64, p queue.Page, want func(*queue.Row) bool) (out []queue.Message, next int64, err error) {
	limit, looked, last := pageSize(p), 0, p.After
	err = t.each(statement, func(s scanner) error {
		var m queue.Message
		if err := s.Scan(messageColumns(&m.Row)...); err != nil {
			return err
		}
		if len(out) == limit || looked == lookMax {
			next = last // there is more
			return errEnough
		}
		looked, last = looked+1, m.ID
		if want(&m.Row) {
			m.LookedAt = t.now
			out = append(out, m)
		}
		return nil
	}, of, p.After, lookMax+1)
	if err != nil {
		return nil, 0, err
	}
	bytes := 0
	for i := range out {
		if err := t.message(out[i].ID, &out[i]); err != nil {
			return nil, 0, err
		}
		if bytes += len(out[i].Body); i > 0 && bytes > queue.MaxReceiveBytes {
			return out[:i], out[i-1].ID, nil
		}
	}
	return out, next, nil
}
