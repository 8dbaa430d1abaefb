package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"
	"uuid"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/fault"
)

// statusGone is observed, never sent: the client went away before its answer.
const statusGone = 499

// call is one request under way.
type call struct {
	*server
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context // ends when the client goes away
	route   string
	query   query
	write   bool // its answer says whether it is a replay
	start   time.Time
	id      string
	hash    []byte     // of the caller's key; nil on a route that is open without one
	known   remembered // when it was looked up
	key     access.Key
	project int64
	replay  bool
	bare    bool // its answer has no envelope
	cost    account.USD
	poor    error  // why its messages could not be paid, once that was asked
	status  int    // of what was sent; 0: nothing yet
	lost    func() // undoes what the client will never know of

	small, large, rest int64         // bytes of the rooms for bodies
	waited             time.Duration // for them
}

// serve runs a route from the key to the answer.
func (s *server) serve(w http.ResponseWriter, r *http.Request, rt route) {
	c := &call{
		server: s, w: w, r: r, ctx: r.Context(), route: rt.path, start: time.Now(), id: uuid.NewV7().String(),
		write: r.Method != "GET" && r.Method != "HEAD" && rt.method != "",
	}
	if b, ok := w.(bare); ok {
		c.w, c.bare = b.ResponseWriter, true
	}
	defer c.leave()
	defer func() {
		if p := recover(); p != nil {
			c.panicked(p)
		}
		s.Observe(c.route, method(r.Method), c.status, time.Since(c.start))
		if c.status == statusGone {
			panic(http.ErrAbortHandler) // an answer of nothing would be a 200
		}
	}()
	data, err := c.run(rt)
	// A client that has only closed its side of the connection looks the same as one that is gone: it is answered, unless
	// there is nothing to say or something to undo.
	if c.ctx.Err() != nil && (c.lost != nil || err != nil && !refused(err)) {
		c.gone()
		return
	}
	if err != nil {
		c.fail(err)
		return
	}
	if err := c.answer(data); err != nil {
		c.gone()
	}
}

// refused reports whether err says what is wrong with the request, and not only that it was given up.
func refused(err error) bool {
	e, ok := errors.AsType[*fault.Error](err)
	return ok && statuses[e.Code] >= 400 && statuses[e.Code] < 500
}

// method gives a request's method a name from a bounded set.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return m
	}
	return "OTHER"
}

func (c *call) run(rt route) (any, error) {
	if len(rt.scopes) > 0 {
		if err := c.authenticate(rt.scopes); err != nil {
			return nil, err
		}
	}
	return rt.serve(c)
}

// gone ends a call whose client cannot be answered.
func (c *call) gone() {
	if c.lost != nil {
		c.lost()
	}
	c.status = statusGone
}

func (c *call) panicked(p any) {
	c.Logger.ErrorContext(c.ctx, "a handler panicked", "route", c.route, "request_id", c.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if c.lost != nil {
		c.lost()
	}
	if c.status == 0 {
		c.fail(fmt.Errorf("panic: %v", p))
	}
}

// who names the caller in the records of its acts.
func (c *call) who() string {
	if c.key.Name != "" {
		return c.key.Name
	}
	return c.keyID(c.key)
}
