package idempotency

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/lease"
	"github.com/onceward/onceward/ledger"
)

// Tx guards a handler whose whole work is in the database that has the ledger, T being that database's transaction ([*database/sql.Tx], pgx.Tx). The
// effect and the record of its answer commit together, and only then does the client have it: no crash can part them, and the work takes
// effect exactly once. Without a key the work is a transaction all the same.
//
// An error of the handler undoes the transaction, and is answered; an [github.com/onceward/onceward.Error] by its code, any other as 500. So does an
// answer that is not kept (5xx, 429, [NotBegun] and so on), which the client gets, and one of more than MaxAnswer bytes, which is a 500. The handler is run
// again if the database undid its transaction for the sake of another, so it must do nothing outside of it, and answer the error of a statement by
// returning it. It neither commits nor rolls back tx itself. It should take less than Lease. A request without a key is read whole too, up to MaxBody.
func Tx[T any](m *Middleware, handler func(w http.ResponseWriter, r *http.Request, tx T) error) (http.Handler, error) {
	db, ok := m.c.Ledger.(ledger.TxStore[T])
	if !ok {
		return nil, fmt.Errorf("idempotency: a %T has no transactions of type %T; Tx needs a ledger in a database of yours, as store/sqldb has it", m.c.Ledger, *new(T))
	}
	t := txWork[T]{m, db, handler}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, work{plain: t.plain, run: t.run}) }), nil
}

type txWork[T any] struct {
	m       *Middleware
	db      ledger.TxStore[T]
	handler func(w http.ResponseWriter, r *http.Request, tx T) error
}

// errUndone undoes a transaction whose handler gave an answer that is not kept.
var errUndone = errors.New("idempotency: undone, since its answer is not kept")

// do runs the handler in a transaction that ends with record: again from the start if the database undid it.
func (t txWork[T]) do(ctx context.Context, c *call, record func(ctx context.Context, rec *recorder) error) (rec *recorder, err error) {
	err = t.db.InTx(ctx, func(ctx context.Context, tx T) error {
		c.notBegun.Store(false)
		rec = newRecorder(c.w, t.m.c.MaxAnswer)
		rec.whole = true
		if err := t.handler(rec, c.request(ctx), tx); err != nil {
			return err
		}
		rec.close(ctx.Err() == nil)
		if rec.Status == 0 {
			return fault.New(fault.Unavailable, "the work was not done in its time; nothing was done").Wrap(ctx.Err())
		}
		switch {
		case rec.Large:
			return fmt.Errorf("the answer has more than %d bytes, and cannot be kept; nothing was done", t.m.c.MaxAnswer)
		case c.notBegun.Load() || !kept(rec.Status):
			return errUndone
		}
		return record(ctx, rec)
	})
	return rec, err
}

func (t txWork[T]) plain(w http.ResponseWriter, r *http.Request) {
	c := &call{m: t.m, w: w, r: r, operation: operationOf(r.Context())}
	var err error
	if c.body, err = c.readBody(); err != nil {
		c.fail(err)
		return
	}
	rec, err := t.do(r.Context(), c, func(context.Context, *recorder) error { return nil })
	c.close(rec, err)
}

func (t txWork[T]) run(c *call) {
	k, release := c.hold()
	defer release()
	returned := false
	defer func() {
		if !returned {
			c.free(ledger.Definite, "the handler panicked") // the panic goes on
		}
	}()
	rec, err := t.do(k.Context(), c, func(ctx context.Context, rec *recorder) error { return t.record(ctx, c, k, rec) })
	returned = true
	switch {
	case err == nil:
	case c.notBegun.Load():
		c.free(ledger.GivenBack, "")
	default:
		// If it is not known whether the commit reached the database, that tells by the state in which this finds the key.
		c.free(ledger.Definite, "undone")
	}
	c.close(rec, err)
}

// record makes the record of an answer part of the transaction that ctx carries.
func (t txWork[T]) record(ctx context.Context, c *call, k *lease.Lease, rec *recorder) error {
	k.Rest()
	w := c.word(ledger.Succeeded)
	var err error
	if w.Result, err = rec.answer.keep(t.m.c.Headers); err != nil {
		return err
	}
	out, err := t.db.SettleClaims(ctx, w)
	if err == nil && !out[0].Applied {
		err = c.lost(out[0])
	}
	return err
}

// close answers when the transaction is over.
func (c *call) close(rec *recorder, err error) {
	if err != nil && !errors.Is(err, errUndone) {
		c.fail(err)
		return
	}
	rec.send()
}
