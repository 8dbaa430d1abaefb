package postgres

import (
	"context"
	"sync"
	"testing"

	"github.com/onceward/onceward/internal/pgtest"
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

// A redrive's rate is that of all servers together, however eagerly each moves it on.
func TestServersShareARedrivesRate(t *testing.T) {
	t.Parallel()
	const servers, n, rate = 3, 24, 12.0
	ctx, url := t.Context(), pgtest.Database(t)
	var all []*DB
	for range servers {
		all = append(all, openAt(t, url))
	}
	make1(t, all[0], "jobs")
	for range n {
		publish(t, all[0], queue.Publish{Queue: "jobs"})
	}
	for _, m := range receive(t, all[0], "jobs", n) {
		if _, err := all[0].Settle(ctx, queue.Settle{Verb: queue.Nack, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease, DeadLetter: true}); err != nil {
			t.Fatal(err)
		}
	}
	rd, err := all[0].StartRedrive(ctx, queue.RedriveCall{Project: 1, Queue: "jobs", Rate: rate})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	moved := make([]int, servers)
	for i, db := range all {
		wg.Go(func() {
			for ctx.Err() == nil {
				k, _, err := db.StepRedrives(ctx, 100)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				moved[i] += k
			}
		})
	}
	eventually(t, "the redrive's end", func() bool {
		if rd, err = all[0].Redrive(t.Context(), 1, rd.ID); err != nil {
			t.Fatal(err)
		}
		return rd.State == queue.Completed
	})
	stop()
	wg.Wait()
	took := rd.FinishedAt.Sub(rd.CreatedAt).Seconds()
	if least := (n-1)/rate - 0.01; rd.Moved != n || took < least {
		t.Errorf("%d servers moved %v, %d of %d, in %.2f s: at %v a second that takes %.2f s", servers, moved, rd.Moved, n, took, rate, least)
	}
}
