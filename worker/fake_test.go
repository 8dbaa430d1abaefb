package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/worker"
)

var errAway = fault.New(fault.Unavailable, "the store is away")

// job is a number; word is what became of it.
type word struct {
	job  int
	what string // done, back, panic, or the cause that cut the effect
}

// fake is a store and an effect that show what is asked of them.
type fake struct {
	t *testing.T

	mu       sync.Mutex
	waiting  []int
	running  int
	most     int
	lease    time.Duration
	once     bool
	effects  map[int]int
	settled  map[int]string
	order    []string
	receives int
	settles  [][]word
	begins   int
	news     chan struct{}
	refuse   bool // Begin is not applied

	receiving, beginning, settling func() error // what the store says
	effect                         func(ctx context.Context, j int)
	took                           time.Duration // a commit of the store
}

func newFake(t *testing.T, jobs int) *fake {
	f := &fake{t: t, lease: time.Minute, effects: map[int]int{}, settled: map[int]string{}, news: make(chan struct{}, 1)}
	for j := range jobs {
		f.waiting = append(f.waiting, j)
	}
	f.effect = func(ctx context.Context, j int) { time.Sleep(time.Second) }
	return f
}

func (f *fake) loop(c worker.Config[int, word]) *worker.Loop[int, word] {
	c.Source, c.Outcomes, c.Effect = f, f, f
	l, err := worker.New(c)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

func ask(say func() error) error {
	if say == nil {
		return nil
	}
	return say()
}

func (f *fake) Receive(ctx context.Context, n int) ([]int, error) {
	time.Sleep(f.took)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.receives++
	if err := ask(f.receiving); err != nil {
		return nil, err
	}
	n = min(n, len(f.waiting))
	got := f.waiting[:n:n]
	f.waiting = f.waiting[n:]
	f.running += n
	f.most = max(f.most, f.running)
	return got, nil
}

func (f *fake) Wait(ctx context.Context, most int) ([]int, time.Time) {
	select {
	case <-ctx.Done():
	case <-f.news:
	}
	return nil, time.Time{}
}

func (f *fake) add(jobs ...int) {
	f.mu.Lock()
	f.waiting = append(f.waiting, jobs...)
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *fake) Begin(ctx context.Context, jobs []int) ([]ledger.Applied, error) {
	time.Sleep(f.took)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begins++
	if err := ask(f.beginning); err != nil {
		return nil, err
	}
	out := make([]ledger.Applied, len(jobs))
	for i, j := range jobs {
		f.order = append(f.order, fmt.Sprint("begin ", j))
		out[i] = ledger.Applied{Applied: !f.refuse, State: ledger.Started}
		if f.refuse {
			f.running--
		}
	}
	return out, nil
}

func (f *fake) Settle(ctx context.Context, words []word) ([]ledger.Applied, error) {
	time.Sleep(f.took)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ask(f.settling); err != nil {
		return nil, err
	}
	f.settles = append(f.settles, words)
	out := make([]ledger.Applied, len(words))
	for i, w := range words {
		if was, ok := f.settled[w.job]; ok {
			f.t.Errorf("job %d was settled twice: %s, %s", w.job, was, w.what)
		}
		f.settled[w.job] = w.what
		f.running--
		out[i] = ledger.Applied{Applied: true, State: ledger.Done}
		if w.what == "back" {
			delete(f.settled, w.job)
			f.waiting = append(f.waiting, w.job)
			select {
			case f.news <- struct{}{}:
			default:
			}
		}
	}
	return out, nil
}

func (f *fake) Terms(j int) worker.Terms { return worker.Terms{Lease: f.lease, Begin: f.once} }

func (f *fake) Do(ctx context.Context, j int) word {
	f.mu.Lock()
	f.effects[j]++
	f.order = append(f.order, fmt.Sprint("effect ", j))
	f.mu.Unlock()
	f.effect(ctx, j)
	if ctx.Err() != nil {
		return word{j, context.Cause(ctx).Error()}
	}
	return word{j, "done"}
}

func (f *fake) GiveBack(j int) word { return word{j, "back"} }

func (f *fake) Panicked(j int, v any, stack []byte) word {
	if len(stack) == 0 {
		f.t.Error("a panic without its stack")
	}
	return word{j, fmt.Sprint("panic: ", v)}
}

// until is an effect that lasts d, or until it is cut.
func until(d time.Duration) func(context.Context, int) {
	return func(ctx context.Context, _ int) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
}

// failing says err n times, then nothing.
func failing(n int, err error) func() error {
	return func() error {
		if n--; n >= 0 {
			return err
		}
		return nil
	}
}

func (f *fake) check(want map[int]string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for j, w := range want {
		if f.settled[j] != w {
			f.t.Errorf("job %d: %q, want %q", j, f.settled[j], w)
		}
	}
	if len(f.settled) != len(want) {
		f.t.Errorf("%d jobs settled, want %d: %v", len(f.settled), len(want), f.settled)
	}
	for j, n := range f.effects {
		if n > 1 {
			f.t.Errorf("job %d: %d effects", j, n)
		}
	}
}

var errBad = errors.New("this one will not do")
