package storetest

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var workStormTests = []named{
	{"I5, I6, I10: workers of every habit, with keys that messages carry, in a storm", workStorm},
}

// laborer is a worker of the storm. It keeps to the rule for workers, as far as it lives.
type laborer struct {
	*rig
	rng    *rand.Rand
	faults bool

	mu      *sync.Mutex
	effects map[string]int
}

// work receives what there is and does it, and answers how much it was. The bodies of messages name their keys.
func (l *laborer) work(lease time.Duration) int {
	got, err := l.Receive(l.ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 1 + l.rng.IntN(3), Visibility: lease})
	if err != nil {
		l.Errorf("receive: %v", err)
		return 0
	}
	for _, m := range got {
		if !l.dies() {
			l.one(m, lease)
		}
	}
	return len(got)
}

func (l *laborer) dies() bool { return l.faults && l.rng.IntN(10) == 0 }

func (l *laborer) one(m queue.Message, lease time.Duration) {
	key := string(m.Body[1 : len(m.Body)-1])
	c := l.carried(key, m)
	c.Grant.Lease, c.MaxTries = lease, 4
	if key < "m" {
		c.Policy = ledger.Once
	}
	out, err := l.Claim(l.ctx, c)
	if err != nil {
		l.Errorf("claim: %v", err)
		return
	}
	a, s := out[0], act(queue.Ack, m)
	switch {
	case a.Err != nil:
		return // the message is gone
	case a.Verdict == ledger.Busy:
		s.Verb, s.Delay = queue.Release, 5*time.Millisecond
	case a.Verdict == ledger.WasDone:
	case a.Verdict != ledger.Granted:
		s.Verb, s.DeadLetter, s.Error = queue.Nack, true, string(a.Verdict)
	default:
		l.held(a, lease)
		return
	}
	if !l.dies() {
		l.say(s)
	}
}

func (l *laborer) say(s queue.Settle) {
	if _, err := l.Settle(l.ctx, s); err != nil {
		l.Errorf("settle: %v", err)
	}
}

// held does the work of a grant.
func (l *laborer) held(a ledger.Answer, lease time.Duration) {
	if l.dies() {
		return
	}
	b, err := l.Begin(l.ctx, ledger.Beat{Project: 1, Scope: scope, Key: a.Claim.Key, Fence: a.Claim.Fence, Lease: lease})
	if err != nil || !b[0].Applied || l.dies() {
		return
	}
	w := settling(a, ledger.Succeeded)
	if l.faults {
		w.Kind = []ledger.Kind{ledger.Succeeded, ledger.Succeeded, ledger.Definite, ledger.Permanent, ledger.Ambiguous}[l.rng.IntN(5)]
		w.RetryIn = time.Duration(l.rng.IntN(10)) * time.Millisecond
	}
	if w.Kind == ledger.Succeeded || w.Kind == ledger.Ambiguous && l.rng.IntN(2) == 0 {
		l.mu.Lock()
		l.effects[a.Claim.Key]++
		l.mu.Unlock()
	}
	if l.dies() {
		return
	}
	w.Settle = !l.faults || l.rng.IntN(4) > 0
	said, err := l.SettleClaims(l.ctx, w)
	if err != nil {
		l.Errorf("settle keys: %v", err)
	} else if said[0].State == ledger.Done && !w.Settle && !l.dies() {
		l.say(queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: a.Claim.MessageID, Lease: a.Claim.Lease})
	}
}

// workStorm lets workers that die anywhere, whose leases run out under them, sweepers, reapers and a redriver at keys that two messages each
// carry, then ends the faults: every key has ended, and no message is left that is not a dead letter of one that failed or is stuck.
func workStorm(r *rig) {
	r.queue("jobs", maxReceives(3))
	for i := range 32 {
		body := []byte(`"` + string(rune('a'+i%26)) + itoa(int64(i)) + `"`)
		r.publish(queue.Publish{Queue: "jobs", Body: body, Group: []string{"", "g"}[i%2]}, queue.Publish{Queue: "jobs", Body: body})
	}
	var mu sync.Mutex
	effects := map[string]int{}
	var wg sync.WaitGroup
	for w := range 4 {
		l := &laborer{rig: r, rng: rand.New(rand.NewPCG(11, uint64(w))), faults: true, mu: &mu, effects: effects}
		wg.Go(func() {
			for i := range 30 {
				l.work(20 * time.Millisecond)
				if _, err := r.Sweep(r.ctx, 10); err != nil {
					r.Errorf("sweep: %v", err)
				}
				if _, err := r.ReapClaims(r.ctx, 5); err != nil {
					r.Errorf("reap: %v", err)
				}
				if i%10 == w {
					r.StartRedrive(r.ctx, queue.RedriveCall{Project: 1, Queue: "jobs", Who: "a person"}) // or one is running
				}
				if _, _, err := r.StepRedrives(r.ctx, 10); err != nil {
					r.Errorf("redrive: %v", err)
				}
			}
		})
	}
	wg.Wait()
	l := &laborer{rig: r, rng: rand.New(rand.NewPCG(12, 12)), mu: &mu, effects: effects}
	r.eventually("everything is at rest", func() bool {
		r.sweep()
		r.reap()
		l.work(time.Minute)
		_, _, err := r.StepRedrives(r.ctx, 100)
		r.ok(err)
		return r.count("SELECT count(*) FROM messages WHERE dead_at IS NULL") == 0
	})
	want(r, "open keys", r.count("SELECT count(*) FROM claims WHERE state NOT IN ('done', 'failed', 'stuck')"), 0)
	want(r, "in flight", r.count("SELECT coalesce(sum(in_flight), 0) FROM groups"), 0)
	seen := map[ledger.State]int{}
	for _, s := range []ledger.State{ledger.Done, ledger.Failed, ledger.Stuck} {
		keys, err := r.Claims(r.ctx, 1, s, 0, 100)
		r.ok(err)
		seen[s] = len(keys)
		for _, c := range keys {
			switch n := effects[c.Key]; {
			case c.Policy == ledger.Once && n > 1:
				r.Errorf("the once %s took effect %d times", c.Key, n)
			case s == ledger.Done && n == 0:
				r.Errorf("%s is done and never took effect", c.Key)
			case s == ledger.Failed && n > 0:
				r.Errorf("%s is failed and took effect %d times", c.Key, n)
			}
		}
	}
	r.Logf("%v", seen)
	want(r, "keys", seen[ledger.Done]+seen[ledger.Failed]+seen[ledger.Stuck], 32)
}
