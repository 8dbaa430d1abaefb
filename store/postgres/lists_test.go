package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// A list is of one moment: a message that is acked while the list is made is shown as it was, or not at all, and never without its body.
func TestListIsOfOneMoment(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	db := openAt(t, url)
	make1(t, db, "jobs")
	publish(t, db, queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
	for _, m := range receive(t, db, "jobs", 3) {
		settle1(t, db, queue.Settle{Verb: queue.Nack, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease, DeadLetter: true})
	}
	publish(t, db, queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})

	for _, c := range []struct {
		name, from string
		list       func(context.Context) ([]queue.Message, int64, error)
	}{
		{"messages", "jobs", func(ctx context.Context) ([]queue.Message, int64, error) {
			return db.Messages(ctx, 1, "jobs", "", queue.Page{Limit: 10})
		}},
		{"dead letters", "jobs-dlq", func(ctx context.Context) ([]queue.Message, int64, error) {
			return db.DeadLetters(ctx, 1, "jobs", queue.Page{Limit: 10})
		}},
	} {
		got := receive(t, db, c.from, 3)
		if len(got) != 3 {
			t.Fatalf("%s: received %d of 3", c.name, len(got))
		}
		holder, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer holder.Close(context.WithoutCancel(t.Context()))
		// Groups' names are looked up beside the bodies, after the rows.
		if _, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE group_names IN ACCESS EXCLUSIVE MODE"); err != nil {
			t.Fatal(err)
		}
		type page struct {
			m   []queue.Message
			err error
		}
		done := make(chan page, 1)
		go func() {
			m, _, err := c.list(t.Context())
			done <- page{m, err}
		}()
		blocked(t, db)
		ack(t, db, got[:1])
		settle1(t, db, queue.Settle{Verb: queue.Release, Project: 1, Queue: c.from, ID: got[1].ID, Lease: got[1].Lease})
		if _, err := holder.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		p := <-done
		if p.err != nil {
			t.Fatal(p.err)
		}
		for _, m := range p.m {
			if m.Body == nil || m.Queue != c.from {
				t.Errorf("%s: message %d is shown with body %q in queue %q", c.name, m.ID, m.Body, m.Queue)
			}
			if s := m.Status(m.LookedAt); s != queue.InFlight {
				t.Errorf("%s: message %d is shown as %s; it was in flight when the list was begun", c.name, m.ID, s)
			}
		}
		if len(p.m) != 3 {
			t.Errorf("%s: %d are listed, want the 3 that were there when the list was begun", c.name, len(p.m))
		}
	}
}

func settle1(t testing.TB, db *DB, s queue.Settle) {
	t.Helper()
	out, err := db.Settle(t.Context(), s)
	if err != nil || out[0].Err != nil || !out[0].Applied {
		t.Fatalf("%s: %+v, %v", s.Verb, out, err)
	}
}
