package storetest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

var publishTests = []named{
	{"a message comes back as it was published", roundTrip},
	{"I1: what was published is there after a restart", publishSurvives},
	{"I4: a key known answers the first id", keyReplays},
	{"I4, H-L17: a key with another content is refused and stores nothing", keyReused},
	{"I4: a key is remembered after ack, purge and the queue's end", keyOutlives},
	{"I4, H-Q07: a window is fixed, and a duplicate does not extend it", windowFixed},
	{"I4: a key twice in one batch is one message", keyTwiceInBatch},
	{"I4: a key published by many at once is one message", keyConcurrent},
	{"I4: keys of two queues are two keys", keysByQueue},
	{"I4: a key without its queue stores nothing", keyNoQueue},
	{"I4: an abandoned publish leaves its key free or its message there", keyAbandoned},
	{"I4, H-Q05: a key published inside a request that fails is free", keyRolledBack},
	{"without a key two identical publishes are two messages", noKey},
	{"one bad item in a batch fails alone, in its place", badItem},
	{"a delay at or past the retention is refused", delayPastRetention},
	{"a publish to a queue that is not there is told so", publishNoQueue},
	{"H-Q06: old keys are swept", keysSwept},
	{"a message id is never used again", idsNeverReused},
	{"a client's publish never reaches the server's own queues", serverQueuesClosed},
}

func roundTrip(r *rig) {
	r.queue("jobs")
	origin := r.now().Add(-time.Hour).Truncate(time.Microsecond)
	body := []byte(` {"b":1, "a":9007199254740993 ,"x":"é\u00e9"} `)
	head := map[string]string{"Trace": "a/b", "x-empty": ""}
	out := r.tryPublish(queue.Publish{Queue: "jobs", Body: body, Headers: head, Priority: 7, Group: "g one", OriginAt: origin})[0]
	r.ok(out.Err)
	want(r, "replay", out.Replay, false)
	want(r, "visible at", out.VisibleAt.Equal(out.PublishedAt), true)
	m := r.one("jobs", time.Minute)
	want(r, "id", m.ID, out.ID)
	want(r, "body", string(m.Body), string(body))
	want(r, "headers", len(m.Headers), 2)
	want(r, "header", m.Headers["Trace"], "a/b")
	want(r, "priority", m.Priority, 7)
	want(r, "group", m.Group, "g one")
	want(r, "queue", m.Queue, "jobs")
	want(r, "project", m.Project, int64(1))
	want(r, "origin", m.OriginAt.Equal(origin), true)
	want(r, "published at", m.PublishedAt.Equal(out.PublishedAt), true)
	want(r, "receives", m.Receives, 1)
	want(r, "lease", m.Lease, 1)
	want(r, "status", m.Status(r.now()), queue.InFlight)
	if d := m.VisibleAt.Sub(m.ReceivedAt); d != time.Minute {
		r.Errorf("leased for %v, want 1 m", d)
	}
}

func publishSurvives(r *rig) {
	r.queue("jobs")
	ids := r.publish(queue.Publish{Queue: "jobs", Key: "k", Group: "g"}, queue.Publish{Queue: "jobs"})
	secret := r.Secret()
	r.reopen()
	want(r, "secret", bytes.Equal(secret, r.Secret()) && len(secret) == 32, true)
	again := r.tryPublish(queue.Publish{Queue: "jobs", Key: "k", Group: "g"})[0]
	want(r, "id by the key", again.ID, ids[0])
	want(r, "replay", again.Replay, true)
	want(r, "received", len(r.receive("jobs", 10, time.Minute)), 2)
	if id := r.publish(queue.Publish{Queue: "jobs"})[0]; id <= ids[1] {
		r.Errorf("id %d after %d", id, ids[1])
	}
}

