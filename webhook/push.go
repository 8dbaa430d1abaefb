package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/worker"
)

// PushScope is the ledger's scope of pushed messages: the key is the message's id, whichever subscription sends it.
const PushScope = "push"

const (
	holdTerm = 10 * time.Second // of a subscription; a dead server's are another's after it
	holdRest = 700 * time.Millisecond
)

// PushStore is what pushing needs of a store.
type PushStore interface {
	Receive(ctx context.Context, r queue.Receive) ([]queue.Message, error)
	Settle(ctx context.Context, items ...queue.Settle) ([]queue.Settled, error)
	WaitMessages(ctx context.Context, r queue.Receive) []queue.Message
	Claim(ctx context.Context, calls ...ledger.Call) ([]ledger.Answer, error)
	Begin(ctx context.Context, beats ...ledger.Beat) ([]ledger.Applied, error)
	SettleClaims(ctx context.Context, words ...ledger.Word) ([]ledger.Applied, error)
	HoldSubscriptions(ctx context.Context, owner string, term time.Duration) ([]Subscription, error)
	LetGoSubscriptions(ctx context.Context, owner string) error
}

// PusherConfig says how messages are pushed. Store, IDs and Rules.Sealer are required.
type PusherConfig struct {
	Store PushStore
	IDs   *ids.Codec
	Rules Rules

	Slack  time.Duration        // a message's lease is its subscription's time-out and this (10 s; at least 1 s)
	Grace  time.Duration        // how long attempts may finish after a stop, and after an unsubscription (20 s)
	Owner  string               // names this process among the servers; required
	Rest   func() time.Duration // asked for how long to rest before each look for subscriptions (700 ms)
	Logger *slog.Logger         // one wide line per attempt; nil: nothing is logged
	Guard  Guard                // refuses addresses ([PublicOnly], or none with Rules.AllowPrivate)
	Dial   Dial                 // makes the connections (nil: the net's own); Guard is then not asked
}

// Pusher sends the messages of queues that have subscriptions. Each subscription has a loop of its own, so that a receiver that hangs costs only
// itself; several of one queue compete for its messages.
type Pusher struct {
	c    PusherConfig
	post poster
}

// NewPusher makes a Pusher, or says which field is wrong.
func NewPusher(c PusherConfig) (*Pusher, error) {
	switch {
	case c.Store == nil || c.IDs == nil || c.Rules.Sealer == nil || c.Owner == "":
		return nil, errors.New("push: Store, IDs, Rules.Sealer and Owner are required")
	case c.Slack != 0 && c.Slack < minSlack:
		return nil, fmt.Errorf("push: Slack is %v; at least %v, so that an attempt's time-out ends before its lease", c.Slack, minSlack)
	}
	if c.Slack == 0 {
		c.Slack = 10 * time.Second
	}
	if c.Rest == nil {
		c.Rest = func() time.Duration { return holdRest }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Guard == nil && !c.Rules.AllowPrivate {
		c.Guard = PublicOnly()
	}
	return &Pusher{c: c, post: wiring{guard: c.Guard, dial: c.Dial}.poster()}, nil
}

// pushing is a subscription's loop under way.
type pushing struct {
	sub  Subscription
	stop context.CancelFunc
}

// Run pushes until ctx ends, then stops as [worker.Loop] does, and lets go of its subscriptions.
func (p *Pusher) Run(ctx context.Context) error {
	defer p.post.close()
	var loops sync.WaitGroup
	var failed error
	var mu sync.Mutex
	running := map[int64]pushing{}
	held := time.Time{} // until then, by our clock
	away := false
	for ctx.Err() == nil {
		at := time.Now()
		subs, err := p.c.Store.HoldSubscriptions(ctx, p.c.Owner, holdTerm)
		switch {
		case err == nil:
			held, away = at.Add(holdTerm), false
		case ctx.Err() != nil:
			continue
		case !away:
			away = true
			p.c.Logger.Warn("cannot look for subscriptions; trying again until it works", "error", err)
		}
		if err == nil || time.Now().After(held) { // past it another server may have them
			for id, r := range running {
				if !slices.ContainsFunc(subs, func(s Subscription) bool { return s.ID == id && same(s, r.sub) }) {
					r.stop()
					delete(running, id)
				}
			}
			for _, s := range subs {
				if _, is := running[s.ID]; is {
					continue
				}
				within, stop := context.WithCancel(ctx)
				running[s.ID] = pushing{s, stop}
				loops.Go(func() {
					defer stop()
					if err := p.push(within, s); err != nil {
						mu.Lock()
						defer mu.Unlock()
						failed = errors.Join(failed, err)
					}
				})
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(p.c.Rest()):
		}
	}
	loops.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := p.c.Store.LetGoSubscriptions(last, p.c.Owner); err != nil {
		p.c.Logger.Warn("cannot let go of subscriptions; another server has them after a while", "error", err)
	}
	return failed
}

// same reports whether a loop of one goes on as the other.
func same(a, b Subscription) bool {
	return a.URL == b.URL && a.Timeout == b.Timeout && a.MaxInFlight == b.MaxInFlight && string(a.Sealed) == string(b.Sealed)
}

// push is one subscription's loop.
func (p *Pusher) push(ctx context.Context, s Subscription) error {
	t := &pushTo{p, s}
	loop, err := worker.New(worker.Config[*pushJob, pushed]{
		Source: t, Outcomes: t, Effect: t, Concurrency: s.MaxInFlight, Grace: p.c.Grace, Logger: p.c.Logger, Settled: t.settled,
	})
	if err == nil {
		err = loop.Run(ctx)
	}
	if err != nil {
		return fmt.Errorf("push %w", err)
	}
	return nil
}
