package storetest

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/onceward/onceward/queue"
)

// storm lets publishers, consumers of every habit, sweepers and a redriver at one queue, then ends the faults: every
// message must be acked once or lie in the DLQ, with nothing in flight and nothing stranded.
func storm(r *rig) {
	r.queue("jobs", maxReceives(4))
	const n = 240
	var mu sync.Mutex
	acked := map[int64]int{}
	consume := func(rng *rand.Rand, visibility time.Duration, faults bool) int {
		l, err := r.Receive(r.ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 1 + rng.IntN(8), Visibility: visibility})
		if err != nil {
			r.Errorf("receive: %v", err)
			return 0
		}
		var acts []queue.Settle
		for _, m := range l {
			s := act(queue.Ack, m)
			switch d := rng.IntN(10); {
			case !faults || d < 5:
			case d == 5:
				s.Verb, s.HasDelay = queue.Nack, true
			case d == 6:
				s.Verb, s.Delay = queue.Release, 5*time.Millisecond
			case d == 7:
				s.Verb, s.DeadLetter = queue.Nack, true
			case d == 8:
				s.Verb, s.Visibility = queue.Extend, 10*time.Millisecond
			default:
				continue // died
			}
			acts = append(acts, s)
		}
		out, err := r.Settle(r.ctx, acts...)
		if err != nil {
			r.Errorf("settle: %v", err)
			return 0
		}
		mu.Lock()
		defer mu.Unlock()
		for i, o := range out {
			if o.Applied && acts[i].Verb == queue.Ack {
				acked[acts[i].ID]++
			}
		}
		return len(l)
	}
	var wg sync.WaitGroup
	for w := range 3 {
		rng := rand.New(rand.NewPCG(7, uint64(w)))
		wg.Go(func() {
			for range n / 12 {
				b := bodies("jobs", 4)
				for i := range b {
					b[i].Project, b[i].Priority = 1, rng.IntN(3)
					b[i].Group = []string{"", "a", "b", "c"}[rng.IntN(4)]
					b[i].Delay = time.Duration(rng.IntN(2)) * 10 * time.Millisecond
				}
				if _, err := r.Publish(r.ctx, b...); err != nil {
					r.Errorf("publish: %v", err)
				}
			}
		})
		habits := rand.New(rand.NewPCG(8, uint64(w)))
		wg.Go(func() {
			for range 40 {
				consume(habits, 20*time.Millisecond, true)
				if _, err := r.Sweep(r.ctx, 20); err != nil {
					r.Errorf("sweep: %v", err)
				}
			}
		})
	}
	wg.Wait()
	rng := rand.New(rand.NewPCG(9, 9))
	r.eventually("everything is at rest", func() bool {
		r.sweep()
		if r.count("SELECT count(*) FROM messages WHERE dead_at IS NOT NULL") > 0 {
			r.redrive(queue.RedriveCall{Queue: "jobs"})
		}
		consume(rng, time.Minute, false)
		return r.count("SELECT count(*) FROM messages") == 0
	})
	want(r, "acked", len(acked), n)
	for id, times := range acked {
		if times != 1 {
			r.Errorf("message %d was acked %d times", id, times)
		}
	}
	want(r, "in flight", r.count("SELECT coalesce(sum(in_flight), 0) FROM groups"), 0)
}