func keyReplays(r *rig) {
	r.queue("jobs")
	p := queue.Publish{Queue: "jobs", Key: "k", Body: []byte(`{"a":1}`), Delay: time.Minute}
	first := r.tryPublish(p)[0]
	r.ok(first.Err)
	for range 3 {
		again := r.tryPublish(p)[0]
		r.ok(again.Err)
		want(r, "id", again.ID, first.ID)
		want(r, "replay", again.Replay, true)
		want(r, "published at", again.PublishedAt.Equal(first.PublishedAt), true)
		want(r, "visible at", again.VisibleAt.Equal(first.VisibleAt), true)
	}
	s, err := r.QueueStats(r.ctx, 1, "jobs")
	r.ok(err)
	want(r, "messages", s.Messages, 1)
}

func keyReused(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs", Key: "k", Body: []byte(`1`)})[0]
	out := r.tryPublish(queue.Publish{Queue: "jobs", Key: "k", Body: []byte(`2`)})[0]
	if !errors.Is(out.Err, queue.ErrKeyReused) {
		r.Errorf("%v, want %s", out.Err, fault.IdempotencyKeyReused)
	}
	m := r.one("jobs", time.Minute)
	want(r, "id", m.ID, id)
	want(r, "body", string(m.Body), "1")
	r.none("jobs")
}

func keyOutlives(r *rig) {
	r.queue("jobs")
	keyed := func() queue.Published {
		out := r.tryPublish(queue.Publish{Queue: "jobs", Key: "k"})[0]
		r.ok(out.Err)
		return out
	}
	first := keyed()
	r.applied(act(queue.Ack, r.one("jobs", time.Minute)))
	want(r, "id after the ack", keyed().ID, first.ID)
	r.publish(queue.Publish{Queue: "jobs", Key: "other"})
	n, err := r.PurgeQueue(r.ctx, 1, "jobs")
	r.ok(err)
	want(r, "purged", n, 1)
	want(r, "replay after the purge", r.tryPublish(queue.Publish{Queue: "jobs", Key: "other"})[0].Replay, true)
	r.ok(r.DeleteQueue(r.ctx, 1, "jobs", true))
	want(r, "id after the queue's end", keyed().ID, first.ID)
	r.queue("jobs")
	want(r, "id in the queue made anew", keyed().ID, first.ID)
	r.none("jobs")
}

func windowFixed(r *rig) {
	window := time.Minute
	r.queue("jobs", func(s *queue.Spec) { s.DedupWindow = &window })
	p := queue.Publish{Queue: "jobs", Key: "k"}
	first := r.tryPublish(p)[0]
	longer := time.Hour // of the queue now; the key's was read at its first use
	_, err := r.UpdateQueue(r.ctx, queue.Spec{Project: 1, Name: "jobs", DedupWindow: &longer})
	r.ok(err)
	r.age("publish_keys", "expires_at", "key = 'k'", 50*time.Second)
	want(r, "id inside the window", r.tryPublish(p)[0].ID, first.ID)
	r.age("publish_keys", "expires_at", "key = 'k'", 11*time.Second)
	again := r.tryPublish(p)[0] // before any sweep
	r.ok(again.Err)
	if again.Replay || again.ID == first.ID {
		r.Errorf("after the window: replay %v, id %d", again.Replay, again.ID)
	}
	want(r, "id in the next window", r.tryPublish(p)[0].ID, again.ID)
	want(r, "received", len(r.receive("jobs", 10, time.Minute)), 2)
}

func keyTwiceInBatch(r *rig) {
	r.queue("jobs")
	out := r.tryPublish(
		queue.Publish{Queue: "jobs", Key: "k", Body: []byte(`1`)},
		queue.Publish{Queue: "jobs", Key: "k", Body: []byte(`1`)},
		queue.Publish{Queue: "jobs", Key: "k", Body: []byte(`2`)},
		queue.Publish{Queue: "jobs", Key: "l", Body: []byte(`1`)},
	)
	r.ok(out[0].Err)
	r.ok(out[1].Err)
	r.ok(out[3].Err)
	want(r, "second id", out[1].ID, out[0].ID)
	want(r, "first replays", out[0].Replay, false)
	want(r, "second replays", out[1].Replay, true)
	want(r, "third is refused", errors.Is(out[2].Err, queue.ErrKeyReused), true)
	want(r, "received", len(r.receive("jobs", 10, time.Minute)), 2)
}

