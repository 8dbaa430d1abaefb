package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

func tempFile(t testing.TB) string { return filepath.Join(t.TempDir(), "test.db") }

func (db *DB) put(ctx context.Context, name string, then error) error {
	return db.write(ctx, "put", 0, func(t *tx) error {
		if _, err := t.exec("meta_set", name, 1); err != nil {
			return err
		}
		return then
	})
}

func (db *DB) has(t testing.TB, name string) bool {
	t.Helper()
	var n int
	if err := db.read(t.Context(), "has", func(t *tx) error {
		return t.row("SELECT count(*) FROM meta WHERE name = ?", name).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// Calls that come while a commit is under way share the next one.
func TestLaneSharesCommits(t *testing.T) {
	t.Parallel()
	var commits, items atomic.Int64
	db, err := Open(t.Context(), tempFile(t), Options{Observe: func(op string, n int, _ time.Duration) {
		if op == "put" {
			commits.Add(1)
			items.Add(int64(n))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	inside, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		db.write(context.Background(), "hold", 0, func(*tx) error { close(inside); <-goOn; return nil })
	})
	<-inside
	const n = 50
	var entered sync.WaitGroup
	for i := range n {
		entered.Add(1)
		wg.Go(func() {
			entered.Done()
			if err := db.put(context.Background(), fmt.Sprint("k", i), nil); err != nil {
				t.Error(err)
			}
		})
	}
	entered.Wait()
	close(goOn)
	wg.Wait()
	if items.Load() != n || commits.Load() > n/2 {
		t.Errorf("%d writes took %d commits", items.Load(), commits.Load())
	}
}

// One closure that fails or panics is undone; what shares its commit is not.
func TestSavepointIsolation(t *testing.T) {
	t.Parallel()
	db := open(t, tempFile(t))
	inside, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		db.write(context.Background(), "hold", 0, func(*tx) error { close(inside); <-goOn; return nil })
	})
	<-inside
	bad := errors.New("bad")
	wg.Go(func() {
		if err := db.put(context.Background(), "good", nil); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() {
		if err := db.put(context.Background(), "bad", bad); !errors.Is(err, bad) {
			t.Error(err)
		}
	})
	wg.Go(func() {
		err := db.write(context.Background(), "put", 0, func(t *tx) error {
			t.exec("meta_set", "panic", 1)
			panic("boom")
		})
		if _, ok := errors.AsType[*batch.PanicError](err); !ok {
			t.Error(err)
		}
	})
	wg.Go(func() {
		err := db.write(context.Background(), "put", 0, func(x *tx) error {
			ctx := x.context(context.Background())
			if err := db.put(ctx, "inner-bad", bad); !errors.Is(err, bad) {
				t.Error(err)
			}
			return db.put(ctx, "inner-good", nil)
		})
		if err != nil {
			t.Error(err)
		}
	})
	close(goOn)
	wg.Wait()
	for name, want := range map[string]bool{"good": true, "bad": false, "panic": false, "inner-bad": false, "inner-good": true} {
		if db.has(t, name) != want {
			t.Errorf("%s: stored %v", name, !want)
		}
	}
}

// Of jobs that may run again one that fails after it wrote is undone alone too, though none has a savepoint at first; one that fails before it
// costs the others nothing.
func TestBareJobs(t *testing.T) {
	t.Parallel()
	db := open(t, tempFile(t))
	bad := errors.New("bad")
	for _, c := range []struct {
		name  string
		wrote bool
		again bool
		runs  int
	}{{"before", false, true, 1}, {"after", true, true, 2}, {"once", true, false, 1}} {
		runs := map[string]int{}
		put := func(name string, then error) *job {
			return &job{op: "put", again: c.again, run: func(t *tx) error {
				runs[name]++
				t.db.granted[1] = ledger.Claim{} // as a take's
				if then != nil && !c.wrote {
					return then
				}
				if then == nil {
					t.tallyOf(deliveriesQueue).total++
				}
				t.tallyOf(deadDeliveries).total++
				_, err := t.exec("meta_set", name+" "+c.name, 1)
				return errors.Join(err, then)
			}}
		}
		out, err := db.commit(t.Context(), []*job{put("good", nil), put("bad", bad)})
		if err != nil || out[0].Err != nil || !errors.Is(out[1].Err, bad) {
			t.Fatalf("%s: %v, %v", c.name, out, err)
		}
		if runs["good"] != c.runs || runs["bad"] != c.runs || !db.has(t, "good "+c.name) || db.has(t, "bad "+c.name) {
			t.Errorf("%s: %v runs, want %d; good stored %v, bad stored %v", c.name, runs, c.runs, db.has(t, "good "+c.name), db.has(t, "bad "+c.name))
		}
		if len(db.granted) != 0 {
			t.Errorf("%s: a claim is known as it was granted in what was undone", c.name)
		}
	}
	if err := db.put(t.Context(), "alone", bad); !errors.Is(err, bad) || db.has(t, "alone") {
		t.Errorf("alone: %v, stored %v", err, db.has(t, "alone"))
	}
	err := db.read(t.Context(), "counts", func(x *tx) error {
		for queue, want := range map[int64]int64{deliveriesQueue: 3, deadDeliveries: 3} {
			if c, err := x.counts(queue); err != nil || c.total != want {
				t.Errorf("queue %d: %d counted, want %d: %v", queue, c.total, want, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A take that fails at its second delivery, before it has written a word, leaves nothing of the first in what its company commits.
func TestFailedBeforeItWrote(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.endpoint()
	r.send(r.names(2)...)
	r.change("UPDATE deliveries SET ladder = '[' WHERE event = (SELECT max(event) FROM deliveries)")
	out, err := r.commit(t.Context(), []*job{
		{op: "put", again: true, run: func(t *tx) error {
			_, err := t.exec("meta_set", "beside", 1)
			return err
		}},
		{op: "take_deliveries", again: true, run: func(t *tx) error {
			k := &taking{tx: t, Take: webhook.Take{Owner: "w", Each: unlimited, Slack: time.Second}, grant: "g", out: &webhook.Taken{Verdicts: map[ledger.Verdict]int{}}, left: 2}
			_, _, err := k.round()
			return err
		}},
	})
	r.ok(err)
	if out[0].Err != nil || out[1].Err == nil || !r.has(t, "beside") {
		t.Fatalf("%v; only the take is to fail", out)
	}
	r.want("in flight are counted", r.count("SELECT leased FROM counts WHERE queue = ?", deliveriesQueue), r.count("SELECT count(*) FROM messages WHERE queue = ? AND leased", deliveriesQueue))
	r.want("claims known as granted", int64(len(r.granted)), 0)
}

// A context that carries a transaction is no use once that is over.
func TestTransactionOutlived(t *testing.T) {
	t.Parallel()
	db := open(t, tempFile(t))
	var kept context.Context
	_, _, err := db.Once(t.Context(), idempotency.Request{Project: 1, Scope: "x", Key: "k", Hash: make([]byte, 32)}, func(ctx context.Context) ([]byte, error) {
		kept = ctx
		_, err := db.HasKeys(ctx)
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.put(kept, "late", nil); !errors.Is(err, errOver) {
		t.Errorf("a write with it: %v", err)
	}
	if _, err := db.HasKeys(kept); !errors.Is(err, errOver) {
		t.Errorf("a read with it: %v", err)
	}
}

// A full disk is UNAVAILABLE, stores nothing, and needs no restart once there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	db := open(t, tempFile(t))
	var pages int
	if err := db.writer.row("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := db.writer.run(fmt.Sprintf("PRAGMA max_page_count = %d", pages+20)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "q"}); err != nil {
		t.Fatal(err)
	}
	body := []byte(`"` + strings.Repeat("x", 30000) + `"`)
	stored := 0
	var err error
	for err == nil && stored < 100 {
		var p []queue.Published
		if p, err = db.Publish(t.Context(), queue.Publish{Project: 1, Queue: "q", Body: body}); err == nil && p[0].Err == nil {
			stored++
		}
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.Unavailable || e.RetryAfter == 0 {
		t.Fatalf("the disk is full: %v", err)
	}
	// Again, with company in its commit: neither is stored, both are told.
	if _, err := db.Publish(t.Context(), queue.Publish{Project: 1, Queue: "q", Body: body}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("again: %v", err)
	}
	if err := db.writer.run("PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	if p, err := db.Publish(t.Context(), queue.Publish{Project: 1, Queue: "q", Body: body}); err != nil || p[0].Err != nil {
		t.Fatalf("with room again: %v", err)
	}
	s, err := db.QueueStats(t.Context(), 1, "q")
	if err != nil || s.Messages != int64(stored+1) {
		t.Errorf("%d messages, answered %d: %v", s.Messages, stored+1, err)
	}
	var check string
	if err := db.writer.row("PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
		t.Error(check, err)
	}
}

// An id is never used twice: not after its row was deleted, nor over a restart, nor after its transaction was undone.
func TestIDsAreNeverReused(t *testing.T) {
	t.Parallel()
	file := tempFile(t)
	db := open(t, file)
	if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "q"}); err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	publish := func() {
		t.Helper()
		p, err := db.Publish(t.Context(), queue.Publish{Project: 1, Queue: "q", Body: []byte("1")})
		if err != nil || p[0].Err != nil {
			t.Fatal(err, p)
		}
		if p[0].ID <= last {
			t.Errorf("id %d after %d", p[0].ID, last)
		}
		last = p[0].ID
	}
	publish()
	if n, err := db.PurgeQueue(t.Context(), 1, "q"); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	publish()
	undone := errors.New("undone")
	err := db.write(t.Context(), "test", 0, func(t *tx) error {
		for range 3 * sequenceBlock { // reserves anew, and loses that
			if _, err := t.id(seqMessages); err != nil {
				return err
			}
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	publish()
	db.Close()
	db = open(t, file)
	publish()
}

// A lost connection is opened again.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	db := open(t, tempFile(t))
	for range 2 {
		db.writer.conn.Raw(func(any) error { return driver.ErrBadConn })
		if err := db.put(t.Context(), "k", nil); err != nil {
			t.Error(err)
		}
	}
	if !db.has(t, "k") {
		t.Error("nothing was stored")
	}
	for range readers {
		s := <-db.reading
		if s != nil {
			s.conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		db.reading <- s
	}
	if !db.has(t, "k") {
		t.Error("not to be read")
	}
}

// A file that was drained gives its pages back, a few with each sweep.
func TestVacuum(t *testing.T) {
	t.Parallel()
	db := open(t, tempFile(t))
	if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "q"}); err != nil {
		t.Fatal(err)
	}
	items := make([]queue.Publish, 50)
	for i := range items {
		items[i] = queue.Publish{Project: 1, Queue: "q", Body: make([]byte, 200<<10)}
	}
	if _, err := db.Publish(t.Context(), items...); err != nil {
		t.Fatal(err)
	}
	pages := func() (n int) {
		if err := db.writer.row("PRAGMA page_count").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	full := pages()
	if _, err := db.PurgeQueue(t.Context(), 1, "q"); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := db.Sweep(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	if now := pages(); now > full-1000 { // and the pages that point to those
		t.Errorf("%d pages of %d are left, want at least 1000 fewer", now, full)
	}
}
