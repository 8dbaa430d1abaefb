package ledger

import (
	"context"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/lease"
)

// lastWords is how long an outcome is still tried to be told after the caller's context ended.
const lastWords = 10 * time.Second

// hold is a grant whose lease is kept.
type hold struct {
	*Ledger
	*lease.Lease
	kept  chan struct{} // closed once Lease is there: a heartbeat may come before
	work  Work
	claim Claim
}

// keep keeps the lease that was asked for at asked, by beat.
func (h *hold) keep(ctx context.Context, asked time.Time, beat func() (bool, error)) {
	h.kept = make(chan struct{})
	h.Lease = lease.Keep(ctx, lease.Terms{Length: h.c.Lease, From: asked, Lost: ErrLeaseLost, Beat: func() (bool, error) {
		<-h.kept
		return beat()
	}})
	close(h.kept)
}

func (h *hold) try() Try { return tryOf(&h.claim) }

// word says that the holder is alive, and, the first time of policy Once, that the effect begins.
func (h *hold) word(ctx context.Context) (Applied, error) {
	out, err := h.c.Store.Begin(ctx, Beat{Project: h.c.Project, Scope: h.c.Scope, Key: h.claim.Key, Fence: h.claim.Fence, Lease: h.c.Lease})
	if err != nil {
		return Applied{}, err
	}
	return out[0], nil
}

// beat is one heartbeat, of the key and then of the message that carries it.
func (h *hold) beat() (held bool, err error) {
	ctx, cancel := context.WithTimeout(h.Context(), h.c.Lease/3)
	defer cancel()
	a, err := h.word(ctx)
	if err != nil || !a.Applied {
		return false, err
	}
	h.extend(ctx)
	return true, nil
}

func (h *hold) extend(ctx context.Context) {
	if h.work.Extend == nil {
		return
	}
	if err := h.work.Extend(ctx, h.c.Lease); err != nil {
		h.c.Logger.WarnContext(ctx, "a message could not be kept from being handed over again; whoever gets it finds its key busy", "key", h.claim.Key, "error", err)
	}
}

// begin is the durable line before the effect. false: there will be no effect, and what came of it instead.
func (h *hold) begin(ctx context.Context) (Outcome, bool) {
	asked := time.Now()
	a, err := h.word(ctx)
	switch {
	case err != nil: // begun or not: there was no effect, and there will be none of this grant
		o := h.settle(ctx, GivenBack, 0, nil, err)
		return o, false
	case !a.Applied:
		return h.refused(a, nil), false
	}
	h.Extended(asked)
	return Outcome{}, true
}

// settle keeps an outcome, as often as it takes. A store that is away is waited for as long as the caller does, beyond the lease even: as long as nobody else
// was granted the key, a late word still counts, and a receiver is spared a second effect. What the store will not take is tried until the
// lease is over.
func (h *hold) settle(ctx context.Context, kind Kind, in time.Duration, result []byte, cause error) Outcome {
	w := Word{Project: h.c.Project, Scope: h.c.Scope, Key: h.claim.Key, Fence: h.claim.Fence, Kind: kind, RetryIn: in}
	switch kind {
	case Succeeded:
		w.Result = result
	case Definite, Ambiguous:
		if in == 0 {
			w.RetryIn = h.c.Retry(h.claim.Tries)
		}
	}
	if cause != nil {
		w.Error = cause.Error()
	}
	say, stop := outlive(ctx, lastWords)
	defer stop()
	for try := 1; ; try++ {
		out, err := h.c.Store.SettleClaims(say, w)
		if err == nil {
			return h.settled(out[0], w, cause)
		}
		gone := fault.CodeOf(err) == fault.Unavailable
		if !gone {
			h.Rest()
		}
		if !gone && !time.Now().Before(h.Ends()) || !pause(say, try) {
			return Outcome{Verdict: Granted, Claim: h.claim, unsaid: true, err: err, Wait: max(minWait, time.Until(h.Ends()))}
		}
	}
}

func (h *hold) settled(a Applied, w Word, cause error) Outcome {
	if !a.Applied {
		return h.refused(a, cause)
	}
	o := Outcome{Verdict: Granted, State: a.State, Claim: h.claim, err: cause}
	switch a.State {
	case Done:
		o.Result = w.Result
	case Retry:
		o.Wait = max(minWait, w.RetryIn)
	}
	return o
}

// refused is a word that changed nothing: another was granted the key, or it came to an end without us.
func (h *hold) refused(a Applied, cause error) Outcome {
	o := Outcome{Verdict: Granted, State: a.State, Claim: h.claim, err: cause}
	switch a.Reason {
	case Fenced, NotBegun, NoKey:
		o.fenced = true
	case string(Retry):
		o.Wait = minWait
	}
	return o
}

// outlive gives a context that ends d after ctx does.
func outlive(ctx context.Context, d time.Duration) (context.Context, func()) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-out.Done():
		}
		cancel()
	})
	return out, func() { stop(); cancel() }
}
