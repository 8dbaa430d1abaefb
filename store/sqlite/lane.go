package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/failpoint"
	"github.com/onceward/onceward/internal/fault"
)

// retryAfter is when to try again after the store could not be written to.
const retryAfter = time.Second

// job is one closure for the lane of writes.
type job struct {
	op    string // a verb, then perhaps its object: receive "jobs"
	items int    // that it is about, for who observes
	size  int    // of what it will store, in bytes
	run   func(*tx) error
	// again: run bears to be run a second time, after a transaction that was undone.
	again bool
}

// write runs f in a transaction and answers once that is committed. The closures of concurrent calls share a commit;
// each stands alone in it: one that fails or panics is undone and the others go on. f runs at most once, on the one
// goroutine that writes, so it must not wait for anything. What f gives out is true only if write answers nil.
// Within a transaction that ctx carries f is part of that.
func (db *DB) write(ctx context.Context, op string, size int, f func(*tx) error) error {
	return db.writeItems(ctx, &job{op: op, items: 1, size: size, run: f})
}

// writeHot is write of what is called most, for items: f may run twice.
func (db *DB) writeHot(ctx context.Context, op string, items, size int, f func(*tx) error) error {
	return db.writeItems(ctx, &job{op, items, size, f, true})
}

// writeItems is write of a job.
func (db *DB) writeItems(ctx context.Context, j *job) error {
	if t, err := db.joined(ctx); err != nil || t != nil {
		if err != nil {
			return err
		}
		return db.explain(j.op, t.nest(j.run))
	}
	out, err := db.lane.Do(ctx, j)
	if err == nil {
		err = out[0].Err
	}
	return db.explain(j.op, err)
}

// explain gives an error its code: what is SQLite's and may pass is fault.Unavailable.
func (db *DB) explain(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	var why string
	switch codeOf(err) {
	case codeFull:
		why = "the disk is full"
	case codeIO, codeCantOpen, codeReadOnly:
		why = "its file cannot be read or written"
	case codeBusy, codeLocked, codeNoMemory:
		why = "it is busy"
	}
	switch {
	case errors.Is(err, batch.ErrClosed):
		why = "it is closing"
	case errors.Is(err, sql.ErrConnDone), errors.Is(err, driver.ErrBadConn):
		why = "its connection was lost"
	case errors.Is(err, batch.ErrFull):
		why = "too much waits to be written"
	}
	if why == "" {
		return fmt.Errorf("%s: %w", op, err)
	}
	e := fault.New(fault.Unavailable, "the store cannot serve this now: %s", why).Wrap(fmt.Errorf("%s: %w", op, err))
	e.RetryAfter = retryAfter
	return e
}

// SQLite's result codes that matter here.
const (
	codeBusy     = 5
	codeLocked   = 6
	codeNoMemory = 7
	codeReadOnly = 8
	codeIO       = 10
	codeFull     = 13
	codeCantOpen = 14
)

// undoes reports whether SQLite may have rolled the whole transaction back by itself after err.
func undoes(err error) bool {
	switch codeOf(err) {
	case codeBusy, codeNoMemory, codeIO, codeFull, codeReadOnly, codeCantOpen:
		return true
	}
	return false
}

// commit runs the jobs in one transaction. Savepoints keep apart what each did, but to have one costs about as much as a small job: a
// job that is alone has none, and those that may run again have them only after one of them has failed.
func (db *DB) commit(_ context.Context, jobs []*job) (out []batch.Result[struct{}], err error) {
	bare := len(jobs) == 1 || !slices.ContainsFunc(jobs, func(j *job) bool { return !j.again })
	out, err = db.transact(jobs, bare)
	if err == errApart {
		out, err = db.transact(jobs, false)
	}
	return out, err
}

// errApart says that one of several jobs failed after it had written.
var errApart = errors.New("the jobs need savepoints")

// transact runs the jobs in one transaction: bare, without a savepoint for each.
func (db *DB) transact(jobs []*job, bare bool) (out []batch.Result[struct{}], err error) {
	begun := time.Now()
	if err := db.begin(); err != nil {
		return nil, err
	}
	t := &tx{session: db.writer, db: db, now: now()}
	defer func() {
		t.over = true
		if err != nil {
			db.writer.run("ROLLBACK") // it may be rolled back already
			t.unreserve(0)
			clear(db.granted)
		}
	}()
	out = make([]batch.Result[struct{}], len(jobs))
	did := newDone(t)
	for i, j := range jobs {
		if !bare {
			if out[i].Err = t.nest(j.run); t.undone {
				return nil, cmp.Or(out[i].Err, errUndone)
			}
			did.add(t, j)
			continue
		}
		wrote, was := t.wrote, t.marks()
		switch out[i].Err = guard(t, j.run); {
		case t.undone || undoes(out[i].Err):
			return nil, cmp.Or(out[i].Err, errUndone)
		case out[i].Err == nil:
		case t.wrote == wrote:
			t.putBack(was) // what it had counted before its first write was never done
		case len(jobs) == 1:
			return nil, out[i].Err
		default:
			return nil, errApart
		}
		did.add(t, j)
	}
	if err := t.saveCounts(); err != nil {
		return nil, err
	}
	failpoint.At(failpoint.BeforeCommit, did.verbs...)
	if _, err := t.exec("COMMIT"); err != nil {
		return nil, err
	}
	failpoint.At(failpoint.AfterCommit, did.verbs...)
	t.committed()
	db.observe(jobs, time.Since(begun))
	return out, nil
}

// begin begins a transaction, on a new connection if the old one is lost.
func (db *DB) begin() error {
	if db.writer.lost() {
		s, err := db.session(context.Background(), writerPragmas)
		if err != nil {
			return err
		}
		db.writer = s
	}
	_, err := db.writer.exec("BEGIN IMMEDIATE")
	if err != nil {
		db.writer.run("ROLLBACK") // of one that a failed rollback left behind
		_, err = db.writer.exec("BEGIN IMMEDIATE")
	}
	return err
}

func (db *DB) observe(jobs []*job, took time.Duration) {
	n := map[string]int{}
	for _, j := range jobs {
		verb, _, _ := strings.Cut(j.op, " ")
		n[verb] += j.items
	}
	for op, items := range n {
		db.options.Observe(op, items, took)
	}
}

// guard runs f and turns a panic into an error.
func guard(t *tx, f func(*tx) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &batch.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f(t)
}
