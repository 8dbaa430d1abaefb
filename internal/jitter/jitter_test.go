package jitter_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/jitter"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		var rolls, waits [10]int
		for i := range 10_000 {
			time.Sleep(400 * time.Millisecond) // a clock that ticks evenly is the worst
			if r := jitter.Roll(int64(i % 7)); r < 0 || r >= 1 {
				t.Fatalf("a roll of %v", r)
			} else {
				rolls[int(r*10)]++
			}
			if w := jitter.Below(time.Second); w < 0 || w >= time.Second {
				t.Fatalf("a wait of %v", w)
			} else {
				waits[w/(100*time.Millisecond)]++
			}
		}
		for i := range 10 {
			if rolls[i] < 900 || rolls[i] > 1100 || waits[i] < 900 || waits[i] > 1100 {
				t.Fatalf("of ten thousand not a thousand in each tenth: %v, %v", rolls, waits)
			}
		}
		if jitter.Roll(1) == jitter.Roll(2) || jitter.Roll(1) != jitter.Roll(1) || jitter.Below(0) != 0 {
			t.Error("in one moment two rolls must differ by what they are of, and by nothing else")
		}
	})
}
