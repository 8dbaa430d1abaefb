package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/onceward/onceward/internal/cost"
)

// kase is something that is done with each peer. It may show several figures.
type kase struct {
	name    string
	shows   []string
	about   string
	latency bool                     // it is about latencies, not about a rate
	takes   func(s settings) float64 // seconds, roughly, with what comes before and after
	run     func(ctx context.Context, s settings, x subject, p peer) ([]figure, error)
}

func cases() []kase {
	return []kase{
		{"enqueue", []string{"enqueue"}, "one message a call, 64 callers", false, func(s settings) float64 { return s.Seconds + 0.9 }, enqueue},
		{"batch", []string{"batch", "work"}, "100 messages a call, 64 callers; then what they stored is worked off", false, func(s settings) float64 { return 1.6*s.Seconds + 1.2 }, batchAndWork},
		{"fill", []string{"batch"}, "the first half of that, of who has no second", false, func(s settings) float64 { return s.Seconds + 0.9 }, fillAlone},
		{"cycle", []string{"cycle"}, "enqueued in batches of 100 and worked off at the same time", false, func(s settings) float64 { return s.Seconds + 1 }, cycle},
		{"start", []string{"start"}, "from when a message was due to when it was received, at 500 a second", true, func(s settings) float64 { return s.Span + 1.3 }, start},
		{"deliver", []string{"deliver"}, "events that were stored beforehand, to the last POST", false, func(s settings) float64 { return float64(s.Deliveries) / 2000 }, deliver},
		{"post", []string{"post"}, "from when an event was due to its POST at the receiver, at 500 a second", true, func(s settings) float64 { return s.Span + 1.3 }, post},
	}
}

func chosenCases(names []string) (out []kase, err error) {
	all := cases()
	if len(names) == 0 {
		return all, nil
	}
	for _, n := range names {
		if !slices.ContainsFunc(all, func(c kase) bool { return slices.Contains(c.shows, n) }) {
			return nil, fmt.Errorf("there is no case %q", n)
		}
	}
	return slices.DeleteFunc(all, func(c kase) bool {
		return !slices.ContainsFunc(c.shows, func(what string) bool { return slices.Contains(names, what) })
	}), nil
}

// onSubject opens a peer with an empty queue for each case.
func onSubject(open func(context.Context) (subject, error)) func(context.Context, settings, peer, kase) ([]figure, error) {
	return func(ctx context.Context, s settings, p peer, c kase) (fs []figure, err error) {
		x, err := open(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, x.close()) }()
		return c.run(ctx, s, x, p)
	}
}

// done is what a stretch of work did.
type done struct {
	jobs    int64
	span    time.Duration
	latency *hdrhistogram.Histogram // nil: not of interest
}

// meter does some work and gives what it took.
func (p peer) meter(what string, roots map[string]int, work func() (done, error)) (f figure, err error) {
	debug.FreeOSMemory() // what the case before has left is not this one's
	m, err := cost.Of(roots)
	if err != nil {
		return f, err
	}
	d, err := work()
	if err != nil {
		return f, err
	}
	u, err := m.Since()
	if err != nil {
		return f, err
	}
	if d.jobs == 0 {
		return f, errors.New("nothing was done")
	}
	return p.figure(what, d, u), nil
}

// figure says what was done and what it took.
func (p peer) figure(what string, d done, u cost.Used) figure {
	n := float64(d.jobs)
	f := figure{Peer: p.name, Case: what, Jobs: d.jobs, Rate: short(n / d.span.Seconds()), CPU: short(u.CPU.Seconds() * 10_000 / n), Others: short(u.Others), Parts: map[string]float64{}}
	for name, d := range u.Parts {
		f.Parts[name] = short(d.Seconds() * 10_000 / n)
	}
	if u.Written != nil {
		w := short(float64(*u.Written) / n)
		f.Written = &w
	}
	if u.Memory != nil {
		m := short(*u.Memory)
		f.Memory = &m
	}
	if h := d.latency; h != nil {
		ms := func(q float64) float64 { return short(float64(h.ValueAtQuantile(q)) / 1000) }
		f.P50, f.P99, f.P999 = ms(50), ms(99), ms(99.9)
	}
	return f
}

func enqueue(ctx context.Context, s settings, x subject, p peer) ([]figure, error) {
	if _, err := s.warm(func(i int64) error { return x.enqueue(ctx, i, s.body(i)) }); err != nil {
		return nil, err
	}
	f, err := p.meter("enqueue", x.roots(), func() (done, error) {
		return s.closed(s.Callers, 1<<40, func(i int64) (int64, error) { return 1, x.enqueue(ctx, i, s.body(i)) })
	})
	return []figure{f}, err
}

