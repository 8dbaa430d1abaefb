package queue

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPaceAllows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for what, c := range map[string]struct {
		rate float64
		used time.Duration // ahead of now
		want int
	}{
		"the first goes at once":                          {0.1, -10 * time.Second, 1},
		"not the second":                                  {0.1, 0, 0},
		"what is due":                                     {100, -100 * time.Millisecond, 10},
		"no more than a second's worth":                   {20, -time.Hour, 20},
		"of a rate below one a second no more than one":   {0.01, -time.Hour, 1},
		"another server's transaction began later":        {100, time.Millisecond, 0},
		"the clock was set back":                          {100, time.Hour, 0},
		"no rate: as fast as it goes":                     {0, time.Hour, 50},
		"no more than asked for":                          {1000, -time.Second, 50},
		"what a store rounds by a microsecond is no lack": {100_000, -9500 * time.Nanosecond, 1},
		"a rate that is hardly one":                       {1e-300, 0, 0},
	} {
		p := Pace{c.rate, now.Add(c.used)}
		if got := p.Allowed(now, 50); got != c.want {
			t.Errorf("%s: %d may go, want %d", what, got, c.want)
		}
		if wait := p.Wait(now); c.want == 0 && wait <= 0 {
			t.Errorf("%s: none may go, and yet the wait is %v", what, wait)
		}
	}
	for _, rate := range []float64{1e-6, 0.01, 1, 3, 100_000} {
		if p := NewPace(now, rate); p.Allowed(now, 50) != 1 {
			t.Errorf("at %v a second the first does not go at once", rate)
		}
	}
}

// However often and by whomever it is asked, a pace gives no more than its rate and the one that goes at once.
func TestPaceKeepsToItsRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.05, 2000).Draw(t, "rate")
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		now := begin
		p, moved := NewPace(begin, rate), 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause")))
			n := p.Allowed(now, rapid.IntRange(1, 500).Draw(t, "limit"))
			n = min(n, rapid.IntRange(0, 500).Draw(t, "there"))
			p.Spend(n)
			p.Used = p.Used.Truncate(time.Microsecond) // as a store keeps it
			moved += n
			if most := 1 + rate*(now.Sub(begin)+time.Millisecond).Seconds(); float64(moved) > most {
				t.Fatalf("%d (%d of them now) after %v at %v a second", moved, n, now.Sub(begin), rate)
			}
		}
		now = now.Add(p.Wait(now) + time.Microsecond)
		if p.Allowed(now, 1) != 1 {
			t.Fatalf("after its wait none may go")
		}
	})
}
