package simulation

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/onceward/onceward/internal/leak"
)

var (
	seeds = flag.Uint64("seeds", inTest, "how many seeds are run, from `seed` on; 0: until -for is over, or a signal")
	first = flag.Uint64("seed", 0, "the first seed; 0: that after the last of the log, or 1")
	steps = flag.Int("steps", 50, "steps of a run, before all comes to rest")
	trace = flag.Bool("trace", false, "print what is seen of a run")
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// simulate runs a seed in a bubble of its own.
func simulate(t *testing.T, seed uint64, steps int) (o outcome) {
	// In memory where that can be: a server that is killed loses nothing that it wrote, and nothing worse happens to these files.
	where := "/dev/shm"
	if _, err := os.Stat(where); err != nil {
		where = ""
	}
	dir, err := os.MkdirTemp(where, "onceward-simulation")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(*testing.T) { o = run(dir, seed, steps) })
	return o
}

// shrink finds fewer steps that fail too.
func shrink(t *testing.T, seed uint64, steps int) (int, outcome) {
	best, o := steps, outcome{}
	for by := steps / 2; by > 0; {
		if less := simulate(t, seed, best-by); less.fault != "" {
			best, o = best-by, less
			by = min(by, best/2)
		} else {
			by /= 2
		}
	}
	return best, o
}

// TestSeeds runs the seeds, as many at a time as there are processors. A fault is said with the command that shows it again, with as few steps as that takes. A signal, or
// the end of -for, lets those end that are under way, and they count.
func TestSeeds(t *testing.T) {
	t.Parallel()
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if *span > 0 {
		var end func()
		ctx, end = context.WithTimeout(ctx, *span)
		defer end()
	}
	r, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	take := func() (seed uint64, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil || *seeds > 0 && r.Seeds == *seeds {
			return 0, false
		}
		r.Seeds++
		return r.First + r.Seeds - 1, true
	}
	var lanes sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		lanes.Go(func() {
			for seed, more := take(); more; seed, more = take() {
				if !t.Run(fmt.Sprint(seed), func(t *testing.T) { try(t, seed) }) {
					mu.Lock()
					r.Failed++
					mu.Unlock()
				}
			}
		})
	}
	lanes.Wait()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

func try(t *testing.T, seed uint64) {
	o := simulate(t, seed, *steps)
	if o.fault == "" {
		if *trace {
			t.Logf("%.2f days, %s\n%s", o.days, o.hash(), strings.Join(o.trace, "\n"))
		}
		return
	}
	fewer, least := shrink(t, seed, *steps)
	if least.fault == "" {
		fewer, least = *steps, o
	}
	t.Errorf("%s\nagain: go test ./test/simulation -run TestSeeds -seeds 1 -seed %d -steps %d -trace\n%s",
		least.fault, seed, fewer, strings.Join(least.trace[max(0, len(least.trace)-40):], "\n"))
}

// TestSameSeedSameRun runs seeds twice, and sees the same of both.
func TestSameSeedSameRun(t *testing.T) {
	t.Parallel()
	from := max(1, *first)
	for seed := from; seed < from+min(8, inTest); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			a, b := simulate(t, seed, *steps), simulate(t, seed, *steps)
			if a.hash() == b.hash() {
				t.Logf("%d lines over %.2f days, twice %s", len(a.trace), a.days, a.hash())
				return
			}
			for i := range min(len(a.trace), len(b.trace)) {
				if a.trace[i] != b.trace[i] {
					t.Fatalf("line %d is\n%s\nand then\n%s", i, a.trace[i], b.trace[i])
				}
			}
			t.Fatalf("%d lines, and then %d", len(a.trace), len(b.trace))
		})
	}
}
