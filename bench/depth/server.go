package main

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/onceward/onceward/internal/child"
)

const apiKey = "depth-depth-depth-depth"

// served is a server of the program over a store, and what was seen of it.
type served struct {
	*child.Server
	caller *child.Caller
	failed atomic.Int64
	why    atomic.Pointer[error]
}

func (r *run) serve(ctx context.Context, g *ground) (*served, error) {
	if err := g.shut(); err != nil {
		return nil, err
	}
	program, err := r.build(ctx)
	if err != nil {
		return nil, err
	}
	server, err := child.Start(ctx, program, "onceward-depth", g.at, "ONCEWARD_API_KEY="+apiKey,
		"ONCEWARD_SECRETS_KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	if err != nil {
		return nil, err
	}
	return &served{Server: server, caller: &child.Caller{URL: server.URL, Key: apiKey}}, nil
}

func (s *served) stop(ctx context.Context) error {
	s.caller.Close()
	return s.Stop(context.WithoutCancel(ctx))
}

// call makes a call and reads its data into to, if that is not nil.
func (s *served) call(ctx context.Context, method, path string, body, to any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.caller.Call(ctx, method, path, b, to)
}

// fail counts a call that failed; the first says why.
func (s *served) fail(err error) {
	if s.failed.Add(1) == 1 {
		s.why.Store(&err)
	}
}

// sound is an error if a call failed.
func (s *served) sound() error {
	if n := s.failed.Load(); n > 0 {
		if why := s.why.Load(); why != nil {
			return fmt.Errorf("%d calls failed: %w", n, *why)
		}
		return errors.New("a call failed")
	}
	return nil
}

type object = map[string]any

// latencies are some, in milliseconds.
type latencies struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

func newLatencies() *latencies {
	return &latencies{h: hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 3)}
}

func (l *latencies) took(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.h.RecordValue(max(1, min(d.Microseconds(), l.h.HighestTrackableValue())))
}

func (l *latencies) p99() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.h.ValueAtQuantile(99)) / 1000
}

// paced makes calls at a rate from now on until the time is over, whatever the answers do: each is due by the clock, and has its number. It waits for all.
func paced(ctx context.Context, rate float64, span time.Duration, call func(i int64, due time.Time)) {
	var all sync.WaitGroup
	var next atomic.Int64
	began := time.Now()
	for range 128 {
		all.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				due := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
				if due.Sub(began) >= span {
					return
				}
				select {
				case <-time.After(time.Until(due)):
					call(i, due)
				case <-ctx.Done():
				}
			}
		})
	}
	all.Wait()
}

// stream is messages that go through the queue "jobs" at a steady rate: published one by one, and received and acked by four consumers.
type stream struct {
	*served
	mu                 sync.Mutex
	publishes, arrived *latencies // since the last look: of the call, and from when it was due to when it was received
	consumed           atomic.Int64
}

// look begins anew, and gives what was measured since the last look.
func (s *stream) look() (publishes, arrived *latencies) {
	s.mu.Lock()
	defer s.mu.Unlock()
	publishes, arrived = s.publishes, s.arrived
	s.publishes, s.arrived = newLatencies(), newLatencies()
	return publishes, arrived
}

func (s *stream) now() (publishes, arrived *latencies) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.publishes, s.arrived
}

// flow keeps the stream going for a while.
func (s *stream) flow(ctx context.Context, rate float64, span time.Duration) error {
	s.look()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var consumers sync.WaitGroup
	for range 4 {
		consumers.Go(func() {
			for ctx.Err() == nil {
				if err := s.consume(ctx, func(due time.Time) {
					_, arrived := s.now()
					arrived.took(time.Since(due))
				}); err != nil && ctx.Err() == nil {
					s.fail(err)
				}
			}
		})
	}
	paced(ctx, rate, span, func(_ int64, due time.Time) {
		if err := s.call(ctx, "POST", "/v1/queue/publish", object{"queue": "jobs", "payload": object{"due": due.UnixMicro()}, "priority": 5}, nil); err != nil {
			if ctx.Err() == nil {
				s.fail(err)
			}
			return
		}
		publishes, _ := s.now()
		publishes.took(time.Since(due))
	})
	stop()
	consumers.Wait()
	return s.sound()
}

// consume receives what there is and acks it. Messages that were filled in say of no time when they were due, and count as consumed alone.
func (s *stream) consume(ctx context.Context, came func(due time.Time)) error {
	var got struct {
		Items []struct {
			Receipt string `json:"receipt_handle"`
			Payload struct {
				Due int64 `json:"due"`
			} `json:"payload"`
		} `json:"items"`
	}
	if err := s.call(ctx, "POST", "/v1/queue/consume", object{"queue": "jobs", "max_messages": 50, "wait_seconds": 1}, &got); err != nil || len(got.Items) == 0 {
		return err
	}
	acks := make([]object, len(got.Items))
	for i, m := range got.Items {
		if m.Payload.Due > 0 {
			came(time.UnixMicro(m.Payload.Due))
		}
		acks[i] = object{"receipt_handle": m.Receipt}
	}
	s.consumed.Add(int64(len(acks)))
	return s.call(context.WithoutCancel(ctx), "POST", "/v1/queue/ack_batch", object{"queue": "jobs", "items": acks}, nil)
}

// stream starts a server with a queue for it.
func (r *run) stream(ctx context.Context, g *ground) (*stream, error) {
	s, err := r.serve(ctx, g)
	if err != nil {
		return nil, err
	}
	return &stream{served: s}, s.call(ctx, "POST", "/v1/queue/create", object{"name": "jobs"}, nil)
}
