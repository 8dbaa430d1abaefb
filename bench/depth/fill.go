package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/onceward/onceward/queue"
)

// chunk is how many rows a transaction fills in.
const chunk = 100_000

// filling is the payload of what is filled in: 256 bytes.
var filling = fmt.Appendf(nil, `{"text":"%0245d"}`, 0)

// countAnew makes the SQLite store's counts those of its rows: it keeps them itself, where it writes the rows, and here rows were written beside it.
const countAnew = `
UPDATE counts SET (total, leased, dead_here) = (SELECT count(*), coalesce(sum(leased), 0), count(dead_at) FROM messages WHERE queue = counts.queue),
  dead = (SELECT count(*) FROM messages WHERE source_queue = counts.queue);
INSERT INTO delay_counts (queue, due_s, n) SELECT queue, vis / 1000000, count(*) FROM messages WHERE leased = 0 AND vis > published_at GROUP BY 1, 2
  ON CONFLICT DO UPDATE SET n = excluded.n;`

// waiting are messages of a queue to fill in.
type waiting struct {
	queue    string
	n        int
	priority int
	delay    time.Duration // until they are due
	lease    time.Duration // in flight for so long; 0: not
	due      time.Time     // all due then; zero: by delay
}

// fill stores messages in the state that publishing them, and receiving those that are leased, would have left.
func (g *ground) fill(ctx context.Context, w waiting) error {
	q, err := g.db.Queue(ctx, 1, w.queue)
	if err != nil {
		return err
	}
	before, err := g.db.QueueStats(ctx, 1, w.queue)
	if err != nil {
		return err
	}
	vis := w.due
	if vis.IsZero() {
		vis = time.Now().Add(w.delay + w.lease)
	}
	leases := 0
	if w.lease > 0 {
		leases = 1
	}
	if g.conn != nil {
		for left := w.n; left > 0; left -= chunk {
			if _, err := g.conn.Exec(ctx, `WITH m AS (
  INSERT INTO messages (project, queue, prio, max_receives, vis, expires_at, retention_s, receives, lease_no, leased, receipt_open, received_at)
  SELECT 1, $2::bigint, $3::int2, $4::int2, $5::timestamptz, now() + $6::float8 * interval '1 s', $6, $7::int, $7, $7 > 0, $7 > 0, CASE WHEN $7 > 0 THEN now() END
  FROM generate_series(1, $1::int) RETURNING id
) INSERT INTO bodies (id, body) SELECT id, $8::bytea FROM m`,
				min(left, chunk), q.ID, w.priority, q.MaxReceives, vis, q.Retention.Seconds(), leases, filling); err != nil {
				return err
			}
		}
	} else if err := g.file(ctx, func(c *sql.Conn) error {
		return g.chunks(ctx, c, "seq_messages", w.n, func(from, to int64) error {
			now := time.Now().UnixMicro()
			if _, err := c.ExecContext(ctx, `INSERT INTO messages (id, project, queue, prio, max_receives, vis, published_at, origin_at, expires_at, retention_s,
  receives, lease_no, leased, receipt_open, received_at)
WITH RECURSIVE i(id) AS (SELECT ?1 UNION ALL SELECT id + 1 FROM i WHERE id < ?2)
SELECT id, 1, ?3, ?4, ?5, ?6, ?7, ?7, ?7 + ?8 * 1000000, ?8, ?9, ?9, ?9, ?9, CASE WHEN ?9 > 0 THEN ?7 END FROM i`,
				from, to, q.ID, w.priority, q.MaxReceives, max(vis.UnixMicro(), now), now, int64(q.Retention.Seconds()), leases); err != nil {
				return err
			}
			_, err := c.ExecContext(ctx, `INSERT INTO bodies (id, body) WITH RECURSIVE i(id) AS (SELECT ?1 UNION ALL SELECT id + 1 FROM i WHERE id < ?2) SELECT id, ?3 FROM i`, from, to, filling)
			return err
		})
	}); err != nil {
		return err
	}
	if err := g.settle(ctx); err != nil {
		return err
	}
	after, err := g.db.QueueStats(ctx, 1, w.queue)
	if err != nil {
		return err
	}
	if got := after.Messages - before.Messages; got != int64(w.n) || after.InFlight-before.InFlight != int64(leases*w.n) {
		return fmt.Errorf("filled in %d messages, %d of them in flight; the store's counts went from %+v to %+v", w.n, leases*w.n, before, after)
	}
	return nil
}

// chunks has f fill in rows with ids of a sequence of the SQLite store, a transaction for each chunk.
func (g *ground) chunks(ctx context.Context, c *sql.Conn, seq string, n int, f func(from, to int64) error) error {
	for left := n; left > 0; left -= chunk {
		var next int64
		if err := c.QueryRowContext(ctx, "SELECT value FROM meta WHERE name = ?", seq).Scan(&next); err != nil {
			return err
		}
		if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		last := next + int64(min(left, chunk)) - 1
		if err := f(next, last); err != nil {
			return err
		}
		if _, err := c.ExecContext(ctx, "UPDATE meta SET value = ? WHERE name = ?; COMMIT", last+1, seq); err != nil {
			return err
		}
	}
	return nil
}

// makeQueues makes queues.
func (g *ground) makeQueues(ctx context.Context, names ...string) error {
	for _, n := range names {
		if _, err := g.db.CreateQueue(ctx, queue.Spec{Project: 1, Name: n}); err != nil {
			return err
		}
	}
	return nil
}
