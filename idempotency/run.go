package idempotency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/lease"
	"github.com/onceward/onceward/ledger"
)

// ErrLeaseLost is the cause of the end of a handler's context when its key may be somebody else's by now: whatever it answers is not kept.
var ErrLeaseLost = errors.New("idempotency: the key's lease is lost")

// hold keeps the key taken while the work is under way, but no longer than the work may take. The work's context is not the client's: who goes
// away does not end what was begun.
func (c *call) hold() (k *lease.Lease, release func()) {
	ctx, cancel := context.WithTimeout(c.operation.in(context.WithoutCancel(c.r.Context())), c.m.c.Timeout)
	k = lease.Keep(ctx, lease.Terms{Length: c.m.c.Lease, From: c.at, Lost: ErrLeaseLost, Beat: c.beat})
	stop := context.AfterFunc(ctx, k.Rest)
	return k, func() {
		stop()
		k.Release()
		cancel()
	}
}

func (c *call) beat() (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), min(patience, c.m.c.Lease/4))
	defer cancel()
	out, err := c.m.c.Ledger.Begin(ctx, ledger.Beat{Project: c.m.c.Project, Scope: Scope, Key: c.key, Fence: c.fence, Lease: c.m.c.Lease})
	if err != nil {
		return false, err
	}
	return out[0].Applied, nil
}

// request is the client's, as the handler gets it.
func (c *call) request(ctx context.Context) *http.Request {
	r := c.r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(c.body))
	return r
}

// run serves next under the key, and keeps its answer.
func (m *Middleware) run(next http.Handler) func(*call) {
	return func(c *call) {
		k, release := c.hold()
		defer release()
		rec := newRecorder(c.w, m.c.MaxAnswer)
		returned := false
		defer func() {
			if !returned {
				rec.close(false)
				c.free(ledger.Definite, "the handler panicked") // the panic goes on
			}
		}()
		next.ServeHTTP(rec, c.request(k.Context()))
		returned = true
		rec.close(k.Context().Err() == nil)
		if rec.Status == 0 {
			c.free(ledger.Definite, "the handler gave up")
			c.fail(fault.New(fault.Unavailable, "the work was not done in its time").WithHint("send the call again with the same key"))
			return
		}
		if err := c.keep(k, rec); err != nil {
			c.undo(rec, err)
			return
		}
		if !rec.sent {
			rec.send()
		}
	}
}

// kept reports whether an answer of a status is given again: not one that says try again, or who are you.
func kept(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status < 500
}

// keep makes the record of an answer, or frees the key where the answer is none that is kept.
func (c *call) keep(k *lease.Lease, rec *recorder) error {
	switch {
	case c.notBegun.Load():
		c.free(ledger.GivenBack, "")
		return nil
	case !kept(rec.Status):
		c.free(ledger.Definite, fmt.Sprintf("answered %d", rec.Status))
		return nil
	}
	w := c.word(ledger.Succeeded)
	var err error
	if w.Result, err = rec.answer.keep(c.m.c.Headers); err != nil {
		return err
	}
	a, err := c.settle(k, w)
	switch {
	case err != nil:
		return fault.New(fault.Unavailable, "the work was done, and the ledger of requests cannot be reached to record it").
			WithHint("send the call again with the same key").Wrap(err)
	case !a.Applied:
		return c.lost(a)
	}
	return nil
}

// lost is what is told to the client of a handler whose key was taken over meanwhile: the answer will be the other's.
func (c *call) lost(a ledger.Applied) error {
	c.m.c.Logger.Warn("a request outlived its key's lease; its answer is not kept", "key", c.key, "state", a.State, "reason", a.Reason)
	return c.busy(time.Second)
}

func (c *call) word(k ledger.Kind) ledger.Word {
	return ledger.Word{Project: c.m.c.Project, Scope: Scope, Key: c.key, Fence: c.fence, Kind: k}
}

// free gives the key back. If that fails it is free when its lease is over.
func (c *call) free(kind ledger.Kind, why string) {
	w := c.word(kind)
	w.Error = why
	if _, err := c.say(w); err != nil {
		c.m.c.Logger.Warn("a request's key could not be freed; it is when its lease is over", "key", c.key, "error", err)
	}
}

// settle says that the work is done, as often as it takes while the lease lasts.
func (c *call) settle(k *lease.Lease, w ledger.Word) (ledger.Applied, error) {
	k.Rest()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		a, err := c.say(w)
		if err == nil || !time.Now().Add(pause).Before(k.Ends()) {
			return a, err
		}
		time.Sleep(pause)
	}
}

func (c *call) say(w ledger.Word) (ledger.Applied, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), patience)
	defer cancel()
	out, err := c.m.c.Ledger.SettleClaims(ctx, w)
	if err != nil {
		return ledger.Applied{}, err
	}
	return out[0], nil
}

// undo tells the client that its answer has no record: by an error, or by breaking off where the answer is on its way.
func (c *call) undo(rec *recorder, err error) {
	if rec.sent {
		c.m.c.Logger.Error("an answer was broken off, since it has no record", "key", c.key, "error", err)
		panic(http.ErrAbortHandler)
	}
	c.fail(err)
}
