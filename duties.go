package onceward

import (
	"context"
	"log/slog"
	"time"

	"github.com/onceward/onceward/internal/beat"
	"github.com/onceward/onceward/internal/jitter"
)

// duty is something that must be done again and again, by any server, at any time.
type duty struct {
	name   string
	beat   *beat.Beat // at which it is done, where a round found nothing more to do
	do     func(ctx context.Context) (n int, again time.Duration, err error)
	logger *slog.Logger
}

const (
	// A last try must be dead-lettered within a second of its lease's end, a dead sender's delivery be free soon after. More often than that is what a
	// server at rest costs.
	pace        = 700 * time.Millisecond
	sweepLimit  = 500 // items of each kind a transaction: about 10 ms of the writer
	dutyTime    = 30 * time.Second
	longestWait = 10 * time.Second // between tries while the store is away
)

func (s *Server) duties() []duty {
	count := func(do func(ctx context.Context, limit int) (int, error)) func(ctx context.Context) (int, time.Duration, error) {
		return func(ctx context.Context) (int, time.Duration, error) {
			n, err := do(ctx, sweepLimit)
			return n, 0, err
		}
	}
	return []duty{
		{"sweep", s.beat, count(s.store.Sweep), s.config.Logger},
		{"reap claims", s.beat, count(s.store.ReapClaims), s.config.Logger},
		{"forget claims", beat.New(time.Minute), count(s.store.ForgetClaims), s.config.Logger},
		{"redrive", s.beat, func(ctx context.Context) (int, time.Duration, error) {
			moved, again, err := s.store.StepRedrives(ctx, sweepLimit)
			if again > 0 { // what its rate allows next
				return 0, again, err
			}
			return moved, 0, err
		}, s.config.Logger},
	}
}

// run does the duty until ctx ends: at once while there is more, then at the next beat. While the store is away it tries less and less often.
func (d duty) run(ctx context.Context) error {
	wait, away, turn := time.Duration(0), time.Duration(0), true
	for {
		if wait > 0 {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return nil
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		n, again, err := d.once(ctx, turn)
		turn = false
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			if away == 0 {
				d.logger.WarnContext(ctx, "a duty failed and is tried again", "duty", d.name, "error", err)
			}
			away = min(max(2*away, pace), longestWait)
			wait = away*3/4 + jitter.Below(away/2)
			continue
		case away > 0:
			d.logger.InfoContext(ctx, "a duty goes on", "duty", d.name)
			away = 0
		}
		switch {
		case n > 0:
			wait = 0
		case again > 0 && again < pace:
			wait = again
		default:
			wait, turn = d.beat.Left(), true
		}
	}
}

func (d duty) once(ctx context.Context, turn bool) (n int, again time.Duration, err error) {
	if turn {
		d.beat.Turn(func() { n, again, err = d.once(ctx, false) })
		return n, again, err
	}
	ctx, cancel := context.WithTimeout(ctx, dutyTime)
	defer cancel()
	return d.do(ctx)
}
