package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
)

func TestTx(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t, func(c *ledger.Config) { c.MaxTries = 2 })
		insert := func(ctx context.Context, tx *sql.Tx, y ledger.Try) ([]byte, error) {
			return []byte("row of " + y.Key), b.insert(ctx, tx, y.Key)
		}
		for range 2 {
			o, err := ledger.Tx(t.Context(), l, work("k"), insert)
			if err != nil || string(o.Result) != "row of k" {
				t.Errorf("%v, %+v", err, o)
			}
		}
		check(t, "effects", b.effects(t), 1)

		boom := errors.New("boom")
		half := func(ctx context.Context, tx *sql.Tx, y ledger.Try) ([]byte, error) {
			if err := b.insert(ctx, tx, y.Key); err != nil {
				return nil, err
			}
			return nil, boom
		}
		for try, want := range []ledger.State{ledger.Retry, ledger.Failed, ledger.Failed} {
			o, err := ledger.Tx(t.Context(), l, work("half"), half)
			if o.State != want || err == nil || try < 2 && !errors.Is(err, boom) {
				t.Errorf("try %d of what fails half way: %s, %v", try+1, o.State, err)
			}
			time.Sleep(time.Millisecond)
		}
		check(t, "effects of what was undone", b.effects(t), 1)
		if d := func() ledger.Disposition {
			o, _ := ledger.Tx(t.Context(), l, work("half"), half)
			return o.Disposition()
		}(); d.Action != ledger.DeadLetter {
			t.Errorf("its message: %s", d.Action)
		}

		panics := func(ctx context.Context, tx *sql.Tx, y ledger.Try) ([]byte, error) {
			if err := b.insert(ctx, tx, y.Key); err != nil {
				return nil, err
			}
			panic("oh")
		}
		o, err := ledger.Tx(t.Context(), l, work("panics"), panics)
		if p, ok := errors.AsType[*ledger.PanicError](err); !ok || p.Value != "oh" || o.State != ledger.Retry || !strings.Contains(string(p.Stack), "TestTx") {
			t.Errorf("one that panics: %v, %s", err, o.State)
		}
		check(t, "effects of one that panicked", b.effects(t), 1)
		if c, _, err := l.Find(t.Context(), "panics"); err != nil || c.Ambiguous {
			t.Errorf("undone, and yet nobody knows: %v", err)
		}
	})
}

// A key of policy once that is done in a transaction is never one that nobody can know of.
func TestTxOfOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		if o, _ := l.Once(t.Context(), work("k"), says("", ledger.NotDone(errors.New("later")))); o.State != ledger.Retry {
			t.Fatal(o.State)
		}
		time.Sleep(time.Millisecond)
		_, err := ledger.Tx(t.Context(), l, work("k"), func(ctx context.Context, tx *sql.Tx, y ledger.Try) ([]byte, error) {
			return nil, b.insert(ctx, tx, y.Key)
		})
		if err != nil || b.effects(t) != 1 {
			t.Errorf("%v, %d effects", err, b.effects(t))
		}
	})
}

// A transaction of the caller's own: what it completes is kept or undone with it, and one whose key another has is told so.
func TestJoin(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		claim := func(grant string) ledger.Claim {
			t.Helper()
			out, err := b.store.Claim(t.Context(), ledger.Call{
				Project: 1, Scope: "mail", Key: "k", Policy: ledger.Idempotent, MaxTries: 9,
				Grant: ledger.Grant{GrantID: grant, Lease: 50 * time.Millisecond},
			})
			if err != nil || out[0].Verdict != ledger.Granted {
				t.Fatalf("%v, %s", err, out[0].Verdict)
			}
			return out[0].Claim
		}
		finish := func(fence int64, end func(*sql.Tx) error) bool {
			t.Helper()
			tx, err := b.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if err := b.insert(t.Context(), tx, "k"); err != nil {
				t.Fatal(err)
			}
			out, err := b.store.SettleClaims(b.store.Join(t.Context(), tx), ledger.Word{Project: 1, Scope: "mail", Key: "k", Fence: fence, Kind: ledger.Succeeded})
			if err != nil {
				t.Fatal(err)
			}
			if out[0].Applied {
				if err := end(tx); err != nil {
					t.Fatal(err)
				}
			}
			return out[0].Applied
		}
		first := claim("a")
		check(t, "said", finish(first.Fence, (*sql.Tx).Rollback), true)
		if c, _, err := l.Find(t.Context(), "k"); err != nil || c.State != ledger.Started {
			t.Errorf("rolled back: %s, %v", c.State, err)
		}
		b.past(t, first.LeaseUntil)
		second := claim("b")
		check(t, "said by the fenced-out", finish(first.Fence, (*sql.Tx).Commit), false)
		check(t, "said by the holder", finish(second.Fence, (*sql.Tx).Commit), true)
		check(t, "effects", b.effects(t), 1)
		if c, _, err := l.Find(t.Context(), "k"); err != nil || c.State != ledger.Done {
			t.Errorf("committed: %s, %v", c.State, err)
		}
	})
}

