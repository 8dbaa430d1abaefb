package sqlite

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/onceward/onceward/queue"
)

// Receive hands out messages.
func (db *DB) Receive(ctx context.Context, r queue.Receive) (out []queue.Message, err error) {
	err = db.writeHot(ctx, "receive "+strconv.Quote(r.Queue), 1, 0, func(t *tx) error {
		out = nil
		q, err := t.queueByName(r.Project, r.Queue)
		if err != nil || q.Paused {
			return err
		}
		h := hand{tx: t, q: q, max: min(max(1, r.Max), queue.MaxBatch), lease: r.Visibility}
		if h.lease == 0 {
			h.lease = q.Visibility
		}
		if !q.Grouped {
			_, err = h.take("receive_plain", q.ID, h.max)
		} else {
			err = h.visit()
		}
		out = h.out
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// hand is one receive under way.
type hand struct {
	*tx
	q     *queueRow
	max   int
	lease time.Duration
	out   []queue.Message
	bytes int
	heavy bool // the next body would be past the bytes of a receive
}

func (h *hand) full() bool { return h.heavy || len(h.out) >= h.max }

// take hands out at most n of the messages that a statement finds due, and answers how many. Of answers fewer than n
// there is no more to be had, unless the hand is full.
func (h *hand) take(statement string, of int64, n int) (int, error) {
	ids, err := h.ids(statement, of, at(h.now), n)
	if err != nil {
		return 0, err
	}
	for i, id := range ids {
		var m queue.Message
		if err := h.message(id, &m); err != nil {
			return i, err
		}
		if h.bytes += len(m.Body); h.bytes > queue.MaxReceiveBytes && len(h.out) > 0 {
			h.heavy = true
			return i, nil
		}
		was := m.Row
		m.Row.Receive(h.now, h.lease) // the slots are added once for a visit
		if err := h.saveMessage(&was, &m.Row); err != nil {
			return i, err
		}
		h.out = append(h.out, m)
	}
	return len(ids), nil
}

// visit lets the queue's groups take turns until the hand is full or nothing is due.
func (h *hand) visit() error {
	if _, err := h.lapse(h.q.ID, queue.MaxBatch); err != nil { // no sweep stands between a lease's end and a receive
		return err
	}
	turn, seen := h.turn(), map[int64]bool{}
	for !h.full() {
		groups, err := h.due(turn, seen)
		if err != nil || len(groups) == 0 {
			return err
		}
		// Each gets its share; those that have more then share what is left.
		for rest := groups; len(rest) > 0 && !h.full(); {
			share := max(1, (h.max-len(h.out)+len(rest)-1)/len(rest))
			more := rest[:0]
			for _, g := range rest {
				if h.full() {
					break
				}
				n := min(share, h.max-len(h.out), g.free())
				got, err := h.visitGroup(&g, n, turn)
				if err != nil {
					return err
				}
				if g.InFlight += got; got == n && g.free() > 0 {
					more = append(more, g)
				}
			}
			rest = more
		}
	}
	return nil
}

// visitGroup takes at most n messages of a group, and sends it to the tail or parks it until it has something due.
func (h *hand) visitGroup(g *group, n int, turn time.Time) (got int, err error) {
	if g.ID == 0 {
		if got, err = h.take("receive_plain", h.q.ID, n); err != nil || got == 0 {
			return got, err // it keeps its turn
		}
		h.q.Turn = turn
		_, err = h.exec("queue_turn", at(turn), h.q.ID)
		return got, err
	}
	take, next := "receive_group", "group_next"
	if h.q.FIFO { // a head that waits holds its group
		take, next = "receive_fifo", "fifo_next"
	}
	if got, err = h.take(take, g.ID, n); err != nil || got == 0 && h.heavy {
		return got, err
	}
	due := turn
	if got < n && !h.heavy {
		if err = h.row(next, g.ID).Scan(toTime(&due)); err != nil {
			return got, err
		}
	}
	_, err = h.exec("group_visited", got, at(due), g.ID)
	return got, err
}

// due gives the groups that have a turn and were not seen yet, the longest waiting first. The ungrouped are the group 0.
func (h *hand) due(turn time.Time, seen map[int64]bool) (out []group, err error) {
	err = h.each("group_due", func(s scanner) error {
		var g group
		if err := loadGroup(s, &g); err != nil || seen[g.ID] {
			return err
		}
		seen[g.ID] = true
		out = append(out, g)
		return nil
	}, h.q.ID, at(turn), h.max)
	if !seen[0] {
		seen[0] = true
		i := slices.IndexFunc(out, func(g group) bool { return g.NextAt.After(h.q.Turn) })
		if i < 0 {
			i = len(out)
		}
		out = slices.Insert(out, i, group{Slots: unlimited})
	}
	return out, err
}
