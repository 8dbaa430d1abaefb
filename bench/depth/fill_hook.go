package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

const filled = "fill.done" // the type of the events that are filled in

// makeEndpoint makes one without a server: its secret opens nothing.
func (g *ground) makeEndpoint(ctx context.Context, url string, types ...string) (int64, error) {
	e, err := g.db.CreateEndpoint(ctx, webhook.Endpoint{
		Project: 1, URL: url, EventTypes: types, Secrets: []webhook.Secret{{Sealed: []byte("sealed")}}, Timeout: 30 * time.Second,
		Ladder: []time.Duration{time.Minute, time.Hour}, Policy: ledger.Idempotent, MaxInFlight: 1000,
	})
	return e.ID, err
}

// fillDeliveries stores deliveries of events that each went to all the endpoints: delivered with one attempt, or waiting.
func (g *ground) fillDeliveries(ctx context.Context, n int, waits bool, endpoints ...int64) error {
	fill := g.deliveriesPostgres
	if g.conn == nil {
		fill = g.deliveriesSQLite
	}
	if err := fill(ctx, (n+len(endpoints)-1)/len(endpoints), waits, endpoints); err != nil {
		return err
	}
	if err := g.settle(ctx); err != nil {
		return err
	}
	state := webhook.Delivered
	if waits {
		state = webhook.Pending
	}
	for _, e := range endpoints {
		page := webhook.Filter{Project: 1, EndpointID: e}
		page.Limit = 1
		d, _, err := g.db.Deliveries(ctx, page)
		if err != nil || len(d) != 1 || d[0].State != state {
			return fmt.Errorf("filled in deliveries that are %s, and the store lists %+v: %w", state, d, err)
		}
	}
	return nil
}

func (g *ground) deliveriesPostgres(ctx context.Context, events int, waits bool, endpoints []int64) error {
	const hash = "CREATE UNIQUE INDEX claims_hash ON claims (hash, kind)" // filled in sorted, at the end
	if _, err := g.conn.Exec(ctx, "DROP INDEX claims_hash"); err != nil {
		return err
	}
	each := max(1, chunk/len(endpoints))
	for left := events; left > 0; left -= each {
		if _, err := g.conn.Exec(ctx, `WITH e AS (
  INSERT INTO events (project, event_id, type, hash, payload)
  SELECT 1, 'fill-' || $1::bigint + i, 'fill.done', sha256(int8send(i)), $3::bytea FROM generate_series(1, $2::int) i RETURNING id
), f AS MATERIALIZED (
  SELECT e.id AS event, p.id AS endpoint, p.ladder, p.policy, nextval('claim_seq') AS claim, nextval('message_seq') AS message
  FROM e, endpoints p WHERE p.id = ANY ($4::bigint[])
), c AS (
  INSERT INTO delivery_claims (id, kind, project, hash, policy, state, fence, begun, attempt, tries, max_tries, grant_id, owner, finished_at, first_at, message_id, lease_no)
  SELECT claim, 'd', 1, sha256(int8send(claim)), policy, CASE WHEN $5::int = 1 THEN 'done' ELSE 'new' END, $5, $5, $5, $5, cardinality(ladder) + 1,
    CASE WHEN $5 = 1 THEN 'grant' END, CASE WHEN $5 = 1 THEN 'fill' END, CASE WHEN $5 = 1 THEN now() END, CASE WHEN $5 = 1 THEN now() END, message, $5 FROM f
), d AS (
  INSERT INTO deliveries (project, event, endpoint, claim_id, ladder) SELECT 1, event, endpoint, claim, ladder FROM f RETURNING id, claim_id
), a AS (
  INSERT INTO attempts (delivery, claim_id, fence, attempt, cause, started_at, finished_at, outcome, status_code, latency_ms)
  SELECT id, claim_id, 1, 1, 'event', now(), now(), 'delivered', 200, 3.5 FROM d WHERE $5 = 1
), m AS (
  INSERT INTO messages (id, project, queue, gid, max_receives, vis, expires_at, retention_s, claim_id)
  SELECT message, 1, q.id, endpoint, q.max_receives, now(), now() + q.retention_s * interval '1 s', q.retention_s, claim FROM f, queues q WHERE q.id = 1 AND $5 = 0
)
UPDATE groups SET next_at = least(next_at, now()), wake_xid = pg_current_xact_id(), tick = greatest(tick, group_tick()) WHERE id = ANY ($4) AND $5 = 0`,
			events-left, min(left, each), filling, endpoints, ones(!waits)); err != nil {
			return err
		}
	}
	_, err := g.conn.Exec(ctx, hash)
	return err
}

