package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

var (
	sweepLapsedSQL      = stmt("sweep_lapsed")
	sweepLastTriesSQL   = stmt("sweep_last_tries")
	sweepDLQsSQL        = stmt("sweep_dlqs")
	sweepPublishKeysSQL = stmt("sweep_publish_keys")
	sweepRequestKeysSQL = stmt("sweep_request_keys")
	countsLockSQL       = stmt("counts_lock")
	countsFoldSQL       = stmt("counts_fold")
	countsPruneSQL      = stmt("counts_prune")
	sweepDueSQL         = stmt("sweep_due")
)

// sweepState is where this process's sweeps stand that go page by page. Others have their own: they do the same work, and what
// one is at the others skip.
type sweepState struct {
	mu       sync.Mutex
	messages pages
	groups   pages
	claims   pages
	events   pages
	deleted  time.Time // endpoints, until then
	folded   time.Time
	counts   foldMark
	usage    foldMark
}

// Sweep does at most limit items of each duty, each in transactions of its own: one that fails leaves the others to be done.
func (db *DB) Sweep(ctx context.Context, limit int) (int, error) {
	db.hub.polled(deliveriesQueue)
	start, total := time.Now(), 0
	defer func() { db.observe("sweep", total, start) }()
	var wakes, follows, lastTries, publishKeys, requestKeys, redrives, deadSenders, deletedEndpoints, deltas bool
	err := db.alone(ctx, func(ctx context.Context) error {
		return db.conn(ctx).QueryRow(ctx, sweepDueSQL, queue.RedriveMemory.Seconds(), db.sweeps.counts.mark(), db.sweeps.usage.mark()).
			Scan(&wakes, &follows, &lastTries, &publishKeys, &requestKeys, &redrives, &deadSenders, &deletedEndpoints, &deltas)
	})
	var errs []error
	if err != nil { // each asks for itself
		wakes, follows, lastTries, publishKeys, requestKeys, redrives, deadSenders, deletedEndpoints, deltas = true, true, true, true, true, true, true, true, true
		errs = append(errs, fmt.Errorf("sweep: %w", err))
	}
	for _, duty := range []struct {
		name string
		due  bool
		do   func(context.Context, int) (int, error)
	}{
		{"last tries", lastTries, db.sweepLastTries},
		{"leases", true, db.sweepLeases},
		{"wakes", wakes, db.foldAll},
		{"messages of keys", follows, db.followAll},
		{"retention", true, db.sweepExpired},
		{"publish keys", publishKeys, db.deleting(sweepPublishKeysSQL)},
		{"request keys", requestKeys, db.deleting(sweepRequestKeysSQL)},
		{"groups", true, db.sweepGroups},
		{"dead senders", deadSenders, db.reapDeliveries},
		{"deleted endpoints", deletedEndpoints, db.cancelDeleted},
		{"deliveries", true, db.forgetDeliveries},
		{"events", true, db.forgetEvents},
		{"endpoints", true, db.forgetEndpoints},
		{"redrives", redrives, db.sweepRedrives},
		{"counts", true, func(ctx context.Context, _ int) (int, error) { return 0, db.foldCounts(ctx, deltas) }},
	} {
		if err := context.Cause(ctx); err != nil {
			return total, err
		}
		if !duty.due {
			continue
		}
		n, err := duty.do(ctx, limit)
		if total += n; err != nil {
			errs = append(errs, fmt.Errorf("sweep of %s: %w", duty.name, err))
		}
	}
	return total, errors.Join(errs...)
}

// sweepLeases gives back the slots of grouped leases that ran out: by one statement, or, where a row fails that, each apart.
func (db *DB) sweepLeases(ctx context.Context, limit int) (n int, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		n, err = db.lapsed(ctx, limit)
		return err
	})
	if err == nil || !badItem(err) {
		return n, err
	}
	return db.lapsePages(ctx, sweepLapsedSQL, limit)
}

