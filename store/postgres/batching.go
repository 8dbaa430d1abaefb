package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward/internal/batch"
)

// through puts items through lane, where they share commits with those of other calls, or does them at once in the
// transaction that ctx carries. give gets each one's result or error. When all failed for one reason, that is the call's.
func through[In, Out any](ctx context.Context, db *DB, op string, lane *batch.Batcher[In, Out], do func(context.Context, []In) ([]Out, error), items []In, give func(i int, out Out, err error)) error {
	if len(items) == 0 {
		return nil
	}
	defer db.observe(op, len(items), time.Now())
	if db.carried(ctx) != nil {
		var out []Out
		err := db.in(ctx, func(ctx context.Context, _ *txn) (err error) {
			out, err = do(ctx, items)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
		for i := range items {
			give(i, out[i], nil)
		}
		return nil
	}
	results, err := lane.Do(ctx, items...)
	if err != nil {
		return fmt.Errorf("%s: %w", op, db.fault(ctx, err))
	}
	all := results[0].Err
	for i, r := range results {
		if r.Err != all {
			all = nil
		}
		give(i, r.Value, db.fault(ctx, r.Err))
	}
	if all != nil && all != errHeld {
		return fmt.Errorf("%s: %w", op, db.fault(ctx, all))
	}
	return nil
}

func results[Out any](out []Out) []batch.Result[Out] {
	return column(out, func(o Out) batch.Result[Out] { return batch.Result[Out]{Value: o} })
}

// observe tells of an operation that began at start.
func (db *DB) observe(op string, items int, start time.Time) {
	db.opts.Observe(op, items, time.Since(start))
}

// afterCommit has f called when what was done with ctx is committed: at once where ctx carries no transaction.
func (db *DB) afterCommit(ctx context.Context, f func()) {
	if tx := db.carried(ctx); tx != nil {
		tx.afterCommit(f)
		return
	}
	f()
}
