package postgres

import (
	"context"
	"time"

	"github.com/onceward/onceward/queue"
)

var (
	listMessagesSQL = stmt("list_messages")
	listDeadSQL     = stmt("list_dead")
	listContentsSQL = stmt("list_contents")
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
	out, next, err = db.list(ctx, listMessagesSQL, project, name, p, func(r *queue.Row, now time.Time) bool { return s == "" || r.Status(now) == s })
	return out, next, wrap("messages", name, err)
}

// DeadLetters looks at the dead letters that came from a queue, oldest first.
func (db *DB) DeadLetters(ctx context.Context, project int64, source string, p queue.Page) (out []queue.Message, next int64, err error) {
	out, next, err = db.list(ctx, listDeadSQL, project, source, p, func(*queue.Row, time.Time) bool { return true })
	return out, next, wrap("dead letters", source, err)
}

// list reads rows of a queue until p.Limit of them are wanted, lookMax were looked at, or their bodies are 8 MiB.
func (db *DB) list(ctx context.Context, sql string, project int64, name string, p queue.Page, want func(*queue.Row, time.Time) bool) (out []queue.Message, next int64, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		q, err := queueNamed(ctx, db.conn(ctx), project, name)
		if err != nil {
			return err
		}
		if out, next, err = db.look(ctx, sql, q.ID, p, want); err != nil {
			return err
		}
		return db.dress(ctx, out)
	})
	return out, next, err
}

func (db *DB) look(ctx context.Context, sql string, id int64, p queue.Page, want func(*queue.Row, time.Time) bool) (out []queue.Message, next int64, err error) {
	rows, err := db.conn(ctx).Query(ctx, sql, id, p.After, lookMax+1)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	limit, bytes, last := pageSize(p), 0, p.After
	for looked := 0; rows.Next(); looked++ {
		var size int
		var now time.Time
		r, err := newRowScan(&size, &now).next(rows)
		if err != nil {
			return nil, 0, err
		}
		if len(out) == limit || looked == lookMax || len(out) > 0 && bytes+size > queue.MaxReceiveBytes {
			return out, last, nil // there is more
		}
		last = r.ID
		if want(r, now) {
			out, bytes = append(out, queue.Message{Row: *r}), bytes+size
		}
	}
	return out, 0, rows.Err()
}

// dress adds what a list shows of messages beside their rows.
func (db *DB) dress(ctx context.Context, m []queue.Message) error {
	if len(m) == 0 {
		return nil
	}
	rows, err := db.conn(ctx).Query(ctx, listContentsSQL, column(m, func(m queue.Message) int64 { return m.ID }))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		var of queue.Message
		var headers string
		if err := rows.Scan(&n, &of.Queue, &of.Source, &of.Group, &of.Body, &headers); err != nil {
			return err
		}
		if of.Headers, err = readHeaders(headers); err != nil {
			return err
		}
		of.Row = m[n-1].Row
		m[n-1] = of
	}
	return rows.Err()
}
