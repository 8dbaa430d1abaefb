package sqldb_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
)

// A pool as a team may have it: without prepared statements (a pooler stands between), stricter than READ COMMITTED, with one connection.
func TestModes(t *testing.T) {
	t.Parallel()
	for isolation, mode := range map[string]pgx.QueryExecMode{"serializable": pgx.QueryExecModeSimpleProtocol, "repeatable read": pgx.QueryExecModeExec} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			_, url := postgres(t)
			c, err := pgxpool.ParseConfig(url)
			if err != nil {
				t.Fatal(err)
			}
			c.MaxConns, c.ConnConfig.DefaultQueryExecMode = 1, mode
			c.ConnConfig.RuntimeParams["default_transaction_isolation"] = isolation
			p, err := pgxpool.NewWithConfig(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			s := installed(t, sqldb.Pgx(p))
			say(t, s, ask(t, s))
			if a := ask(t, s); a.Verdict != ledger.WasDone || string(a.Claim.Result) != "the answer" {
				t.Errorf("%s, %q", a.Verdict, a.Claim.Result)
			}
			_, reaped := s.ReapClaims(t.Context(), 10)
			_, forgot := s.ForgetClaims(t.Context(), 10)
			_, _, found := s.FindClaim(t.Context(), 1, "request", "k")
			if err := errors.Join(reaped, forgot, found); err != nil {
				t.Error(err)
			}
			l, err := ledger.NewLedger(ledger.Config{Store: s, Scope: "crowd"})
			if err != nil {
				t.Fatal(err)
			}
			effects := 0
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					_, err := ledger.Tx(t.Context(), l, ledger.Work{Key: "k"}, func(context.Context, pgx.Tx, ledger.Try) ([]byte, error) {
						effects++
						return nil, nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if effects != 1 {
				t.Errorf("%d effects", effects)
			}
		})
	}
}
