package postgres

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// caller gives connections to a store's database as a program of the caller's own has them.
func caller(t testing.TB, url string, size int32) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = size
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// begun gives an open transaction of a caller.
func begun(t testing.TB, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(context.Background()) })
	return tx
}

func publishTx(t testing.TB, tx pgx.Tx, p queue.Publish) queue.Published {
	t.Helper()
	if p.Body == nil {
		p.Body = []byte(`{}`)
	}
	out, err := queue.PublishTx(t.Context(), Tx(tx), p)
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	return out[0]
}

func sendTx(t testing.TB, tx pgx.Tx, id string) webhook.Sent {
	t.Helper()
	out, err := webhook.SendTx(t.Context(), Tx(tx), webhook.NewEvent{EventID: id, Type: "a.b", Payload: []byte(`{"n":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	if out[0].Err != nil {
		t.Fatal(out[0].Err)
	}
	return out[0]
}

func commit(t testing.TB, tx pgx.Tx) {
	t.Helper()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// impatient opens a server that gives up a wait for any lock at once, so that what would wait fails.
func impatient(t testing.TB, at string) *DB {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("lock_timeout", "1s")
	u.RawQuery = q.Encode()
	return openAt(t, u.String())
}

// A caller's transaction that has published and sent, and stays open: nothing that servers do with the same queue, groups and endpoints waits for it.
func TestOpenTransactionHoldsUpNobody(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t)
	db, ctx := impatient(t, at), t.Context()
	make1(t, db, "jobs")
	hook(t, db)
	publish(t, db, queue.Publish{Queue: "jobs", Group: "old"})
	ack(t, db, receive(t, db, "jobs", 10))
	tx := begun(t, caller(t, at, 1))
	for _, group := range []string{"", "old", "new"} {
		publishTx(t, tx, queue.Publish{Queue: "jobs", Group: group, Key: "key of " + group})
	}
	sendTx(t, tx, "theirs")

	for _, group := range []string{"", "old", "new", "other"} {
		publish(t, db, queue.Publish{Queue: "jobs", Group: group, Key: "another of " + group, Hash: make([]byte, 32)})
	}
	got := receive(t, db, "jobs", 10)
	if len(got) != 4 {
		t.Fatalf("received %d messages beside the open transaction, want 4", len(got))
	}
	ack(t, db, got)
	sendTo(t, db, 1)
	settle(t, db, takeOne(t, db), ledger.Succeeded, webhook.WasDelivered)
	sendTo(t, db, 2)
	if _, err := db.SettleDeliveries(ctx, webhook.Outcome{Job: takeOne(t, db), Kind: ledger.Permanent, Result: webhook.Refused, Status: 410, Disable: "410"}); err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"update": func() error {
			_, err := db.UpdateQueue(ctx, queue.Spec{Project: 1, Name: "jobs", MaxReceives: new(9)})
			return err
		},
		"pause": func() error { _, err := db.PauseQueue(ctx, 1, "jobs", false); return err },
		"purge": func() error { _, err := db.PurgeQueue(ctx, 1, "jobs"); return err },
		"endpoint": func() error {
			_, err := db.UpdateEndpoint(ctx, 1, query[int64](t, db, "SELECT id FROM endpoints"), func(_ time.Time, e *webhook.Endpoint) error {
				e.Disabled, e.MaxInFlight = false, 7
				return nil
			})
			return err
		},
		"sweep": func() error { _, err := db.Sweep(ctx, 100); return err },
		"stats": func() error { _, err := db.QueueStats(ctx, 1, "jobs"); return err },
	} {
		if err := do(); err != nil {
			t.Errorf("%s beside the open transaction: %v", what, err)
		}
	}
	commit(t, tx)
	if got := receive(t, db, "jobs", 10); len(got) != 3 {
		t.Errorf("received %d messages after the commit, want its 3", len(got))
	}
	if j := takeOne(t, db); j.EventID != "theirs" {
		t.Errorf("took the delivery of %q", j.EventID)
	}
	noGroupWrong(t, db)
}

// What was published and sent in a transaction that rolls back, or whose program dies, never was, and its keys are free.
func TestRollbackLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, db *DB, tx pgx.Tx){
		"rollback": func(t *testing.T, _ *DB, tx pgx.Tx) {
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"death": func(t *testing.T, db *DB, tx pgx.Tx) {
			exec(t, db, "SELECT pg_terminate_backend($1)", tx.Conn().PgConn().PID())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := pgtest.Database(t)
			db := openAt(t, at)
			make1(t, db, "jobs")
			hook(t, db)
			const all = "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM bodies) + (SELECT count(*) FROM publish_keys) + (SELECT count(*) FROM wakes) + (SELECT count(*) FROM count_deltas) + (SELECT count(*) FROM events) + (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM claims)"
			before := count(t, db, all)
			tx := begun(t, caller(t, at, 1))
			p := queue.Publish{Project: 1, Queue: "jobs", Group: "g", Key: "k", Body: []byte(`1`)}
			first := publishTx(t, tx, p)
			sendTx(t, tx, "theirs")
			end(t, db, tx)
			eventually(t, "its end", func() bool { return count(t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0 })
			if n := count(t, db, all); n != before {
				t.Errorf("%d rows, %d before", n, before)
			}
			p.Hash = make([]byte, 32)
			if again := publish(t, db, p)[0]; again.Replay || again.ID == first.ID {
				t.Errorf("the key is not free: %+v", again)
			}
		})
	}
}

// A consumer that waits finds what a transaction committed, grouped or not, though nobody told it.
func TestCommitWakesWaiting(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t)
	db := openAt(t, at)
	make1(t, db, "jobs")
	pool := caller(t, at, 1)
	for _, group := range []string{"", "g", "g"} {
		tx := begun(t, pool)
		id := publishTx(t, tx, queue.Publish{Queue: "jobs", Group: group}).ID
		got := make(chan int64)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			defer close(got)
			for ctx.Err() == nil {
				if m, err := db.Receive(ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 1}); err == nil && len(m) == 1 {
					got <- m[0].ID
					return
				}
				db.WaitMessages(ctx, queue.Receive{Project: 1, Queue: "jobs"})
			}
		}()
		eventually(t, "a consumer that waits", func() bool {
			db.hub.mu.Lock()
			defer db.hub.mu.Unlock()
			for _, w := range db.hub.queues {
				if len(w.line) > 0 {
					return true
				}
			}
			return false
		})
		commit(t, tx)
		if m := <-got; m != id {
			t.Fatalf("group %q: received %d, want %d", group, m, id)
		}
	}
}

// A group may be swept, a queue deleted and an endpoint too while a transaction is open that has work for them.
func TestGroundMovesUnderTransaction(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t)
	db, ctx := openAt(t, at), t.Context()
	make1(t, db, "jobs")
	e := hook(t, db)
	publish(t, db, queue.Publish{Queue: "jobs", Group: "g"})
	ack(t, db, receive(t, db, "jobs", 1))
	tx := begun(t, caller(t, at, 1))
	id := publishTx(t, tx, queue.Publish{Queue: "jobs", Group: "g"}).ID
	sendTx(t, tx, "theirs")
	sweepAll(t, db, 100)
	eventually(t, "the sweep of the group", func() bool {
		db.sweeps.groups.rest = time.Time{}
		sweepAll(t, db, 100)
		return count(t, db, "SELECT count(*) FROM groups WHERE queue <> 1") == 0
	})
	if err := db.DeleteQueue(ctx, 1, "jobs", true); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("delete of the queue: %v, want %s", err, fault.Unavailable)
	}
	if err := db.DeleteEndpoint(ctx, 1, e.ID); err != nil {
		t.Errorf("delete of the endpoint: %v", err)
	}
	commit(t, tx)
	if got := receive(t, db, "jobs", 10); len(got) != 1 || got[0].ID != id || got[0].Group != "g" {
		t.Errorf("received %+v, want %d of group g", got, id)
	}
	sweepAll(t, db, 100)
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE cancelled_at IS NOT NULL"); n != 1 {
		t.Errorf("the delivery to the endpoint that was deleted meanwhile is not cancelled")
	}
	if n := count(t, db, "SELECT count(*) FROM messages WHERE queue = 1"); n != 0 {
		t.Errorf("%d messages wait for the deleted endpoint", n)
	}
	if err := db.DeleteQueue(ctx, 1, "jobs", true); err != nil {
		t.Error(err)
	}
	noGroupWrong(t, db)
}

// The caller's own tables are in another schema, its role has none of the store's, and its driver is database/sql.
func TestCallerWithoutRights(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t)
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", "onceward")
	u.RawQuery = q.Encode()
	db := openAt(t, at)
	exec(t, db, "DROP SCHEMA public CASCADE")
	exec(t, db, "CREATE SCHEMA app")
	exec(t, db, "CREATE TABLE app.queues (mine int)")
	exec(t, db, "CREATE ROLE app_"+db.hub.self+" LOGIN")
	store := openAt(t, u.String())
	make1(t, store, "jobs")
	hook(t, store)
	exec(t, db, "GRANT USAGE ON SCHEMA onceward, app TO app_"+db.hub.self)
	defer exec(t, db, "DROP ROLE app_"+db.hub.self)
	defer exec(t, db, "DROP OWNED BY app_"+db.hub.self)

	pool, err := sql.Open("pgx", at)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	inTx := func(do func(tx *sql.Tx) error) error {
		tx, err := pool.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec("SET LOCAL search_path = app; SET LOCAL ROLE app_" + db.hub.self); err != nil {
			t.Fatal(err)
		}
		if err := do(tx); err != nil {
			return err
		}
		return tx.Commit()
	}
	work := func(tx *sql.Tx) error {
		out, err := queue.PublishTx(t.Context(), SQLTx(tx).In("onceward"), queue.Publish{Queue: "jobs", Body: []byte(`1`), Group: "g", Headers: map[string]string{"a": "b"}, Key: "k"})
		if err = errors.Join(err, errOf(out)); err != nil {
			return err
		}
		sent, err := webhook.SendTx(t.Context(), SQLTx(tx).In("onceward"), webhook.NewEvent{Type: "a.b", Payload: []byte(`1`), Endpoints: []int64{query[int64](t, store, "SELECT id FROM endpoints")}})
		if err != nil {
			return err
		}
		return sent[0].Err
	}
	if err := inTx(work); err == nil {
		t.Error("a role that was granted nothing published")
	}
	exec(t, store, "GRANT EXECUTE ON FUNCTION onceward_tx_publish, onceward_tx_send TO app_"+db.hub.self)
	if err := inTx(work); err != nil {
		t.Fatal(err)
	}
	if err := inTx(func(tx *sql.Tx) error { _, err := tx.Exec("SELECT * FROM onceward.messages"); return err }); err == nil {
		t.Error("the role reads the store's tables")
	}
	if got := receive(t, store, "jobs", 10); len(got) != 1 || got[0].Headers["a"] != "b" {
		t.Errorf("received %+v", got)
	}
	takeOne(t, store)
	err = inTx(func(tx *sql.Tx) error {
		_, err := queue.PublishTx(t.Context(), SQLTx(tx), queue.Publish{Queue: "jobs", Body: []byte(`1`)})
		return err
	})
	if err == nil || !errors.As(err, new(interface{ SQLState() string })) {
		t.Errorf("where there is no store: %v", err)
	}
}