// 64 callers with one key on a pool of 4 connections: no deadlock, one effect; and one key of two tenants is two.
func TestCrowd(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		b.db.SetMaxOpenConns(4)
		l := b.ledger(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		crowd := func(name string, call func(l *ledger.Ledger) (ledger.Outcome, error)) {
			var wg sync.WaitGroup
			for i := range 64 {
				wg.Go(func() {
					tenant := l.In(int64(1+i%2), "mail")
					for {
						o, err := call(tenant)
						if err == nil {
							return
						}
						if !errors.Is(err, ledger.ErrBusy) || ctx.Err() != nil {
							t.Errorf("%s: %v, %s", name, err, o.State)
							return
						}
						time.Sleep(5 * time.Millisecond)
					}
				})
			}
			wg.Wait()
		}
		crowd("Tx", func(l *ledger.Ledger) (ledger.Outcome, error) {
			return ledger.Tx(ctx, l, work("tx"), func(ctx context.Context, tx *sql.Tx, y ledger.Try) ([]byte, error) {
				time.Sleep(20 * time.Millisecond)
				return nil, b.insert(ctx, tx, y.Key)
			})
		})
		check(t, "effects of Tx, one for each tenant", b.effects(t), 2)
		crowd("Do", func(l *ledger.Ledger) (ledger.Outcome, error) {
			return l.Do(ctx, work("do"), func(ctx context.Context, y ledger.Try) ([]byte, error) {
				tx, err := b.db.BeginTx(ctx, nil)
				if err != nil {
					return nil, err
				}
				defer tx.Rollback()
				if err := b.insert(ctx, tx, y.Key); err != nil {
					return nil, err
				}
				return nil, tx.Commit()
			})
		})
		check(t, "and of Do", b.effects(t), 4)
		crowd("Once", func(l *ledger.Ledger) (ledger.Outcome, error) { return l.Once(ctx, work("once"), says("", nil)) })
	})
}

// A long transaction on one key holds up nobody who wants another, nor those who share a commit.
func TestLongTransactionHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	l := b.ledger(t)
	_, err := ledger.Tx(t.Context(), l, work("long"), func(ctx context.Context, tx *sql.Tx, y ledger.Try) ([]byte, error) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if _, err := l.Do(t.Context(), work(key(t, i)), says("", nil)); err != nil {
					t.Errorf("another key: %v", err)
				}
			})
			wg.Go(func() {
				if o, err := l.Do(t.Context(), work("long"), never(t)); !errors.Is(err, ledger.ErrBusy) {
					t.Errorf("the same key is not busy: %q", o.Verdict)
				}
			})
		}
		wg.Wait()
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// What the database undid for the sake of another is run again, and is no try that failed.
func TestTxRunAgain(t *testing.T) {
	t.Parallel()
	b := onPostgres(t)
	l := b.ledger(t, func(c *ledger.Config) { c.MaxTries = 1 })
	for _, code := range []string{"40001", "40P01"} {
		runs := 0
		o, err := ledger.Tx(t.Context(), l, work(code), func(ctx context.Context, tx *sql.Tx, y ledger.Try) ([]byte, error) {
			if err := b.insert(ctx, tx, y.Key); err != nil {
				return nil, err
			}
			if runs++; runs == 1 {
				_, err := tx.ExecContext(ctx, "DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '"+code+"'; END $$")
				return nil, fmt.Errorf("the effect: %w", err)
			}
			return nil, nil
		})
		if err != nil || runs != 2 || o.Claim.Attempt != 1 {
			t.Errorf("%s: %v after %d runs, attempt %d", code, err, runs, o.Claim.Attempt)
		}
	}
	check(t, "effects", b.effects(t), 2)
}

// An effect outside of a transaction is refused within it: a rollback would leave it made, and its key free for a second.
func TestEffectWithinTransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		_, err := ledger.Tx(t.Context(), l, work("k"), func(ctx context.Context, tx *sql.Tx, _ ledger.Try) ([]byte, error) {
			for what, do := range map[string]func(context.Context, ledger.Work, ledger.Effect) (ledger.Outcome, error){"Do": l.Do, "Once": l.Once} {
				if o, err := do(ctx, work("mail"), never(t)); err == nil || o.Disposition().Action != ledger.Release {
					t.Errorf("%s: %v, %s", what, err, o.Disposition().Action)
				}
			}
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
