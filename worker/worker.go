package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
)

// Causes of an effect's context when it ends, for errors.Is on context.Cause.
var (
	// ErrStopped: the worker stops and the grace is over.
	ErrStopped = errors.New("the worker was stopped")
	// ErrLeaseLost: somebody else may have the job now.
	ErrLeaseLost = errors.New("the lease of the job was lost")
)

// ErrRan is what a second Run gets.
var ErrRan = errors.New("worker: Run was called before; make another Loop")

// Source hands out jobs.
type Source[J any] interface {
	// Receive takes at most max jobs, each leased and claimed from within the call on. It does not wait for any.
	Receive(ctx context.Context, max int) ([]J, error)
	// Wait returns when there may be something to receive, or when ctx ends. It may return early and for nothing. Or it returns at most max jobs that
	// were leased and claimed for it meanwhile, and when that was asked for: even if ctx has ended, since they are leased to nobody else.
	Wait(ctx context.Context, max int) (jobs []J, asked time.Time)
}

// Outcomes keeps what became of jobs. Both methods answer one result for each item, in order; an error says that
// nothing may have been kept, and the call is made again. So each must bear to be made twice.
type Outcomes[J, O any] interface {
	// Begin makes the line before the effect durable and extends the job's lease by its full length. It is also the heartbeat.
	Begin(ctx context.Context, jobs []J) ([]ledger.Applied, error)
	// Settle keeps outcomes and settles their messages.
	Settle(ctx context.Context, outcomes []O) ([]ledger.Applied, error)
}

// Terms are how a job is held.
type Terms struct {
	Lease time.Duration // from the receive, and from each Begin
	Begin bool          // the effect waits until Begin is durable: policy once
}

// Effect is what is done with a job.
type Effect[J, O any] interface {
	Terms(j J) Terms
	// Do makes the effect and says how it ended. Its context ends with cause [ErrStopped] or [ErrLeaseLost]; Do then returns soon.
	Do(ctx context.Context, j J) O
	// GiveBack is the outcome of a job whose effect was not begun.
	GiveBack(j J) O
	// Panicked is the outcome of a job whose Do panicked: nobody knows how far it came.
	Panicked(j J, value any, stack []byte) O
}

// Config says what a Loop does. Source, Outcomes and Effect are required.
type Config[J, O any] struct {
	Source   Source[J]
	Outcomes Outcomes[J, O]
	Effect   Effect[J, O]

	Concurrency int           // jobs at a time (64); each costs a goroutine, and what its effect holds
	Grace       time.Duration // how long effects may finish after a stop (20 s)
	LastWords   time.Duration // how long, after that, outcomes may still be settled (3 s)
	Logger      *slog.Logger  // the store going away and coming back, outcomes that could not be settled; nil: nothing is logged

	// Settled is told of each outcome, once it is kept or given up: err says why. Called by many goroutines at once.
	Settled func(o O, a ledger.Applied, err error)
	// Ended is told of each job once it is over, whether it had an outcome or not. Called by many goroutines at once.
	Ended func(j J)
}

func (c Config[J, O]) withDefaults() (Config[J, O], error) {
	switch {
	case c.Source == nil || c.Outcomes == nil || c.Effect == nil:
		return c, errors.New("worker: Source, Outcomes and Effect are required")
	case c.Concurrency < 0 || c.Grace < 0 || c.LastWords < 0:
		return c, fmt.Errorf("worker: Concurrency, Grace and LastWords are not negative: %d, %v, %v", c.Concurrency, c.Grace, c.LastWords)
	}
	if c.Concurrency == 0 {
		c.Concurrency = 64
	}
	if c.Grace == 0 {
		c.Grace = 20 * time.Second
	}
	if c.LastWords == 0 {
		c.LastWords = 3 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Settled == nil {
		c.Settled = func(O, ledger.Applied, error) {}
	}
	if c.Ended == nil {
		c.Ended = func(J) {}
	}
	return c, nil
}

// A Loop runs once. The zero value is not ready: use [New].
type Loop[J, O any] struct {
	Config[J, O]

	free    chan struct{} // a token for each job that could be started
	begins  *batch.Batcher[J, ledger.Applied]
	settles *batch.Batcher[O, ledger.Applied]

	jobs sync.WaitGroup
	ran  atomic.Bool
	late atomic.Int64 // outcomes that wait for the store to come back
	lost atomic.Int64 // outcomes given up

	soft, effects, words context.Context // each ends after the one before it: receiving, effects, settling
	stop, cut, silence   context.CancelCauseFunc
}

// New makes a Loop.
func New[J, O any](c Config[J, O]) (*Loop[J, O], error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Loop[J, O]{Config: c, free: make(chan struct{}, c.Concurrency)}
	for range c.Concurrency {
		l.free <- struct{}{}
	}
	l.soft, l.stop = context.WithCancelCause(context.Background())
	l.effects, l.cut = context.WithCancelCause(context.Background())
	l.words, l.silence = context.WithCancelCause(context.Background())
	l.begins = batch.New(batch.Config[J, ledger.Applied]{Commit: commit(c.Outcomes.Begin), Split: notAway})
	l.settles = batch.New(batch.Config[O, ledger.Applied]{Commit: commit(c.Outcomes.Settle), Split: notAway})
	return l, nil
}

func commit[T any](do func(context.Context, []T) ([]ledger.Applied, error)) func(context.Context, []T) ([]batch.Result[ledger.Applied], error) {
	return func(ctx context.Context, items []T) ([]batch.Result[ledger.Applied], error) {
		a, err := do(ctx, items)
		if err != nil {
			return nil, err
		}
		out := make([]batch.Result[ledger.Applied], len(a))
		for i := range a {
			out[i].Value = a[i]
		}
		return out, nil
	}
}
