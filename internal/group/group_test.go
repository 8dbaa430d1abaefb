package group_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/group"
)

func untilSoft(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ctx, stop := context.WithCancel(ctx)
		time.AfterFunc(time.Second, stop)
		start := time.Now()
		err := group.Run(ctx, group.Limits{}, group.Part{Name: "a", Run: untilSoft}, group.Part{Name: "b", Run: untilSoft})
		if err != nil || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestFirstErrorStopsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		err := group.Run(t.Context(), group.Limits{},
			group.Part{Name: "finished", Run: func(context.Context) error { return nil }},
			group.Part{Name: "waits", Run: untilSoft},
			group.Part{Name: "fails", Run: func(context.Context) error { time.Sleep(time.Second); return boom }},
			group.Part{Name: "later", Run: func(ctx context.Context) error { <-ctx.Done(); return errors.New("second") }},
		)
		if !errors.Is(err, boom) || !strings.HasPrefix(err.Error(), "fails: ") {
			t.Errorf("got %v", err)
		}
	})
}

func TestSoftThenHardThenGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		start := time.Now()
		release := make(chan struct{})
		var hardAt time.Duration
		err := group.Run(ctx, group.Limits{Soft: 5 * time.Second, Hard: 2 * time.Second},
			group.Part{Name: "busy", Run: func(ctx context.Context) error {
				<-group.Hard(ctx).Done()
				hardAt = time.Since(start)
				return nil
			}},
			group.Part{Name: "deaf", Run: func(context.Context) error { <-release; return nil }},
		)
		if hardAt != 5*time.Second || time.Since(start) != 7*time.Second {
			t.Errorf("hard stop at %v, end at %v", hardAt, time.Since(start))
		}
		if err == nil || !strings.Contains(err.Error(), "deaf") || strings.Contains(err.Error(), "busy") {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}

func TestHardOutsideAGroupNeverEnds(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if group.Hard(ctx).Err() != nil {
		t.Error("ended with its parent")
	}
}

// Parts end, fail and are stopped in every order; the group returns each time and leaves none behind.
func TestEveryOrder(t *testing.T) {
	t.Parallel()
	acts := []func(context.Context) error{
		untilSoft,
		func(context.Context) error { return nil },
		func(context.Context) error { return errors.New("at once") },
		func(ctx context.Context) error { <-group.Hard(ctx).Done(); return nil },
		func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Second); return nil },
	}
	for i := range acts {
		for j := range acts {
			for k := range acts {
				synctest.Test(t, func(t *testing.T) {
					ctx, stop := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, stop)
					err := group.Run(ctx, group.Limits{Soft: 2 * time.Second},
						group.Part{Name: "i", Run: acts[i]}, group.Part{Name: "j", Run: acts[j]}, group.Part{Name: "k", Run: acts[k]})
					if want := i == 2 || j == 2 || k == 2; (err != nil) != want {
						t.Errorf("%d %d %d: %v", i, j, k, err)
					}
				})
			}
		}
	}
}