func (g *ground) deliveriesSQLite(ctx context.Context, events int, waits bool, endpoints []int64) error {
	return g.file(ctx, func(c *sql.Conn) error {
		return g.chunks(ctx, c, "seq_events", events, func(from, to int64) error {
			for _, id := range endpoints { // claims, deliveries, attempts and messages are numbered alike: from what their sequences say
				now := time.Now().UnixMicro()
				n := to - from + 1
				at := map[string]int64{}
				for _, seq := range []string{"seq_claims", "seq_deliveries", "seq_attempts", "seq_messages"} {
					var next int64
					if err := c.QueryRowContext(ctx, "UPDATE meta SET value = value + ? WHERE name = ? RETURNING value", n, seq).Scan(&next); err != nil {
						return err
					}
					at[seq] = next - n - from // what to add to an event's number
				}
				const series = "WITH RECURSIVE i(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM i WHERE n < ?2) "
				for _, s := range []struct {
					text string
					when bool
					args []any
				}{
					{
						`INSERT INTO events (id, project, event_id, type, hash, created_at, payload) ` + series + `SELECT n, 1, 'fill-' || n, 'fill.done', randomblob(32), ?3, ?4 FROM i`,
						id == endpoints[0],
						[]any{now, filling},
					},
					{
						`INSERT INTO claims (id, kind, project, hash, policy, state, fence, begun, attempt, tries, max_tries, grant_id, owner, finished_at, first_at, origin_at, created_at, message_id, lease_no) ` +
							series + `SELECT n + ?3, 'd', 1, randomblob(32), 'i', iif(?6, 'done', 'new'), ?6, ?6, ?6, ?6, 3, iif(?6, 'grant', NULL), iif(?6, 'fill', NULL), iif(?6, ?5, NULL), iif(?6, ?5, NULL), ?5, ?5, n + ?4, ?6 FROM i`,
						true,
						[]any{at["seq_claims"], at["seq_messages"], now, ones(!waits)},
					},
					{
						`INSERT INTO deliveries (id, project, event, endpoint, claim_id, ladder, created_at) ` + series + `SELECT n + ?3, 1, n, ?4, n + ?5, (SELECT ladder FROM endpoints WHERE id = ?4), ?6 FROM i`,
						true,
						[]any{at["seq_deliveries"], id, at["seq_claims"], now},
					},
					{
						`INSERT INTO attempts (id, delivery, claim_id, fence, attempt, cause, started_at, finished_at, outcome, status_code, latency_ms) ` +
							series + `SELECT n + ?3, n + ?4, n + ?5, 1, 1, 'event', ?6, ?6, 'delivered', 200, 3.5 FROM i`,
						!waits,
						[]any{at["seq_attempts"], at["seq_deliveries"], at["seq_claims"], now},
					},
					{
						`INSERT INTO messages (id, project, queue, gid, max_receives, vis, published_at, origin_at, expires_at, retention_s, claim_id) ` +
							series + `SELECT n + ?3, 1, q.id, ?4, q.max_receives, ?6, ?6, ?6, ?6 + q.retention_s * 1000000, q.retention_s, n + ?5 FROM i, queues q WHERE q.id = 1`,
						waits,
						[]any{at["seq_messages"], id, at["seq_claims"], now},
					},
					{`UPDATE groups SET next_at = min(ifnull(next_at, ?4), ?4) WHERE id = ?3 AND ?1 <= ?2`, waits, []any{id, now}},
				} {
					if !s.when {
						continue
					}
					if _, err := c.ExecContext(ctx, s.text, append([]any{from, to}, s.args...)...); err != nil {
						return fmt.Errorf("%.30s: %w", s.text, err)
					}
				}
			}
			return nil
		})
	})
}

func ones(b bool) int {
	if b {
		return 1
	}
	return 0
}
