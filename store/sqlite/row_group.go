package sqlite

import "time"

// unlimited is the slots of a fair group.
const unlimited = 1<<31 - 1

// group is a group's row.
type group struct {
	ID       int64
	Queue    int64
	Name     string
	Slots    int
	InFlight int
	Disabled bool
	Hold     time.Duration // of an endpoint: its time-out
	NextAt   time.Time     // zero: nothing waits
}

func (g *group) free() int { return g.Slots - g.InFlight }

func loadGroup(s scanner, g *group) error {
	return s.Scan(&g.ID, &g.Queue, &g.Name, &g.Slots, &g.InFlight, &g.Disabled, toSpan(&g.Hold), toTime(&g.NextAt))
}

// groupByID finds a group: false if there is none.
func (t *tx) groupByID(id int64) (g group, ok bool, err error) {
	ok, err = found(loadGroup(t.row("group_by_id", id), &g))
	return g, ok, err
}

// insertGroup stores a new group. An endpoint's has the endpoint's id.
func (t *tx) insertGroup(g *group) error {
	_, err := t.exec("group_insert", g.ID, g.Queue, g.Name, g.Slots, g.InFlight, g.Disabled, seconds(g.Hold), at(g.NextAt))
	return err
}

// saveGroup stores what can change of a group by a person's act: slots, disabled, hold. Slots in use and its turn change
// by addSlots, wakeGroup and parkGroup.
func (t *tx) saveGroup(g *group) error {
	_, err := t.exec("group_save", g.Slots, g.Disabled, seconds(g.Hold), g.ID)
	return err
}

// addSlots changes how many of the group's messages are in flight.
func (t *tx) addSlots(id int64, n int) error {
	if id == 0 || n == 0 {
		return nil
	}
	_, err := t.exec("group_slots", n, id)
	return err
}

// wakeGroup lets the group have its turn from when on, if it has none before, and wakes who waits for its queue.
func (t *tx) wakeGroup(id, queueID int64, when time.Time) error {
	t.wake(queueID, when)
	if id == 0 {
		return nil // the ungrouped are never parked
	}
	_, err := t.exec("group_wake", max(when.UnixMicro(), t.db.turns), id)
	return err
}

// parkGroup says when the group next has its turn: at next if that is not zero, else when it is woken.
func (t *tx) parkGroup(id int64, next time.Time) error {
	_, err := t.exec("group_park", at(next), id)
	return err
}

// turn gives the time for one receive's visits of groups: what is due by it has a turn, and who had one goes to the
// tail with it. Receives that share a transaction, and so its time, each get a later one: else a group could be visited
// twice before another once.
func (t *tx) turn() time.Time {
	t.db.turns = max(t.now.UnixMicro(), t.db.turns) + 1 // past what was woken in this transaction
	return time.UnixMicro(t.db.turns).UTC()
}
