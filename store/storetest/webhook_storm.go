package storetest

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// attemptStorm lets workers of every habit at a few endpoints of both policies, then ends the faults. What is counted is
// what the receiver saw: of a once never two that may have taken effect, and no delivery that is failed was seen.
func attemptStorm(r *rig) {
	sluggish := func(e *webhook.Endpoint) { e.Timeout = 25 * time.Millisecond }
	for i := range 4 {
		r.endpoint(sluggish, rungs(6), slots(3), func(e *webhook.Endpoint) {
			if i%2 == 1 {
				e.Policy = ledger.Once
			}
		})
	}
	for i := range 12 {
		r.send(r.event("evt" + itoa(int64(i))))
	}
	var mu sync.Mutex
	seen, policy := map[int64]int{}, map[int64]ledger.Policy{}
	work := func(rng *rand.Rand, faults bool) int {
		t, err := r.TakeDeliveries(r.ctx, webhook.Take{Owner: "w", Max: 1 + rng.IntN(4), Slack: slack})
		if err != nil {
			r.Errorf("take: %v", err)
			return 0
		}
		for i := range t.Jobs {
			j := &t.Jobs[i]
			if faults && rng.IntN(12) == 0 {
				continue // died before it began
			}
			b, err := r.BeginDeliveries(r.ctx, []*webhook.Job{j})
			if err != nil || !b[0].Applied {
				continue
			}
			arrives, kind := true, ledger.Succeeded
			if faults {
				switch rng.IntN(6) {
				case 0:
					arrives, kind = false, ledger.Definite
				case 1:
					arrives, kind = rng.IntN(2) == 0, ledger.Ambiguous
				case 2:
					arrives, kind = false, ledger.GivenBack
				}
			}
			mu.Lock()
			policy[j.DeliveryID] = j.Policy
			if arrives {
				seen[j.DeliveryID]++
			}
			mu.Unlock()
			if faults && rng.IntN(8) == 0 {
				continue // died before the record
			}
			if _, err := r.SettleDeliveries(r.ctx, outcome(j, kind)); err != nil {
				r.Errorf("settle: %v", err)
			}
		}
		return len(t.Jobs)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		rng := rand.New(rand.NewPCG(3, uint64(w)))
		wg.Go(func() {
			for range 25 {
				work(rng, true)
				if _, err := r.Sweep(r.ctx, 10); err != nil {
					r.Errorf("sweep: %v", err)
				}
			}
		})
	}
	wg.Wait()
	rng := rand.New(rand.NewPCG(5, 5))
	r.eventually("everything is at rest", func() bool {
		r.sweep()
		work(rng, false)
		return r.count("SELECT count(*) FROM messages WHERE dead_at IS NULL") == 0
	})
	want(r, "open claims", r.count("SELECT count(*) FROM claims WHERE state NOT IN ('done', 'failed', 'stuck')"), 0)
	want(r, "in flight", r.count("SELECT coalesce(sum(in_flight), 0) FROM groups"), 0)
	for id, p := range policy {
		d := r.dlv(id)
		if p == ledger.Once && seen[id] > 1 {
			r.Errorf("the once delivery %d was seen %d times", id, seen[id])
		}
		if d.State == webhook.Failed && seen[id] > 0 {
			r.Errorf("delivery %d is failed and was seen %d times", id, seen[id])
		}
		if d.State == webhook.Delivered && seen[id] == 0 {
			r.Errorf("delivery %d is delivered and was never seen", id)
		}
	}
}
