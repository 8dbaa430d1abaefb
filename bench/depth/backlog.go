package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store"
)

const (
	stretch = 10 // cycles at a time: the clock of processor time is coarse
	batch   = 100
	exactly = 20_000 // index entries that stats count one by one, at most, at any depth
	perPage = 100
	lookups = 10 // that a call makes for each message, and once for itself, at most: each may go one index level deeper
)

// backlog compares a queue of so many messages with an empty one.
func (r *run) backlog(ctx context.Context, store string) error {
	return r.deep(ctx, store, queueCalls, func(g *ground, n int) error {
		if err := g.makeQueues(ctx, "jobs", "others"); err != nil {
			return err
		}
		if n == 0 {
			return g.fill(ctx, waiting{queue: "others", n: r.few()})
		}
		return g.fill(ctx, waiting{queue: "jobs", n: n})
	})
}

// front compares a queue with so many messages that cannot be received, half of them delayed and half in flight, in front of all others with an empty one.
func (r *run) front(ctx context.Context, store string) error {
	return r.deep(ctx, store, queueCalls, func(g *ground, n int) error {
		if err := g.makeQueues(ctx, "jobs", "others"); err != nil {
			return err
		}
		if n == 0 {
			return g.fill(ctx, waiting{queue: "others", n: r.few()})
		}
		return errors.Join(
			g.fill(ctx, waiting{queue: "jobs", n: n / 2, priority: 9, delay: 24 * time.Hour}),
			g.fill(ctx, waiting{queue: "jobs", n: n - n/2, priority: 9, lease: 24 * time.Hour}))
	})
}

// rounds of calls are made whose pages are counted, or that are timed one by one.
func (r *run) rounds() int { return max(1, r.cycles/4) }

// few is how many rows the store has that the depth is compared with: of a hundred times as many an index has one level more, at most.
func (r *run) few() int { return max(100, r.rows/100) }

// call is one whose pages are counted.
type call struct {
	name  string
	items int  // that it is about, or looks at, at most
	cycle bool // it is part of the cycle whose processor time is measured
	do    func() error
}

// side is a store with what its calls touched and cost.
type side struct {
	*ground
	calls []call
	pages []float64 // a call: the median
	cpu   float64   // in seconds, in all
	bytes float64   // that a row took which was filled in
}

