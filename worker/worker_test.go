package worker_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/worker"
)

// run runs a loop in a bubble for as long as the test says, then stops it softly.
func run(t *testing.T, jobs int, c worker.Config[int, word], with func(f *fake), d time.Duration, then func(f *fake, took time.Duration, err error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, jobs)
		with(f)
		l := f.loop(c)
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		start := time.Now()
		err := l.Run(ctx)
		then(f, time.Since(start), err)
		if err := l.Run(ctx); !errors.Is(err, worker.ErrRan) {
			t.Errorf("a second Run: %v", err)
		}
	})
}

func all(n int, what string) map[int]string {
	m := map[int]string{}
	for j := range n {
		m[j] = what
	}
	return m
}

func TestReceivesOnlyWhatItCanStart(t *testing.T) {
	t.Parallel()
	run(t, 50, worker.Config[int, word]{Concurrency: 4}, func(f *fake) { f.took = 10 * time.Millisecond }, time.Minute,
		func(f *fake, _ time.Duration, err error) {
			f.check(all(50, "done"))
			if f.most != 4 || err != nil {
				t.Errorf("%d jobs held at a time, %v", f.most, err)
			}
		})
}

func TestSettlingSharesCommits(t *testing.T) {
	t.Parallel()
	run(t, 100, worker.Config[int, word]{Concurrency: 100}, func(f *fake) {
		f.took = 100 * time.Millisecond
		f.effect = func(_ context.Context, j int) { time.Sleep(time.Duration(j) * time.Millisecond) }
	}, time.Minute, func(f *fake, _ time.Duration, err error) {
		f.check(all(100, "done"))
		if n := len(f.settles); n > 3 {
			t.Errorf("%d commits", n)
		}
	})
}

func TestWakesForNews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 0)
		l := f.loop(worker.Config[int, word]{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		before := f.receives
		f.add(1, 2)
		time.Sleep(time.Second)
		synctest.Wait()
		f.check(map[int]string{1: "done", 2: "done"})
		if before != 1 {
			t.Errorf("%d receives while nothing came", before)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// restless is a source whose Wait returns at once, for nothing.
type restless struct{ *fake }

func (restless) Wait(context.Context, int) ([]int, time.Time) { return nil, time.Time{} }

func TestNoHotLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 0)
		l, err := worker.New(worker.Config[int, word]{Source: restless{f}, Outcomes: f, Effect: f})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := l.Run(ctx); err != nil || f.receives > 120 {
			t.Errorf("%d receives in ten seconds, %v", f.receives, err)
		}
	})
}

// handing is a source that hands out jobs while it is waited for.
type handing struct {
	*fake
	jobs chan []int
}

func (h handing) Wait(ctx context.Context, most int) ([]int, time.Time) {
	select {
	case j := <-h.jobs:
		if len(j) > most {
			h.t.Errorf("asked for %d, given %d: the test's own fault", most, len(j))
		}
		return j, time.Now().Add(-time.Second)
	case <-ctx.Done():
		return nil, time.Time{}
	}
}

// What is handed out while the source is waited for is done as if it had been received, without a look in between; at a stop it is given back.
func TestHandedOutByWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := handing{newFake(t, 0), make(chan []int)}
		f.lease = 3 * time.Second
		l, err := worker.New(worker.Config[int, word]{Source: f, Outcomes: f, Effect: f, Concurrency: 2})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		f.jobs <- []int{0, 1}
		f.jobs <- []int{2} // there is room once an effect's second is over
		f.jobs <- []int{3}
		if synctest.Wait(); f.receives != 1 {
			t.Errorf("%d looks, want the one before the first wait", f.receives)
		}
		time.Sleep(2 * time.Second)
		f.jobs <- nil
		if synctest.Wait(); f.receives != 2 {
			t.Errorf("%d looks, want one after a wait that had nothing", f.receives)
		}
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		f.check(all(4, "done"))
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 0)
		l, err := worker.New(worker.Config[int, word]{Source: late{f}, Outcomes: f, Effect: f})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := l.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if len(f.waiting) != 1 || len(f.effects) > 0 {
			t.Errorf("waiting %v, effects %v: want the job given back", f.waiting, f.effects)
		}
	})
}

// late is a source that hands out a job in the moment of a stop.
type late struct{ *fake }

