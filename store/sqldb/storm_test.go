package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
)

// Two processes over one database, with batches of the same keys each in another order, transactions of their own over several keys, and sweeps: no call fails, nobody
// waits for ever, and each key takes effect once.
func TestStorm(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "app.db")
		a, b := sqlitetest.OpenFile(t, path), sqlitetest.OpenFile(t, path)
		storm(t, a, insertBy("?"), installed(t, sqldb.SQLite(a)), installed(t, sqldb.SQLite(b)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		a, url := postgres(t)
		b, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		a.SetMaxOpenConns(4)
		b.SetMaxOpenConns(4)
		storm(t, a, insertBy("$1"), installed(t, sqldb.Postgres(a)), installed(t, sqldb.Postgres(b)))
	})
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		db, url := postgres(t)
		url += "&pool_max_conns=4"
		insert := func(ctx context.Context, tx pgx.Tx, key string) error {
			_, err := tx.Exec(ctx, "INSERT INTO effects (key) VALUES ($1)", key)
			return err
		}
		storm(t, db, insert, installed(t, sqldb.Pgx(pool(t, url))), installed(t, sqldb.Pgx(pool(t, url))))
	})
}

func insertBy(mark string) func(context.Context, *sql.Tx, string) error {
	return func(ctx context.Context, tx *sql.Tx, key string) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (key) VALUES ("+mark+")", key)
		return err
	}
}

var errRollBack = errors.New("another has one of the keys")

func storm[T any](t *testing.T, db *sql.DB, insert func(context.Context, T, string) error, stores ...*sqldb.DB[T]) {
	if _, err := db.Exec("CREATE TABLE effects (key text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const keys, workers, rounds = 40, 8, 25
	key := func(i int) string { return fmt.Sprint("k", i) }
	call := func(i int, lease time.Duration) ledger.Call {
		return ledger.Call{
			Project: 1, Scope: "storm", Key: key(i), Policy: ledger.Idempotent, MaxTries: math.MaxInt32,
			Grant: ledger.Grant{GrantID: fmt.Sprint(rand.Int64()), Lease: lease},
		}
	}
	said := func(ctx context.Context, s *sqldb.DB[T], granted []ledger.Answer) error {
		var words []ledger.Word
		for _, a := range granted {
			words = append(words, ledger.Word{Project: 1, Scope: "storm", Key: a.Claim.Key, Fence: a.Claim.Fence, Kind: ledger.Succeeded})
		}
		out, err := s.SettleClaims(ctx, words...)
		for _, o := range out {
			if !o.Applied {
				return errRollBack
			}
		}
		return err
	}
	// act is one thing that a worker does with some keys.
	acts := []func(s *sqldb.DB[T], some []int) error{
		func(s *sqldb.DB[T], some []int) error { // claimed in a batch, completed together with the effects
			calls := make([]ledger.Call, len(some))
			for n, i := range some {
				calls[n] = call(i, 200*time.Millisecond)
			}
			out, err := s.Claim(ctx, calls...)
			if err != nil {
				return err
			}
			return s.InTx(ctx, func(ctx context.Context, tx T) error {
				var granted []ledger.Answer
				for _, a := range out {
					if a.Verdict == ledger.Granted {
						granted = append(granted, a)
						if err := insert(ctx, tx, a.Claim.Key); err != nil {
							return err
						}
					}
				}
				return said(ctx, s, granted)
			})
		},
		func(s *sqldb.DB[T], some []int) error { // several keys one after the other, in any order, in one transaction
			return s.InTx(ctx, func(ctx context.Context, tx T) error {
				for _, i := range some[:3] {
					out, err := s.Claim(ctx, call(i, time.Minute))
					if err != nil || out[0].Verdict != ledger.Granted {
						return err
					}
					if err := insert(ctx, tx, key(i)); err != nil {
						return err
					}
					if err := said(ctx, s, out); err != nil {
						return err
					}
				}
				return nil
			})
		},
		func(s *sqldb.DB[T], some []int) error { // taken, and let go of
			_, err := s.Claim(ctx, call(some[0], 20*time.Millisecond), call(some[1], 20*time.Millisecond))
			return err
		},
		func(s *sqldb.DB[T], _ []int) error {
			_, err := s.ReapClaims(ctx, 5)
			return err
		},
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range rounds {
				some := rand.Perm(keys)[:6]
				if err := acts[rand.IntN(len(acts))](stores[w%len(stores)], some); err != nil && !errors.Is(err, errRollBack) {
					t.Errorf("worker %d: %v", w, err)
				}
			}
		})
	}
	wg.Wait()
	l, err := ledger.NewLedger(ledger.Config{Store: stores[0], Scope: "storm"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range keys {
		for {
			_, err := ledger.Tx(ctx, l, ledger.Work{Key: key(i)}, func(ctx context.Context, tx T, y ledger.Try) ([]byte, error) { return nil, insert(ctx, tx, y.Key) })
			if err == nil {
				break
			}
			if !errors.Is(err, ledger.ErrBusy) || ctx.Err() != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	var effects, of int
	if err := db.QueryRow("SELECT count(*), count(DISTINCT key) FROM effects").Scan(&effects, &of); err != nil {
		t.Fatal(err)
	}
	if effects != keys || of != keys {
		t.Errorf("%d effects of %d of %d keys", effects, of, keys)
	}
}
