package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
)

const callers = 64

// BenchmarkJob is the ledger's cost for a job whose effect costs nothing: one at a time, and from 64 callers at once, whose claims and words share
// commits. Everything is on disk (PostgreSQL with fsync, SQLite with synchronous=FULL) before a job is done.
func BenchmarkJob(b *testing.B) {
	cluster, err := pgtest.Start(b.Context(), pgtest.Options{Fsync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer cluster.Close()
	lite, db := onSQLite(b), openPostgres(b, cluster.URL("postgres"))
	pool, err := pgxpool.New(b.Context(), cluster.URL("postgres"))
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	install(b, base{db, sqldb.Postgres(db), "$1"})
	jobs(b, "sqlite", lite.store, func(ctx context.Context, l *ledger.Ledger, w ledger.Work) error {
		_, err := ledger.Tx(ctx, l, w, func(context.Context, *sql.Tx, ledger.Try) ([]byte, error) { return nil, nil })
		return err
	})
	jobs(b, "pgx", sqldb.Pgx(pool), func(ctx context.Context, l *ledger.Ledger, w ledger.Work) error {
		_, err := ledger.Tx(ctx, l, w, func(context.Context, pgx.Tx, ledger.Try) ([]byte, error) { return nil, nil })
		return err
	})
}

func jobs(b *testing.B, name string, store ledger.Store, tx func(context.Context, *ledger.Ledger, ledger.Work) error) {
	l := open(b, store)
	var keys atomic.Int64
	fresh := func() ledger.Work { return work(fmt.Sprint("job-", keys.Add(1))) }
	same := work("the same")
	nothing := says("", nil)
	for kind, job := range map[string]func(ctx context.Context) error{
		"Do":        func(ctx context.Context) error { _, err := l.Do(ctx, fresh(), nothing); return err },
		"Once":      func(ctx context.Context) error { _, err := l.Once(ctx, fresh(), nothing); return err },
		"Tx":        func(ctx context.Context) error { return tx(ctx, l, fresh()) },
		"duplicate": func(ctx context.Context) error { _, err := l.Do(ctx, same, nothing); return err },
	} {
		if err := job(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/"+kind+"/single", func(b *testing.B) {
			for b.Loop() {
				if err := job(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint(name, "/", kind, "/", callers, " callers"), func(b *testing.B) {
			b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := job(b.Context()); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