// deleting is a duty that is one statement.
func (db *DB) deleting(sql string) func(context.Context, int) (int, error) {
	return func(ctx context.Context, limit int) (n int, err error) {
		err = db.alone(ctx, func(ctx context.Context) error {
			tag, err := db.conn(ctx).Exec(ctx, sql, limit)
			n = int(tag.RowsAffected())
			return err
		})
		return n, err
	}
}

// sweepLastTries dead-letters messages whose last lease ran out, their open keys closed with them.
func (db *DB) sweepLastTries(ctx context.Context, limit int) (int, error) {
	return db.lapsePages(ctx, sweepLastTriesSQL, limit)
}

// lapsePages lapses the first of the messages that sql names of which it can, in the order of their leases' ends. A page of which nothing can be done, since others hold
// it or the database refuses it, keeps back none behind it.
func (db *DB) lapsePages(ctx context.Context, sql string, limit int) (n int, err error) {
	var vis time.Time
	var id int64
	for {
		var ids []int64
		e := db.alone(ctx, func(ctx context.Context) error {
			ids = nil
			rows, err := db.conn(ctx).Query(ctx, sql, limit, vis, id)
			if err != nil {
				return err
			}
			_, err = pgx.ForEachRow(rows, []any{&vis, &id}, func() error {
				ids = append(ids, id)
				return nil
			})
			return err
		})
		if e == nil {
			n, e = db.eachApart(ctx, ids, db.lapseRows)
		}
		err = errors.Join(err, e)
		if n > 0 || len(ids) < limit || e != nil && !badItem(e) {
			return n, err
		}
	}
}

// lapseRows applies queue.Row.Lapse to messages whose leases ran out.
func (db *DB) lapseRows(ctx context.Context, tx *txn, ids []int64) (n int, err error) {
	ch, rows, dlqs, err := tx.lockForSweep(ctx, ids)
	if err != nil {
		return 0, err
	}
	for _, r := range byID(rows) {
		dlq, ok := dlqs[r.QueueID]
		if was := r.GroupID; ok {
			if c, did := r.Lapse(tx.now, dlq); did {
				if r.QueueID == deliveriesQueue {
					r.VisibleAt = r.PublishedAt // as lapse.sql has it
				}
				ch.message(r, was, c)
				n++
			}
		}
	}
	return n, ch.flush(ctx, db.hub)
}

// lockForSweep is lockFree, and reads where the messages' dead letters go.
func (tx *txn) lockForSweep(ctx context.Context, ids []int64) (*changes, map[int64]*queue.Row, map[int64]queue.DLQ, error) {
	ch, rows, err := tx.lockFree(ctx, ids)
	if err != nil {
		return nil, nil, nil, err
	}
	dlqs, err := tx.dlqsOf(ctx, rows)
	return ch, rows, dlqs, err
}