func keyConcurrent(r *rig) {
	r.queue("jobs")
	var mu sync.Mutex
	var wg sync.WaitGroup
	got, first := map[int64]int{}, 0
	for range 24 {
		wg.Go(func() {
			h := make([]byte, 32)
			out, err := r.Publish(r.ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Key: "k", Hash: h})
			mu.Lock()
			defer mu.Unlock()
			if err != nil || out[0].Err != nil {
				r.Errorf("publish: %v %v", err, out)
				return
			}
			got[out[0].ID]++
			if !out[0].Replay {
				first++
			}
		})
	}
	wg.Wait()
	want(r, "ids", len(got), 1)
	want(r, "not replays", first, 1)
	want(r, "received", len(r.receive("jobs", 10, time.Minute)), 1)
}

func keysByQueue(r *rig) {
	r.queue("a")
	r.queue("b")
	one := r.publish(queue.Publish{Queue: "a", Key: "k"}, queue.Publish{Queue: "b", Key: "k"}, queue.Publish{Queue: "a", Key: "K"})
	if one[0] == one[1] || one[0] == one[2] {
		r.Errorf("ids %v, want three", one)
	}
}

func keyNoQueue(r *rig) {
	out := r.tryPublish(queue.Publish{Queue: "late", Key: "k"})[0]
	want(r, "refused", errors.Is(out.Err, queue.ErrQueueNotFound), true)
	r.queue("late")
	out = r.tryPublish(queue.Publish{Queue: "late", Key: "k", Body: []byte(`"other"`)})[0]
	r.ok(out.Err)
	want(r, "replay", out.Replay, false)
}

// A call whose context ends may or may not have been stored: either way the key answers for one message.
func keyAbandoned(r *rig) {
	r.queue("jobs")
	for i := range 20 {
		ctx, cancel := context.WithTimeout(r.ctx, time.Duration(i)*200*time.Microsecond)
		h := make([]byte, 32)
		r.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Key: itoa(int64(i)), Hash: h}) // abandoned
		cancel()
		out, err := r.Publish(r.ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Key: itoa(int64(i)), Hash: h})
		r.ok(err)
		r.ok(out[0].Err)
	}
	want(r, "messages", len(r.receive("jobs", 100, time.Minute)), 20)
}

func noKey(r *rig) {
	r.queue("jobs")
	ids := r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
	want(r, "received", len(r.receive("jobs", 10, time.Minute)), 2)
	if ids[0] >= ids[1] {
		r.Errorf("ids %v, want growing", ids)
	}
}

func badItem(r *rig) {
	r.queue("jobs")
	out := r.tryPublish(
		queue.Publish{Queue: "jobs", Body: []byte(`1`)},
		queue.Publish{Queue: "gone", Body: []byte(`2`)},
		queue.Publish{Queue: "jobs", Body: []byte(`3`)},
	)
	r.ok(out[0].Err)
	r.ok(out[2].Err)
	want(r, "refused", errors.Is(out[1].Err, queue.ErrQueueNotFound), true)
	l := r.receive("jobs", 10, time.Minute)
	want(r, "received", len(l), 2)
	want(r, "bodies", string(l[0].Body)+string(l[1].Body), "13")
}

func delayPastRetention(r *rig) {
	day := 24 * time.Hour
	r.queue("jobs", func(s *queue.Spec) { s.Retention = &day })
	for _, d := range []time.Duration{day, day + time.Second} {
		want(r, d.String(), fault.CodeOf(r.tryPublish(queue.Publish{Queue: "jobs", Delay: d})[0].Err), fault.InvalidArgument)
	}
	r.publish(queue.Publish{Queue: "jobs", Delay: day - time.Second})
}

