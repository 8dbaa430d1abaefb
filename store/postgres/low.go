package postgres

import (
	"sync"
	"time"

	"github.com/onceward/onceward/queue"
)

const (
	lowFrom  = 5 * time.Millisecond   // a full look is made always, while one of the last two was quicker than this
	lowTrail = 500 * time.Millisecond // how far a mark that has no steps stays behind what was seen
	lowFull  = 5 * time.Second        // a full look is put off for no longer, or for twenty times its own duration

	dueFrom = time.Millisecond      // as lowFrom, for due messages: every message has one look or two
	dueEach = 50 * time.Microsecond // of a look's duration, for each message that it received
	dueFull = time.Minute           // as lowFull, for due messages

	clockBack = time.Second // a mark that is so far ahead of the database says that its clock was set back
)

// dueSteps are how far behind the mark a look for due messages begins. Each is put off for a hundred times what it takes, so that all of them together take a twentieth of one core, however
// much is dead there; but for no longer than it goes back. What took so long to be committed is found by the first of them that goes so far.
var dueSteps = [...]time.Duration{40 * time.Millisecond, 320 * time.Millisecond, 2560 * time.Millisecond, 20 * time.Second, 160 * time.Second}

// reach is how far back a look for due messages goes: one of dueSteps, or inFull.
type reach int

const inFull = reach(len(dueSteps))

// dueMarks say for each queue and priority up to which due time all was received that was there. What was received and acked stays in
// the index until it is vacuumed, and with somebody's old transaction open it is not: a scan from the beginning then
// passes over more and more of it. What became due behind the mark, published by a transaction that took a while
// to commit, or was locked by who then did not receive it, is found by a look that goes further back, at the latest by the next full one; see [looks.wanted].
type dueMarks struct {
	mu    sync.Mutex
	marks map[int64]*dueMark
	least time.Duration // that a look took: the way to the database and back
}

type dueMark struct {
	due    [10]time.Time // by place: priority 9 first
	back   time.Time     // when one was set back last: a look that began before moves none on
	behind [len(dueSteps)]looks
	looks
}

// looks are the full looks of one kind. While one of the last two was quick each is full.
type looks struct {
	looked time.Time     // when the last ended, or one began that has not ended
	took   time.Duration // the quicker of the last two
	last   time.Duration
}

// wanted reports whether the next look is to be full: in a hundred times what one takes, in most at the latest, or in twenty times what one takes where that is longer.
func (l *looks) wanted(from, most time.Duration) bool {
	return l.took < from || time.Since(l.looked) > max(min(100*l.took, most), 20*l.took)
}

// full takes in what a full look took.
func (l *looks) full(took time.Duration) {
	l.looked, l.took, l.last = time.Now(), min(took, l.last), took
}

// marked gives the mark that a key has, and makes it one where looks are slow: else there is none.
func marked[K comparable, M any](marks *map[K]*M, key K, slow bool) *M {
	m := (*marks)[key]
	if m == nil && slow {
		if *marks == nil || len(*marks) > 10_000 {
			*marks = map[K]*M{}
		}
		m = new(M)
		(*marks)[key] = m
	}
	return m
}

// leaseMark says from which end on a search for leases that ran out begins: what is before was given back, renewed or acked, and
// stays in the index as long as what was received. A lease that was committed after its end, by a transaction that took so long, is found by the next full search.
type leaseMark struct {
	mu   sync.Mutex
	from time.Time
	looks
}

func (l *leaseMark) of() (from time.Time, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted(lowFrom, lowFull) {
		return time.Time{}, true
	}
	return l.from, false
}

// saw takes in a search, up to which end it left no lease, and whether that is certain. One in full may have met some behind the mark.
func (l *leaseMark) saw(full, certain bool, took time.Duration, through time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if full {
		l.full(took)
	}
	if d := through.Add(-lowTrail); certain && (full || d.After(l.from)) {
		l.from = d
	}
}

// turnMarks say for each queue with groups from which turn on a look at them begins: those before it are had by nobody any more, and stay in the index as what was received does.
type turnMarks struct {
	mu    sync.Mutex
	marks map[int64]*turnMark
}

type turnMark struct {
	from time.Time
	looks
}

