package postgres

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// txn is a transaction: the connection it is on, and the database's time at its start, at which every rule is applied.
type txn struct {
	*pgx.Conn
	now   time.Time
	after []func() // what is done once it is committed: wake-ups
	ticks *groupTicks

	flushCommits bool // changes.flush is the last of it, and commits in the same round trip
	committed    bool

	over atomic.Bool // its connection may be another's by now
}

// afterCommit has f called once the transaction is committed.
func (tx *txn) afterCommit(f func()) { tx.after = append(tx.after, f) }

type txKey struct{ db *DB }

// carried gives the transaction that ctx carries, or nil.
func (db *DB) carried(ctx context.Context) *txn {
	tx, _ := ctx.Value(txKey{db}).(*txn)
	return tx
}

// querier is what a single statement needs.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// conn gives the connection of the transaction that ctx carries, else the pool. A call inside a transaction that took a
// second connection could wait for itself.
func (db *DB) conn(ctx context.Context) querier {
	switch tx := db.carried(ctx); {
	case tx == nil:
		return db.pool
	case tx.over.Load():
		return nobody{}
	default:
		return tx
	}
}

// errAgain asks for the transaction to be run again: what it needed to lock was not what it had read.
var errAgain = errors.New("a row moved between look and lock")

const (
	maxTries  = 6
	txTimeout = 30 * time.Second // of a call, with all its tries and the wait for a connection, after which the database is taken to be gone
)

// in runs fn in a transaction, or in the one that ctx carries: there in a savepoint, so that an error undoes fn alone.
// A transaction that ended in a deadlock, a serialisation failure or a lost connection before its commit was sent is run
// again from the start, so fn must leave nothing behind in memory that it does not overwrite. One whose commit may or may not have happened is
// not: its caller is told.
func (db *DB) in(ctx context.Context, fn func(ctx context.Context, tx *txn) error) error {
	return db.inWith(ctx, func(*pgx.Batch) {}, fn)
}

// inWith is in, with first's statements sent in the same round trip as the transaction's begin.
func (db *DB) inWith(ctx context.Context, first func(b *pgx.Batch), fn func(ctx context.Context, tx *txn) error) error {
	if tx := db.carried(ctx); tx != nil {
		if tx.over.Load() {
			return errOver
		}
		return db.fault(ctx, tx.nested(ctx, first, fn))
	}
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.patience)
	defer cancel()
	for try := 1; ; try++ {
		err := db.try(ctx, run, first, fn)
		if err == nil || try == maxTries || !again(err) {
			return db.fault(ctx, err)
		}
		if pause(ctx, try) != nil {
			return db.fault(ctx, err)
		}
	}
}

// pause waits a little longer each time, each waiter another while.
func pause(ctx context.Context, try int) error {
	d := time.Duration(1<<try) * time.Millisecond
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d/2 + rand.N(d)):
		return nil
	}
}

// try runs fn in a transaction of its own, under run. A caller, whose context is ctx, ends the wait for a connection, but does not cut the transaction off: statements are short, and a
// connection cut off in one is lost.
func (db *DB) try(ctx, run context.Context, first func(b *pgx.Batch), fn func(ctx context.Context, tx *txn) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	wait, cancel := context.WithCancel(run)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	c, err := db.pool.Acquire(wait)
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	defer c.Release()
	ctx = run
	tx := &txn{Conn: c.Conn(), ticks: &db.ticks}
	defer tx.over.Store(true) // before another has the connection
	if err := tx.begin(ctx, first); err != nil {
		tx.Exec(ctx, "rollback")
		return err
	}
	if err := fn(context.WithValue(ctx, txKey{db}, tx), tx); err != nil {
		tx.Exec(ctx, "rollback") // if it cannot, the pool closes the connection
		return err
	}
	if !tx.committed {
		if tag, err := tx.Exec(ctx, "commit"); err != nil {
			return &commitError{err}
		} else if tag.String() != "COMMIT" {
			return errRolledBack
		}
	}
	for _, f := range tx.after {
		f()
	}
	return nil
}

var errRolledBack = errors.New("the transaction was rolled back: a statement in it had failed")

func (tx *txn) begin(ctx context.Context, first func(b *pgx.Batch)) error {
	b := &pgx.Batch{}
	b.Queue("begin")
	b.Queue("SELECT now()").QueryRow(func(r pgx.Row) error { return r.Scan(&tx.now) })
	first(b)
	return tx.SendBatch(ctx, b).Close()
}

// send sends a batch, and with it the commit where that is all that is left to do. A connection lost in it may have committed.
func (tx *txn) send(ctx context.Context, b *pgx.Batch) error {
	if tx.flushCommits {
		b.Queue("commit").Exec(func(tag pgconn.CommandTag) error {
			if tx.committed = tag.String() == "COMMIT"; !tx.committed {
				return errRolledBack
			}
			return nil
		})
	}
	if b.Len() == 0 {
		return nil
	}
	err := tx.SendBatch(ctx, b).Close()
	if err != nil && tx.flushCommits && lost(err) {
		err = &commitError{err}
	}
	return err
}

func (tx *txn) nested(ctx context.Context, first func(b *pgx.Batch), fn func(ctx context.Context, tx *txn) error) error {
	if _, err := tx.Exec(ctx, "savepoint inner_act"); err != nil {
		return err
	}
	n := len(tx.after)
	b := &pgx.Batch{}
	first(b)
	err := tx.send(ctx, b)
	if err == nil {
		err = fn(ctx, tx)
	}
	if err != nil {
		tx.after = tx.after[:n]
		tx.Exec(ctx, "rollback to savepoint inner_act; release savepoint inner_act", pgx.QueryExecModeSimpleProtocol)
		return err
	}
	_, err = tx.Exec(ctx, "release savepoint inner_act")
	return err
}

// commitError is the failure of a commit: if the connection was lost in it, nobody knows whether it happened.
type commitError struct{ err error }

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }
