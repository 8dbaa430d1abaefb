package sqlite

import "math"

// lookAt is how many rows a paging duty looks at in one transaction.
const lookAt = 2000

// sweepExpired removes messages past their retention. It pages through the table by id, a part at a time and then from
// the beginning again: an index on the time would cost each publish more than this costs.
func (t *tx) sweepExpired(limit int) (int, error) {
	at0 := &t.db.swept.expired
	end, err := t.pageEnd("message_page_end", *at0)
	if err != nil {
		return 0, err
	}
	ids, err := t.ids("message_expired", *at0, end, at(t.now), limit)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if err := t.nest(func(t *tx) error { return t.expire(id) }); t.undone {
			return 0, err
		} else if err != nil {
			t.db.options.Logger.Error("a message past its retention could not be removed", "message", id, "error", err)
		}
	}
	*at0 = nextPage(end, ids, limit)
	return len(ids), nil
}

// pageEnd gives the id of the last row of the page past an id; the highest there can be for the last page.
func (t *tx) pageEnd(statement string, past int64) (end int64, err error) {
	if ok, err := found(t.row(statement, past, lookAt-1).Scan(&end)); err != nil || ok {
		return end, err
	}
	return math.MaxInt64, nil
}

// nextPage gives where to go on: after what was done if there may be more, else past the page, or from the beginning.
func nextPage(end int64, done []int64, limit int) int64 {
	switch {
	case len(done) >= limit:
		return done[len(done)-1]
	case end == math.MaxInt64:
		return 0
	}
	return end
}

// expire removes a message past its retention. A delivery is never just gone: it is dead-lettered.
func (t *tx) expire(id int64) error {
	m, ok, err := t.messageByID(id)
	if err != nil || !ok {
		return err
	}
	if m.QueueID != deliveriesQueue {
		return t.remove(&m, "its message was past its retention")
	}
	dlq, err := t.dlqOf(m.QueueID)
	if err != nil {
		return err
	}
	was := m
	c := m.DeadLetter(t.now, dlq, "it waited longer than deliveries are kept waiting")
	return t.applyChange(&was, &m, c)
}

// sweepKeys forgets keys past their window.
func sweepKeys(statement string) func(*tx, int) (int, error) {
	return func(t *tx, limit int) (int, error) {
		n, err := t.exec(statement, at(t.now), limit)
		return int(n), err
	}
}

// sweepGroups removes fair groups that have no message and that no dead letter goes back to, a page at a time.
func (t *tx) sweepGroups(limit int) (int, error) {
	at0 := &t.db.swept.groups
	end, err := t.pageEnd("group_page_end", *at0)
	if err != nil {
		return 0, err
	}
	ids, err := t.ids("group_empty", *at0, end, limit)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, err := t.exec("group_delete", id); err != nil {
			return 0, err
		}
	}
	*at0 = nextPage(end, ids, limit)
	// delay counts of seconds that are over count nothing any more
	_, err = t.exec("delay_counts_sweep", t.now.Unix()-1, limit)
	return len(ids), err
}

// sweepDeletedQueues removes the messages and the groups of queues that are gone.
func (t *tx) sweepDeletedQueues(limit int) (int, error) {
	queues, err := t.ids("counts_orphan")
	if err != nil || len(queues) == 0 {
		return 0, err
	}
	return t.removeQueue(queues[0], limit)
}

// removeQueue removes at most limit messages or groups of a queue that is gone, and last its counts.
func (t *tx) removeQueue(q int64, limit int) (int, error) {
	ids, err := t.ids("message_ids", q, 0, int64(math.MaxInt64), limit)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		m, ok, err := t.messageByID(id)
		if err == nil && ok {
			err = t.remove(&m, "its queue was deleted")
		}
		if err != nil {
			return 0, err
		}
	}
	left := limit - len(ids)
	if left <= 0 {
		return len(ids), nil
	}
	n, err := t.exec("group_delete_queue", q, left)
	if err != nil || n == int64(left) {
		return len(ids) + int(n), err
	}
	_, err = t.exec("counts_delete", q)
	return len(ids) + int(n) + 1, err
}

// vacuum gives back a little of the file to the system while it is more than a quarter empty.
func (t *tx) vacuum() error {
	var pages, free int64
	if err := t.row("PRAGMA page_count").Scan(&pages); err != nil {
		return err
	}
	if err := t.row("PRAGMA freelist_count").Scan(&free); err != nil || free < 1000 || free*4 < pages {
		return err
	}
	return t.run("PRAGMA incremental_vacuum(100)")
}
