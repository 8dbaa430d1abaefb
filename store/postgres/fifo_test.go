package postgres

import (
	"errors"
	"slices"
	"testing"

	"github.com/onceward/onceward/internal/fault"
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

// What callers publish to a fifo queue inside transactions of their own has its place from its fold on: after what was there, and before what was sent once it was
// committed, though nobody received in between.
func TestFIFOOfCallersTransactions(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	a, b := openAt(t, url), openAt(t, url)
	if _, err := a.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "line", FIFO: new(true), ContentDedup: new(true)}); err != nil {
		t.Fatal(err)
	}
	var wanted []int64
	server := func(db *DB, body string) {
		wanted = append(wanted, publish(t, db, queue.Publish{Queue: "line", Group: "g", Body: []byte(body)})[0].ID)
	}
	inTx := func(bodies ...string) (commit func()) {
		tx, err := a.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, body := range bodies {
			out, err := queue.PublishTx(t.Context(), Tx(tx), queue.Publish{Queue: "line", Group: "g", Body: []byte(body)})
			if err != nil || out[0].Err != nil {
				t.Fatalf("publish: %v, %v", err, out)
			}
			got = append(got, out[0].ID)
		}
		for field, p := range map[string]queue.Publish{"/message_group_id": {}, "/priority": {Group: "g", Priority: 1}} {
			p.Queue, p.Body = "line", []byte(`"refused"`)
			out, err := queue.PublishTx(t.Context(), Tx(tx), p)
			if e, ok := errors.AsType[*fault.Error](out[0].Err); err != nil || !ok || e.Field != field {
				t.Errorf("%s: %v, %v", field, err, out[0].Err)
			}
		}
		return func() {
			t.Helper()
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			wanted = append(wanted, got...)
		}
	}
	early := inTx(`"open for long"`, `"and more"`)
	server(a, `1`)
	inTx(`2`, `3`)()
	server(b, `4`)
	early()
	server(b, `5`)
	again, err := b.Publish(t.Context(), queue.Publish{Project: 1, Queue: "line", Group: "g", Body: []byte(`"and more"`)})
	if err != nil || !again[0].Replay {
		t.Errorf("the payload of a caller's transaction: %v, %+v", err, again)
	}
	for i, id := range wanted {
		m := receive(t, b, "line", 10)
		if len(m) != 1 || m[0].ID != id {
			t.Fatalf("%d: received %v, want %d of %v", i, m, id, wanted)
		}
		ack(t, b, m)
	}
}
