package worker

import (
	"runtime/debug"
	"time"

	"github.com/onceward/onceward/ledger"
)

// job takes a job from its receive to its settling. at is when the receive was asked for, which is no later than when
// its lease began.
func (l *Loop[J, O]) job(j J, at time.Time) {
	defer func() { l.free <- struct{}{} }()
	defer l.Ended(j)
	terms := l.Effect.Terms(j)
	h := l.hold(j, terms.Lease, at)
	defer h.Release()
	if l.soft.Err() != nil || !time.Now().Before(h.Ends()) {
		l.settle(h, l.Effect.GiveBack(j))
		return
	}
	if terms.Begin {
		a, err := h.begin()
		switch {
		case err != nil && !isAway(err):
			// Given back it would come again at once, and again. So its lease runs out, and its tries with it.
			l.Logger.Error("a job could not be begun; it is taken up again when its lease ends", "error", err)
			return
		case err == nil && !a.Applied:
			return // somebody else has it
		case err != nil || l.soft.Err() != nil:
			// Begun or not: there was no effect, and there will be none of this grant.
			l.settle(h, l.Effect.GiveBack(j))
			return
		}
	}
	l.do(h)
}

// do makes the effect and settles its outcome: there is one even if the effect panics or ends its goroutine.
func (l *Loop[J, O]) do(h *hold[J, O]) {
	var o O
	returned := false
	defer func() {
		if !returned {
			o = l.Effect.Panicked(h.j, recover(), debug.Stack())
		}
		l.settle(h, o)
	}()
	o = l.Effect.Do(h.Context(), h.j)
	returned = true
}

// settle keeps an outcome, as often as it takes. A store that is away is waited for beyond the lease: as long as nobody
// else was granted the job, a late word still counts, and a receiver is spared a second effect. An outcome that the store
// will not take is tried until the lease is over, which is not extended any more.
func (l *Loop[J, O]) settle(h *hold[J, O], o O) {
	var pause backoff
	late := false
	defer func() {
		if late {
			l.late.Add(-1)
		}
	}()
	for {
		a, err := one(l.settles.Do(l.words, o))
		if err == nil {
			l.Settled(o, a, nil)
			return
		}
		gone := isAway(err)
		switch {
		case !gone:
			h.Rest()
		case !late:
			late = true
			l.late.Add(1)
		}
		if !gone && !time.Now().Before(h.Ends()) || !sleep(l.words, pause.next(err)) {
			l.lost.Add(1)
			l.Logger.Error("an outcome could not be settled; the job is taken up again when its lease ends", "error", err)
			l.Settled(o, ledger.Applied{}, err)
			return
		}
	}
}
