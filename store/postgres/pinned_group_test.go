package postgres

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

// touches gives how many pages a statement touches in all. What it does is undone.
func touches(t *testing.T, db *DB, sql string, args ...any) float64 {
	t.Helper()
	tx, err := db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	var out []byte
	if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(&out); err != nil {
		t.Fatal(err)
	}
	var p []struct {
		Plan struct {
			Hit  float64 `json:"Shared Hit Blocks"`
			Read float64 `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}
	return p[0].Plan.Hit + p[0].Plan.Read
}

// H-Q12: a group's row leaves a version with every change. What is published to it, received of it and acked passes over those of the last moment
// alone, be it one group of a queue whose turn comes again and again.
func TestGroupRowBehindASnapshot(t *testing.T) {
	t.Parallel()
	for name, fifo := range map[string]bool{"standard": false, "fifo": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			groupRowBehindASnapshot(t, fifo)
		})
	}
}

func groupRowBehindASnapshot(t *testing.T, fifo bool) {
	db := pinned(t)
	q, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "jobs", FIFO: &fifo})
	if err != nil {
		t.Fatal(err)
	}
	receiveSQL, base := receiveGroupSQL, []any{q.ID, 1, 60.0, 4, make([]time.Time, 10), 0}
	if fifo {
		receiveSQL, base = receiveFIFOSQL, base[:4:4]
	}
	publish(t, db, queue.Publish{Queue: "jobs", Group: "hot"}, queue.Publish{Queue: "jobs", Group: "hot"})
	publish(t, db, queue.Publish{Queue: "jobs", Group: "cold", Delay: time.Hour}) // a table of one row is planned as nothing else is
	cycle := func() {
		publish(t, db, queue.Publish{Queue: "jobs", Group: "hot"})
		got := receive(t, db, "jobs", 1)
		if len(got) != 1 {
			t.Fatalf("received %d of three", len(got))
		}
		ack(t, db, got)
	}
	item := []queue.Publish{{Project: 1, Queue: "jobs", Group: "hot", Body: []byte("1")}}
	look := func() map[string]float64 {
		later(t, db)
		cycle() // so that what is remembered is of this moment
		turn := query[time.Time](t, db, "SELECT next_at FROM groups WHERE name = 'hot'")
		ids, err := db.groupsOf(t.Context(), item, []int{0})
		if err != nil {
			t.Fatal(err)
		}
		ticks := db.ticks.of(ids)
		args, err := publishArgs(newPublishing(item), ids, ticks, laneWait)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]float64{
			"a publish": touches(t, db, publishSQL, args...),
			"a receive": touches(t, db, receiveSQL, append(base, turn)...),
			"an ack":    touches(t, db, changeGroupsSQL, ids, []int32{0}, []time.Time{{}}, ticks),
		}
	}
	for range 50 {
		cycle()
	}
	first := look()
	for range 1000 {
		cycle()
	}
	for what, n := range look() {
		t.Logf("%s touches %v pages after 50 cycles and %v after 1,050", what, first[what], n)
		if n > 2*first[what]+40 {
			t.Errorf("%s touches %v pages after 50 cycles and %v after 1,050", what, first[what], n)
		}
	}
}

func query[T any](t testing.TB, db *DB, sql string, args ...any) (v T) {
	t.Helper()
	if err := db.pool.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
