package worker

import (
	"context"
	"errors"
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/jitter"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// backoff gives growing pauses, each between a half and the whole of what it grew to, so that workers do not come back as one.
type backoff struct{ tries int }

func (b *backoff) next(err error) time.Duration {
	d := min(maxPause, firstPause<<min(b.tries, 10))
	b.tries++
	if e, ok := errors.AsType[*fault.Error](err); ok {
		d = max(d, min(e.RetryAfter, maxPause))
	}
	return d/2 + jitter.Below(d/2)
}

// pacer keeps a source whose Wait returns at once, with nothing to receive, from being asked in a hot loop.
type pacer struct{ quick int }

func (p *pacer) next(waited time.Duration) time.Duration {
	if waited >= 10*time.Millisecond {
		p.quick = 0
		return 0
	}
	p.quick++
	if p.quick <= 3 {
		return 0
	}
	return min(100*time.Millisecond, time.Millisecond<<min(p.quick-4, 10))
}

// sleep waits for d, and reports whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// isAway reports whether an error says that the store cannot be reached, as against one item that it will not take.
func isAway(err error) bool {
	return fault.CodeOf(err) == fault.Unavailable || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, batch.ErrFull)
}

func notAway(err error) bool { return !isAway(err) }
