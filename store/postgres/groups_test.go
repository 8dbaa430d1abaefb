package postgres

import (
	"testing"
	"time"

	"github.com/onceward/onceward/queue"
)

// The turn of a queue's ungrouped messages is swept as the queue's only group while a publish that nobody sees yet makes another one: it is made again.
func TestUngroupedHaveTheirTurnAgain(t *testing.T) {
	t.Parallel()
	db := open(t)
	q := make1(t, db, "jobs")
	ungrouped := func() int {
		return count(t, db, "SELECT count(*) FROM groups WHERE queue = $1 AND name = '' AND next_at <= now()", q.ID)
	}
	sweep := func() {
		db.sweeps.mu.Lock()
		db.sweeps.groups.rest = time.Time{}
		db.sweeps.mu.Unlock()
		if _, err := db.sweepGroups(t.Context(), groupPage); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, db, queue.Publish{Queue: "jobs", Group: "a"})
	ack(t, db, receive(t, db, "jobs", 1))
	sweep() // of a
	release := holding(t, db, groupEnsureSQL, []int64{1}, []string{"jobs"}, []string{"b"})
	if sweep(); ungrouped() != 0 {
		t.Fatal("the only group that a sweep sees is still there")
	}
	release()
	// By a server that knows the group, and so makes none.
	db.groupIDs.put(groupName{1, "jobs", "b"}, query[int64](t, db, "SELECT id FROM group_names WHERE name = 'b'"))
	publish(t, db, queue.Publish{Queue: "jobs", Group: "b"})
	if sweep(); ungrouped() != 1 {
		t.Error("the ungrouped messages of a queue with groups have no turn")
	}
}
