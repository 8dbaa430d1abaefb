// Package lease keeps a lease while work is done under it: a heartbeat extends it, and the work's context ends when it is lost.
package lease

import (
	"context"
	"sync"
	"time"
)

// Terms are those of one lease. All of them are required.
type Terms struct {
	Length time.Duration // and by how much a heartbeat extends it, from when that was asked for
	From   time.Time     // when it was asked for, which is no later than when it began
	// Beat extends it; false says that it is lost. An error says neither, and is tried again while the lease lasts.
	Beat func() (held bool, err error)
	Lost error // the cause of the context's end when it is lost
}

// Lease is one that is kept. It is extended from its first third on.
type Lease struct {
	terms Terms
	ctx   context.Context
	lose  context.CancelCauseFunc

	beating sync.Mutex // held by a heartbeat

	mu    sync.Mutex
	until time.Time // by our monotonic clock, no later than the store's
	beat  *time.Timer
	over  *time.Timer // nil before the first heartbeat is due: the lease cannot be over by then
	still bool        // no heartbeat any more
	done  bool
}

// Keep keeps a lease until its Release.
func Keep(ctx context.Context, t Terms) *Lease {
	l := &Lease{terms: t, until: t.From.Add(t.Length)}
	l.ctx, l.lose = context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beat = time.AfterFunc(time.Until(t.From.Add(t.Length/3)), l.pulse)
	return l
}

// Context is the work's: it ends when the lease is lost, by its cause Lost, and at the Release.
func (l *Lease) Context() context.Context { return l.ctx }

// Ends is when the lease is over, as far as we know.
func (l *Lease) Ends() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Extended says that the lease was extended by something else than its heartbeat, and when that was asked for.
func (l *Lease) Extended(asked time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := asked.Add(l.terms.Length)
	if l.done || l.ctx.Err() != nil || !until.After(l.until) {
		return
	}
	l.until = until
	if l.over != nil {
		l.over.Reset(time.Until(until))
	}
}

// watch has the lease lost at its end.
func (l *Lease) watch() {
	if l.over == nil && !l.done {
		l.over = time.AfterFunc(time.Until(l.until), func() { l.lose(l.terms.Lost) })
	}
}

// pulse is one heartbeat.
func (l *Lease) pulse() {
	l.beating.Lock()
	defer l.beating.Unlock()
	l.mu.Lock()
	still := l.still || l.done
	l.watch()
	l.mu.Unlock()
	if still {
		return
	}
	next, asked := l.terms.Length/3, time.Now()
	switch held, err := l.terms.Beat(); {
	case err != nil:
		next = l.terms.Length / 12 // some more tries before the lease is over
	case !held:
		l.lose(l.terms.Lost)
		return
	default:
		l.Extended(asked)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.done && !l.still {
		l.beat.Reset(next)
	}
}

// Rest extends the lease no further.
func (l *Lease) Rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.still = true
	l.beat.Stop()
	l.watch()
}

// Release ends the keeping, and waits for a heartbeat that is under way.
func (l *Lease) Release() {
	l.mu.Lock()
	l.done = true
	l.beat.Stop()
	if l.over != nil {
		l.over.Stop()
	}
	l.mu.Unlock()
	l.lose(nil)
	l.beating.Lock()
	defer l.beating.Unlock()
}
