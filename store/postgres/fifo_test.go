package postgres

import (
	"slices"
	"testing"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// A publish that is held up after it has its id, and one that overtakes it: their places are those of their commits, or a message would come before one that was
// handed out, or be passed by for ever.
func TestFIFOPlaceIsGivenUnderTheLock(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	a, b := openAt(t, url), openAt(t, url)
	if _, err := a.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "line", FIFO: new(true)}); err != nil {
		t.Fatal(err)
	}
	publish(t, a, queue.Publish{Queue: "line", Group: "g", Key: "first", Hash: make([]byte, 32)})
	ack(t, a, receive(t, a, "line", 1))
	release := holding(t, a, "INSERT INTO publish_keys (project, queue, key, hash, message_id, published_at, visible_at, expires_at) SELECT project, queue, 'held', hash, 0, now(), now(), now() FROM publish_keys")
	slow := make(chan int64, 1)
	go func() {
		out, err := a.Publish(t.Context(), queue.Publish{Project: 1, Queue: "line", Group: "g", Body: []byte(`1`), Key: "held", Hash: make([]byte, 32)})
		if err != nil || out[0].Err != nil {
			t.Errorf("publish: %v", err)
			close(slow)
			return
		}
		slow <- out[0].ID
	}()
	blocked(t, a)
	quick := publish(t, b, queue.Publish{Queue: "line", Group: "g"})[0].ID
	got := receive(t, b, "line", 10)
	if len(got) != 1 || got[0].ID != quick {
		t.Fatalf("received %d, want the one that is there", len(got))
	}
	release()
	held := <-slow
	if held > quick {
		t.Fatalf("the held one has the id %d, the other %d: it was not held up", held, quick)
	}
	if out, err := b.Settle(t.Context(), queue.Settle{Verb: queue.Nack, Project: 1, Queue: "line", ID: quick, Lease: got[0].Lease, HasDelay: true}); err != nil || !out[0].Applied {
		t.Fatalf("nack: %v", err)
	}
	var order []int64
	for range 2 {
		m := receive(t, a, "line", 10)
		if len(m) != 1 {
			t.Fatalf("received %d after %v", len(m), order)
		}
		order = append(order, m[0].ID)
		ack(t, a, m)
	}
	if !slices.Equal(order, []int64{quick, held}) {
		t.Errorf("received %v, want %d again and then %d", order, quick, held)
	}
}

// A receive whose snapshot is older than the last change of a group takes nothing of it: its head may be another by now. The next one does.
func TestFIFOHeadOfAnOldSnapshot(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "line", FIFO: new(true)}); err != nil {
		t.Fatal(err)
	}
	publish(t, db, queue.Publish{Queue: "line", Group: "g"})
	wake := func(xid string) {
		t.Helper()
		if _, err := db.pool.Exec(t.Context(), "UPDATE groups SET wake_xid = "+xid+" WHERE name = 'g'"); err != nil {
			t.Fatal(err)
		}
	}
	wake("'9000000000000000'")
	if m := receive(t, db, "line", 1); len(m) != 0 {
		t.Errorf("received %d of a group that changed after the snapshot", len(m))
	}
	wake("pg_current_xact_id()")
	if m := receive(t, db, "line", 1); len(m) != 1 {
		t.Errorf("received %d afterwards, want 1", len(m))
	}
}
