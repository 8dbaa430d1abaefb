package bench

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"
)

// What somebody would write by hand to leave the same rows in the store's tables, without its rules.
const (
	barePublish = `WITH i AS MATERIALIZED (
  SELECT nextval('message_seq') AS id, u.* FROM unnest($2::bytea[], $3::text[], $4::bytea[]) u(body, key, hash)
), m AS (
  INSERT INTO messages (id, project, queue, max_receives, vis, expires_at, retention_s)
  SELECT id, 1, $1, 5, now(), now() + interval '30 days', 2592000 FROM i
), b AS (
  INSERT INTO bodies (id, body) SELECT id, body FROM i
)
INSERT INTO publish_keys (project, queue, key, hash, message_id, published_at, visible_at, expires_at)
SELECT 1, 'jobs', key, hash, id, now(), now(), now() + interval '1 day' FROM i`
	bareReceive = `WITH t AS MATERIALIZED (
  SELECT id FROM messages WHERE queue = $1 AND gid IS NULL AND prio = 0 AND vis <= now() ORDER BY vis, id LIMIT $2 FOR UPDATE SKIP LOCKED
), u AS (
  UPDATE messages m SET leased = true, receipt_open = true, lease_no = lease_no + 1, receives = receives + 1, received_at = now(), vis = now() + interval '30 s'
  FROM t WHERE m.id = t.id RETURNING m.id, m.lease_no
)
SELECT u.id, u.lease_no, b.body FROM u JOIN bodies b USING (id)`
	bareClaim = `WITH c AS (
INSERT INTO worker_claims (kind, project, scope, key, hash, policy, state, fence, begun, attempt, tries, max_tries, grant_id, owner, lease_until, first_at,
  message_id, lease_no)
SELECT 'w', 1, 'work', key, hash, 'i', 'started', 1, 1, 1, 1, 5, key, 'bench', now() + interval '30 s', now(), id, 1
FROM unnest($1::bigint[], $2::text[], $3::bytea[]) u(id, key, hash)
ON CONFLICT DO NOTHING RETURNING id, message_id
), n AS (
  INSERT INTO claim_notes (claim_id, what, fence, who) SELECT id, 'granted', 1, 'bench' FROM c
)
UPDATE messages m SET claim_id = c.id FROM c WHERE m.id = c.message_id`
	bareSettle = `WITH c AS (
  UPDATE worker_claims SET state = 'done', lease_until = NULL, finished_at = now() WHERE hash = ANY ($1::bytea[]) AND fence = 1 AND state = 'started'
  RETURNING id
), n AS (
  INSERT INTO claim_notes (claim_id, what, fence) SELECT id, 'done', 1 FROM c
), b AS (
  DELETE FROM bodies WHERE id = ANY ($2::bigint[])
)
DELETE FROM messages WHERE id = ANY ($2::bigint[]) AND lease_no = 1`
)

func barePostgres(b *testing.B, url string, queue int64, at int) cycles {
	conns := make([]*pgx.Conn, at)
	for i := range conns {
		c, err := pgx.Connect(background, url)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close(background) })
		if _, err := c.Exec(background, "SET enable_seqscan = off; SET jit = off", pgx.QueryExecModeSimpleProtocol); err != nil {
			b.Fatal(err)
		}
		conns[i] = c
	}
	return atOnce(b, at, func(who, batch int) error {
		w := newWork(batch)
		_, err := conns[who].Exec(background, barePublish, queue, w.bodies, w.keys, w.hashes)
		return err
	}, func(who, _ int) (int, error) {
		c := conns[who]
		rows, err := c.Query(background, bareReceive, queue, batchSize)
		if err != nil {
			return 0, err
		}
		var ids []int64
		var keys []string
		var hashes [][]byte
		var id int64
		var leaseNo int
		var body []byte
		if _, err := pgx.ForEachRow(rows, []any{&id, &leaseNo, &body}, func() error {
			key, hash := workKey(id)
			ids, keys, hashes = append(ids, id), append(keys, key), append(hashes, hash)
			return nil
		}); err != nil || len(ids) == 0 {
			return 0, err
		}
		granted, err := c.Exec(background, bareClaim, ids, keys, hashes)
		if err != nil {
			return 0, err
		}
		gone, err := c.Exec(background, bareSettle, hashes, ids)
		if n := int64(len(ids)); err == nil && (gone.RowsAffected() != n || granted.RowsAffected() != n) {
			err = fmt.Errorf("of %d: %v and %v", n, granted, gone)
		}
		return len(ids), err
	})
}

