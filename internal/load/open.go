package load

import (
	"context"
	"encoding/json/v2"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/internal/cost"
)

const (
	apiKey     = "bench-bench-bench-bench"
	secretsKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
)

// load is one case under way.
type load struct {
	Config
	round   string // of the keys
	server  *child.Server
	caller  *child.Caller
	filler  string
	meter   *cost.Meter
	row     Row
	mu      sync.Mutex
	latency *hdrhistogram.Histogram
	failed  atomic.Int64
	why     error // of the first that failed
}

func open(ctx context.Context, c Config, store string) (*load, error) {
	l := &load{Config: c, filler: filler(c.Size), latency: hdrhistogram.New(1, (10 * time.Minute).Microseconds(), 3)}
	var err error
	if l.server, err = child.Start(ctx, c.Program, "onceward-bench", store, "ONCEWARD_API_KEY="+apiKey, "ONCEWARD_SECRETS_KEY="+secretsKey); err != nil {
		return nil, err
	}
	l.caller = &child.Caller{URL: l.server.URL, Key: apiKey}
	l.meter, err = cost.New(ctx, store, l.server.Process.Pid)
	if err != nil {
		l.server.Kill()
	}
	return l, err
}

func (l *load) close(ctx context.Context) error {
	l.caller.Close()
	return l.server.Stop(ctx)
}

// filler is text for a payload of size bytes, which has some beside it.
func filler(size int) string {
	const words = "lorem ipsum dolor sit amet, "
	return strings.Repeat(words, size/len(words)+1)[:max(0, size-24)]
}

// call makes a call and reads its data into to, if that is not nil.
func (l *load) call(ctx context.Context, method, path string, body any, to any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return l.send(ctx, method, path, b, to)
}

func (l *load) send(ctx context.Context, method, path string, body []byte, to any) error {
	return l.caller.Call(ctx, method, path, body, to)
}

// fail counts a call that failed.
func (l *load) fail(err error) {
	l.failed.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = err
	}
}

func (l *load) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		return errors.New("it took too long")
	}
	return l.why
}

// took records a latency.
func (l *load) took(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latency.RecordValue(max(1, min(d.Microseconds(), l.latency.HighestTrackableValue())))
}

func (l *load) quantile(q float64) float64 {
	return float64(l.latency.ValueAtQuantile(q)) / 1000
}

// measure takes what f costs, and how many jobs it answers that it did.
func (l *load) measure(f func() (jobs int64)) error {
	if err := l.meter.Begin(); err != nil {
		return err
	}
	began := time.Now()
	l.row.Jobs = f()
	l.row.Seconds = time.Since(began).Seconds()
	l.row.Failed = l.failed.Load()
	var err error
	l.row.Cost, err = l.meter.End(l.row.Jobs)
	return err
}

// clock gives out calls: by the rate, or as fast as they are asked for.
type clock struct {
	began time.Time
	rate  float64
	end   time.Time
	next  atomic.Int64
}

func (l *load) newClock() *clock {
	now := time.Now()
	return &clock{began: now, rate: l.Rate, end: now.Add(l.For)}
}

// due gives when call i is due. Without a rate a call is due when it is asked for.
func (c *clock) due(i int64) time.Time {
	if c.rate <= 0 {
		return time.Now()
	}
	return c.began.Add(time.Duration(float64(i) / c.rate * float64(time.Second)))
}

// each has the callers make calls until the time is over, each with its number and when it was due. It waits for all of them.
func (l *load) each(ctx context.Context, c *clock, call func(i int64, due time.Time)) {
	var all sync.WaitGroup
	for range l.Callers {
		all.Go(func() {
			for ctx.Err() == nil {
				i := c.next.Add(1) - 1
				due := c.due(i)
				if !due.Before(c.end) {
					return
				}
				time.Sleep(time.Until(due))
				call(i, due)
			}
		})
	}
	all.Wait()
}

// share has the callers make n calls between them.
func (l *load) share(ctx context.Context, n int, call func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range l.Callers {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				call(i)
			}
		})
	}
	all.Wait()
}
