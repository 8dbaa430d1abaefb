package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

var (
	receiveQueueSQL = stmt("receive_queue")
	receivePlainSQL = stmt("receive_plain")
	receiveKnownSQL = strings.ReplaceAll(receivePlainSQL, "\n--$ ", "\n    ")
	receiveGroupSQL = stmt("receive_group")
	receiveFIFOSQL  = stmt("receive_fifo")
	lapseSQL        = stmt("lapse")
	groupDueSQL     = stmt("group_due")
)

const (
	groupRounds = 4   // looks at groups of one receive: each parks those that have nothing
	lapseFirst  = 200 // lapsed leases given back in front of a grouped receive; the sweep does the rest
)

// Receive hands out messages. It is set-based, one statement a look: the rule it holds to is queue.Row.Receive.
func (db *DB) Receive(ctx context.Context, r queue.Receive) ([]queue.Message, error) {
	if r.Max <= 0 {
		return nil, nil
	}
	if id, known := db.plains.Load(namedQueue{r.Project, r.Queue}); known && r.Waits && db.carried(ctx) == nil && db.hub.still(id.(int64)) {
		return nil, nil
	}
	start := time.Now()
	var out []queue.Message
	var q receiveQueue
	err := db.alone(ctx, func(ctx context.Context) (err error) {
		out = nil
		if q, err = db.receiveQueue(ctx, r); err != nil {
			return err
		}
		for _, m := range q.got {
			out = append(out, m.Message)
		}
		if len(out) > 0 || q.empty || q.paused {
			return nil
		}
		if q.wakes {
			if _, err := db.fold(ctx, namedQueue{r.Project, r.Queue}, q.id, q.from); err != nil {
				return err
			}
			q.grouped = true
		}
		if !q.grouped {
			return db.receivePlain(ctx, q, r, &out)
		}
		return db.unlessLocked(ctx, q.id, func() (bool, error) {
			if out, err = db.receiveGrouped(ctx, q, r); err != nil {
				return false, err
			}
			err = db.receivePlain(ctx, q, r, &out)
			return len(out) > 0, err
		})
	})
	db.observe("receive", len(out), start)
	if err != nil {
		return nil, wrap("receive", r.Queue, err)
	}
	if len(out) == r.Max {
		db.hub.more(q.id)
	}
	return out, nil
}

type receiveQueue struct {
	id                    int64
	paused, grouped, fifo bool
	lease                 float64
	wakes                 bool  // messages of it wait to be given their groups,
	from                  int64 // after this wake

	got    []received // with the look
	looked bool       // it was one from the marks at least, for all that it can have
	empty  bool       // the look was a full one for all that it can have, and found nothing
}

// receiveQueue looks at the queue. Of one that was known to have no groups it looks for messages in the same round trip.
func (db *DB) receiveQueue(ctx context.Context, r queue.Receive) (q receiveQueue, err error) {
	name := namedQueue{r.Project, r.Queue}
	var fullWakes bool
	var to reach
	q.from, fullWakes = db.wakes.of(name)
	b, start := &pgx.Batch{}, time.Now()
	b.Queue(receiveQueueSQL, r.Project, r.Queue, q.from).QueryRow(func(row pgx.Row) error {
		return row.Scan(&q.id, &q.paused, &q.grouped, &q.fifo, &q.lease, &q.wakes)
	})
	known, _ := db.plains.Load(name)
	id, _ := known.(int64)
	var seen int64
	if id != 0 {
		seen = db.hub.seen(id)
		var low []time.Time
		low, to = db.lows.of(id, false)
		b.Queue(receiveKnownSQL, id, r.Max, seconds(r.Visibility), low, 0, r.Project, r.Queue, q.from).Query(func(rows pgx.Rows) (err error) {
			q.got, err = scanReceived(rows, r, nil)
			return err
		})
	}
	if err = db.conn(ctx).SendBatch(ctx, b).Close(); err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			db.plains.Delete(name)
			err = queue.NoQueue(r.Queue)
		}
		return q, err
	}
	took := time.Since(start)
	if id == 0 { // else it was not the look for wakes alone that took so long; and a queue without groups has none that were folded
		db.wakes.looked(name, fullWakes, took)
	}
	if q.fifo {
		q.from = 0
	}
	if r.Visibility > 0 {
		q.lease = seconds(r.Visibility)
	}
	switch plain := !q.grouped && !q.wakes; {
	case plain && id == q.id:
		db.sawPlain(ctx, id, to, took, q.got, r.Max)
		q.looked, q.empty = true, to == inFull && len(q.got) == 0
		if to == inFull && db.carried(ctx) == nil && ends(column(q.got, func(m received) queue.Message { return m.Message }), r.Max) {
			db.hub.nothing(id, seen)
		}
	case plain:
		db.plains.Store(name, q.id)
	default:
		db.plains.Delete(name)
	}
	return q, nil
}

