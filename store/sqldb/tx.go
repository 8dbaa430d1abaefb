package sqldb

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/onceward/onceward/internal/batch"
)

// txn is a transaction as the ledger uses it.
type txn struct {
	conn
	lane bool      // of calls that share it: none may be held up for long by one key that somebody else has locked
	now  time.Time // the database's
}

// waits is how long a statement waits for what somebody else has locked, in PostgreSQL's words: "" as the session has it.
func (t *txn) waits() string {
	if t.lane {
		return lockWait
	}
	return ""
}

type txKey struct{ db any }

// carried gives the transaction that ctx carries, or nil.
func (d *DB[T]) carried(ctx context.Context) *txn {
	t, _ := ctx.Value(txKey{d}).(*txn)
	return t
}

// Join lets calls with the context it gives be part of tx: see [ledger.TxStore]. On SQLite tx must not have read before it writes, unless it was
// begun IMMEDIATE: SQLite refuses to let a reader become a writer behind another's back.
func (d *DB[T]) Join(ctx context.Context, tx T) context.Context {
	return context.WithValue(ctx, txKey{d}, &txn{conn: d.engine.conn(tx)})
}

// Carries reports whether ctx carries a transaction of d's: one of InTx, or one that was joined.
func (d *DB[T]) Carries(ctx context.Context) bool { return d.carried(ctx) != nil }

// InTx runs f in a transaction: see [ledger.TxStore]. It does not begin one within another.
func (d *DB[T]) InTx(ctx context.Context, f func(ctx context.Context, tx T) error) error {
	if d.carried(ctx) != nil {
		return errNested
	}
	return d.fault(ctx, d.in(ctx, false, f))
}

// within runs f in the transaction that ctx carries, else in one of its own.
func (d *DB[T]) within(ctx context.Context, f func(ctx context.Context, t *txn) error) error {
	if t := d.carried(ctx); t != nil {
		return d.fault(ctx, f(ctx, t))
	}
	return d.fault(ctx, d.in(ctx, false, func(ctx context.Context, _ T) error { return f(ctx, d.carried(ctx)) }))
}

// lockWait is how long calls that share a transaction wait for a key that somebody else has locked, in PostgreSQL's words.
const lockWait = "500ms"

const maxTries = 6

// in runs f in a transaction of its own, which will write.
func (d *DB[T]) in(ctx context.Context, lane bool, f func(ctx context.Context, tx T) error) error {
	return d.repeat(ctx, lane, func(ctx context.Context, tx T) error {
		if d.sql.write != "" {
			if _, err := d.carried(ctx).exec(ctx, d.sql.write); err != nil {
				return err
			}
		}
		return f(ctx, tx)
	})
}

// repeat runs f in a transaction, again from the start if the database undid it for the sake of another.
func (d *DB[T]) repeat(ctx context.Context, lane bool, f func(ctx context.Context, tx T) error) error {
	for try := 1; ; try++ {
		err := d.try(ctx, lane, f)
		if err == nil || try == maxTries || !again(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(1<<try)*time.Millisecond + rand.N(time.Duration(1<<try)*time.Millisecond)):
		}
	}
}

var errNested = errors.New("a transaction of the ledger within another: use the one that the context carries")

func (d *DB[T]) try(ctx context.Context, lane bool, f func(ctx context.Context, tx T) error) error {
	tx, err := d.engine.begin(ctx)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended {
			d.engine.rollback(ctx, tx)
		}
	}()
	t := &txn{conn: d.engine.conn(tx), lane: lane}
	if err := f(context.WithValue(ctx, txKey{d}, t), tx); err != nil {
		return err
	}
	ended = true
	if err := d.engine.commit(ctx, tx); err != nil {
		return &commitError{err}
	}
	return nil
}

// commit makes a lane's commit of do: one transaction for all.
func commit[T, In, Out any](d *DB[T], do func(context.Context, *txn, []In) ([]Out, error)) func(context.Context, []In) ([]batch.Result[Out], error) {
	return func(ctx context.Context, items []In) ([]batch.Result[Out], error) {
		var out []Out
		err := d.in(ctx, true, func(ctx context.Context, _ T) (err error) {
			out, err = do(ctx, d.carried(ctx), items)
			return err
		})
		if err != nil {
			return nil, err
		}
		results := make([]batch.Result[Out], len(out))
		for i, o := range out {
			results[i].Value = o
		}
		return results, nil
	}
}

// through puts items through lane, where they share transactions with those of other calls, or does them in the transaction that
// ctx carries. An error of one is that of the call: those of its items that were committed are found so when it is made again.
func through[T, In, Out any](ctx context.Context, d *DB[T], lane *batch.Batcher[In, Out], do func(context.Context, *txn, []In) ([]Out, error), items []In) ([]Out, error) {
	if t := d.carried(ctx); t != nil {
		out, err := do(ctx, t, items)
		return out, d.fault(ctx, err)
	}
	results, err := lane.Do(ctx, items...)
	if err != nil {
		return nil, d.fault(ctx, err)
	}
	out := make([]Out, len(results))
	for i, r := range results {
		if r.Err != nil {
			return nil, d.fault(ctx, r.Err)
		}
		out[i] = r.Value
	}
	return out, nil
}
