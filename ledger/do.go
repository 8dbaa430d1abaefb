package ledger

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"time"
	"unicode/utf8"
	"uuid"

	"github.com/onceward/onceward/internal/fault"
)

// Work names what is to be done once.
type Work struct {
	Key string // of the work, not of the message that carries it this time: 1 to 512 bytes
	// Hash is of the content, as [Fingerprint] makes it: the same key with other content is a Mismatch, never a duplicate. nil is not compared.
	Hash     []byte
	OriginAt time.Time // when the work began; what is older than [Memory] is not run (zero: now)
	Policy   Policy    // "": the Ledger's
	// Extend is called with each heartbeat while the effect runs, to keep the broker from handing the message to another: d from now. nil: there is
	// nothing to extend. Its error is not one of the work: whoever gets the message meanwhile finds the key busy.
	Extend func(ctx context.Context, d time.Duration) error
}

// Try is one go at the work.
type Try struct {
	Key       string
	OpID      string // names the work to others, the same in every try: an Idempotency-Key for calls that the effect makes
	Fence     int64  // of this grant: for a receiver that can refuse what is older than what it saw
	Attempt   int    // 1, 2, …
	Ambiguous bool   // a try before this one may have taken effect
}

// Effect does the work. Its context ends with the caller's, and when the lease is lost (its cause is [ErrLeaseLost] then); an effect that goes on
// all the same is one that two may make at a time. What it answers is kept, and is what duplicates get. An error that is no [Failure] means that
// nobody can know whether it happened.
type Effect func(ctx context.Context, t Try) (result []byte, err error)

// Do does work whose receiver knows our key: send it Try.OpID, or the key, as an idempotency key. A try with an unknown outcome is made again
// under it. The error is nil if the work is done, by this call or before. A ctx that carries a transaction of the Store is refused, here as in Once and Handle.
func (l *Ledger) Do(ctx context.Context, w Work, effect Effect) (Outcome, error) {
	w.Policy = Idempotent
	o := l.run(ctx, w, effect)
	return o, o.Err()
}

// Once does work that its receiver cannot tell from a repetition (a mail, a payment without a key). It is never tried again after a try
// whose outcome nobody knows: the key is stuck then, until a person resolves it. That the effect begins is on disk before it does. A key keeps the policy
// under which it was first asked for: one that Do or Tx made is none that Once can protect.
func (l *Ledger) Once(ctx context.Context, w Work, effect Effect) (Outcome, error) {
	w.Policy = Once
	o := l.run(ctx, w, effect)
	return o, o.Err()
}

// Handle does the work that a message carries, and says what to do with the message.
func (l *Ledger) Handle(ctx context.Context, w Work, effect Effect) Disposition {
	if w.Policy == "" {
		w.Policy = l.c.Policy
	}
	return l.run(ctx, w, effect).Disposition()
}

func (l *Ledger) run(ctx context.Context, w Work, effect Effect) Outcome {
	if s, ok := l.c.Store.(interface{ Carries(context.Context) bool }); ok && s.Carries(ctx) {
		return Outcome{err: errCarried, Wait: awayFor}
	}
	call, err := l.call(w)
	if err != nil {
		return Outcome{err: err}
	}
	asked := time.Now()
	a, err := l.ask(ctx, call)
	if err != nil {
		return Outcome{err: err, Wait: awayFor}
	}
	if a.Verdict != Granted {
		return found(a)
	}
	h := &hold{Ledger: l, work: w, claim: a.Claim}
	h.keep(ctx, asked, h.beat)
	defer h.Release()
	if a.Claim.Policy == Once && h.Context().Err() == nil { // an existing key keeps its own
		if o, begun := h.begin(ctx); !begun {
			return o
		}
	}
	if h.Context().Err() != nil || !time.Now().Before(h.Ends()) { // the caller is gone, or this process stood still for as long as the lease: another may be at it
		return h.settle(ctx, GivenBack, 0, nil, cmp.Or(context.Cause(h.Context()), ErrLeaseLost))
	}
	result, err := guarded(h.Context(), h.try(), effect, func(err error) { h.settle(ctx, Ambiguous, 0, nil, err) })
	kind, in := kindOf(err)
	return h.settle(ctx, kind, in, result, err)
}

// errCarried refuses an effect that the rollback of a transaction would leave without its key.
var errCarried = errors.New("the context carries a transaction of the ledger's store: if that were undone, nothing would say that the effect was made; " +
	"give a context from before it, or, for work within it, Tx")

// call makes the request for a key.
func (l *Ledger) call(w Work) (Call, error) {
	switch {
	case w.Key == "" || len(w.Key) > MaxKey:
		return Call{}, fault.Invalid("/key", "the work's key has %d bytes; 1 to %d", len(w.Key), MaxKey).
			WithHint("make it of what names the work, so that each has its own")
	case !utf8.ValidString(w.Key):
		return Call{}, fault.Invalid("/key", "the work's key %s is not UTF-8", fault.Quote(w.Key))
	case w.Policy != Idempotent && w.Policy != Once:
		return Call{}, fault.Invalid("/policy", "the work's policy is %s; %s or %s", fault.Quote(string(w.Policy)), Idempotent, Once)
	}
	return Call{
		Project: l.c.Project, Scope: l.c.Scope, Key: w.Key, Policy: w.Policy, MaxTries: l.c.MaxTries, Window: l.c.Window, Keep: l.c.Keep, OriginAt: w.OriginAt,
		Grant: Grant{GrantID: uuid.New().String(), Owner: l.c.Owner, Lease: l.c.Lease, WorkHash: w.Hash},
	}, nil
}

// ask asks for a key. An answer that was lost is asked for again under the same grant id, so that the grant is not held by nobody.
func (l *Ledger) ask(ctx context.Context, call Call) (Answer, error) {
	for try := 1; ; try++ {
		out, err := l.c.Store.Claim(ctx, call)
		if err == nil {
			return out[0], out[0].Err
		}
		if fault.CodeOf(err) != fault.Unavailable || try == 3 || !pause(ctx, try) {
			return Answer{}, err
		}
	}
}

// pause waits a little longer each time, and reports whether ctx let it.
func pause(ctx context.Context, try int) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(min(5*time.Second, 50*time.Millisecond<<min(try, 10))):
		return true
	}
}

// found is what an answer that is no grant means.
func found(a Answer) Outcome {
	o := Outcome{Verdict: a.Verdict, State: a.Claim.State, Wait: a.Wait, Claim: a.Claim}
	switch a.Verdict {
	case WasDone:
		o.Result = a.Claim.Result
	case Mismatch:
		o.State = "" // whatever that key's is, it is not this work's
	}
	return o
}

// kindOf says how a try ended by its effect's error, and when to try again (0: as usual).
func kindOf(err error) (Kind, time.Duration) {
	if err == nil {
		return Succeeded, 0
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		switch f.Kind {
		case Definite, Permanent, Ambiguous, GivenBack:
			return f.Kind, f.RetryIn
		}
	}
	return Ambiguous, 0
}

// guarded makes the effect. One that panics has an unknown outcome; so has one that ends its goroutine, of which only ended hears.
func guarded(ctx context.Context, t Try, effect Effect, ended func(error)) (result []byte, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := &PanicError{recover(), debug.Stack()}
		if result, err = nil, p; p.Value == nil {
			ended(p)
		}
	}()
	result, err = effect(ctx, t)
	returned = true
	return result, err
}

func tryOf(c *Claim) Try {
	return Try{Key: c.Key, OpID: c.OpID(), Fence: c.Fence, Attempt: c.Attempt, Ambiguous: c.Ambiguous}
}
