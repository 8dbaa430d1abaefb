package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var requestTests = []named{
	{"a request's answer is given again, its effect once", onceReplays},
	{"I9, H-L16: the effect's writes commit with the key", onceCommits},
	{"a failed effect keeps nothing, and the key is free", onceFails},
	{"an effect that panics keeps nothing, and the store goes on", oncePanics},
	{"the same key with another request is refused", onceReused},
	{"H-L15: of two at once the second waits and gets the first's answer", onceConcurrent},
	{"two at once whose first fails: the second does it", onceSecondDoes},
	{"I13: scope and project are part of a key", onceScoped},
	{"an answer survives a restart, and goes with its window", onceSurvives},
	{"the context of an effect that is over is of no use", onceOver},
	{"a queue's redrive, publish and claim may be part of an effect", onceEverything},
}

func request(key string, body byte) idempotency.Request {
	return idempotency.Request{Project: 1, Scope: "POST /v1/things", Key: key, Hash: slices.Repeat([]byte{body}, 32)}
}

func onceReplays(r *rig) {
	n := 0
	for i := range 3 {
		answer, replay, err := r.Once(r.ctx, request("k", 1), func(context.Context) ([]byte, error) { n++; return []byte(`{"made": 1}`), nil })
		r.ok(err)
		want(r, "answer", string(answer), `{"made": 1}`)
		want(r, "replay", replay, i > 0)
	}
	want(r, "effects", n, 1)
}

func onceCommits(r *rig) {
	var id int64
	_, _, err := r.Once(r.ctx, request("k", 1), func(ctx context.Context) ([]byte, error) {
		if _, err := r.CreateQueue(ctx, queue.Spec{Project: 1, Name: "jobs"}); err != nil {
			return nil, err
		}
		out, err := r.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Group: "g"})
		if err != nil {
			return nil, err
		}
		id = out[0].ID
		return []byte(`{}`), out[0].Err
	})
	r.ok(err)
	want(r, "id", r.one("jobs", time.Minute).ID, id)
}

func onceFails(r *rig) {
	r.queue("jobs")
	broken := errors.New("broken")
	for i := range 2 {
		_, _, err := r.Once(r.ctx, request("k", 1), func(ctx context.Context) ([]byte, error) {
			if _, err := r.CreateQueue(ctx, queue.Spec{Project: 1, Name: "made"}); err != nil {
				return nil, err
			}
			if _, err := r.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Key: "p", Hash: make([]byte, 32)}); err != nil {
				return nil, err
			}
			if i == 0 {
				return nil, broken
			}
			return []byte(`2`), nil
		})
		want(r, "failed", errors.Is(err, broken), i == 0)
		_, err = r.Queue(r.ctx, 1, "made")
		want(r, "made", err == nil, i == 1)
		want(r, "published", r.count("SELECT count(*) FROM messages"), int64(i))
	}
	want(r, "received", len(r.receive("jobs", 10, time.Minute)), 1)
}

func oncePanics(r *rig) {
	func() {
		defer func() { _ = recover() }()
		_, _, err := r.Once(r.ctx, request("k", 1), func(ctx context.Context) ([]byte, error) {
			if _, err := r.CreateQueue(ctx, queue.Spec{Project: 1, Name: "made"}); err != nil {
				return nil, err
			}
			panic("boom")
		})
		if err == nil {
			r.Error("no error from an effect that panics")
		}
	}()
	_, err := r.Queue(r.ctx, 1, "made")
	want(r, "made", errors.Is(err, queue.ErrQueueNotFound), true)
	_, replay, err := r.Once(r.ctx, request("k", 1), func(context.Context) ([]byte, error) { return []byte(`1`), nil })
	r.ok(err)
	want(r, "replay", replay, false)
	r.queue("jobs")
}

func onceReused(r *rig) {
	_, _, err := r.Once(r.ctx, request("k", 1), func(context.Context) ([]byte, error) { return []byte(`1`), nil })
	r.ok(err)
	_, _, err = r.Once(r.ctx, request("k", 2), func(context.Context) ([]byte, error) { r.Error("its effect ran"); return nil, nil })
	want(r, "code", fault.CodeOf(err), fault.IdempotencyKeyReused)
}

