package sqlite

import "github.com/onceward/onceward/queue"

// The counts of a queue's messages are kept in the transaction that changes these, and written once for all of it: triggers
// did that for each row. Every statement that changes messages is run by a method that counts.

// tally is what a transaction has changed of a queue's counts, and not yet written.
type tally struct {
	queue int64
	by    counts
}

// delayed is what it has changed of how many messages are put off until a second.
type delayed struct{ queue, second, by int64 }

// count notes that n messages like m came (1) or went (-1).
func (t *tx) count(m *queue.Row, n int64) {
	c := t.tallyOf(m.QueueID)
	c.total += n
	if m.Leased {
		c.leased += n
	} else if m.VisibleAt.UnixMicro() > m.PublishedAt.UnixMicro() {
		t.countDelayed(m.QueueID, m.VisibleAt.Unix(), n)
	}
	if !m.DeadAt.IsZero() {
		c.deadHere += n
		t.tallyOf(m.SourceQueue).dead += n
	}
}

func (t *tx) tallyOf(queueID int64) *counts {
	for i := range t.tallies {
		if t.tallies[i].queue == queueID {
			return &t.tallies[i].by
		}
	}
	t.tallies = append(t.tallies, tally{queue: queueID})
	return &t.tallies[len(t.tallies)-1].by
}

func (t *tx) countDelayed(queueID, second, n int64) {
	for i := range t.delays {
		if t.delays[i].queue == queueID && t.delays[i].second == second {
			t.delays[i].by += n
			return
		}
	}
	t.delays = append(t.delays, delayed{queueID, second, n})
}

// saveCounts writes what was counted.
func (t *tx) saveCounts() error {
	for _, c := range t.tallies {
		if c.by == (counts{}) {
			continue
		}
		if _, err := t.exec("counts_add", c.by.total, c.by.leased, c.by.dead, c.by.deadHere, c.queue); err != nil {
			return err
		}
	}
	for _, d := range t.delays {
		name := "delay_counts_add"
		if d.by < 0 {
			name = "delay_counts_less" // of a second that is over there may be no row any more
		}
		if d.by == 0 {
			continue
		}
		if _, err := t.exec(name, d.by, d.queue, d.second); err != nil {
			return err
		}
	}
	t.tallies, t.delays = nil, nil
	return nil
}
