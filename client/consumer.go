package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/group"
	"github.com/onceward/onceward/internal/lease"
)

// Consumer receives messages of a queue, hands each to a handler, and settles it by what the handler says:
//
//	nil                       acked: the work is done
//	an error                  nacked with its text; it comes again, or is dead-lettered after the queue's most receives
//	[RetryIn]                 the same, after a wait of your choosing
//	[DeadLetter]              dead-lettered at once
//	[GiveBack]                released: it comes again, and this receive is not counted
//	[Leave]                   nothing
//	a panic                   as an error, with where it came from
//
// While a handler works its lease is extended. Is the lease lost all the same, because the server could not be reached or a person took the message
// away, the handler's context ends with [ErrLeaseLost] and nothing is settled: another worker may have the message.
//
// A queue delivers at least once. That a message comes twice is for the handler to bear: its work key and the ledger tell it (docs/client.md).
type Consumer struct {
	Client *Client // required
	Queue  string  // required
	// Handle does a message's work; required. It may be called for many messages at a time, and must return when its context ends. It has 12 hours at most: a lease
	// is not extended further.
	Handle func(context.Context, *Message) error
	// Concurrency is how many messages are worked on at a time, 1 to 1000 (10). No more are received than can be begun.
	Concurrency int
	// Visibility is the lease, 1 s to 12 h (60 s). It is extended three times in that time: a worker that died gives its messages back after so long.
	Visibility time.Duration
	// Grace is how long a stop waits for handlers (20 s). Then their contexts end, and what they did not finish is released.
	Grace time.Duration
	// Logger hears what no handler can be told: calls that went wrong, leases lost, panics ([slog.Default]).
	Logger *slog.Logger
}

// ErrLeaseLost ends the context of a handler whose message is not its own any more.
var ErrLeaseLost = errors.New("the lease is lost: another worker may have the message")

const (
	pollWait     = 20 * time.Second // the longest that the contract has
	lastMoment   = 5 * time.Second  // after the grace, for handlers to see that their contexts ended
	settleWithin = 30 * time.Second
	settleTries  = 64 // bounded by time
)

// Run consumes until ctx ends, and then stops: it receives no more, waits for the handlers, and settles what they did. It returns nil after such a stop. A call that is refused
// for what it is, to a queue that is not there or with a key that may not consume, ends it with that error; a server that is away, or answers what cannot be read, does not.
func (c Consumer) Run(ctx context.Context) error {
	if c.Client == nil || c.Queue == "" || c.Handle == nil {
		return errors.New("client: a Consumer needs Client, Queue and Handle")
	}
	c.Concurrency, c.Visibility, c.Grace = cmp.Or(c.Concurrency, 10), cmp.Or(c.Visibility, time.Minute), cmp.Or(c.Grace, 20*time.Second)
	switch {
	case c.Concurrency < 1 || c.Concurrency > 1000:
		return fmt.Errorf("client: Concurrency is %d; it must be 1 to 1000", c.Concurrency)
	case c.Visibility < time.Second || c.Visibility > 12*time.Hour:
		return fmt.Errorf("client: Visibility is %v; it must be 1s to 12h", c.Visibility)
	case c.Grace < 0:
		return fmt.Errorf("client: Grace is %v; it cannot be below 0", c.Grace)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("queue", c.Queue)
	patient, quick := *c.Client, *c.Client
	patient.MaxTries, quick.MaxTries = settleTries, 1
	r := &consuming{Consumer: c, patient: &patient, quick: &quick, slots: make(chan struct{}, c.Concurrency), polled: make(chan struct{})}
	for range c.Concurrency {
		r.slots <- struct{}{}
	}
	r.acks = batch.New(batch.Config[string, Settled]{Commit: r.ack, MaxItems: 1000, Timeout: settleWithin})
	return group.Run(ctx, group.Limits{Soft: c.Grace, Hard: lastMoment},
		group.Part{Name: "receive", Run: r.receive},
		group.Part{Name: "handlers", Run: r.finish})
}

// consuming is a Consumer at work.
type consuming struct {
	Consumer
	patient  *Client // tries as long as its context lasts
	quick    *Client // tries once, for the loop that goes round anyhow
	acks     *batch.Batcher[string, Settled]
	slots    chan struct{} // one for each message that may be begun
	handlers sync.WaitGroup
	polled   chan struct{} // closed when no more will be begun
}

// receive takes as many messages as can be begun, until ctx ends.
func (r *consuming) receive(ctx context.Context) error {
	defer close(r.polled)
	hard := group.Hard(ctx)
	for fails := 0; ; {
		n := r.takeSlots(ctx)
		if n == 0 {
			return nil
		}
		asked := time.Now()
		got, err := r.quick.Consume(ctx, r.Queue, Receive{Max: n, Visibility: r.Visibility, Wait: pollWait})
		r.giveSlots(n - len(got))
		switch {
		case ctx.Err() != nil:
			r.giveBack(hard, got)
			return nil
		case err != nil:
			var asked time.Duration
			if e, ok := errors.AsType[*Error](err); ok {
				if e.Status >= 400 && e.Status < 500 && !e.Temporary() {
					return err
				}
				asked = min(e.RetryAfter, longestAsked)
			}
			fails++
			d := max(backoff(fails), asked)
			r.Logger.WarnContext(ctx, "nothing can be received; it is tried again", "error", err, "in", d)
			sleep(ctx, d)
			continue
		case len(got) == 0 && time.Since(asked) < pollWait/2:
			sleep(ctx, backoff(3)) // the server ends polls early while it stops: not as fast as it can answer
		}
		fails = 0
		from := time.Now().Add(-r.Visibility / 10) // a lease is younger than its message's way to us, and that was no longer than the call
		if from.Before(asked) {
			from = asked
		}
		for _, m := range got {
			r.begin(hard, m, from)
		}
	}
}

// takeSlots waits until a message can be begun, and gives how many can; 0: ctx ended.
func (r *consuming) takeSlots(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case <-r.slots:
	}
	if ctx.Err() != nil {
		return 0
	}
	for n := 1; ; n++ {
		select {
		case <-r.slots:
		default:
			return n
		}
	}
}

