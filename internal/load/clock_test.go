package load

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func newLoad(c Config) *load {
	return &load{Config: c, latency: hdrhistogram.New(1, time.Minute.Microseconds(), 3)}
}

// A server that stalls for a second is seen to have stalled by all the calls that were due meanwhile, not by the one that met it.
func TestAStallIsSeenByWhatWasDueMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLoad(Config{Rate: 100, For: 2 * time.Second, Callers: 4})
		server := make(chan struct{}, 1) // takes one call at a time
		began := time.Now()
		n := 0
		l.each(context.Background(), l.newClock(), func(i int64, due time.Time) {
			server <- struct{}{}
			defer func() { <-server }()
			if i == 50 {
				time.Sleep(time.Second)
			}
			n++
			l.took(time.Since(due))
		})
		if took := time.Since(began); n != 200 || took > 2100*time.Millisecond {
			t.Errorf("%d calls in %v; want 200 in 2 s", n, took)
		}
		if p50 := l.quantile(50); p50 > 1 {
			t.Errorf("half of the calls took %v ms", p50)
		}
		if p75 := l.quantile(75); p75 < 450 || p75 > 550 {
			t.Errorf("the middle one of the 100 that were due in the second of the stall took %v ms, want about 500", p75)
		}
	})
}

// Without a rate the callers go as fast as they can, and a call's latency is its own.
func TestAsFastAsTheCallersGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLoad(Config{For: time.Second, Callers: 4})
		var mu sync.Mutex
		n := 0
		l.each(context.Background(), l.newClock(), func(_ int64, due time.Time) {
			time.Sleep(10 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			n++
			l.took(time.Since(due))
		})
		if n != 400 || l.quantile(100) > 11 {
			t.Errorf("%d calls, the longest of %v ms; want 400 of 10", n, l.quantile(100))
		}
	})
}