func (l late) Wait(ctx context.Context, _ int) ([]int, time.Time) {
	<-ctx.Done()
	return []int{0}, time.Now()
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	t.Run("keeps a long effect", func(t *testing.T) {
		t.Parallel()
		run(t, 2, worker.Config[int, word]{Grace: time.Hour}, func(f *fake) {
			f.lease, f.effect = 9*time.Second, until(10*time.Minute)
		}, time.Second, func(f *fake, took time.Duration, err error) {
			f.check(all(2, "done"))
			if took != 10*time.Minute || err != nil || f.begins < 199 || f.begins > 400 {
				t.Errorf("%v, %v, %d heartbeats", took, err, f.begins)
			}
		})
	})
	t.Run("not before the first third", func(t *testing.T) {
		t.Parallel()
		run(t, 5, worker.Config[int, word]{}, func(f *fake) { f.lease = 4 * time.Second }, 5*time.Second, func(f *fake, _ time.Duration, _ error) {
			f.check(all(5, "done"))
			if f.begins != 0 {
				t.Errorf("%d heartbeats for effects of a second in leases of four", f.begins)
			}
		})
	})
	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		run(t, 1, worker.Config[int, word]{}, func(f *fake) {
			f.lease, f.refuse, f.effect = 9*time.Second, true, until(time.Hour)
		}, 10*time.Second, func(f *fake, took time.Duration, _ error) {
			f.check(all(1, worker.ErrLeaseLost.Error()))
		})
	})
	t.Run("store away", func(t *testing.T) {
		t.Parallel()
		run(t, 1, worker.Config[int, word]{}, func(f *fake) {
			f.lease, f.effect = 9*time.Second, func(ctx context.Context, _ int) {
				start := time.Now()
				until(time.Hour)(ctx, 0)
				if d := time.Since(start); d != 9*time.Second {
					f.t.Errorf("cut after %v", d)
				}
			}
			f.beginning = failing(1000, errAway)
		}, 10*time.Second, func(f *fake, _ time.Duration, _ error) {
			f.check(all(1, worker.ErrLeaseLost.Error()))
			if f.begins < 5 {
				t.Errorf("%d tries to extend", f.begins)
			}
		})
	})
	t.Run("store away for a moment", func(t *testing.T) {
		t.Parallel()
		run(t, 1, worker.Config[int, word]{}, func(f *fake) {
			f.lease, f.effect = 9*time.Second, until(19*time.Second)
			f.beginning = failing(3, errAway)
		}, 10*time.Second, func(f *fake, _ time.Duration, _ error) { f.check(all(1, "done")) })
	})
}