// warm makes connections and plans, by calls with numbers below 0. It gives how many.
func (s settings) warm(call func(i int64) error) (int64, error) {
	const calls = 200
	s.Seconds = 60 // all of them
	d, err := s.closed(s.Callers, calls, func(i int64) (int64, error) { return 1, call(-i - 1) })
	return d.jobs, err
}

// fillUp enqueues all jobs in batches.
func fillUp(ctx context.Context, s settings, x subject, p peer) (figure, error) {
	calls := int64((s.Jobs + s.Batch - 1) / s.Batch)
	return p.meter("batch", x.roots(), func() (done, error) {
		return s.closed(s.Callers, calls, func(k int64) (int64, error) { return s.enqueueBatch(ctx, x, k) })
	})
}

func fillAlone(ctx context.Context, s settings, x subject, p peer) ([]figure, error) {
	f, err := fillUp(ctx, s, x, p)
	return []figure{f}, err
}

func batchAndWork(ctx context.Context, s settings, x subject, p peer) ([]figure, error) {
	filled, err := fillUp(ctx, s, x, p)
	if err != nil {
		return nil, err
	}
	worked, err := p.meter("work", x.roots(), func() (done, error) {
		ctx, stop := context.WithTimeout(ctx, time.Duration(s.Seconds*float64(time.Second)))
		defer stop()
		var n, last atomic.Int64
		began := time.Now()
		err := x.consume(ctx, func(int64) {
			last.Store(int64(time.Since(began)))
			if n.Add(1) == filled.Jobs {
				stop()
			}
		})
		return done{jobs: n.Load(), span: time.Duration(last.Load())}, err
	})
	return []figure{filled, worked}, err
}

// enqueueBatch enqueues the batch k.
func (s settings) enqueueBatch(ctx context.Context, x subject, k int64) (int64, error) {
	from := k * int64(s.Batch)
	bodies := make([][]byte, s.Batch)
	for i := range bodies {
		bodies[i] = s.body(from + int64(i))
	}
	return int64(s.Batch), x.enqueueMany(ctx, from, bodies)
}

// cycle enqueues in batches while what came is worked off, never much more than the consumer has done.
func cycle(ctx context.Context, s settings, x subject, p peer) ([]figure, error) {
	const ahead = 4000
	f, err := p.meter("cycle", x.roots(), func() (done, error) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var came, last, sent atomic.Int64
		sent.Store(1 << 62)
		began := time.Now()
		room := make(chan struct{}, ahead/s.Batch)
		ended := make(chan error, 1)
		go func() {
			defer stop() // who enqueues waits for nobody then
			ended <- x.consume(ctx, func(int64) {
				last.Store(int64(time.Since(began)))
				n := came.Add(1)
				if n%int64(s.Batch) == 0 {
					<-room
				}
				if n == sent.Load() {
					stop()
				}
			})
		}()
		d, err := s.closed(8, 1<<40, func(k int64) (int64, error) {
			select {
			case room <- struct{}{}:
				return s.enqueueBatch(ctx, x, k)
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		sent.Store(d.jobs)
		if came.Load() == d.jobs {
			stop()
		}
		select {
		case e := <-ended:
			err = errors.Join(err, e)
		case <-time.After(time.Minute):
			err = errors.Join(err, fmt.Errorf("%d of %d came", came.Load(), d.jobs))
		}
		return done{jobs: came.Load(), span: time.Duration(last.Load())}, err
	})
	return []figure{f}, err
}

// body is a message that carries its number.
func (s settings) body(i int64) []byte {
	const words = "lorem ipsum dolor sit amet, "
	return fmt.Appendf(nil, `{"n":%d,"text":"%s"}`, i, strings.Repeat(words, s.Size/len(words)+1)[:max(0, s.Size-24)])
}

// number reads it back.
func number(body []byte) int64 {
	var b struct{ N int64 }
	if err := json.Unmarshal(body, &b); err != nil {
		return -1
	}
	return b.N
}

// closed has callers make calls as fast as they are answered, until there were so many or the time is over; each says how much it did.
func (s settings) closed(callers int, most int64, call func(i int64) (int64, error)) (d done, err error) {
	began := time.Now()
	end := began.Add(time.Duration(s.Seconds * float64(time.Second)))
	var next, sum atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, callers)
	for range callers {
		all.Go(func() {
			for time.Now().Before(end) && len(errs) == 0 {
				i := next.Add(1) - 1
				if i >= most {
					return
				}
				n, err := call(i)
				if err != nil {
					errs <- err
					return
				}
				sum.Add(n)
			}
		})
	}
	all.Wait()
	close(errs)
	return done{jobs: sum.Load(), span: time.Since(began)}, <-errs
}
