package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// One key, in a transaction and by a server: one message, whoever is first; another content is refused.
func TestOneKeyByBothWays(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t)
	db := openAt(t, at)
	make1(t, db, "jobs")
	pool := caller(t, at, 2)
	p := queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`{"a":1,"b":[1.50]}`), Priority: 3, Headers: map[string]string{"x": "y"}, Delay: time.Second, Group: "g"}
	same := p
	same.Body = []byte(` {"b" : [15e-1], "a": 1.0} `)
	other := p
	other.Body = []byte(`{"a":2}`)
	byServer := func(p queue.Publish, key string) queue.Published {
		if err := p.SetKey(key); err != nil {
			t.Fatal(err)
		}
		out, err := db.Publish(t.Context(), p)
		if err != nil {
			out = []queue.Published{{Err: err}}
		}
		return out[0]
	}
	inTx := func(p queue.Publish, key string) queue.Published {
		tx := begun(t, pool)
		p.Key = key
		out, err := queue.PublishTx(t.Context(), Tx(tx), p)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, tx)
		return out[0]
	}
	for first, ways := range map[string][2]func(queue.Publish, string) queue.Published{"server": {byServer, inTx}, "transaction": {inTx, byServer}} {
		a := ways[0](p, first)
		b := ways[1](same, first)
		if a.Err != nil || b.Err != nil || a.Replay || !b.Replay || a.ID != b.ID || !a.VisibleAt.Equal(b.VisibleAt) || !a.PublishedAt.Equal(b.PublishedAt) {
			t.Errorf("%s first: %+v, then %+v", first, a, b)
		}
		if c := ways[1](other, first); !errors.Is(c.Err, queue.ErrKeyReused) {
			t.Errorf("%s first, then another content: %+v", first, c)
		}
	}
	if n := count(t, db, "SELECT count(*) FROM messages"); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
}

// A request key in an open transaction: events under others go on, one under it waits for a bounded time, and after the commit gets its first answer.
func TestHeldRequestKeyStopsNoOther(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t)
	db := openAt(t, at)
	hook(t, db)
	event := func(id, key string) webhook.NewEvent {
		e := webhook.NewEvent{Project: 1, EventID: id, Type: "a.b", Payload: []byte(`{}`), Request: &idempotency.Request{Key: key}}
		if err := errors.Join(e.SetHash(), e.SetKey(key, "")); err != nil {
			t.Fatal(err)
		}
		return e
	}
	tx := begun(t, caller(t, at, 1))
	e := event("", "theirs")
	sent, err := webhook.SendTx(t.Context(), Tx(tx), e)
	if err != nil || sent[0].Err != nil {
		t.Fatalf("%+v, %v", sent, err)
	}
	waiting := make(chan error, 1)
	go func() {
		out, err := db.Send(t.Context(), event("evt_1", "theirs"))
		waiting <- errors.Join(err, out[0].Err)
	}()
	blocked(t, db)
	for i := range 3 {
		out, err := db.Send(t.Context(), event(fmt.Sprint("evt_beside_", i), fmt.Sprint("another ", i)))
		if err != nil || out[0].Err != nil {
			t.Errorf("beside the held key: %+v, %v", out, err)
		}
	}
	if len(waiting) > 0 {
		t.Error("nobody waits for the held key any more: the others were not beside one who does")
	}
	if err := <-waiting; fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("under the held key: %v, want %s", err, fault.Unavailable)
	}
	commit(t, tx)
	out, err := db.Send(t.Context(), event("evt_2", "theirs"))
	if err != nil || out[0].Err != nil || !out[0].Replay || out[0].EventID != sent[0].EventID || len(out[0].Deliveries) != 1 {
		t.Errorf("after the commit: %+v, %v, want the answer of %s", out, err, sent[0].EventID)
	}
}

