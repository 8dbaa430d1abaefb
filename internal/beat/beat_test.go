package beat_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/beat"
)

// Four that rest as long as they are told do their work at the same moments, whatever each takes.
func TestAllWakeUpAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := beat.New(time.Second)
		woke := make(chan time.Time)
		var all sync.WaitGroup
		defer all.Wait()
		for i := range 4 {
			all.Go(func() {
				for range 100 {
					time.Sleep(b.Left())
					woke <- time.Now()
					time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				}
			})
		}
		last := time.Now()
		for range 100 {
			at := <-woke
			for range 3 {
				if other := <-woke; !other.Equal(at) {
					t.Errorf("one woke up %v after another", other.Sub(at))
				}
			}
			if d := at.Sub(last); d < 875*time.Millisecond || d >= 1175*time.Millisecond {
				t.Errorf("a beat came %v after the last", d)
			}
			last = at
		}
	})
}

// What takes nearly a whole beat has a rest nevertheless.
func TestWhoTakesLongRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := beat.New(time.Second)
		for range 1000 {
			left := b.Left()
			if left < 500*time.Millisecond || left >= 1125*time.Millisecond {
				t.Fatalf("a rest of %v", left)
			}
			time.Sleep(left * 9 / 10)
		}
	})
}

func TestBeatsAreNotEven(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, short, long := beat.New(time.Second), 0, 0
		for range 1000 {
			left := b.Left()
			if left < 950*time.Millisecond {
				short++
			} else if left > 1050*time.Millisecond {
				long++
			}
			time.Sleep(left)
		}
		if short < 200 || long < 200 {
			t.Errorf("of a thousand beats %d were short and %d long", short, long)
		}
	})
}

func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := beat.New(time.Second)
		start := time.Now()
		var mu sync.Mutex
		var began []time.Duration
		var all sync.WaitGroup
		defer all.Wait()
		for _, takes := range []time.Duration{10 * time.Millisecond, 10 * time.Millisecond, time.Hour, 0} {
			all.Go(func() {
				b.Turn(func() {
					mu.Lock()
					began = append(began, time.Since(start))
					mu.Unlock()
					time.Sleep(takes)
				})
			})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if want := []time.Duration{0, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond}; !slices.Equal(began, want) {
			t.Errorf("they began at %v; want one after another, and not behind the one that takes an hour: %v", began, want)
		}
	})
}