func TestBeginsBeforeTheEffect(t *testing.T) {
	t.Parallel()
	run(t, 3, worker.Config[int, word]{}, func(f *fake) { f.once = true }, 5*time.Second, func(f *fake, _ time.Duration, _ error) {
		f.check(all(3, "done"))
		begun := map[string]bool{}
		for _, s := range f.order {
			if j, ok := strings.CutPrefix(s, "effect "); ok && !begun[j] {
				t.Errorf("effect of %s before its begin: %v", j, f.order)
			} else if j, ok := strings.CutPrefix(s, "begin "); ok {
				begun[j] = true
			}
		}
	})
	t.Run("not applied", func(t *testing.T) {
		t.Parallel()
		run(t, 3, worker.Config[int, word]{}, func(f *fake) { f.once, f.refuse = true, true }, 5*time.Second, func(f *fake, _ time.Duration, _ error) {
			f.check(nil)
			if len(f.effects) > 0 {
				t.Errorf("effects of a job that somebody else has: %v", f.effects)
			}
		})
	})
	t.Run("store away", func(t *testing.T) {
		t.Parallel()
		run(t, 3, worker.Config[int, word]{}, func(f *fake) { f.once, f.beginning = true, failing(1, errAway) }, 20*time.Second,
			func(f *fake, _ time.Duration, _ error) { f.check(all(3, "done")) }) // given back, then begun
	})
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	t.Run("receiving", func(t *testing.T) {
		t.Parallel()
		run(t, 3, worker.Config[int, word]{}, func(f *fake) {
			back := time.Now().Add(15 * time.Minute)
			f.receiving = func() error {
				if time.Now().Before(back) {
					return errAway
				}
				return nil
			}
		}, 16*time.Minute, func(f *fake, _ time.Duration, err error) {
			f.check(all(3, "done"))
			if f.receives < 150 || f.receives > 500 || err != nil {
				t.Errorf("%d receives in a quarter of an hour, %v", f.receives, err)
			}
		})
	})
	// The effects are made, then nothing can be settled for longer than the lease. There is no second effect, and
	// nothing is received before what was done is said.
	t.Run("settling", func(t *testing.T) {
		t.Parallel()
		run(t, 3, worker.Config[int, word]{}, func(f *fake) {
			f.lease = 10 * time.Second
			back := time.Now().Add(5 * time.Minute)
			f.settling = func() error {
				if time.Now().Before(back) {
					return errAway
				}
				return nil
			}
			f.receiving = func() error {
				if time.Since(back) < 0 && len(f.effects) == 3 {
					t.Errorf("received after %v with outcomes not settled", time.Since(back))
				}
				return nil
			}
			f.effect = func(context.Context, int) {}
		}, 6*time.Minute, func(f *fake, _ time.Duration, err error) {
			f.check(all(3, "done"))
			if err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("and the worker stops", func(t *testing.T) {
		t.Parallel()
		var gaveUp error
		run(t, 1, worker.Config[int, word]{Settled: func(_ word, _ ledger.Applied, err error) { gaveUp = err }}, func(f *fake) {
			f.settling = failing(1000000, errAway)
		}, 5*time.Second, func(f *fake, took time.Duration, err error) {
			if err == nil || took > 30*time.Second || !errors.Is(gaveUp, fault.Sentinel(fault.Unavailable)) {
				t.Errorf("after %v: %v, told %v", took, err, gaveUp)
			}
		})
	})
}

// One outcome that the store will not take costs the others nothing, and is given up when its lease ends.
func TestOneBadOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 8)
		f.lease = 10 * time.Second
		start, gaveUp := time.Now(), time.Duration(0)
		l, err := worker.New(worker.Config[int, word]{Source: f, Outcomes: picky{f}, Effect: f, Settled: func(_ word, _ ledger.Applied, err error) {
			if err != nil {
				gaveUp = time.Since(start)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Run(ctx); err == nil || !strings.Contains(err.Error(), "1 outcomes") {
			t.Error(err)
		}
		if gaveUp < 10*time.Second || gaveUp > 16*time.Second {
			t.Errorf("given up after %v", gaveUp)
		}
		want := all(8, "done")
		delete(want, 3)
		f.check(want)
	})
}

// One job that the store will not begin costs the others nothing, and does not come again at once.
func TestOneBadBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 8)
		f.once = true
		l, err := worker.New(worker.Config[int, word]{Source: f, Outcomes: picky{f}, Effect: f})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
		want := all(8, "done")
		delete(want, 3)
		f.check(want)
		if f.effects[3] > 0 || f.receives > 10 {
			t.Errorf("%d effects, %d receives", f.effects[3], f.receives)
		}
	})
}

type picky struct{ *fake }

func (p picky) Settle(ctx context.Context, words []word) ([]ledger.Applied, error) {
	for _, w := range words {
		if w.job == 3 {
			return nil, errBad
		}
	}
	return p.fake.Settle(ctx, words)
}

func (p picky) Begin(ctx context.Context, jobs []int) ([]ledger.Applied, error) {
	if slices.Contains(jobs, 3) {
		return nil, errBad
	}
	return p.fake.Begin(ctx, jobs)
}

func TestPanic(t *testing.T) {
	t.Parallel()
	run(t, 3, worker.Config[int, word]{}, func(f *fake) {
		f.effect = func(_ context.Context, j int) {
			switch j {
			case 1:
				panic("boom")
			case 2:
				runtime.Goexit()
			}
		}
	}, 5*time.Second, func(f *fake, _ time.Duration, err error) {
		f.check(map[int]string{0: "done", 1: "panic: boom", 2: "panic: <nil>"})
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	f := newFake(t, 0)
	for _, c := range []worker.Config[int, word]{
		{},
		{Source: f, Outcomes: f},
		{Source: f, Effect: f},
		{Outcomes: f, Effect: f},
		{Source: f, Outcomes: f, Effect: f, Concurrency: -1},
		{Source: f, Outcomes: f, Effect: f, Grace: -1},
	} {
		if _, err := worker.New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