// unlessLocked has look look again, a few times, while it gets nothing of a queue that has groups to visit: others had them locked, which a receive
// passes by, and an answer of nothing would send its caller away from work that is there.
func (db *DB) unlessLocked(ctx context.Context, queue int64, look func() (got bool, err error)) error {
	for try := 1; ; try++ {
		got, err := look()
		if got || err != nil || try == maxTries {
			return err
		}
		var due bool
		turn, _ := db.turns.of(queue, false)
		if err := db.conn(ctx).QueryRow(ctx, groupDueSQL, queue, turn).Scan(&due); err != nil || !due || pause(ctx, try-1) != nil {
			return err
		}
	}
}

// receiveGrouped looks at the groups whose turn it is, until it has enough or they have no more.
func (db *DB) receiveGrouped(ctx context.Context, q receiveQueue, r queue.Receive) (out []queue.Message, err error) {
	if err := db.lapse(ctx, lapseFirst); err != nil && (!badItem(err) || db.carried(ctx) != nil) {
		return nil, err // by one row's fault it is no reason to hand out nothing: the sweep has time for that
	}
	bytes := 0
	for range groupRounds {
		low, to := db.lows.near(q.id)
		start := time.Now()
		got, err := db.visitGroups(ctx, q, r, visit{limit: r.Max - len(out), low: low, bytes: bytes, sure: len(out) == 0})
		if err != nil {
			if len(out) > 0 {
				return out, nil // what is leased is handed out
			}
			return nil, err
		}
		var plain []received
		for _, m := range got {
			bytes += len(m.Body)
			out = append(out, m.Message)
			if m.GroupID == 0 {
				plain = append(plain, m)
			}
		}
		if len(plain) > 0 { // else it may be that the ungrouped had no turn
			db.sawPlain(ctx, q.id, to, time.Since(start), plain, 0)
		}
		if q.fifo { // by another look a lease of this one may have run out, and its group would be here twice
			break
		}
		if len(out) >= r.Max || len(got) == 0 || bytes >= queue.MaxReceiveBytes/2 {
			break
		}
	}
	return out, nil
}

// visit is one look of a receive.
type visit struct {
	limit int
	bytes int // of bodies that the receive has already

	// Of groups.
	low  []time.Time // of the ungrouped
	sure bool        // one that began at the mark of the groups' turns is made again from their beginning when it got nothing
}

// visitGroups is a look at groups.
func (db *DB) visitGroups(ctx context.Context, q receiveQueue, r queue.Receive, v visit) (got []received, err error) {
	groups := max(4, min(v.limit, max(25, v.limit/10)))
	sql, args := receiveGroupSQL, []any{q.id, v.limit, q.lease, groups, v.low, v.bytes}
	if q.fifo { // each gives one at most, in one look
		sql, args = receiveFIFOSQL, []any{q.id, v.limit, q.lease, max(4, v.limit)}
	}
	for again := false; ; again = true {
		turn, full := db.turns.of(q.id, again)
		start := time.Now()
		var head time.Time
		if got, err = db.receiveRows(ctx, r, []any{&head}, sql, append(args, turn)...); err != nil {
			return nil, err
		}
		db.turns.passed(q.id, full, time.Since(start), head)
		if len(got) > 0 {
			db.afterCommit(ctx, func() {
				for _, m := range got {
					if m.GroupID != 0 {
						db.ticks.changed(m.ReceivedAt, m.GroupID)
					}
				}
			})
		}
		if len(got) > 0 || full || !v.sure {
			return got, nil
		}
	}
}

// receivePlain adds ungrouped messages to out. Of a queue with groups it is the rest: the group that stands for the
// ungrouped may have been at another receive.
func (db *DB) receivePlain(ctx context.Context, q receiveQueue, r queue.Receive, out *[]queue.Message) error {
	v := visit{limit: r.Max - len(*out), bytes: bodyBytes(*out)}
	if v.limit <= 0 || v.bytes >= queue.MaxReceiveBytes/2 {
		return nil
	}
	var got []received
	var to reach
	var err error
	if !q.looked {
		got, to, err = db.lookPlain(ctx, q, r, v, false)
	}
	if err == nil && to != inFull && len(got) == 0 && len(*out) == 0 && !r.Waits {
		got, _, err = db.lookPlain(ctx, q, r, v, true)
	}
	if err != nil {
		if len(*out) > 0 {
			return nil // what is leased is handed out
		}
		return err
	}
	for _, m := range got {
		*out = append(*out, m.Message)
	}
	return nil
}

