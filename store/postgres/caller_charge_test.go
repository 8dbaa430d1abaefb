package postgres

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

const callersPrice = account.USD(7)

// pricedStore is one whose callers publish at callersPrice to a queue that a project with room for so many messages has.
func pricedStore(t *testing.T, room int64) (db *DB, at string) {
	t.Helper()
	at = pgtest.Database(t)
	db = openAt(t, at)
	make1(t, db, "jobs")
	if _, err := db.LimitCredit(t.Context(), 1, new(account.USD(room)*callersPrice)); err != nil {
		t.Fatal(err)
	}
	if err := db.SetPrice(t.Context(), callersPrice); err != nil {
		t.Fatal(err)
	}
	return db, at
}

// one publishes a message in a transaction, and reports whether the limit let it.
func one(t testing.TB, tx pgx.Tx, p queue.Publish) bool {
	t.Helper()
	p.Queue, p.Body = "jobs", []byte(`1`)
	out, err := queue.PublishTx(t.Context(), Tx(tx), p)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case out[0].Err != nil && !errors.Is(out[0].Err, account.ErrInsufficient):
		t.Fatal(out[0].Err)
	case out[0].Err != nil && out[0].Cost != 0, out[0].Err == nil && out[0].Cost != callersPrice:
		t.Errorf("%+v", out[0])
	}
	return out[0].Err == nil
}

func wantSpent(t testing.TB, db *DB, messages int64) {
	t.Helper()
	if b, err := db.Balance(t.Context(), 1); err != nil || b.Spent != account.USD(messages)*callersPrice {
		t.Errorf("spent %v, %v; want that of %d messages", b.Spent, err, messages)
	}
}

// What an open transaction has published is held of the limit, by whoever publishes beside it, and is free again with its rollback or that of its savepoint. Nobody waits for it.
func TestOpenTransactionHoldsItsCredit(t *testing.T) {
	t.Parallel()
	db, at := pricedStore(t, 4)
	server := impatient(t, at)
	pool := caller(t, at, 2)
	a, b := begun(t, pool), begun(t, pool)
	for range 2 {
		if !one(t, a, queue.Publish{}) {
			t.Fatal("refused within the limit")
		}
	}
	if !one(t, b, queue.Publish{}) {
		t.Fatal("refused within the limit")
	}
	items := []queue.Publish{{Project: 1, Queue: "jobs", Body: []byte(`1`), Price: callersPrice}, {Project: 1, Queue: "jobs", Body: []byte(`1`), Price: callersPrice}}
	if out, err := server.Publish(t.Context(), items...); err != nil || out[0].Err != nil || !errors.Is(out[1].Err, account.ErrInsufficient) {
		t.Fatalf("a server beside 3 of 4 that open transactions hold: %+v, %v", out, err)
	}
	wantSpent(t, db, 1) // what is open is not spent
	if one(t, a, queue.Publish{Key: "k"}) || one(t, b, queue.Publish{}) {
		t.Error("beyond the limit")
	}
	sp, err := a.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the rollback's credit is free", func() bool { return one(t, sp, queue.Publish{Key: "k"}) })
	if err := sp.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := server.Publish(t.Context(), items[0]); err != nil || out[0].Err != nil {
		t.Errorf("after the savepoint's rollback: %+v, %v", out, err)
	}
	commit(t, a)
	wantSpent(t, db, 4)
	if n := count(t, db, "SELECT count(*) FROM messages"); n != 4 {
		t.Errorf("%d messages", n)
	}
	exec(t, db, strings.NewReplacer("LIMIT $1", "LIMIT 100", "$2", "0").Replace(usageFoldSQL))
	wantSpent(t, db, 4)
	if n := count(t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); n != 0 {
		t.Errorf("%d advisory locks are held by nobody's transaction", n)
	}
}

// A transaction of thousands of messages holds few locks, and is let spend its limit but for an eighth at most.
func TestLongTransactionHoldsFewLocks(t *testing.T) {
	t.Parallel()
	const room = 2000
	db, at := pricedStore(t, room)
	tx := begun(t, caller(t, at, 1))
	n := int64(0)
	for one(t, tx, queue.Publish{}) {
		n++
	}
	if n > room || n < room*7/8 {
		t.Errorf("%d messages at a limit of %d", n, room)
	}
	if locks := count(t, db, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); locks > 100 {
		t.Errorf("the transaction holds %d locks", locks)
	}
	commit(t, tx)
	wantSpent(t, db, n)
}

// Callers and servers at once, transactions that are rolled back among them, and the deltas folded beside them: the limit is overrun by no more than what one commit of a server stores.
func TestLimitOverCallersAndServers(t *testing.T) {
	t.Parallel()
	const room = 300
	db, at := pricedStore(t, room)
	servers := []*DB{db, openAt(t, at)}
	pool := caller(t, at, 6)
	var kept atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(20 * time.Second)
	for w := range 6 {
		all.Go(func() {
			for i := 0; kept.Load() < room && time.Now().Before(end); i++ {
				tx, err := pool.Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				n := int64(0)
				for range 1 + (i+w)%5 {
					if one(t, tx, queue.Publish{}) {
						n++
					}
				}
				if i%4 == 3 {
					_ = tx.Rollback(t.Context())
					continue
				}
				if err := tx.Commit(t.Context()); err != nil {
					t.Error(err)
					return
				}
				kept.Add(n)
			}
		})
	}
	for _, s := range servers {
		all.Go(func() {
			for kept.Load() < room && time.Now().Before(end) {
				out, err := s.Publish(t.Context(), queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Price: callersPrice})
				if err != nil {
					t.Error(err)
					return
				}
				if out[0].Err == nil {
					kept.Add(1)
				}
				if _, err := db.pool.Exec(t.Context(), usageFoldSQL, 3, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	there := count(t, db, "SELECT count(*) FROM messages")
	if there < room || there > room+len(servers) {
		t.Errorf("%d messages at a limit of %d", there, room)
	}
	wantSpent(t, db, int64(there))
}

// The price of a caller's publish is that of the server that started last; one of nothing meters nothing. What is refused by the SQL function says so by its SQLSTATE.
func TestPriceStandsInTheStore(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	make1(t, db, "jobs")
	exec(t, db, "SELECT onceward_publish('jobs', '1')")
	wantSpent(t, db, 0)
	if err := db.SetPrice(t.Context(), 20_000); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "SELECT onceward_publish('jobs', '1')")
	if err := openAt(t, at).SetPrice(t.Context(), callersPrice); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "SELECT onceward_publish('jobs', '1')")
	if b, err := db.Balance(t.Context(), 1); err != nil || b.Spent != 20_000+callersPrice {
		t.Errorf("spent %v, %v", b.Spent, err)
	}
	if _, err := db.LimitCredit(t.Context(), 1, new(account.USD(0))); err != nil {
		t.Fatal(err)
	}
	_, err := db.pool.Exec(t.Context(), "SELECT onceward_publish('jobs', '1')")
	if sqlState(err) != "OW402" {
		t.Fatalf("%v, want OW402", err)
	}
	if want := account.Insufficient(callersPrice); saidBySQL(err).Error() != want.Error() || fault.CodeOf(saidBySQL(err)) != want.Code {
		t.Errorf("%v in SQL, %v in Go", saidBySQL(err), want)
	}
}
