package faults

import (
	"context"
	"fmt"
	"sync"
	"time"
	"uuid"
)

// hands are workers that ask the ledger for the work of what they receive. Each work comes by two messages, and is to take effect once.
type hands struct {
	f        *fleet
	feed     context.CancelFunc
	drink    context.CancelFunc
	feeders  sync.WaitGroup
	drinkers sync.WaitGroup

	mu      sync.Mutex
	works   int // published
	ended   int // messages that are gone
	effects map[string]int
	known   int // messages whose work was done
}

func (w *hands) begin() {
	t := w.f.t
	w.effects = map[string]int{}
	w.f.at(0).must(t, "POST", "/v1/queue/create", object{"name": "work", "max_receive_count": 20})
	feeding, stop := context.WithCancel(t.Context())
	w.feed = stop
	drinking, stop := context.WithCancel(t.Context())
	w.drink = stop
	w.feeders.Go(func() { w.publish(feeding) })
	for i := range 2 {
		w.drinkers.Go(func() { w.work(drinking, &traveller{f: w.f, here: i, roams: i == 1}) })
	}
	t.Cleanup(func() { w.feed(); w.drink(); w.feeders.Wait(); w.drinkers.Wait() })
}

func (w *hands) publish(ctx context.Context) {
	v := &traveller{f: w.f, roams: true}
	for n := 0; ctx.Err() == nil; n++ {
		for range 2 {
			if a, _ := v.call(w.f.t.Context(), "/v1/queue/publish", object{"queue": "work", "payload": object{"n": n}}); !a.ok() && w.f.t.Context().Err() == nil {
				w.f.t.Errorf("publish of work %d: %v", n, a)
			}
		}
		w.mu.Lock()
		w.works++
		w.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (w *hands) work(ctx context.Context, v *traveller) {
	for ctx.Err() == nil {
		a, _ := v.call(ctx, "/v1/queue/consume", object{"queue": "work", "max_messages": 3, "visibility_timeout": 60, "wait_seconds": 1})
		for _, m := range a.items("items") {
			w.one(v, m)
		}
	}
}

// one works on a message.
func (w *hands) one(v *traveller, m object) {
	t, n, receipt := w.f.t, int(m["payload"].(object)["n"].(float64)), m["receipt_handle"]
	key, policy := fmt.Sprint("work-", n), []string{"idempotent", "once"}[n%2]
	say := func(path string, body object) object {
		a, _ := v.call(t.Context(), path, body)
		if !a.ok() && t.Context().Err() == nil {
			t.Errorf("%s of %s: %v", path, key, a)
		}
		return a.data
	}
	claim := say("/v1/ledger/claim", object{
		"scope": "hands", "key": key, "owner": "hands", "policy": policy, "queue": "work", "receipt_handle": receipt, "grant_id": uuid.New().String(),
	})
	switch claim["verdict"] {
	case "granted":
		word := object{"scope": "hands", "key": key, "fence": claim["fence"]}
		if b := say("/v1/ledger/begin", word); b["applied"] != true {
			t.Errorf("begin of %s: %v", key, b)
		}
		w.mu.Lock()
		w.effects[key]++
		w.mu.Unlock()
		word["settle"] = true
		if c := say("/v1/ledger/complete", word); c["applied"] != true || c["state"] != "done" {
			t.Errorf("complete of %s: %v", key, c)
		}
	case "done":
		if a := say("/v1/queue/ack", object{"queue": "work", "receipt_handle": receipt}); a["acked"] != true {
			t.Errorf("ack of %s: %v", key, a)
		}
		w.mu.Lock()
		w.known++
		w.mu.Unlock()
	case "busy": // the other message's worker has it
		say("/v1/queue/release", object{"queue": "work", "receipt_handle": receipt, "delay_seconds": 1})
		return
	default:
		if t.Context().Err() == nil {
			t.Errorf("claim of %s: %v", key, claim)
		}
		return
	}
	w.mu.Lock()
	w.ended++
	w.mu.Unlock()
}

// finish ends the load: each work took effect once, and its other message found that.
func (w *hands) finish() {
	t := w.f.t
	t.Helper()
	w.feed()
	w.feeders.Wait()
	eventually(t, time.Minute, "all work is done", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.ended == 2*w.works
	})
	w.drink()
	w.drinkers.Wait()
	for key, n := range w.effects {
		if n != 1 {
			t.Errorf("%s took effect %d times", key, n)
		}
	}
	if len(w.effects) != w.works || w.known != w.works || w.works < 10 {
		t.Errorf("%d works were published, each twice: %d took effect, and %d messages found theirs done", w.works, len(w.effects), w.known)
	}
	if s := w.f.at(0).stats(t, "work"); s("message_count") != 0 || s("dlq_count") != 0 {
		t.Errorf("%d messages and %d dead letters of work are left", s("message_count"), s("dlq_count"))
	}
	t.Logf("%d works", w.works)
}