func onceConcurrent(r *rig) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	effects, replays := 0, 0
	for range 6 {
		wg.Go(func() {
			answer, replay, err := r.Once(r.ctx, request("k", 1), func(ctx context.Context) ([]byte, error) {
				mu.Lock()
				effects++
				mu.Unlock()
				_, err := r.CreateQueue(ctx, queue.Spec{Project: 1, Name: "jobs"})
				return []byte(`{"n": 1}`), err
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil || string(answer) != `{"n": 1}` {
				r.Errorf("%s %v", answer, err)
			}
			if replay {
				replays++
			}
		})
	}
	wg.Wait()
	want(r, "effects", effects, 1)
	want(r, "replays", replays, 5)
}

func onceSecondDoes(r *rig) {
	inside, leave := make(chan struct{}), make(chan struct{})
	broken := errors.New("broken")
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _, err := r.Once(r.ctx, request("k", 1), func(context.Context) ([]byte, error) {
			close(inside)
			<-leave
			return nil, broken
		})
		if !errors.Is(err, broken) {
			r.Errorf("first: %v", err)
		}
	})
	<-inside
	wg.Go(func() {
		answer, replay, err := r.Once(r.ctx, request("k", 1), func(context.Context) ([]byte, error) { return []byte(`2`), nil })
		if err != nil || replay || string(answer) != "2" {
			r.Errorf("second: %s %v %v", answer, replay, err)
		}
	})
	close(leave)
	wg.Wait()
}

func onceScoped(r *rig) {
	n := 0
	effect := func(context.Context) ([]byte, error) { n++; return []byte(`1`), nil }
	a := request("k", 1)
	b, c := a, a
	b.Scope = "POST /v1/others"
	c.Project = 2
	for _, q := range []idempotency.Request{a, b, c} {
		_, replay, err := r.Once(r.ctx, q, effect)
		r.ok(err)
		want(r, "replay", replay, false)
	}
	want(r, "effects", n, 3)
}

func onceSurvives(r *rig) {
	effect := func(context.Context) ([]byte, error) { return []byte(`1`), nil }
	_, _, err := r.Once(r.ctx, request("k", 1), effect)
	r.ok(err)
	r.reopen()
	_, replay, err := r.Once(r.ctx, request("k", 1), effect)
	r.ok(err)
	want(r, "replay", replay, true)
	r.age("request_keys", "expires_at", "true", idempotency.Window+time.Minute)
	_, replay, err = r.Once(r.ctx, request("k", 2), effect) // before any sweep
	r.ok(err)
	want(r, "replay past its window", replay, false)
	r.age("request_keys", "expires_at", "true", idempotency.Window+time.Minute)
	r.sweep()
	want(r, "keys left", r.count("SELECT count(*) FROM request_keys"), 0)
}

func onceOver(r *rig) {
	r.queue("jobs")
	var kept context.Context
	_, _, err := r.Once(r.ctx, request("k", 1), func(ctx context.Context) ([]byte, error) {
		kept = context.WithoutCancel(ctx)
		return nil, nil
	})
	r.ok(err)
	out, err := r.Publish(kept, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`)})
	want(r, "published", err == nil && out[0].Err == nil, false)
	_, err = r.CreateQueue(kept, queue.Spec{Project: 1, Name: "late"})
	want(r, "made", err == nil, false)
	_, err = r.Queue(kept, 1, "jobs")
	want(r, "read", err == nil, false)
	_, err = r.Receive(kept, queue.Receive{Project: 1, Queue: "jobs", Max: 1})
	want(r, "received", err == nil, false)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
	want(r, "queues", r.count("SELECT count(*) FROM queues WHERE name = 'late'"), 0)
}

func onceEverything(r *rig) {
	r.queue("jobs")
	r.killMany("jobs", 2)
	e := r.endpoint()
	broken := errors.New("broken")
	for i := range 2 {
		_, _, err := r.Once(r.ctx, request("k", 1), func(ctx context.Context) ([]byte, error) {
			if _, err := r.StartRedrive(ctx, queue.RedriveCall{Project: 1, Queue: "jobs"}); err != nil {
				return nil, err
			}
			if out, err := r.Claim(ctx, r.call("k")); err != nil || out[0].Verdict != ledger.Granted {
				return nil, errors.Join(err, errors.New("not granted"))
			}
			if out, err := r.Send(ctx, r.event("evt1")); err != nil || out[0].Err != nil || len(out[0].Deliveries) != 1 {
				return nil, errors.Join(err, errors.New("not sent"))
			}
			if err := r.DeleteEndpoint(ctx, 1, e.ID); err != nil {
				return nil, err
			}
			if i == 0 {
				return nil, broken
			}
			return []byte(`1`), nil
		})
		want(r, "failed", errors.Is(err, broken), i == 0)
		if i == 1 {
			r.ok(err)
		}
		for _, table := range []string{"redrives", "claims WHERE kind = 'w'", "events"} {
			want(r, table, r.count("SELECT count(*) FROM "+table), int64(i))
		}
	}
	_, _, err := r.StepRedrives(r.ctx, 10)
	r.ok(err)
}
