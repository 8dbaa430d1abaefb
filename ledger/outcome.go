package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

// Why work is not done, for errors.Is of what Do, Once and Tx answer.
var (
	ErrBusy      = errors.New("somebody else is at it, or its time has not come")
	ErrFailed    = errors.New("it failed, and is not tried again")
	ErrStuck     = errors.New("nobody can know whether it happened; a person has to resolve it")
	ErrMismatch  = errors.New("the key is known from work with other content")
	ErrTooOld    = errors.New("it is older than the ledger's memory")
	ErrFenced    = errors.New("another was granted the key meanwhile; this word of it changed nothing")
	ErrLeaseLost = errors.New("the lease of the key was lost") // the cause of an effect's context's end
)

// Failure is an effect's error that says how its try ended. Every other error means that nobody can know ([Ambiguous]); in a Tx, whose
// transaction is undone, that it did not happen.
type Failure struct {
	Kind    Kind          // Definite, Permanent, Ambiguous or GivenBack
	RetryIn time.Duration // of Definite and Ambiguous: when to try again; 0: as the Ledger's Retry says
	Err     error
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// NotDone says that a try certainly did not take effect (it was refused, or never left us), and may be made again.
func NotDone(err error) error { return &Failure{Kind: Definite, Err: err} }

// Refused says that a try did not take effect and that no other ever will.
func Refused(err error) error { return &Failure{Kind: Permanent, Err: err} }

// PanicError is what became of an effect that panicked, or that ended its goroutine (Value is nil then).
type PanicError struct {
	Value any
	Stack []byte
}

func (p *PanicError) Error() string {
	if p.Value == nil {
		return "the effect ended its goroutine"
	}
	return fmt.Sprintf("the effect panicked: %v", p.Value)
}

// Outcome is what came of asking for work.
type Outcome struct {
	Verdict Verdict // the ledger's answer: Granted if this call tried it; "" if the ledger could not be asked
	State   State   // of the key now, as far as is known
	Result  []byte  // what the effect that succeeded answered: now, or when it was done
	// Wait is when to ask again, of what is Busy, waits for another try, or could not be said.
	Wait  time.Duration
	Claim Claim // as it was granted, or found

	fenced bool
	unsaid bool  // what became of the try could not be told to the ledger
	err    error // of the effect, or why the ledger could not be asked or told
}

// Done reports whether the work is done, by this call or by one before.
func (o *Outcome) Done() bool { return o.State == Done && !o.fenced }

// Err says why the work is not done: nil if it is.
func (o *Outcome) Err() error {
	if o.Done() {
		return nil
	}
	var why error
	switch {
	case o.fenced:
		why = ErrFenced
	case o.Verdict == "" || o.unsaid:
		return o.err
	case o.Verdict == Mismatch:
		why = ErrMismatch
	case o.Verdict == TooOld:
		why = ErrTooOld
	case o.State == Failed:
		why = ErrFailed
	case o.State == Stuck:
		why = ErrStuck
	case o.err == nil:
		why = ErrBusy
	}
	c := &o.Claim
	at := fmt.Sprintf("key %s of scope %s", fault.Quote(c.Key), fault.Quote(c.Scope))
	switch {
	case o.Verdict == Granted && why != nil && o.err != nil:
		return fmt.Errorf("%s: %w: %w", at, why, o.err)
	case o.Verdict == Granted && why == nil:
		return fmt.Errorf("%s: try %d of %d, again in %v: %w", at, c.Tries, c.MaxTries, o.Wait.Round(time.Millisecond), o.err)
	case c.LastError != "" && o.State.Terminal():
		return fmt.Errorf("%s: %w: %s", at, why, c.LastError)
	}
	return fmt.Errorf("%s: %w", at, why)
}

// Action is what a worker does with the message that carries a key.
type Action string

const (
	Ack        Action = "ack"         // it is done: take it off the queue
	Release    Action = "release"     // give it back for Wait, without counting it as a failure of the message
	DeadLetter Action = "dead_letter" // put it aside for a person, with Reason: it is failed, stuck, a mismatch or too old
	Leave      Action = "leave"       // touch nothing: another has the key, and its message
)

// Disposition is what to do with a message.
type Disposition struct {
	Action  Action
	Wait    time.Duration // of Release
	Reason  string        // of DeadLetter, and why a message is released or left
	Outcome Outcome
}

// awayFor is how long a message is released for when the ledger could not be asked.
const awayFor = 5 * time.Second

// badKey reports whether a message has no key that could ever be asked for.
func badKey(err error) bool {
	e, ok := errors.AsType[*fault.Error](err)
	return ok && e.Code == fault.InvalidArgument && e.Field == "/key"
}

// Disposition is the rule for a worker of any queue: a message is acked only when its key is done, never because somebody else is at it.
func (o Outcome) Disposition() Disposition {
	d := Disposition{Outcome: o}
	if err := o.Err(); err != nil {
		d.Reason = err.Error()
	}
	switch {
	case o.Done():
		d.Action = Ack
	case o.fenced:
		d.Action = Leave
	case o.Verdict == "" && badKey(o.err), o.Verdict == Mismatch, o.Verdict == TooOld, o.State == Failed, o.State == Stuck:
		d.Action = DeadLetter
	default:
		d.Action, d.Wait = Release, o.Wait
		if d.Wait == 0 {
			d.Wait = awayFor
		}
	}
	return d
}
