package sqlite

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/failpoint"
	"github.com/onceward/onceward/queue"
)

// tx is a transaction, of the writer or of a reader. The time is read once for it.
type tx struct {
	*session
	db    *DB
	now   time.Time
	over  bool
	depth int // of savepoints

	// undone: SQLite may have rolled everything back by itself. Nothing more may be done, or it would be done outside.
	undone bool

	// What is to be done once it is committed, and to be undone if not.
	after    []func()
	reserved []reservation
	wakes    []wake
	tallies  []tally
	delays   []delayed

	// Found so far, until queues change.
	queues map[queueName]*queueRow
	names  map[rowName]string
	dlqs   map[int64]queue.DLQ
}

// now is the database's clock: the process that owns the file is the database. Cut to what is stored.
func now() time.Time { return time.Now().Add(failpoint.Clock()).UTC().Truncate(time.Microsecond) }

var errUndone = errors.New("the transaction was rolled back")

var errOver = errors.New("the transaction is over: its context was used outside of the effect it was given to")

// nest runs f within a savepoint: what it did is undone if it fails or panics.
func (t *tx) nest(f func(*tx) error) error {
	name := "s" + strconv.Itoa(t.depth)
	if _, err := t.exec("SAVEPOINT " + name); err != nil {
		return err
	}
	t.depth++
	was := t.marks()
	err := guard(t, f)
	t.depth--
	if err != nil {
		t.putBack(was)
		if _, e := t.exec("ROLLBACK TO " + name); e != nil {
			t.undone = true
			return errors.Join(err, e)
		}
	}
	if _, e := t.exec("RELEASE " + name); e != nil {
		t.undone = true
		return errors.Join(err, e)
	}
	t.undone = t.undone || undoes(err)
	return err
}

// marks are what a transaction knows in memory of what it did.
type marks struct {
	after, reserved, wakes int
	tallies                []tally
	delays                 []delayed
}

func (t *tx) marks() marks {
	return marks{len(t.after), len(t.reserved), len(t.wakes), slices.Clone(t.tallies), slices.Clone(t.delays)}
}

// putBack makes them what they were, since what was done after that is undone, or was only begun.
func (t *tx) putBack(m marks) {
	t.after, t.wakes = t.after[:m.after], t.wakes[:m.wakes]
	t.tallies, t.delays = m.tallies, m.delays
	clear(t.db.granted)
	t.unreserve(m.reserved)
	t.queuesChanged()
}

// onCommit has f run once the transaction is committed; never if it is undone.
func (t *tx) onCommit(f func()) { t.after = append(t.after, f) }

func (t *tx) committed() {
	for _, f := range t.after {
		f()
	}
	t.db.hub.wake(t.wakes)
}

type contextKey struct{ db *DB }

// context gives ctx with the transaction in it: every call of the store with it is part of the transaction.
func (t *tx) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{t.db}, t)
}

// joined gives the transaction of ctx; nil if it carries none.
func (db *DB) joined(ctx context.Context) (*tx, error) {
	t, _ := ctx.Value(contextKey{db}).(*tx)
	if t != nil && t.over {
		return nil, errOver
	}
	return t, nil
}

// read runs f over one snapshot of the store, beside the writer; within a transaction that ctx carries, over that.
func (db *DB) read(ctx context.Context, op string, f func(*tx) error) error {
	if t, err := db.joined(ctx); err != nil || t != nil {
		if err != nil {
			return err
		}
		return db.explain(op, f(t))
	}
	var s *session
	var open bool
	select {
	case s, open = <-db.reading:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !open {
		return db.explain(op, batch.ErrClosed)
	}
	s, err := db.snapshot(s, f)
	db.reading <- s
	return db.explain(op, err)
}

// snapshot runs f on s, opened if it is nil, and gives back the session to keep.
func (db *DB) snapshot(s *session, f func(*tx) error) (*session, error) {
	if s == nil || s.lost() {
		var err error
		if s, err = db.session(context.Background(), readerPragmas); err != nil {
			return nil, err
		}
	}
	if _, err := s.exec("BEGIN"); err != nil {
		s.close()
		return nil, err
	}
	t := &tx{session: s, db: db, now: now()}
	err := guard(t, f)
	t.over = true
	if _, e := s.exec("ROLLBACK"); e != nil {
		s.close()
		return nil, errors.Join(err, e)
	}
	return s, err
}
