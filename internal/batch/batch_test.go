package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/batch"
)

// disk is a store whose commits take a second and whose commits we see.
type disk struct {
	mu      sync.Mutex
	commits [][]int
	fault   func([]int) error
}

func (d *disk) commit(ctx context.Context, items []int) ([]batch.Result[int], error) {
	time.Sleep(time.Second)
	if d.fault != nil {
		if err := d.fault(items); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commits = append(d.commits, slices.Clone(items))
	out := make([]batch.Result[int], len(items))
	for i, it := range items {
		out[i].Value = it * 10
	}
	return out, nil
}

func (d *disk) batcher(c batch.Config[int, int]) *batch.Batcher[int, int] {
	c.Commit = d.commit
	return batch.New(c)
}

func TestAloneGoesAtOnceAndOthersShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		b := d.batcher(batch.Config[int, int]{})
		var wg sync.WaitGroup
		start := time.Now()
		for i := range 9 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				out, err := b.Do(t.Context(), i)
				if err != nil || out[0] != (batch.Result[int]{Value: i * 10}) {
					t.Errorf("item %d: %v %v", i, out, err)
				}
				if took, want := time.Since(start), time.Second; i == 0 && took != want {
					t.Errorf("alone: %v, want %v", took, want)
				}
			})
		}
		wg.Wait()
		if len(d.commits) != 2 || len(d.commits[0]) != 1 || len(d.commits[1]) != 8 {
			t.Errorf("commits: %v", d.commits)
		}
		b.Close()
		if _, err := b.Do(t.Context(), 1); err != batch.ErrClosed {
			t.Errorf("closed: %v", err)
		}
	})
}

func TestOneBadItemFailsAlone(t *testing.T) {
	bad := errors.New("bad")
	for name, boom := range map[string]func(){"error": func() {}, "panic": func() { panic("boom") }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				d := disk{fault: func(items []int) error {
					tries++
					if slices.Contains(items, 77) {
						boom()
						return bad
					}
					return nil
				}}
				b := d.batcher(batch.Config[int, int]{Split: func(error) bool { return true }})
				items := make([]int, 128)
				for i := range items {
					items[i] = i
				}
				out, err := b.Do(t.Context(), items...)
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range out {
					if (r.Err != nil) != (i == 77) {
						t.Errorf("item %d: %v", i, r)
					}
				}
				if tries != 15 { // 1 + 2 log2 128
					t.Errorf("%d tries", tries)
				}
			})
		})
	}
}

func TestCancelMeansNothingStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		b := d.batcher(batch.Config[int, int]{MaxItems: 4})
		go b.Do(t.Context(), 1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		start := time.Now()
		out, err := b.Do(ctx, 2, 3, 4, 5, 6, 7) // 2–5 are in the second commit when ctx ends, 6 and 7 in none
		if err != nil || time.Since(start) != 2*time.Second {
			t.Fatal(err, time.Since(start))
		}
		for i, r := range out {
			if want := i >= 4; errors.Is(r.Err, context.DeadlineExceeded) != want {
				t.Errorf("item %d: %v", i, r)
			}
		}
		b.Close()
		if got := fmt.Sprint(d.commits); got != "[[1] [2 3 4 5]]" {
			t.Errorf("stored %v", got)
		}
	})
}

func TestSmallCallsDoNotWaitBehindLargeOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		b := d.batcher(batch.Config[int, int]{MaxItems: 100})
		go b.Do(t.Context(), 0)
		synctest.Wait()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { b.Do(t.Context(), make([]int, 1000)...) })
		}
		synctest.Wait()
		start := time.Now()
		for i := range 50 {
			wg.Go(func() {
				b.Do(t.Context(), i)
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("a call of one waited %v", took)
				}
			})
		}
		wg.Wait()
		if n := len(d.commits); n != 1+51 {
			t.Errorf("%d commits", n)
		}
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		b := d.batcher(batch.Config[int, int]{Size: func(i int) int { return i }, MaxBytes: 10, MaxWaiting: 100})
		go b.Do(t.Context(), 1)
		synctest.Wait()
		go b.Do(t.Context(), 50, 4, 4, 4)
		synctest.Wait()
		if _, err := b.Do(t.Context(), 60); err != batch.ErrFull {
			t.Errorf("full: %v", err)
		}
		b.Close() // answers those it took
		if got := fmt.Sprint(d.commits); got != "[[1] [50] [4 4] [4]]" {
			t.Error(got)
		}
	})
}

func TestRace(t *testing.T) {
	b := batch.New(batch.Config[int, int]{Lanes: 3, MaxItems: 7, Commit: func(_ context.Context, items []int) ([]batch.Result[int], error) {
		out := make([]batch.Result[int], len(items))
		for i := range items {
			out[i].Value = items[i]
		}
		return out, nil
	}})
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 500 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%7)*10*time.Microsecond)
				out, err := b.Do(ctx, g, i, g+i)
				if err == nil && out[1].Err == nil && out[1].Value != i {
					t.Errorf("%v", out)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	b.Close()
}
