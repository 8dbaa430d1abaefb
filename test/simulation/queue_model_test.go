package simulation

import (
	"cmp"
	"slices"
	"time"
)

// queueModel is what a queue must be, by docs/http-api.md.
type queueModel struct {
	name       string
	fifo       bool
	content    bool // its payloads are keys
	visibility time.Duration
	most       int // receives
	retention  time.Duration
	kept       time.Duration // of dead letters
	window     time.Duration
	messages   []*message // all there ever were, oldest first
	keys       map[string]*publishKey
	places     int // of a fifo queue, given so far
}

// publishKey is what a key stands for since its first use.
type publishKey struct {
	m     *message
	until time.Time
}

// message is a message as it must be.
type message struct {
	queue    *queueModel
	name     string // its payload
	id       string // empty while no answer has told it
	receipt  string // the newest that was heard of
	order    int    // of its publish, in its queue
	place    int    // in its fifo group
	group    string
	priority int
	delay    time.Duration
	receives int
	lease    int // the number of the newest receive
	leased   bool
	open     bool
	visible  time.Time // the end of its delay or lease
	expires  time.Time
	dead     bool
	gone     bool
}

// soon is what the server's duties have to notice that a time is over: a second, once the server is up.
const soon = time.Second

// passed reports whether a time was over for so long that the server must have noticed; at it, or just after it, it may have.
func (w *world) passed(t time.Time) bool {
	from := t
	if from.Before(w.since) {
		from = w.since
	}
	return !w.now().Before(from.Add(soon))
}

// lastTry reports whether the message may be received no more.
func (m *message) lastTry() bool { return !m.dead && m.receives >= m.queue.most }

// maybe says that a duty of the server is due, whose time within the second nobody can tell: the message may be as before, or as after it.
func (w *world) maybe(m *message) bool {
	if m.gone || w.now().Before(m.visible) && m.leased {
		return false
	}
	return m.leased && m.lastTry() || !w.now().Before(m.expires.Add(-soon))
}

// age brings the message to now, as far as that is certain.
func (w *world) age(m *message) {
	if m.gone || m.leased && w.now().Before(m.visible) {
		return
	}
	if m.leased && m.lastTry() && w.passed(m.visible) {
		at := m.visible
		if at.Before(w.since) {
			at = w.since // nobody was there to see it
		}
		m.die(at.Add(soon / 2))
	}
	ends := m.expires
	if m.leased && m.visible.After(ends) {
		ends = m.visible
	}
	if !w.now().Before(m.expires) && w.passed(ends) {
		m.gone = true
	}
}

func (m *message) die(at time.Time) {
	m.dead, m.leased, m.open = true, false, false
	m.visible, m.expires = at, at.Add(m.queue.kept)
}

// living brings the queue to now and gives what is in it; dead ones with it if asked.
func (w *world) living(q *queueModel, dead bool) (all []*message) {
	for _, m := range q.messages {
		w.age(m)
		if !m.gone && m.dead == dead {
			all = append(all, m)
		}
	}
	return all
}

// receivable is what a consume of the queue may give, in its order; of a fifo queue the heads, in no order.
func (w *world) receivable(q *queueModel) []*message {
	live := w.living(q, false)
	if q.fifo {
		heads := map[string]*message{}
		for _, m := range live {
			if h := heads[m.group]; h == nil || m.place < h.place {
				heads[m.group] = m
			}
		}
		live = slices.DeleteFunc(live, func(m *message) bool { return heads[m.group] != m })
	}
	live = slices.DeleteFunc(live, func(m *message) bool { return m.visible.After(w.now()) || m.lastTry() })
	slices.SortFunc(live, func(a, b *message) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), a.visible.Compare(b.visible), cmp.Compare(a.order, b.order))
	})
	return live
}

// unsure reports whether a message of the queue is just between two states.
func (w *world) unsure(q *queueModel) bool {
	return slices.ContainsFunc(q.messages, w.maybe)
}

// receive notes that a message was handed out.
func (w *world) receive(m *message, lease time.Duration) {
	m.lease++
	m.leased, m.open = true, true
	if !m.dead {
		m.receives++
	}
	m.visible = w.now().Add(lease)
}

// give ends the message's receipt; it can be received again after the delay.
func (w *world) give(m *message, delay time.Duration) {
	m.leased, m.open, m.visible = false, false, w.now().Add(delay)
}

// backoff is what a nack waits that says nothing.
func backoff(receives int) time.Duration {
	return min(300*time.Second, time.Second<<min(max(0, receives-1), 10))
}

// state is the message's status now.
func (w *world) state(m *message) string {
	switch {
	case m.leased && (m.visible.After(w.now()) || m.lastTry()):
		return "in_flight"
	case m.visible.After(w.now()):
		return "delayed"
	}
	return "available"
}
