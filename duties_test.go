package onceward

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/beat"
)

func TestDutyGoesOnAtOnceWhileThereIsMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var at []time.Duration
		start := time.Now()
		left := []int{3, 2, 0, 0}
		d := duty{"test", beat.New(time.Second), func(context.Context) (int, time.Duration, error) {
			at = append(at, time.Since(start))
			n := left[0]
			if left = left[1:]; len(left) == 0 {
				stop()
			}
			return n, 0, nil
		}, slog.New(slog.DiscardHandler)}
		if err := d.run(ctx); err != nil {
			t.Fatal(err)
		}
		if at[0] != 0 || at[1] != 0 || at[2] != 0 {
			t.Errorf("waited while there was more: %v", at)
		}
		if w := at[3] - at[2]; w < 750*time.Millisecond || w > 1250*time.Millisecond {
			t.Errorf("its pace is %v", w)
		}
	})
}

func TestDutyBacksOffWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 15*time.Minute)
		defer stop()
		calls := 0
		d := duty{"test", beat.New(time.Second), func(context.Context) (int, time.Duration, error) {
			calls++
			return 0, 0, errors.New("away")
		}, slog.New(slog.DiscardHandler)}
		if err := d.run(ctx); err != nil {
			t.Fatal(err)
		}
		if calls < 70 || calls > 130 { // 10 s apart, more or less
			t.Errorf("%d calls in 15 minutes", calls)
		}
	})
}