func publishNoQueue(r *rig) {
	err := r.tryPublish(queue.Publish{Queue: "gone"})[0].Err
	if !errors.Is(err, queue.ErrQueueNotFound) || !strings.Contains(err.Error(), "gone") {
		r.Errorf("%v: want one that names the queue", err)
	}
}

// oban#1087: A publishes the key and stays open, B publishes it, A rolls back.
func keyRolledBack(r *rig) {
	r.queue("jobs")
	broken := errors.New("broken")
	inside := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _, err := r.Once(r.ctx, request("k", 1), func(ctx context.Context) ([]byte, error) {
			out, err := r.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Key: "k", Hash: make([]byte, 32)})
			if err == nil {
				err = out[0].Err
			}
			once.Do(func() { close(inside) })
			<-time.After(50 * time.Millisecond) // A stays open while B is at it, if it can be
			return nil, errors.Join(err, broken)
		})
		if !errors.Is(err, broken) {
			r.Errorf("A: %v", err)
		}
	})
	<-inside
	out, err := r.Publish(r.ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Key: "k", Hash: make([]byte, 32)})
	r.ok(err)
	r.ok(out[0].Err)
	wg.Wait()
	want(r, "replay", out[0].Replay, false)
	want(r, "received", r.one("jobs", time.Minute).ID, out[0].ID)
	r.none("jobs")
}

// nats-server#5142: a key table that only grows.
func keysSwept(r *rig) {
	n, limit := 250, 100
	if os.Getenv("ONCEWARD_TEST_LONG") != "" && len(r.b.Areas) == 0 { // a suite of some areas publishes one by one
		n, limit = 1_000_000, 1000
	}
	r.queue("jobs")
	for at := 0; at < n; at += 250 {
		batch := make([]queue.Publish, 250)
		for i := range batch {
			batch[i] = queue.Publish{Queue: "jobs", Key: itoa(int64(at + i))}
		}
		r.publish(batch...)
	}
	purged, err := r.PurgeQueue(r.ctx, r.project, "jobs")
	r.ok(err)
	want(r, "purged", purged, int64(n))
	keys := func() int { return int(r.count("SELECT count(*) FROM publish_keys")) }
	want(r, "keys of what is gone", keys(), n)
	r.age("publish_keys", "expires_at", "key <> '7'", 25*time.Hour)
	_, err = r.Sweep(r.ctx, limit)
	r.ok(err)
	if left := keys(); left < n-limit || left == n {
		r.Errorf("a sweep of at most %d left %d of %d keys", limit, left, n)
	}
	for did := 1; did > 0; {
		did, err = r.Sweep(r.ctx, limit)
		r.ok(err)
	}
	want(r, "keys left", keys(), 1)
}

func idsNeverReused(r *rig) {
	r.queue("jobs")
	last := r.publish(queue.Publish{Queue: "jobs"})[0]
	r.applied(act(queue.Ack, r.one("jobs", time.Minute)))
	r.reopen()
	if id := r.publish(queue.Publish{Queue: "jobs"})[0]; id <= last {
		r.Errorf("id %d after %d was acked", id, last)
	}
}

func serverQueuesClosed(r *rig) {
	for _, name := range []string{queue.Deliveries, queue.DeadDeliveries} {
		out, err := r.Publish(r.ctx, queue.Publish{Project: 1, Queue: name, Body: []byte(`1`)})
		if err == nil && out[0].Err == nil {
			r.Errorf("published to %s", name)
		}
		if m, err := r.Receive(r.ctx, queue.Receive{Project: 1, Queue: name, Max: 1}); err == nil {
			r.Errorf("received %v from %s", m, name)
		}
	}
}
