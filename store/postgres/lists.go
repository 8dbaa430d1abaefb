package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

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
	err = db.snapshot(ctx, func(ctx context.Context, c querier) error {
		q, err := queueNamed(ctx, c, project, name)
		if err != nil {
			return err
		}
		rows, err := c.Query(ctx, sql, q.ID, p.After, lookMax+1)
		if err != nil {
			return err
		}
		if out, next, err = readPage(rows, p, want); err != nil {
			return err
		}
		out, err = dress(ctx, c, out)
		return err
	})
	return out, next, err
}

// snapshot has fn read from one state of the database: a message that is acked or dead-lettered meanwhile is as it was for all of its statements. In a
// transaction that ctx carries each statement sees its own state.
func (db *DB) snapshot(ctx context.Context, fn func(ctx context.Context, c querier) error) error {
	return db.alone(ctx, func(ctx context.Context) error {
		if db.carried(ctx) != nil {
			return fn(ctx, db.conn(ctx))
		}
		return pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error { return fn(ctx, tx) })
	})
}

func readPage(rows pgx.Rows, p queue.Page, want func(*queue.Row, time.Time) bool) (out []queue.Message, next int64, err error) {
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
			out, bytes = append(out, queue.Message{Row: *r, LookedAt: now}), bytes+size
		}
	}
	return out, 0, rows.Err()
}

// dress adds what a list shows of messages beside their rows, and leaves out those that are gone since.
func dress(ctx context.Context, c querier, m []queue.Message) ([]queue.Message, error) {
	if len(m) == 0 {
		return m, nil
	}
	rows, err := c.Query(ctx, listContentsSQL, column(m, func(m queue.Message) int64 { return m.ID }))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	there := make([]bool, len(m))
	for rows.Next() {
		var n int
		var of queue.Message
		var headers string
		if err := rows.Scan(&n, &of.Queue, &of.Source, &of.Group, &of.Body, &headers); err != nil {
			return nil, err
		}
		if of.Headers, err = readHeaders(headers); err != nil {
			return nil, err
		}
		of.Row, of.LookedAt = m[n-1].Row, m[n-1].LookedAt
		m[n-1], there[n-1] = of, true
	}
	kept := m[:0]
	for i := range m {
		if there[i] {
			kept = append(kept, m[i])
		}
	}
	return kept, rows.Err()
}
