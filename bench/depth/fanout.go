package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/webhook"
)

// fanout compares one event for a thousand endpoints with a bare insert of the same rows into the same tables of a store like it, in turn.
func (r *run) fanout(ctx context.Context, kind string) (err error) {
	fan, rounds := min(1000, r.endpoints), r.rounds()
	var sides [2]*ground
	for i := range sides {
		g, err := r.newGround(ctx, kind)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.leave(ctx)) }()
		for n := range fan {
			if _, err := g.makeEndpoint(ctx, fmt.Sprint("https://example.com/", n), "live"); err != nil {
				return err
			}
		}
		if err := g.settle(ctx); err != nil {
			return err
		}
		sides[i] = g
	}
	send := func(n int) error {
		hash := sha256.Sum256(filling)
		out, err := sides[0].db.Send(ctx, webhook.NewEvent{Project: 1, EventID: fmt.Sprint("live-", n), Type: "live", Payload: filling, Hash: hash[:]})
		if err == nil && (out[0].Err != nil || len(out[0].Deliveries) != fan) {
			err = fmt.Errorf("%d deliveries: %w", len(out[0].Deliveries), out[0].Err)
		}
		return err
	}
	bare, done, err := bareFan(ctx, sides[1], fan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	var took [2][]float64
	commits := 0
	for n := range 3 + rounds {
		for i, f := range []func(int) error{send, bare} {
			was, began := sides[0].commits, time.Now()
			if err := f(n); err != nil {
				return err
			}
			if n >= 3 { // the first ones are planned
				took[i] = append(took[i], float64(time.Since(began).Microseconds())/1000)
			}
			if i == 0 {
				commits = sides[0].commits - was
			}
		}
	}
	if g := sides[0]; g.conn != nil { // rows of one transaction have one xmin
		if err := g.conn.QueryRow(ctx, `SELECT count(DISTINCT x) FROM (SELECT e.xmin::text AS x FROM events e WHERE event_id = $1
  UNION ALL SELECT d.xmin::text FROM deliveries d JOIN events e ON e.id = d.event WHERE event_id = $1
  UNION ALL SELECT c.xmin::text FROM delivery_claims c JOIN deliveries d ON d.claim_id = c.id JOIN events e ON e.id = d.event WHERE event_id = $1
  UNION ALL SELECT m.xmin::text FROM messages m JOIN deliveries d ON d.claim_id = m.claim_id JOIN events e ON e.id = d.event WHERE event_id = $1) r`,
			fmt.Sprint("live-", 2+rounds)).Scan(&commits); err != nil {
			return err
		}
	}
	ours, theirs := median(took[0]), median(took[1])
	r.tell(figure{What: fmt.Sprintf("one event for %d endpoints", fan), Unit: "ms", Rows: fan, Value: ours}.than(theirs).within(3 * theirs))
	r.tell(figure{What: "its transactions", Unit: "commits", Rows: fan, Value: float64(commits)}.within(1))
	return nil
}

// bareFan gives what inserts an event, a thousand deliveries, their claims and their messages in one transaction, with no rule.
func bareFan(ctx context.Context, g *ground, fan int) (insert func(n int) error, done func() error, err error) {
	hash := func(n, i int) []byte {
		h := sha256.Sum256(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(n)), uint64(i)))
		return h[:]
	}
	if g.conn != nil {
		return func(n int) error {
			hashes := make([][]byte, fan)
			for i := range hashes {
				hashes[i] = hash(n, i)
			}
			_, err := g.conn.Exec(ctx, `WITH e AS (
  INSERT INTO events (project, event_id, type, hash, payload) VALUES (1, $1::text, 'live', $2::bytea, $3::bytea) RETURNING id
), f AS MATERIALIZED (
  SELECT e.id AS event, n AS endpoint, hash, nextval('claim_seq') AS claim, nextval('message_seq') AS message FROM e, unnest($4::bytea[]) WITH ORDINALITY u(hash, n)
), c AS (
  INSERT INTO delivery_claims (id, kind, project, hash, policy, state, max_tries, message_id) SELECT claim, 'd', 1, hash, 'i', 'new', 3, message FROM f
), m AS (
  INSERT INTO messages (id, project, queue, gid, max_receives, vis, expires_at, retention_s, claim_id)
  SELECT message, 1, 1, endpoint, 1000, now(), now() + interval '30 days', 2592000, claim FROM f
)
INSERT INTO deliveries (project, event, endpoint, claim_id, ladder) SELECT 1, event, endpoint, claim, '{60,3600}' FROM f`,
				fmt.Sprint("bare-", n), hash(n, fan), filling, hashes)
			return err
		}, func() error { return nil }, nil
	}
	if err := g.shut(); err != nil {
		return nil, nil, err
	}
	db, err := sql.Open("sqlite", "file:"+g.path+"?_pragma=synchronous(full)&_pragma=cache_size(-8192)&_pragma=temp_store(memory)")
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	stmts := map[string]*sql.Stmt{}
	run := func(text string, args ...any) (err error) {
		if stmts[text] == nil {
			if stmts[text], err = db.Prepare(text); err != nil {
				return err
			}
		}
		_, err = stmts[text].Exec(args...)
		return err
	}
	return func(n int) error {
		if err := run("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		now, event := time.Now().UnixMicro(), int64(n+1)
		if err := run("INSERT INTO events (id, project, event_id, type, hash, created_at, payload) VALUES (?1, 1, 'bare-' || ?1, 'live', ?2, ?3, ?4)", event, hash(n, fan), now, filling); err != nil {
			return err
		}
		for i := range fan {
			id := event*int64(fan) + int64(i)
			if err := errors.Join(
				run(`INSERT INTO claims (id, kind, project, hash, policy, state, max_tries, origin_at, created_at, message_id) VALUES (?1, 'd', 1, ?2, 'i', 'new', 3, ?3, ?3, ?1)`, id, hash(n, i), now),
				run(`INSERT INTO messages (id, project, queue, gid, max_receives, vis, published_at, origin_at, expires_at, retention_s, claim_id)
  VALUES (?1, 1, 1, ?2, 1000, ?3, ?3, ?3, ?3 + 2592000000000, 2592000, ?1)`, id, i+1, now),
				run(`INSERT INTO deliveries (id, project, event, endpoint, claim_id, ladder, created_at) VALUES (?1, 1, ?2, ?3, ?1, '[60,3600]', ?4)`, id, event, i+1, now)); err != nil {
				return err
			}
		}
		return run("COMMIT")
	}, db.Close, nil
}
