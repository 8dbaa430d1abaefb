package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// clock says when each message is due, whatever became of those before it: who is measured does not slow down who measures (Gil Tene calls it
// coordinated omission if it does).
type clock struct {
	began time.Time
	rate  float64
	n     int64

	mu      sync.Mutex
	latency *hdrhistogram.Histogram
	came    int64
	all     chan struct{}
}

func (s settings) clock() *clock {
	return &clock{
		began: time.Now().Add(50 * time.Millisecond), rate: s.Rate, n: max(1, int64(s.Rate*s.Span)),
		latency: hdrhistogram.New(1, time.Minute.Microseconds(), 3), all: make(chan struct{}),
	}
}

func (c *clock) due(i int64) time.Time {
	return c.began.Add(time.Duration(float64(i) / c.rate * float64(time.Second)))
}

// arrived records that message i is where it was to go.
func (c *clock) arrived(i int64) {
	took := time.Since(c.due(i)).Microseconds()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latency.RecordValue(max(1, min(took, c.latency.HighestTrackableValue())))
	if c.came++; c.came == c.n {
		close(c.all)
	}
}

// send makes each call when it is due, and waits until all have arrived.
func (c *clock) send(ctx context.Context, callers int, call func(i int64) error) (done, error) {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, callers)
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= c.n {
					return
				}
				time.Sleep(time.Until(c.due(i)))
				if err := call(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return done{}, err
	}
	select {
	case <-c.all:
	case <-ctx.Done():
		return done{}, ctx.Err()
	case <-time.After(time.Minute):
		c.mu.Lock()
		defer c.mu.Unlock()
		return done{}, fmt.Errorf("%d of %d arrived within a minute", c.came, c.n)
	}
	return done{jobs: c.n, span: time.Since(c.began), latency: c.latency}, nil
}

// arrivals are what comes where it was to go: first what makes all warm, whose numbers are below 0, then what the clock says.
type arrivals struct {
	cold  chan struct{} // one for each that came early
	clock atomic.Pointer[clock]
}

func newArrivals() *arrivals { return &arrivals{cold: make(chan struct{}, 1000)} }

func (a *arrivals) came(i int64) {
	if i < 0 {
		a.cold <- struct{}{}
		return
	}
	a.clock.Load().arrived(i)
}

// warm makes some calls and waits until they have arrived.
func (a *arrivals) warm(s settings, call func(i int64) error) error {
	n, err := s.warm(call)
	if err != nil {
		return err
	}
	late := time.After(time.Minute)
	for i := range n {
		select {
		case <-a.cold:
		case <-late:
			return fmt.Errorf("%d of the first %d arrived within a minute", i, n)
		}
	}
	return nil
}

func (a *arrivals) begin(s settings) *clock {
	c := s.clock()
	a.clock.Store(c)
	return c
}

// start enqueues by the clock; what comes is received and finished.
func start(ctx context.Context, s settings, x subject, p peer) ([]figure, error) {
	work, stop := context.WithCancel(ctx)
	defer stop()
	a := newArrivals()
	ended := make(chan error, 1)
	go func() { ended <- x.consume(work, a.came) }()
	send := func(i int64) error { return x.enqueue(ctx, i, s.body(i)) }
	if err := a.warm(s, send); err != nil {
		stop()
		return nil, errors.Join(err, <-ended)
	}
	f, err := p.meter("start", x.roots(), func() (done, error) {
		return a.begin(s).send(ctx, s.Callers, send)
	})
	stop()
	return []figure{f}, errors.Join(err, <-ended)
}