// lockFree locks messages that nobody else has, their claims before them. A message whose claim is in somebody's open transaction is left alone: who waited for
// that would have the others' keys meanwhile.
func (tx *txn) lockFree(ctx context.Context, ids []int64) (*changes, map[int64]*queue.Row, error) {
	claims, err := tx.readClaims(ctx, freeClaimsOfSQL, ids)
	if err != nil {
		return nil, nil, err
	}
	rows, err := tx.lockFreeMessages(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	held, err := tx.heldClaims(ctx, rows, claims)
	maps.DeleteFunc(rows, func(_ int64, r *queue.Row) bool { return slices.Contains(held, r.ClaimID) })
	return newChanges(tx, claims), rows, err
}

// dlqsOf reads where the dead letters of the rows' queues go.
func (tx *txn) dlqsOf(ctx context.Context, rows map[int64]*queue.Row) (map[int64]queue.DLQ, error) {
	queues := column(byID(rows), func(r *queue.Row) int64 { return r.QueueID })
	slices.Sort(queues)
	found, err := tx.Query(ctx, sweepDLQsSQL, slices.Compact(queues))
	if err != nil {
		return nil, err
	}
	defer found.Close()
	out := map[int64]queue.DLQ{}
	for found.Next() {
		var q int64
		var d queue.DLQ
		var retention float64
		if err := found.Scan(&q, &d.ID, &retention); err != nil {
			return nil, err
		}
		d.Retention = duration(retention)
		out[q] = d
	}
	return out, found.Err()
}

// eachApart does a sweep's items in one transaction. If that fails by what may be one item's fault, the halves are tried apart, so that
// one bad row is left alone and the others are done.
func (db *DB) eachApart(ctx context.Context, ids []int64, do func(ctx context.Context, tx *txn, ids []int64) (int, error)) (n int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	err = db.in(ctx, func(ctx context.Context, tx *txn) (err error) {
		n, err = do(ctx, tx, ids)
		return err
	})
	if err == nil {
		return n, nil
	}
	half := len(ids) / 2
	if half == 0 || !badItem(err) {
		return 0, err
	}
	a, errA := db.eachApart(ctx, ids[:half], do)
	b, errB := db.eachApart(ctx, ids[half:], do)
	return a + b, errors.Join(errA, errB)
}

func (db *DB) ids(ctx context.Context, sql string, args ...any) (out []int64, err error) {
	err = db.alone(ctx, func(ctx context.Context) (err error) {
		out, err = idsOf(ctx, db.conn(ctx), sql, args...)
		return err
	})
	return out, err
}

const (
	countsLock = 0x666f6c64 // "fold": the advisory lock of whoever folds
	foldEvery  = time.Second
	foldRest   = 10 * time.Second // where no deltas are seen: one may have been committed behind the mark
	foldMax    = 50_000
	foldTrail  = 20_000 // deltas: so many are looked at again, since they may have been committed late
)

// foldMark says up to which delta all were added up. Those stay in the index until they are vacuumed, and with somebody's old transaction open they are not. One that was
// committed behind the mark is found by the next full look.
type foldMark struct {
	mu      sync.Mutex
	through int64
	looks
}

// from is the delta after which a look begins.
func (m *foldMark) from() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wanted(lowFrom, dueFull) {
		return 0
	}
	return m.trailing()
}

// mark is the delta after which a look begins that is not full.
func (m *foldMark) mark() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trailing()
}

// fullDue reports whether looks are slow, and a full one is due: until a fold has made it, whoever counts makes it himself.
func (m *foldMark) fullDue() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.took >= lowFrom && m.wanted(lowFrom, dueFull)
}

func (m *foldMark) trailing() int64 { return max(0, m.through-foldTrail) }

func (m *foldMark) fold(ctx context.Context, db *DB, statement string) error {
	from, start := m.from(), time.Now()
	var last int64
	if err := db.conn(ctx).QueryRow(ctx, statement, foldMax, from).Scan(&last); err != nil {
		return err
	}
	took := time.Since(start)
	db.afterCommit(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.through = max(m.through, last)
		if from == 0 {
			m.full(took)
		}
	})
	return nil
}

// foldCounts adds up the deltas of the kept counts: each second where some were seen, or where a slow look for late ones is due. It is never a reason to sweep again:
// while messages move there are always some.
func (db *DB) foldCounts(ctx context.Context, seen bool) error {
	s := &db.sweeps
	rest := foldRest
	if seen || s.counts.fullDue() || s.usage.fullDue() {
		rest = foldEvery
	}
	s.mu.Lock()
	due := time.Since(s.folded) >= rest
	if due {
		s.folded = time.Now()
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	return db.in(ctx, func(ctx context.Context, tx *txn) error {
		var mine bool
		if err := tx.QueryRow(ctx, countsLockSQL, countsLock).Scan(&mine); err != nil || !mine {
			return err
		}
		if err := db.sweeps.counts.fold(ctx, db, countsFoldSQL); err != nil {
			return err
		}
		if err := db.sweeps.usage.fold(ctx, db, usageFoldSQL); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, countsPruneSQL, foldMax)
		return err
	})
}
