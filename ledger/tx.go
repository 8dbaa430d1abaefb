package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TxEffect does work in a transaction of the ledger's database, and nothing outside of it: it may be run more than once, each time but the last undone. An
// error undoes it: it certainly did not happen.
type TxEffect[T any] func(ctx context.Context, tx T, t Try) (result []byte, err error)

// Tx does work whose effect is in the ledger's own database: claim, effect and done are one transaction, so it happens exactly once, whatever
// dies when. T is the transaction of the Ledger's Store, which must be a [TxStore] of it: *sql.Tx or pgx.Tx with package store/sqldb. Whoever asks for the same key meanwhile waits, up to the end of its ctx, and
// finds it done; so the effect takes its statements through tx alone, or the pool may run dry. The error is nil if the work is done, by this call or before.
func Tx[T any](ctx context.Context, l *Ledger, w Work, effect TxEffect[T]) (Outcome, error) {
	o := runTx(ctx, l, w, effect)
	return o, o.Err()
}

// undone says that an effect failed, and that its transaction must not be kept.
type undone struct{ err error }

func (u *undone) Error() string { return u.err.Error() }
func (u *undone) Unwrap() error { return u.err } // the store runs again what the database undid for the sake of another

func runTx[T any](ctx context.Context, l *Ledger, w Work, effect TxEffect[T]) Outcome {
	db, ok := l.c.Store.(TxStore[T])
	if !ok {
		return Outcome{err: fmt.Errorf("the ledger's store %T has no transactions of type %T", l.c.Store, *new(T))}
	}
	w.Policy = Idempotent // a key of Once is begun in the same transaction, and never ambiguous
	call, err := l.call(w)
	if err != nil {
		return Outcome{err: err}
	}
	h := &hold{Ledger: l, work: w}
	if w.Extend != nil { // the key needs no heartbeat: its row is locked
		h.keep(ctx, time.Now(), func() (bool, error) {
			h.extend(h.Context())
			return true, nil
		})
		defer h.Release()
	}
	var o Outcome
	err = db.InTx(ctx, func(ctx context.Context, tx T) error {
		o = Outcome{}
		out, err := db.Claim(ctx, call)
		if err != nil {
			return err
		}
		a := out[0]
		if a.Err != nil {
			return a.Err
		}
		if h.claim = a.Claim; a.Verdict != Granted {
			o = found(a)
			return nil
		}
		if a.Claim.Policy == Once {
			begun, err := h.word(ctx)
			switch {
			case err != nil:
				return err
			case !begun.Applied:
				return ErrFenced
			}
		}
		inTx := func(ctx context.Context, t Try) ([]byte, error) { return effect(ctx, tx, t) }
		result, err := guarded(ctx, h.try(), inTx, func(error) {})
		if err != nil {
			return &undone{err}
		}
		done, err := db.SettleClaims(ctx, Word{Project: call.Project, Scope: call.Scope, Key: call.Key, Fence: a.Claim.Fence, Kind: Succeeded, Result: result})
		switch {
		case err != nil:
			return err
		case !done[0].Applied:
			return ErrFenced
		}
		o = Outcome{Verdict: Granted, State: Done, Result: result, Claim: a.Claim}
		return nil
	})
	if u, ok := errors.AsType[*undone](err); ok {
		return failTx(ctx, db, h, call, u.err)
	}
	if err != nil {
		return Outcome{err: err, Wait: awayFor}
	}
	return o
}

// failTx records a try whose transaction was undone, so that tries are counted and come to an end.
func failTx[T any](ctx context.Context, db TxStore[T], h *hold, call Call, cause error) Outcome {
	kind, in := kindOf(cause)
	if kind == Ambiguous {
		kind = Definite // it was undone
	}
	o := Outcome{Verdict: Granted, State: Retry, Claim: h.claim, err: cause, Wait: max(minWait, in)}
	if kind == GivenBack {
		return o
	}
	if in == 0 {
		in = h.c.Retry(h.claim.Tries)
		o.Wait = max(minWait, in)
	}
	ctx, cancel := outlive(ctx, lastWords)
	defer cancel()
	err := db.InTx(ctx, func(ctx context.Context, _ T) error {
		out, err := db.Claim(ctx, call)
		if err != nil || out[0].Verdict != Granted { // another has done it, or has failed too
			if err == nil {
				o = found(out[0])
			}
			return err
		}
		said, err := db.SettleClaims(ctx, Word{
			Project: call.Project, Scope: call.Scope, Key: call.Key, Fence: out[0].Claim.Fence, Kind: kind, RetryIn: in, Error: cause.Error(),
		})
		if err != nil {
			return err
		}
		o.State, o.Claim = said[0].State, out[0].Claim
		if o.State != Retry {
			o.Wait = 0
		}
		return nil
	})
	if err != nil {
		h.c.Logger.WarnContext(ctx, "a try that failed could not be counted", "key", call.Key, "error", err)
	}
	return o
}
