package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/onceward/onceward/internal/cost"
)

// settings of a run.
type settings struct {
	rounds, jobs, callers, batch, size int
	rate                               float64
	span                               time.Duration
	quiet                              float64
}

// figure is what one case showed of one peer in one round.
type figure struct {
	Peer   string  `json:"peer"`
	Case   string  `json:"case"`
	Round  int     `json:"round"`
	Rate   float64 `json:"per_second"`
	CPU    float64 `json:"cpu_s_10k"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	P999   float64 `json:"p999_ms"`
	Others float64 `json:"others_share"`
}

func main() {
	var s settings
	var only, cases, out string
	flag.IntVar(&s.rounds, "rounds", 5, "rounds")
	flag.IntVar(&s.jobs, "jobs", 10_000, "messages of a case")
	flag.IntVar(&s.callers, "callers", 64, "callers at a time")
	flag.IntVar(&s.batch, "batch", 100, "messages a call, of the batched case")
	flag.IntVar(&s.size, "size", 1024, "bytes of a message")
	flag.Float64Var(&s.rate, "rate", 500, "messages a second of the case that measures latency")
	flag.DurationVar(&s.span, "span", 10*time.Second, "how long that case goes on")
	flag.Float64Var(&s.quiet, "quiet", 0.1, "a figure counts if other processes took no more than this share of the machine")
	flag.StringVar(&only, "peers", "", "these peers, by commas; all")
	flag.StringVar(&cases, "cases", "enqueue,batch,work,start", "these cases, by commas")
	flag.StringVar(&out, "o", "", "a file to which each figure is written, a line of JSON each")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, s, split(only), split(cases), out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

func run(ctx context.Context, s settings, only, cases []string, out string) error {
	who, err := chosen(only)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(os.Stderr)
	if out != "" {
		f, err := os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		lines = json.NewEncoder(f)
	}
	defer stopGrounds()
	var all []figure
	absent := map[string]bool{}
	for round := range s.rounds {
		for _, p := range who {
			for _, c := range cases {
				if absent[p.name] || ctx.Err() != nil {
					continue
				}
				f, err := measure(ctx, s, p, c)
				if errors.Is(err, errNot) {
					continue
				}
				if errors.Is(err, errAbsent) {
					fmt.Fprintf(os.Stderr, "%s is left out: %v\n", p.name, err)
					absent[p.name] = true
					continue
				}
				if err != nil {
					return fmt.Errorf("%s of %s: %w", c, p.name, err)
				}
				f.Round = round + 1
				if err := lines.Encode(f); err != nil {
					return err
				}
				all = append(all, f)
			}
		}
	}
	return print(os.Stdout, s, who, cases, all)
}

// body is a message that carries its number.
func (s settings) body(i int64) []byte {
	const words = "lorem ipsum dolor sit amet, "
	return fmt.Appendf(nil, `{"n":%d,"text":%q}`, i, strings.Repeat(words, s.size/len(words)+1)[:max(0, s.size-24)])
}

// number reads it back.
func number(body []byte) int64 {
	var b struct{ N int64 }
	if err := json.Unmarshal(body, &b); err != nil {
		return -1
	}
	return b.N
}

func measure(ctx context.Context, s settings, p peer, what string) (f figure, err error) {
	if p.ground != nil {
		return measureNode(ctx, s, p, what)
	}
	x, err := p.open(ctx)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	f = figure{Peer: p.name, Case: what}
	latency := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
	var mu sync.Mutex
	took := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		latency.RecordValue(max(1, min(d.Microseconds(), latency.HighestTrackableValue())))
	}
	var work func() (int, error)
	switch what {
	case "enqueue":
		for i := range int64(200) { // connections are made, plans are known
			if err := x.enqueue(ctx, -i-1, s.body(i)); err != nil {
				return f, err
			}
		}
		work = func() (int, error) {
			return s.jobs, s.share(s.jobs, func(i int) error {
				began := time.Now()
				err := x.enqueue(ctx, int64(i), s.body(int64(i)))
				took(time.Since(began))
				return err
			})
		}
	case "batch":
		work = func() (int, error) { return s.jobs, s.fill(ctx, x, took) }
	case "work":
		if err := s.fill(ctx, x, func(time.Duration) {}); err != nil {
			return f, err
		}
		work = func() (int, error) {
			ctx, done := context.WithCancel(ctx)
			defer done()
			var n atomic.Int64
			err := x.consume(ctx, func(int64) {
				if n.Add(1) == int64(s.jobs) {
					done()
				}
			})
			return int(n.Load()), err
		}
	case "start":
		work = func() (int, error) { return s.start(ctx, x, took) }
	default:
		return f, fmt.Errorf("there is no case %q", what)
	}
	m, err := cost.Of(x.roots()...)
	if err != nil {
		return f, err
	}
	began := time.Now()
	n, err := work()
	if err != nil {
		return f, err
	}
	span := time.Since(began)
	cpu, others, err := m.Since()
	if err != nil {
		return f, err
	}
	f.Rate, f.CPU, f.Others = float64(n)/span.Seconds(), cpu.Seconds()*10_000/float64(n), others
	ms := func(q float64) float64 { return float64(latency.ValueAtQuantile(q)) / 1000 }
	f.P50, f.P99, f.P999 = ms(50), ms(99), ms(99.9)
	return f, nil
}

// fill enqueues all jobs in batches.
func (s settings) fill(ctx context.Context, x subject, took func(time.Duration)) error {
	return s.share((s.jobs+s.batch-1)/s.batch, func(k int) error {
		from := k * s.batch
		bodies := make([][]byte, min(s.batch, s.jobs-from))
		for i := range bodies {
			bodies[i] = s.body(int64(from + i))
		}
		began := time.Now()
		err := x.enqueueMany(ctx, int64(from), bodies)
		took(time.Since(began))
		return err
	})
}

// share has the callers make n calls between them.
func (s settings) share(n int, call func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	var mu sync.Mutex
	var first error
	for range s.callers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := call(i); err != nil {
					mu.Lock()
					first = errors.Join(first, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
	return first
}

// start enqueues by the clock, and measures from when a message was due to when it is received.
func (s settings) start(ctx context.Context, x subject, took func(time.Duration)) (int, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	n := int64(s.rate * s.span.Seconds())
	began := time.Now().Add(500 * time.Millisecond) // the consumer is there
	due := func(i int64) time.Time {
		return began.Add(time.Duration(float64(i) / s.rate * float64(time.Second)))
	}
	var came atomic.Int64
	ended := make(chan error, 1)
	go func() {
		ended <- x.consume(ctx, func(i int64) {
			took(time.Since(due(i)))
			if came.Add(1) == n {
				done()
			}
		})
	}()
	err := s.share(int(n), func(i int) error {
		time.Sleep(time.Until(due(int64(i))))
		return x.enqueue(ctx, int64(i), s.body(int64(i)))
	})
	if err != nil && came.Load() < n {
		done()
		return 0, errors.Join(err, <-ended)
	}
	select {
	case err := <-ended:
		return int(came.Load()), err
	case <-time.After(time.Minute):
		done()
		return 0, fmt.Errorf("%d of %d came: %w", came.Load(), n, <-ended)
	}
}
