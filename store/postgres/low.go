package postgres

import (
	"sync"
	"time"
)

const (
	lowFrom  = 5 * time.Millisecond   // a full look is made always, while one of the last two was quicker than this
	lowTrail = 500 * time.Millisecond // how far the mark stays behind what was received
	lowFull  = 5 * time.Second        // a full look is put off for no longer, or for ten times its own duration
)

// lowMarks say for each queue and priority from which due time on a receive begins to look. What was received and acked stays in
// the index until it is vacuumed, and with somebody's old transaction open it is not: a scan from the beginning then
// passes over more and more of it. The mark trails what was received. What became due behind it, published by a transaction that took
// longer than the trail to commit, or was locked by who then did not receive it, is found by the next full look; see [looks.wanted].
type lowMarks struct {
	mu    sync.Mutex
	marks map[int64]*lowMark
}

type lowMark struct {
	due [10]time.Time // by place: priority 9 first
	looks
}

// looks are the full looks of one kind. While one of the last two was quick each is full.
type looks struct {
	looked time.Time     // when the last ended
	took   time.Duration // the quicker of the last two
	last   time.Duration
}

// wanted reports whether the next look is to be full: in two seconds, a hundred times what one takes where that is longer, and lowFull at most.
func (l *looks) wanted() bool {
	return l.took < lowFrom || time.Since(l.looked) > max(2*time.Second, min(100*l.took, lowFull), 10*l.took)
}

// full takes in what a full look took.
func (l *looks) full(took time.Duration) {
	l.looked, l.took, l.last = time.Now(), min(took, l.last), took
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
	if l.wanted() {
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

// of gives the marks of a queue for a receive, and whether it is a full look. One that follows a look from the marks that found
// nothing is: no receive that does not wait anyhow answers nothing because of a mark.
func (l *lowMarks) of(queue int64, again bool) (low []time.Time, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[queue]
	low = make([]time.Time, 10)
	if again || m == nil || m.wanted() {
		return low, true
	}
	copy(low, m.due[:])
	return low, false
}

// quick gives the marks for a look that others wait for, and whether it is a full one; false where that would be slow.
func (l *lowMarks) quick(queue int64) (low []time.Time, full, ok bool) {
	low, full = l.of(queue, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[queue]
	return low, full, !full || m == nil || m.took < lowFrom
}

// rested reports whether a full look may follow one from the marks that found nothing, for who waits. Where several wait for each message most looks find
// nothing, and behind somebody's old transaction each full one walks over all that was consumed. So one is made in twenty times its own duration, in two seconds at
// most where that is five times as long: for that long they wait on because of a mark, and only for what took longer than the trail to commit.
func (l *lowMarks) rested(queue int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[queue]
	return m == nil || time.Since(m.looked) > min(20*m.took, max(2*time.Second, 5*m.took))
}

// saw takes in what a receive found.
func (l *lowMarks) saw(queue int64, full bool, took time.Duration, got []received) {
	var due [10]time.Time
	for _, r := range got {
		if d := &due[9-r.Priority]; r.due.After(*d) {
			*d = r.due
		}
	}
	l.passed(queue, full, took, due)
}

// passed takes in up to where a look found something in each place: the zero time says nothing. What a full look found is where the mark belongs, even if that is
// before it: the clock may have been set back, and until it has caught up all would be behind the mark.
func (l *lowMarks) passed(queue int64, full bool, took time.Duration, due [10]time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[queue]
	if m == nil {
		if took < lowFrom {
			return
		}
		if l.marks == nil || len(l.marks) > 10_000 {
			l.marks = map[int64]*lowMark{}
		}
		m = &lowMark{}
		l.marks[queue] = m
	}
	if full {
		m.full(took)
	}
	for i := range due {
		if d := due[i].Add(-lowTrail); !due[i].IsZero() && (full || d.After(m.due[i])) {
			m.due[i] = d
		}
	}
}
