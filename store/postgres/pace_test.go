package postgres

import (
	"testing"

	"github.com/onceward/onceward/queue"
)

// A pace that is ahead of a transaction's clock, because it was set back, is no step, and least of all the end.
func TestRedriveClockBack(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	if _, err := db.CreateQueue(ctx, queue.Spec{Project: 1, Name: "jobs"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		publish(t, db, queue.Publish{Project: 1, Queue: "jobs", Body: []byte("1")})
	}
	l, err := db.Receive(ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 10})
	if err != nil || len(l) != 3 {
		t.Fatalf("%d messages, %v", len(l), err)
	}
	for _, m := range l {
		if _, err := db.Settle(ctx, queue.Settle{Verb: queue.Nack, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease, DeadLetter: true}); err != nil {
			t.Fatal(err)
		}
	}
	rd, err := db.StartRedrive(ctx, queue.RedriveCall{Project: 1, Queue: "jobs", Rate: 10})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, db, "UPDATE redrives SET paced_at = now() + interval '1 hour'")
	if _, _, err := db.StepRedrives(ctx, 10); err != nil {
		t.Fatal(err)
	}
	if rd, err = db.Redrive(ctx, 1, rd.ID); err != nil || rd.State != queue.Running || rd.Left != 0 {
		t.Fatalf("%+v, %v; want it running", rd, err)
	}
}