// Two callers with one key: the second waits for the first, and gets its answer or, if it rolled back, the key.
func TestTwoCallersOneKey(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		at := pgtest.Database(t)
		db := openAt(t, at)
		make1(t, db, "jobs")
		pool := caller(t, at, 2)
		p := queue.Publish{Queue: "jobs", Key: "k", Body: []byte(`1`)}
		a, b := begun(t, pool), begun(t, pool)
		first := publishTx(t, a, p)
		done := make(chan queue.Published)
		go func() {
			out, err := queue.PublishTx(context.Background(), Tx(b), p)
			if err != nil {
				out = []queue.Published{{Err: err}}
			}
			done <- out[0]
		}()
		blocked(t, db)
		if commits {
			commit(t, a)
		} else {
			a.Rollback(t.Context())
		}
		if out := <-done; out.Err != nil || out.Replay != commits || (out.ID == first.ID) != commits {
			t.Errorf("the first committed %v: the second got %+v after %+v", commits, out, first)
		}
		commit(t, b)
		if n := len(receive(t, db, "jobs", 10)); n != 1 {
			t.Errorf("%d messages, want 1", n)
		}
	}
}

// 64 callers with one key and four connections: no deadlock, one message.
func TestManyCallersOneKey(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t)
	db := openAt(t, at)
	make1(t, db, "jobs")
	pool := caller(t, at, 4)
	var mu sync.Mutex
	ids, first := map[int64]int{}, 0
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				out, err := queue.PublishTx(t.Context(), Tx(tx), queue.Publish{Queue: "jobs", Key: "k", Body: []byte(`1`)})
				if err = errors.Join(err, errOf(out)); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				ids[out[0].ID]++
				if !out[0].Replay {
					first++
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(ids) != 1 || first != 1 || len(receive(t, db, "jobs", 10)) != 1 {
		t.Errorf("ids %v, %d of them first; want one", ids, first)
	}
}

func errOf(out []queue.Published) error {
	if len(out) == 0 {
		return nil
	}
	return out[0].Err
}

// A key in an open transaction: a server's publish under it is answered with "not now", within a bound, and the others in its lane go on meanwhile. So with
// an event's id.
func TestHeldKeyStopsNoOther(t *testing.T) {
	t.Parallel()
	at := pgtest.Database(t)
	db, ctx := openAt(t, at), t.Context()
	make1(t, db, "jobs")
	hook(t, db)
	tx := begun(t, caller(t, at, 1))
	held := queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Key: "theirs"}
	first := publishTx(t, tx, held)
	if err := held.SetKey("theirs"); err != nil {
		t.Fatal(err)
	}
	sendTx(t, tx, "theirs")
	event := webhook.NewEvent{Project: 1, EventID: "theirs", Type: "a.b", Payload: []byte(`{"n": 1.0}`)}
	if err := event.SetHash(); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 8)
	for range 4 {
		go func() {
			out, err := db.Publish(ctx, held)
			waiting <- errors.Join(err, errOf(out))
		}()
		go func() {
			out, err := db.Send(ctx, event)
			if err == nil {
				err = out[0].Err
			}
			waiting <- err
		}()
	}
	blocked(t, db)
	for i := range int64(20) { // what waits, waits for nobody else's lane
		out, err := db.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`2`), Key: news(i).EventID, Hash: make([]byte, 32)}, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`2`)})
		if err != nil || out[0].Err != nil || out[1].Err != nil {
			t.Fatalf("beside the held key: %q %q, want both stored", fault.CodeOf(errors.Join(err, errOf(out))), fault.CodeOf(out[1].Err))
		}
		sendTo(t, db, i)
		if i == 0 && len(waiting) == cap(waiting) {
			t.Error("no publish under the held key waits any more: the others were not beside one")
		}
	}
	for range cap(waiting) {
		err := <-waiting
		var f *fault.Error
		if fault.CodeOf(err) != fault.Unavailable || !errors.As(err, &f) || f.RetryAfter <= 0 {
			t.Errorf("under the held key: %v, want %s and when to try again", err, fault.Unavailable)
		}
	}
	commit(t, tx)
	out, err := db.Publish(ctx, held)
	if err != nil || !out[0].Replay || out[0].ID != first.ID {
		t.Errorf("after the commit: %+v, %v; want the first's id %d", out, err, first.ID)
	}
	sent, err := db.Send(ctx, event)
	if err != nil || sent[0].Err != nil || !sent[0].Replay || len(sent[0].Deliveries) != 1 {
		t.Errorf("after the commit: %+v, %v; want the first's delivery", sent, err)
	}
}