func (db *DB) lookPlain(ctx context.Context, q receiveQueue, r queue.Receive, v visit, again bool) (got []received, to reach, err error) {
	low, to := db.lows.of(q.id, again)
	start := time.Now()
	if got, err = db.receiveRows(ctx, r, nil, receivePlainSQL, q.id, v.limit, q.lease, low, v.bytes); err == nil {
		limit := v.limit
		if v.bytes > 0 {
			limit = 0 // by their bytes the look may have ended anywhere
		}
		db.sawPlain(ctx, q.id, to, time.Since(start), got, limit)
	}
	return got, to, err
}

// sawPlain moves the marks on by a look, unless what it received may yet be undone.
func (db *DB) sawPlain(ctx context.Context, q int64, to reach, took time.Duration, got []received, limit int) {
	if db.carried(ctx) == nil {
		db.lows.saw(q, to, took, got, limit)
	}
}

func bodyBytes(m []queue.Message) (n int) {
	for i := range m {
		n += len(m[i].Body)
	}
	return n
}

// received is a message just received, and since when it was due.
type received struct {
	queue.Message
	due time.Time
}

func (db *DB) receiveRows(ctx context.Context, r queue.Receive, also []any, sql string, args ...any) ([]received, error) {
	rows, err := db.conn(ctx).Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return scanReceived(rows, r, also)
}

func scanReceived(rows pgx.Rows, r queue.Receive, also []any) (out []received, err error) {
	m := received{Message: queue.Message{Queue: r.Queue}}
	var headers string
	s := newRowScan(append([]any{&m.Body, &headers, &m.Group, &m.Source, &m.due}, also...)...)
	for rows.Next() {
		row, err := s.next(rows)
		if err != nil {
			return nil, err
		}
		m.Row = *row
		if m.Headers, err = readHeaders(headers); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

func readHeaders(s string) (h map[string]string, err error) {
	if s != "" {
		err = json.Unmarshal([]byte(s), &h)
	}
	return h, err
}

// lapse gives back the slots of at most limit grouped leases that ran out.
func (db *DB) lapse(ctx context.Context, limit int) error {
	_, err := db.lapsed(ctx, limit)
	return err
}

func (db *DB) lapsed(ctx context.Context, limit int) (n int, err error) {
	from, full := db.leases.of()
	rows, err := db.conn(ctx).Query(ctx, lapseSQL, limit, from)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var through time.Time
	var took float64 // by the database: a wait for a connection says nothing of the search
	for rows.Next() {
		var q int64
		var k int
		if err := rows.Scan(&through, &q, &k, &took); err != nil {
			return 0, err
		}
		if n += k; k > 0 {
			db.afterCommit(ctx, func() { db.hub.wake(q, 0) })
		}
	}
	if err := rows.Err(); err != nil {
		return n, err
	}
	db.leases.saw(full, db.carried(ctx) == nil, duration(took), through) // a transaction may yet undo it
	return n, nil
}

// alone runs statements that are transactions by themselves, again where they certainly left nothing. A caller that goes away
// does not cut them off: what they leased would be lost until its lease is over.
func (db *DB) alone(ctx context.Context, fn func(ctx context.Context) error) error {
	if db.carried(ctx) != nil {
		return db.fault(ctx, fn(ctx))
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.patience)
	defer cancel()
	for try := 1; ; try++ {
		err := fn(run)
		if err == nil || try == maxTries || !againAlone(err) || pause(ctx, try) != nil {
			return db.fault(ctx, err)
		}
	}
}

// WaitMessages returns when the queue may have something to receive, or when ctx ends; or with what a publish of this process handed out.
func (db *DB) WaitMessages(ctx context.Context, r queue.Receive) []queue.Message {
	if db.carried(ctx) != nil {
		r.Max = 0 // what another transaction receives is not this one's
	}
	if id, known := db.plains.Load(namedQueue{r.Project, r.Queue}); known {
		return db.hub.waitFor(ctx, id.(int64), r)
	}
	var q receiveQueue
	err := db.conn(ctx).QueryRow(ctx, receiveQueueSQL, r.Project, r.Queue, math.MaxInt64).Scan(&q.id, &q.paused, &q.grouped, &q.fifo, &q.lease, &q.wakes)
	if err != nil {
		pause(ctx, 8) // no such queue, or no database: not at once again
		return nil
	}
	return db.hub.waitFor(ctx, q.id, r)
}
