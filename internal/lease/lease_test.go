package lease_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/leak"
	"github.com/onceward/onceward/internal/lease"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var errLost = errors.New("lost")

// keep keeps a lease of 30 s from now.
func keep(t *testing.T, beat func(at time.Duration) (bool, error)) (l *lease.Lease, start time.Time) {
	start = time.Now()
	l = lease.Keep(t.Context(), lease.Terms{Length: 30 * time.Second, From: start, Lost: errLost, Beat: func() (bool, error) { return beat(time.Since(start)) }})
	return l, start
}

// lostAt waits for the end of a lease's context.
func lostAt(t *testing.T, l *lease.Lease, start time.Time) time.Duration {
	t.Helper()
	<-l.Context().Done()
	if err := context.Cause(l.Context()); !errors.Is(err, errLost) {
		t.Errorf("ended by %v", err)
	}
	return time.Since(start)
}

func TestKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var beats atomic.Int64
		l, start := keep(t, func(time.Duration) (bool, error) { beats.Add(1); return true, nil })
		time.Sleep(10*time.Minute + time.Second)
		if beats.Load() != 60 || l.Context().Err() != nil || l.Ends().Sub(start) != 10*time.Minute+30*time.Second {
			t.Errorf("%d beats, ends at %v, %v", beats.Load(), l.Ends().Sub(start), l.Context().Err())
		}
		l.Release()
		if err := context.Cause(l.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("released: %v", err)
		}
		time.Sleep(time.Hour)
		if n := beats.Load(); n != 60 {
			t.Errorf("%d beats after the release", n-60)
		}
	})
}

func TestLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beat  func(at time.Duration) (bool, error)
		lost  time.Duration
		beats int64 // before it: one of the same moment may be first or not
	}{
		"said so":                        {func(at time.Duration) (bool, error) { return at < 20*time.Second, nil }, 20 * time.Second, 1},
		"the store is away":              {func(time.Duration) (bool, error) { return false, errors.New("away") }, 30 * time.Second, 8},
		"the store is away after a beat": {func(at time.Duration) (bool, error) { return at < 11*time.Second, errIf(at > 11*time.Second) }, 40 * time.Second, 9},
		"a beat hangs":                   {func(time.Duration) (bool, error) { time.Sleep(time.Minute); return true, nil }, 30 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var beats atomic.Int64
				l, start := keep(t, func(at time.Duration) (bool, error) {
					if at < c.lost {
						beats.Add(1)
					}
					return c.beat(at)
				})
				if at := lostAt(t, l, start); at != c.lost || beats.Load() != c.beats {
					t.Errorf("lost at %v after %d beats; want %v, %d", at, beats.Load(), c.lost, c.beats)
				}
				l.Rest()
				time.Sleep(time.Minute) // a bubble's clock stands still while somebody waits for a mutex, as a release does for a beat
				l.Release()
			})
		})
	}
}

func errIf(b bool) error {
	if b {
		return errors.New("away")
	}
	return nil
}

// Who settles as often as it takes extends no further.
func TestRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, start := keep(t, func(time.Duration) (bool, error) { return true, nil })
		l.Extended(start.Add(5 * time.Second))
		l.Extended(start.Add(time.Second)) // asked for before, answered after
		l.Rest()
		if at := lostAt(t, l, start); at != 35*time.Second {
			t.Errorf("lost at %v", at)
		}
		l.Extended(time.Now())
		if !l.Ends().Equal(start.Add(35 * time.Second)) {
			t.Error("a lease that is lost was extended")
		}
		l.Release()
	})
}
