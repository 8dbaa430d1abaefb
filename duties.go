package onceward

import (
	"context"
	"log/slog"
	"time"

	"github.com/onceward/onceward/internal/jitter"
)

// duty is something that must be done again and again, by any server, at any time.
type duty struct {
	name   string
	every  time.Duration // between rounds that find nothing more to do
	do     func(ctx context.Context) (n int, again time.Duration, err error)
	logger *slog.Logger
}

const (
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
		// A last try must be dead-lettered within a second of its lease's end, a dead sender's delivery be free soon after. More often than that
		// is what a server at rest costs.
		{"sweep", 700 * time.Millisecond, count(s.store.Sweep), s.config.Logger},
		{"reap claims", time.Second, count(s.store.ReapClaims), s.config.Logger},
		{"forget claims", time.Minute, count(s.store.ForgetClaims), s.config.Logger},
		{"redrive", time.Second, func(ctx context.Context) (int, time.Duration, error) {
			moved, again, err := s.store.StepRedrives(ctx, sweepLimit)
			if again > 0 { // what its rate allows next
				return 0, again, err
			}
			return moved, 0, err
		}, s.config.Logger},
	}
}

// run does the duty until ctx ends: at once while there is more, then at its pace, each wait between 75 and 125 percent of it
// so that servers do not fall into step. While the store is away it tries less and less often.
func (d duty) run(ctx context.Context) error {
	wait, away := time.Duration(0), time.Duration(0)
	for {
		if wait > 0 {
			t := time.NewTimer(wait*3/4 + jitter.Below(wait/2))
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
		n, again, err := d.once(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			if away == 0 {
				d.logger.WarnContext(ctx, "a duty failed and is tried again", "duty", d.name, "error", err)
			}
			away = min(max(2*away, d.every), longestWait)
			wait = away
			continue
		case away > 0:
			d.logger.InfoContext(ctx, "a duty goes on", "duty", d.name)
			away = 0
		}
		switch {
		case n > 0:
			wait = 0
		case again > 0:
			wait = min(again, d.every)
		default:
			wait = d.every
		}
	}
}

func (d duty) once(ctx context.Context) (int, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, dutyTime)
	defer cancel()
	return d.do(ctx)
}
