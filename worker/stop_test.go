package worker_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/worker"
)

func TestSoftStop(t *testing.T) {
	t.Parallel()
	t.Run("effects finish", func(t *testing.T) {
		t.Parallel()
		run(t, 9, worker.Config[int, word]{Concurrency: 3}, func(f *fake) { f.effect = until(5 * time.Second) }, time.Second,
			func(f *fake, took time.Duration, err error) {
				f.check(all(3, "done"))
				if took != 5*time.Second || err != nil || len(f.waiting) != 6 {
					t.Errorf("stopped after %v, %v, %d left", took, err, len(f.waiting))
				}
			})
	})
	t.Run("the grace ends", func(t *testing.T) {
		t.Parallel()
		run(t, 3, worker.Config[int, word]{Grace: 2 * time.Second}, func(f *fake) { f.effect = until(time.Hour) }, time.Second,
			func(f *fake, took time.Duration, err error) {
				f.check(all(3, worker.ErrStopped.Error()))
				if took != 3*time.Second || err != nil {
					t.Errorf("stopped after %v, %v", took, err)
				}
			})
	})
	t.Run("a receive is under way", func(t *testing.T) {
		t.Parallel()
		run(t, 5, worker.Config[int, word]{}, func(f *fake) { f.took = 4 * time.Second }, time.Second,
			func(f *fake, took time.Duration, err error) {
				f.check(nil)
				if len(f.effects) > 0 || len(f.waiting) != 5 || err != nil {
					t.Errorf("effects %v, waiting %v, %v", f.effects, f.waiting, err)
				}
			})
	})
	t.Run("a begin is under way", func(t *testing.T) {
		t.Parallel()
		run(t, 5, worker.Config[int, word]{}, func(f *fake) { f.took, f.once = 2*time.Second, true }, 3*time.Second,
			func(f *fake, took time.Duration, err error) {
				f.check(nil)
				if len(f.effects) > 0 || len(f.waiting) != 5 || err != nil {
					t.Errorf("effects %v, waiting %v, %v", f.effects, f.waiting, err)
				}
			})
	})
	// The worker's process must end, even if an effect does not.
	t.Run("an effect that does not listen", func(t *testing.T) {
		t.Parallel()
		run(t, 1, worker.Config[int, word]{}, func(f *fake) { f.effect = func(context.Context, int) { time.Sleep(time.Hour) } }, time.Second,
			func(f *fake, took time.Duration, err error) {
				if took > 26*time.Second || err == nil {
					t.Errorf("stopped after %v, %v", took, err)
				}
				time.Sleep(2 * time.Hour) // the bubble wants its goroutines to end
			})
	})
}

func TestHalt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3)
		f.effect = until(time.Hour)
		l := f.loop(worker.Config[int, word]{})
		time.AfterFunc(time.Second, l.Halt)
		start := time.Now()
		if err := l.Run(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("halted after %v, %v", time.Since(start), err)
		}
		f.check(all(3, worker.ErrStopped.Error()))
		l.Halt()
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3)
		l := f.loop(worker.Config[int, word]{})
		l.Halt()
		if err := l.Run(t.Context()); err != nil || len(f.effects) > 0 {
			t.Errorf("run after halt: %v, %v", err, f.effects)
		}
	})
}

// TestEveryOrder starts, stops and halts many workers over one store in every order, with a store that comes and goes. In the end
// every job is settled once; each effect was made once, save those whose outcome was not kept because everything stopped.
func TestEveryOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			chance := func(n int) int { mu.Lock(); defer mu.Unlock(); return r.IntN(n) }
			f := newFake(t, 40)
			f.took = time.Duration(chance(50)) * time.Millisecond
			f.once = chance(2) == 0
			sometimes := func() error {
				if chance(4) == 0 {
					return errAway
				}
				return nil
			}
			f.receiving, f.beginning, f.settling = sometimes, sometimes, sometimes
			f.effect = func(ctx context.Context, _ int) { until(time.Duration(chance(3000))*time.Millisecond)(ctx, 0) }
			var wg sync.WaitGroup
			for range 6 {
				l := f.loop(worker.Config[int, word]{Concurrency: 1 + chance(8), Grace: time.Duration(1+chance(2000)) * time.Millisecond, LastWords: time.Hour})
				ctx, cancel := context.WithCancel(t.Context())
				for _, act := range []func(){cancel, l.Halt, func() { l.Run(ctx) }, func() { l.Run(ctx) }} {
					after := time.Duration(chance(4000)) * time.Millisecond
					wg.Go(func() { time.Sleep(after); act() })
				}
			}
			wg.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			f.effect = until(time.Second)
			if err := f.loop(worker.Config[int, word]{}).Run(ctx); err != nil {
				t.Error(err)
			}
			if len(f.settled) != 40 || f.running != 0 || len(f.waiting) != 0 {
				t.Errorf("seed %d: %d settled, %d held, %d waiting", seed, len(f.settled), f.running, len(f.waiting))
			}
			for j, n := range f.effects {
				if n != 1 {
					t.Errorf("seed %d: job %d had %d effects", seed, j, n)
				}
			}
		})
	}
}