func bareSQLite(b *testing.B, path string, queue int64) func(batch int) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(full)&_pragma=journal_mode(wal)&_pragma=cache_size(-8192)&_pragma=temp_store(memory)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	prepare := func(text string) *sql.Stmt {
		s, err := db.Prepare(text)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	message := prepare(`INSERT INTO messages (id, project, queue, max_receives, vis, published_at, origin_at, expires_at, retention_s) VALUES (?1, 1, ?2, 5, ?3, ?3, ?3, ?3 + 2592000000000, 2592000)`)
	content := prepare(`INSERT INTO bodies (id, body) VALUES (?, ?)`)
	publishKey := prepare(`INSERT INTO publish_keys (project, queue, key, hash, message_id, published_at, visible_at, expires_at) VALUES (1, 'jobs', ?1, ?2, ?3, ?4, ?4, ?4 + 86400000000)`)
	receive := prepare(`UPDATE messages SET leased = 1, receipt_open = 1, lease_no = lease_no + 1, receives = receives + 1, received_at = ?2, vis = ?2 + 30000000
		WHERE id IN (SELECT id FROM messages WHERE queue = ?1 AND gid IS NULL AND prio = 0 AND vis <= ?2 ORDER BY vis, id LIMIT ?3)
		RETURNING id, lease_no, (SELECT body FROM bodies b WHERE b.id = messages.id)`)
	claim := prepare(`INSERT INTO claims (id, kind, project, scope, key, hash, policy, state, fence, begun, attempt, tries, max_tries, grant_id, owner, lease_until, first_at,
		origin_at, created_at, message_id, lease_no) VALUES (?1, 'w', 1, 'work', ?2, ?3, 'i', 'started', 1, 1, 1, 1, 5, ?2, 'bench', ?4 + 30000000, ?4, ?4, ?4, ?5, 1)`)
	link := prepare(`UPDATE messages SET claim_id = ?2 WHERE id = ?1`)
	note := prepare(`INSERT INTO claim_notes (id, claim_id, at, what, fence, who) VALUES (?, ?, ?, ?, 1, ?)`)
	notes := int64(0)
	done := prepare(`UPDATE claims SET state = 'done', lease_until = NULL, finished_at = ?2 WHERE hash = ?1 AND fence = 1 AND state = 'started'`)
	noBody := prepare(`DELETE FROM bodies WHERE id = ?`)
	noMessage := prepare(`DELETE FROM messages WHERE id = ? AND lease_no = 1`)
	last := int64(1000)
	in := func(f func(run func(s *sql.Stmt, args ...any), tx *sql.Tx)) {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		f(func(s *sql.Stmt, args ...any) {
			if _, err := tx.Stmt(s).Exec(args...); err != nil {
				b.Fatal(err)
			}
		}, tx)
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	return func(batch int) {
		w, now := newWork(batch), time.Now().UnixMicro()
		in(func(run func(*sql.Stmt, ...any), _ *sql.Tx) {
			for i := range batchSize {
				last++
				run(message, last, queue, now)
				run(content, last, w.bodies[i])
				run(publishKey, w.keys[i], w.hashes[i], last, now)
			}
		})
		var ids []int64
		in(func(_ func(*sql.Stmt, ...any), tx *sql.Tx) {
			rows, err := tx.Stmt(receive).Query(queue, time.Now().UnixMicro(), batchSize)
			if err != nil {
				b.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var id int64
				var leaseNo int
				var body []byte
				if err := rows.Scan(&id, &leaseNo, &body); err != nil {
					b.Fatal(err)
				}
				ids = append(ids, id)
			}
			if rows.Err() != nil || len(ids) != batchSize {
				b.Fatal(rows.Err(), len(ids))
			}
		})
		hashes := make([][]byte, len(ids))
		in(func(run func(*sql.Stmt, ...any), _ *sql.Tx) {
			for i, id := range ids {
				var key string
				key, hashes[i] = workKey(id)
				run(claim, id, key, hashes[i], now, id)
				run(link, id, id)
				notes++
				run(note, notes, id, now, "granted", "bench")
			}
		})
		in(func(run func(*sql.Stmt, ...any), _ *sql.Tx) {
			for i, id := range ids {
				run(done, hashes[i], now)
				notes++
				run(note, notes, id, now, "done", nil)
				run(noBody, id)
				run(noMessage, id)
			}
		})
	}
}
