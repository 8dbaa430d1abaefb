package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// inCallers publishes to groups of the line in a transaction of a caller's own, and commits it.
func inCallers(t *testing.T, db *DB, groups ...string) (last int64) {
	t.Helper()
	tx := begun(t, db.pool)
	for _, g := range groups {
		last = publishTx(t, tx, queue.Publish{Queue: "line", Group: g}).ID
	}
	commit(t, tx)
	return last
}

// inOrder receives one after the other and sees that each is the next of those wanted.
func inOrder(t *testing.T, db *DB, wanted ...int64) {
	t.Helper()
	for i, id := range wanted {
		m := receive(t, db, "line", 1)
		if len(m) != 1 || m[0].ID != id {
			t.Fatalf("%d: received %v, want %d of %v", i, m, id, wanted)
		}
		ack(t, db, m)
	}
}

// Who gives callers' messages their places is held up at one group: nobody else gives a later message of another group a place before those that it has in hand.
func TestFIFOFoldsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	a, b := openAt(t, url), openAt(t, url)
	if _, err := a.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "line", FIFO: new(true)}); err != nil {
		t.Fatal(err)
	}
	for _, g := range []string{"slow", "g"} {
		ack(t, a, func() []queue.Message {
			publish(t, a, queue.Publish{Queue: "line", Group: g})
			return receive(t, a, "line", 1)
		}())
	}
	first := inCallers(t, a, "slow", "g")
	release := holding(t, a, "SELECT id FROM groups WHERE name = 'slow' FOR UPDATE")
	done := make(chan error, 1)
	go func() {
		_, err := a.foldAll(context.WithoutCancel(t.Context()), 100)
		done <- err
	}()
	blocked(t, a)
	second := inCallers(t, b, "g")
	if m := receive(t, b, "line", 1); len(m) != 0 {
		t.Errorf("received %d, want nothing while %d is being given its place", m[0].ID, first)
		ack(t, b, m)
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	ack(t, b, receive(t, b, "line", 1)) // of slow
	inOrder(t, b, first, second)
}

// A look for callers' messages that begins at the mark would pass by one whose transaction took long, and give one that was sent once that was committed its place before it.
func TestFIFOFoldPassesNothingBy(t *testing.T) {
	t.Parallel()
	db := open(t)
	q, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "line", FIFO: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	long := begun(t, db.pool)
	first := publishTx(t, long, queue.Publish{Queue: "line", Group: "g"}).ID
	inOrder(t, db, inCallers(t, db, "g"))
	name := namedQueue{1, q.Name}
	for range 2 { // looks that took long: from now on they begin at the mark
		db.wakes.looked(name, true, lowFrom)
	}
	db.wakes.folded(name, query[int64](t, db, "SELECT pg_sequence_last_value(pg_get_serial_sequence('wakes', 'id'))"))
	commit(t, long)
	inOrder(t, db, first, inCallers(t, db, "g"))
}

// Callers who publish without a pause: a server's publish waits for what was committed before it, and not for what comes after.
func TestFIFOPublishBesideCallersWithoutAPause(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "line", FIFO: new(true)}); err != nil {
		t.Fatal(err)
	}
	first := inCallers(t, db, "g")
	exec(t, db, `CREATE FUNCTION one_more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO wakes (queue, name, message) VALUES (OLD.queue, OLD.name, 0); RETURN NULL; END $$`)
	exec(t, db, "CREATE TRIGGER one_more AFTER DELETE ON wakes FOR EACH ROW EXECUTE FUNCTION one_more()")
	second := publish(t, db, queue.Publish{Queue: "line", Group: "g"})[0].ID
	inOrder(t, db, first, second)
}

// Who finds that another is giving callers' messages their groups has changed no group. Were one remembered as changed, its row would not be found, and a slot that comes back would be lost.
func TestFoldOfAnotherChangesNothing(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	a, b := openAt(t, url), openAt(t, url)
	if _, err := a.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "line", FIFO: new(true)}); err != nil {
		t.Fatal(err)
	}
	publish(t, b, queue.Publish{Queue: "line", Group: "other"}) // its connections are there: a new one would have it forget
	if _, err := b.Sweep(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ack(t, b, receive(t, b, "line", 1))
	publish(t, a, queue.Publish{Queue: "line", Group: "g"})
	got := receive(t, a, "line", 1)
	next := inCallers(t, a, "g")
	exec(t, a, "UPDATE groups SET tick = tick - 100")
	release := holding(t, a, "SELECT id FROM wakes FOR UPDATE")
	if n, err := b.foldAll(t.Context(), 100); n != 0 || err != nil {
		t.Fatalf("folded %d, %v", n, err)
	}
	ack(t, b, got)
	release()
	inOrder(t, a, next)
}

// A publish that runs out of time while another gives the queue's messages their places fails: it is not answered as stored, of which nothing is.
func TestFIFOPublishOutOfTime(t *testing.T) {
	t.Parallel()
	db := open(t)
	q, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "line", FIFO: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	inCallers(t, db, "g")
	release := holding(t, db, "SELECT pg_advisory_xact_lock(1936288617, hashint8($1))", q.ID)
	defer release()
	run := func(ctx context.Context) (answered bool) {
		p := newPublishing([]queue.Publish{{Project: 1, Queue: "line", Group: "g", Body: []byte(`{}`)}})
		err := p.run(ctx, db)
		return err != nil || p.out[0].Err != nil || p.out[0].ID != 0
	}
	began := time.Now()
	run(t.Context())
	whole := time.Since(began)          // until it gives up by itself
	for n := range time.Duration(100) { // the time runs out in a statement, or in a wait between two
		ctx, cancel := context.WithTimeout(t.Context(), whole*n/100)
		if !run(ctx) {
			t.Errorf("with %v: a success, and nothing is stored", whole*n/100)
		}
		cancel()
	}
}
