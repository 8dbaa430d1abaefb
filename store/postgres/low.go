package postgres

import (
	"sync"
	"time"
)

const (
	lowFrom  = 5 * time.Millisecond // a full look is made always, while one of the last two was quicker than this
	lowTrail = time.Second          // how far the mark stays behind what was received
)

// lowMarks say for each queue and priority from which due time on a receive begins to look. What was received and acked stays in
// the index until it is vacuumed, and with somebody's old transaction open it is not: a scan from the beginning then
// passes over more and more of it. The mark trails what was received. What became due behind it, published by a transaction that took
// longer than the trail to commit, is found by the next full look, of which one is made in a hundred times its own duration.
type lowMarks struct {
	mu    sync.Mutex
	marks map[int64]*lowMark
}

type lowMark struct {
	due    [10]time.Time // by place: priority 9 first
	looked time.Time     // when the last full look ended
	took   time.Duration // the quicker of the last two
	last   time.Duration
}

// of gives the marks of a queue for a receive, and whether it is a full look. One that follows a look from the marks that found
// nothing is: no receive answers nothing because of a mark.
func (l *lowMarks) of(queue int64, again bool) (low []time.Time, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.marks[queue]
	low = make([]time.Time, 10)
	if again || m == nil || m.took < lowFrom || time.Since(m.looked) > max(2*time.Second, 100*m.took) {
		return low, true
	}
	copy(low, m.due[:])
	return low, false
}

// saw takes in what a receive found.
func (l *lowMarks) saw(queue int64, full bool, took time.Duration, got []received) {
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
		m.looked, m.took, m.last = time.Now(), min(took, m.last), took
	}
	for _, r := range got {
		if d := r.due.Add(-lowTrail); d.After(m.due[9-r.Priority]) {
			m.due[9-r.Priority] = d
		}
	}
}