func (r *consuming) giveSlots(n int) {
	for range n {
		r.slots <- struct{}{}
	}
}

// giveBack releases what came and will not be begun.
func (r *consuming) giveBack(ctx context.Context, m []*Message) {
	if len(m) == 0 {
		return
	}
	receipts := make([]string, len(m))
	for i := range m {
		receipts[i] = m[i].Receipt
	}
	if _, err := r.Client.ReleaseBatch(ctx, r.Queue, receipts, 0); err != nil {
		r.Logger.WarnContext(ctx, "messages wait for their leases' end: they came as we stopped and could not be released", "messages", len(m), "error", err)
	}
}

// begin starts a message's handler. Its context ends when the stop's grace does, or with the lease.
func (r *consuming) begin(hard context.Context, m *Message, from time.Time) {
	ctx, rest := context.WithCancel(hard)
	l := lease.Keep(ctx, lease.Terms{Length: r.Visibility, From: from, Lost: ErrLeaseLost, Beat: func() (bool, error) { return r.extend(ctx, m) }})
	r.handlers.Go(func() {
		defer r.giveSlots(1)
		defer l.Release()
		defer rest() // a heartbeat that is under way
		err := r.handle(l.Context(), m)
		if l.Rest(); context.Cause(l.Context()) == ErrLeaseLost {
			r.Logger.WarnContext(hard, "a message's lease was lost before its handler ended; another worker may have it", "message_id", m.ID, "handler_error", err)
			return
		}
		r.settle(l.Context(), m, err)
	})
}

// extend goes on with a lease; false: it is lost. Once the stop's grace is over it goes on with none.
func (r *consuming) extend(ctx context.Context, m *Message) (held bool, err error) {
	within, cancel := context.WithTimeout(ctx, r.Visibility/4)
	defer cancel()
	s, err := r.patient.Extend(within, r.Queue, m.Receipt, r.Visibility)
	if e, ok := errors.AsType[*Error](err); ctx.Err() != nil || ok && !e.Temporary() {
		return false, nil // it is over; or gone, or not ours
	}
	return err == nil && s.Applied, err
}

// finish waits until no handler is left.
func (r *consuming) finish(context.Context) error {
	<-r.polled
	r.handlers.Wait()
	return nil
}
