package webhook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/worker"
)

const minSlack = time.Second // all of it for the settling: an answer's body is read within the time-out

// WorkerConfig says how deliveries are sent. Store, IDs and Rules.Sealer are required.
type WorkerConfig struct {
	Store Sender
	IDs   *ids.Codec
	Rules Rules

	Slack time.Duration // a delivery's lease is its endpoint's time-out and this (10 s; at least 1 s)
	// Concurrency is how many attempts are made at a time (1024). Each holds a connection, its payload and some goroutines. Endpoints leave room
	// for each other, so that about a quarter as many may hang to their time-outs at once, and another is served as if they did not.
	Concurrency int
	// PayloadBytes is how much of payloads is held at a time (512 MiB; at least MaxPayload): where they are large, fewer attempts
	// are made at a time.
	PayloadBytes int
	Grace        time.Duration // how long attempts may finish after a stop (20 s)
	Owner        string        // names this process in the ledger; else host, pid and chance
	Logger       *slog.Logger  // one wide line per attempt; nil: nothing is logged

	// Guard refuses addresses ([PublicOnly], or none with Rules.AllowPrivate).
	Guard Guard
	// Dial makes the connections (nil: the net's own). Guard is then not asked: what Dial reaches is Dial's to decide.
	Dial Dial
	// Observe is told of each outcome once it is kept, by many goroutines at once.
	Observe func(o Outcome, applied ledger.Applied)
}

// Worker sends deliveries: any number of them, in any number of processes, over one store.
type Worker struct {
	c    WorkerConfig
	post poster
	loop *worker.Loop[*Job, Outcome]

	held atomic.Int64  // bytes of payloads
	less chan struct{} // told when some were let go
	full bool          // there was no room for more; of the goroutine that receives
}

// NewWorker makes a Worker, or says which field is wrong.
func NewWorker(c WorkerConfig) (*Worker, error) {
	switch {
	case c.Store == nil || c.IDs == nil || c.Rules.Sealer == nil:
		return nil, errors.New("webhook worker: Store, IDs and Rules.Sealer are required")
	case c.PayloadBytes != 0 && c.PayloadBytes < MaxPayload:
		return nil, fmt.Errorf("webhook worker: PayloadBytes is %d; at least %d, so that any payload can be sent", c.PayloadBytes, MaxPayload)
	case c.Slack != 0 && c.Slack < minSlack:
		return nil, fmt.Errorf("webhook worker: Slack is %v; at least %v, so that an attempt's time-out ends before its lease", c.Slack, minSlack)
	}
	if c.Slack == 0 {
		c.Slack = 10 * time.Second
	}
	if c.Concurrency == 0 {
		c.Concurrency = 1024
	}
	if c.PayloadBytes == 0 {
		c.PayloadBytes = 512 << 20
	}
	if c.Owner == "" {
		host, _ := os.Hostname()
		c.Owner = fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()[:8])
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Guard == nil && !c.Rules.AllowPrivate {
		c.Guard = PublicOnly()
	}
	if c.Observe == nil {
		c.Observe = func(Outcome, ledger.Applied) {}
	}
	w := &Worker{c: c, post: wiring{guard: c.Guard, dial: c.Dial}.poster(), less: make(chan struct{}, 1)}
	var err error
	w.loop, err = worker.New(worker.Config[*Job, Outcome]{
		Source: source{w}, Outcomes: outcomes{w}, Effect: effect{w},
		Concurrency: c.Concurrency, Grace: c.Grace, Logger: c.Logger, Settled: w.settled, Ended: w.ended,
	})
	if err != nil {
		return nil, fmt.Errorf("webhook %w", err)
	}
	return w, nil
}

// Run sends until ctx ends, then stops: it takes no more, lets attempts finish within the grace, and gives back what
// was not begun. It runs once.
func (w *Worker) Run(ctx context.Context) error {
	defer w.post.close()
	return w.loop.Run(ctx)
}

// Halt ends Run without grace: attempts are broken off, and recorded as what is then known of them.
func (w *Worker) Halt() { w.loop.Halt() }

// source takes deliveries from the store.
type source struct{ w *Worker }

// Receive takes half of the places that are free, and nothing of an endpoint that has as many in flight: endpoints that hang fill
// what there is only where there is one for every few places, and each leaves room for those that have less.
func (s source) Receive(ctx context.Context, free int) ([]*Job, error) {
	what := s.what(free)
	if s.w.full = what.Max <= 0; s.w.full {
		return nil, nil
	}
	t, err := s.w.c.Store.TakeDeliveries(ctx, what)
	if err != nil {
		return nil, err
	}
	return s.jobs(t), nil
}

func (s source) what(free int) Take {
	half := (free + 1) / 2
	return Take{Owner: s.w.c.Owner, Max: min(half, s.w.room()), Each: half, Slack: s.w.c.Slack}
}

func (s source) jobs(t Taken) []*Job {
	jobs, now := make([]*Job, len(t.Jobs)), time.Now()
	for i := range t.Jobs {
		jobs[i] = &t.Jobs[i]
		jobs[i].received = now
		if i > 0 && jobs[i].Endpoint.ID == jobs[i-1].Endpoint.ID {
			jobs[i].endpointID = jobs[i-1].endpointID
		} else {
			jobs[i].endpointID = s.w.c.IDs.Encode(ids.Endpoint, jobs[i].Project, jobs[i].Endpoint.ID)
		}
		s.w.held.Add(int64(len(jobs[i].Payload)))
	}
	return jobs
}

// Wait is for deliveries, or for room for their payloads.
func (s source) Wait(ctx context.Context, free int) ([]*Job, time.Time) {
	if what := s.what(free); !s.w.full && what.Max > 0 {
		t := s.w.c.Store.WaitDeliveries(ctx, what)
		return s.jobs(t), t.Asked
	}
	select {
	case <-s.w.less:
	case <-ctx.Done():
	}
	return nil, time.Time{}
}

// room is how many payloads of the greatest length there is room for.
func (w *Worker) room() int { return (w.c.PayloadBytes - int(w.held.Load())) / MaxPayload }

// ended lets go of a job's payload.
func (w *Worker) ended(j *Job) {
	w.held.Add(-int64(len(j.Payload)))
	select {
	case w.less <- struct{}{}:
	default:
	}
}

// outcomes brings outcomes to the store: with our own queue outcome, attempt and message commit together.
type outcomes struct{ w *Worker }

func (o outcomes) Begin(ctx context.Context, jobs []*Job) ([]ledger.Applied, error) {
	return o.w.c.Store.BeginDeliveries(ctx, jobs)
}

func (o outcomes) Settle(ctx context.Context, out []Outcome) ([]ledger.Applied, error) {
	for i := range out {
		out[i].Ago = time.Since(out[i].began)
	}
	return o.w.c.Store.SettleDeliveries(ctx, out...)
}