// of gives the turn from which a look begins, and whether it is a full one.
func (t *turnMarks) of(queue int64, again bool) (from time.Time, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.marks[queue]
	if again || m == nil || m.wanted(lowFrom, lowFull) {
		return time.Time{}, true
	}
	return m.from, false
}

// passed takes in the first turn that a look found, if it found one.
func (t *turnMarks) passed(queue int64, full bool, took time.Duration, head time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := marked(&t.marks, queue, took >= lowFrom)
	if m == nil {
		return
	}
	if full {
		m.full(took)
	}
	if d := head.Add(-lowTrail); !head.IsZero() && (full || d.After(m.from)) {
		m.from = d
	}
}

// of gives the marks of a queue for a receive, and how far it goes back. One that does not wait, and found nothing from the marks, looks again in full: it
// answers nothing because of no mark.
func (l *dueMarks) of(queue int64, again bool) (low []time.Time, to reach) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[queue]
	if m == nil {
		return make([]time.Time, 10), inFull
	}
	if again || m.wanted(dueFrom, dueFull) {
		to = inFull
	} else {
		for k := range dueSteps {
			if b := &m.behind[k]; time.Since(b.looked) >= min(100*b.took, dueSteps[k]) {
				to = reach(k)
			}
		}
	}
	// Who comes while this look goes on does not go so far.
	now := time.Now()
	for k := range min(to+1, inFull) {
		m.behind[k].looked = now
	}
	if to == inFull {
		m.looked = now
	}
	return m.low(to), to
}

// near gives the marks for a look that others wait for, or that may leave out what they are of: it goes no further back than it must, and counts for none that does.
func (l *dueMarks) near(queue int64) (low []time.Time, to reach) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[queue]
	if m == nil || m.took < dueFrom {
		return make([]time.Time, 10), inFull
	}
	return m.low(0), 0
}

func (m *dueMark) low(to reach) []time.Time {
	low := make([]time.Time, 10)
	for i, due := range m.due {
		if to < inFull && !due.IsZero() {
			low[i] = due.Add(-dueSteps[to])
		}
	}
	return low
}

// saw takes in what a receive of at most limit messages found; see [dueMarks.passed].
func (l *dueMarks) saw(q int64, to reach, took time.Duration, got []received, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.least == 0 || took < l.least {
		l.least = took
	}
	began := time.Now().Add(-took)
	took = max(0, took-l.least-time.Duration(len(got))*dueEach)
	m := marked(&l.marks, q, took >= dueFrom)
	if m == nil {
		return
	}
	if to == inFull {
		m.full(took)
	} else {
		m.behind[to].full(took)
	}
	m.passed(began, got, limit)
}

// rode takes in what a look received that was part of something that took longer.
func (l *dueMarks) rode(q int64, took time.Duration, got []received, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.marks[q]; m != nil {
		m.passed(time.Now().Add(-took), got, limit)
	}
}

// passed moves the marks on to the newest that was received of a priority; or to the look's own time, where less than the limit was found, and of the priorities before the
// one at which it was reached. The limit is 0 where priorities took turns with something else: nothing is known of one that nothing was found of.
// Where the limit was reached the mark belongs at what was found there even if that is before it: a look behind it has found some of many.
func (m *dueMark) passed(began time.Time, got []received, limit int) {
	if len(got) == 0 {
		return // the queue may be paused
	}
	at := got[0].ReceivedAt
	var due [10]time.Time
	last := 0
	for _, r := range got {
		i := 9 - r.Priority
		if last = max(last, i); r.due.After(due[i]) {
			due[i] = r.due
		}
	}
	filled := limit > 0 && !ends(column(got, func(r received) queue.Message { return r.Message }), limit)
	if limit > 0 {
		for i := range due {
			if i < last || !filled {
				due[i] = at
			}
		}
	}
	for i, d := range due {
		switch {
		case filled && i == last && d.Before(m.due[i]):
			m.due[i], m.back = d, time.Now()
		case m.due[i].Sub(at) > clockBack:
			m.due[i], m.back = at, time.Now()
		case d.After(m.due[i]) && !began.Before(m.back):
			m.due[i] = d
		}
	}
}
