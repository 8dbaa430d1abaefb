package worker

import (
	"context"
	"fmt"
	"time"
)

// Run works until ctx ends or Halt is called, then stops: it receives no more, lets effects finish within the grace,
// cancels the others, and settles what became of each. It returns nil if every outcome was kept.
func (l *Loop[J, O]) Run(ctx context.Context) error {
	if l.ran.Swap(true) {
		return ErrRan
	}
	defer context.AfterFunc(ctx, func() { l.stop(ErrStopped) })()
	l.receive()
	return l.finish()
}

// Halt stops without grace: effects are cancelled at once. It may be called at any time and more than once.
func (l *Loop[J, O]) Halt() {
	l.stop(ErrStopped)
	l.cut(ErrStopped)
}

// finish waits for the jobs that are under way, in the stages of a stop.
func (l *Loop[J, O]) finish() error {
	var over <-chan time.Time
	cut := l.effects.Done()
	grace := time.NewTimer(l.Grace)
	defer grace.Stop()
	for held := 0; held < l.Concurrency; {
		select {
		case <-l.free:
			held++
		case <-grace.C:
			l.cut(ErrStopped)
		case <-cut:
			cut, over = nil, time.After(l.LastWords)
		case <-over:
			if l.words.Err() != nil {
				return fmt.Errorf("stop worker: %d jobs did not end in time; they are taken up again when their leases end", l.Concurrency-held)
			}
			l.silence(ErrStopped)
			over = time.After(l.LastWords / 3)
		}
	}
	l.cut(ErrStopped)
	l.silence(ErrStopped)
	l.jobs.Wait()
	l.begins.Close()
	l.settles.Close()
	if n := l.lost.Load(); n > 0 {
		return fmt.Errorf("stop worker: %d outcomes could not be settled; their jobs are taken up again when their leases end", n)
	}
	return nil
}
