package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

// Beyond 10,000 the kept counts answer, and they are those of the rows.
func TestStatsOfADeepQueue(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	batch := make([]queue.Publish, 1000)
	for n := range 11 {
		for i := range batch {
			batch[i] = queue.Publish{Queue: "jobs"}
			if n == 0 {
				batch[i].Delay = time.Hour
			}
		}
		publish(t, db, batch...)
		if n == 5 {
			if _, err := db.Sweep(t.Context(), 10); err != nil { // folds what there is
				t.Fatal(err)
			}
		}
	}
	got := receive(t, db, "jobs", 500)
	acts := make([]queue.Settle, 100)
	for i := range acts {
		acts[i] = queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: got[i].ID, Lease: got[i].Lease}
	}
	if _, err := db.Settle(t.Context(), acts...); err != nil {
		t.Fatal(err)
	}
	s, err := db.QueueStats(t.Context(), 1, "jobs")
	if err != nil {
		t.Fatal(err)
	}
	if s.Messages != 10_900 || s.InFlight != 400 || s.Delayed != 1000 || s.Available != 9500 {
		t.Errorf("counts %+v", s)
	}
}

// A hundred groups and a crowd of ungrouped messages: each of them has its turn.
func TestUngroupedTakeTurns(t *testing.T) {
	t.Parallel()
	db := open(t)
	make1(t, db, "jobs")
	var items []queue.Publish
	for range 100 {
		items = append(items, queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs", Group: "a"}, queue.Publish{Queue: "jobs", Group: "b"})
	}
	publish(t, db, items...)
	count := map[string]int{}
	for range 30 {
		for _, m := range receive(t, db, "jobs", 1) {
			count[m.Group]++
		}
	}
	for _, g := range []string{"", "a", "b"} {
		if count[g] < 8 || count[g] > 12 {
			t.Errorf("of 30 received one at a time %d are of group %q: want about 10 each: %v", count[g], g, count)
		}
	}
}

// A million delayed and leased messages of a high priority would be passed over one by one if the plan were another than this.
func TestReceivePlansUseIndexes(t *testing.T) {
	t.Parallel()
	db := open(t)
	q := make1(t, db, "jobs")
	for _, c := range []struct {
		name string
		sql  string
		args []any
	}{
		{"plain", receivePlainSQL, []any{q.ID, 10, 60.0, make([]time.Time, 10)}},
		{"group", receiveGroupSQL, []any{q.ID, 10, 60.0, 25, make([]time.Time, 10), time.Time{}}},
		{"lapse", lapseSQL, []any{100, time.Time{}}},
		{"last tries", sweepLastTriesSQL, []any{100}},
	} {
		rows, err := db.pool.Query(t.Context(), "EXPLAIN "+c.sql, append([]any{pgx.QueryExecModeExec}, c.args...)...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, l := range lines {
			if strings.Contains(l, "Seq Scan on messages") || strings.Contains(l, "Seq Scan on bodies") || strings.Contains(l, "Hash Join") {
				t.Errorf("%s: %s", c.name, l)
			}
		}
	}
}