// deep compares what calls touch and cost in a store that has few rows and in one that has many, in turn.
func (r *run) deep(ctx context.Context, store string, calls func(ctx context.Context, g *ground) []call, fill func(g *ground, n int) error) (err error) {
	var sides [2]*side
	for i, n := range []int{0, r.rows} {
		g, err := r.newGround(ctx, store)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.leave(ctx)) }()
		sides[i] = &side{ground: g}
		before, err := g.size(ctx)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := fill(g, n); err != nil {
			return err
		}
		after, err := g.size(ctx)
		if err != nil {
			return err
		}
		sides[i].bytes = float64(after-before) / float64(max(n, 1))
		note("filled in on %s in %v", store, time.Since(began).Round(time.Second))
		sides[i].calls = calls(ctx, g)
		sides[i].pages = make([]float64, len(sides[i].calls))
	}
	counted := true
	for _, s := range sides {
		for _, c := range s.calls { // warm, and planned
			if err := c.do(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		if err := s.count(ctx, r.rounds()); errors.Is(err, errUncounted) {
			counted = false
		} else if err != nil {
			return err
		}
	}
	for range max(1, r.cycles/stretch) {
		for _, s := range sides {
			if err := s.spend(); err != nil {
				return err
			}
		}
	}
	few, many := sides[0], sides[1]
	for i, c := range many.calls {
		if counted {
			f := figure{What: c.name, Unit: "pages a call", Value: many.pages[i]}.than(few.pages[i])
			r.tell(f.within(1.1*few.pages[i] + float64(lookups*(c.items+1))))
		}
	}
	each := 10_000 / float64(max(1, r.cycles/stretch)*stretch*batch)
	r.tell(figure{What: "the cycle in batches of 100", Unit: "CPU-seconds for 10,000", Value: many.cpu * each}.than(few.cpu * each).within(1.25 * few.cpu * each))
	r.tell(figure{What: "on disk, for each row that was filled in", Unit: "bytes", Value: many.bytes})
	return nil
}

// count makes the calls and counts their pages.
func (s *side) count(ctx context.Context, rounds int) error {
	pages := make([][]float64, len(s.calls))
	for range rounds {
		for i, c := range s.calls {
			was, err := s.ground.pages(ctx)
			if err != nil {
				return err
			}
			if err := c.do(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			now, err := s.ground.pages(ctx)
			if err != nil {
				return err
			}
			pages[i] = append(pages[i], float64(now-was))
		}
	}
	for i, l := range pages {
		s.pages[i] = median(l)
	}
	return nil
}

// spend makes a stretch of cycles and adds up their processor time.
func (s *side) spend() error {
	was, err := s.ground.cpu()
	if err != nil {
		return err
	}
	for range stretch {
		for _, c := range s.calls {
			if !c.cycle {
				continue
			}
			if err := c.do(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	now, err := s.ground.cpu()
	s.cpu += now - was
	return err
}

// queueCalls are a cycle of messages that each have a publish key and a work key, in batches, and single calls.
func queueCalls(ctx context.Context, g *ground) []call {
	s := &shift{store: g.db}
	one := &shift{store: g.db}
	return []call{
		{"publish 100", batch, true, func() error { return s.publish(ctx, batch) }},
		{"receive 100", batch, true, func() error { return s.receive(ctx, batch) }},
		{"claim 100", batch, true, func() error { return s.claim(ctx) }},
		{"settle 100", batch, true, func() error { return s.settle(ctx) }},
		{"publish", 1, false, func() error { return one.publish(ctx, 1) }},
		{"receive", 1, false, func() error { return one.receive(ctx, 1) }},
		{"ack", 1, false, func() error { return one.ack(ctx) }},
		{"stats", exactly / perPage, false, func() error { _, err := g.db.QueueStats(ctx, 1, "jobs"); return err }},
	}
}

// shift is a worker's cycle by the store's own calls.
type shift struct {
	store store.Store
	n     int
	got   []queue.Message
	words []ledger.Word
}

func (s *shift) publish(ctx context.Context, n int) error {
	in := make([]queue.Publish, n)
	for i := range in {
		s.n++
		hash := sha256.Sum256(filling)
		in[i] = queue.Publish{Project: 1, Queue: "jobs", Body: filling, Key: fmt.Sprintf("%p-%d", s, s.n), Hash: hash[:]}
	}
	out, err := s.store.Publish(ctx, in...)
	if err == nil {
		err = out[0].Err
	}
	return err
}

func (s *shift) receive(ctx context.Context, n int) (err error) {
	s.got, err = s.store.Receive(ctx, queue.Receive{Project: 1, Queue: "jobs", Max: n, Visibility: 10 * time.Minute})
	if err == nil && len(s.got) != n {
		err = fmt.Errorf("received %d of %d", len(s.got), n)
	}
	return err
}

func (s *shift) claim(ctx context.Context) error {
	calls := make([]ledger.Call, len(s.got))
	s.words = make([]ledger.Word, len(s.got))
	for i, m := range s.got {
		calls[i] = ledger.Call{
			Project: 1, Scope: "work", Key: fmt.Sprint(m.ID), Grant: ledger.Grant{GrantID: fmt.Sprint(m.ID), Owner: "depth", Lease: time.Minute},
			Policy: ledger.Idempotent, MaxTries: 5, MessageID: m.ID, Lease: m.Lease,
		}
	}
	answers, err := s.store.Claim(ctx, calls...)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a.Verdict != ledger.Granted {
			return fmt.Errorf("claimed and got %+v", a)
		}
		s.words[i] = ledger.Word{Project: 1, Scope: "work", Key: calls[i].Key, Fence: a.Claim.Fence, Kind: ledger.Succeeded, Settle: true}
	}
	return nil
}

func (s *shift) settle(ctx context.Context) error {
	out, err := s.store.SettleClaims(ctx, s.words...)
	if err == nil && !out[0].Applied {
		err = fmt.Errorf("settled and got %+v", out[0])
	}
	return err
}

func (s *shift) ack(ctx context.Context) error {
	acts := make([]queue.Settle, len(s.got))
	for i, m := range s.got {
		acts[i] = queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease}
	}
	out, err := s.store.Settle(ctx, acts...)
	if err == nil && !out[0].Applied {
		err = fmt.Errorf("acked and got %+v", out[0])
	}
	return err
}
