package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/retryafter"
)

var statuses = map[fault.Code]int{
	fault.InvalidArgument:      http.StatusBadRequest,
	fault.ReceiptInvalid:       http.StatusBadRequest,
	fault.Unauthenticated:      http.StatusUnauthorized,
	fault.InsufficientCredit:   http.StatusPaymentRequired,
	fault.Forbidden:            http.StatusForbidden,
	fault.NotFound:             http.StatusNotFound,
	fault.QueueNotFound:        http.StatusNotFound,
	fault.MessageNotFound:      http.StatusNotFound,
	fault.MethodNotAllowed:     http.StatusMethodNotAllowed,
	fault.IdempotencyKeyReused: http.StatusConflict,
	fault.EventIDReused:        http.StatusConflict,
	fault.QueueExists:          http.StatusConflict,
	fault.QueueNotEmpty:        http.StatusConflict,
	fault.ClaimChanged:         http.StatusConflict,
	fault.Conflict:             http.StatusConflict,
	fault.PayloadTooLarge:      http.StatusRequestEntityTooLarge,
	fault.MessageTooLarge:      http.StatusRequestEntityTooLarge,
	fault.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	fault.HeadersTooLarge:      http.StatusRequestHeaderFieldsTooLarge,
	fault.RateLimited:          http.StatusTooManyRequests,
	fault.Internal:             http.StatusInternalServerError,
	fault.Unavailable:          http.StatusServiceUnavailable,
}

// sentences are for an error of a code that has none of its own, as a sentinel has.
var sentences = map[fault.Code]string{
	fault.NotFound:             "there is no such thing",
	fault.QueueNotFound:        "there is no such queue",
	fault.MessageNotFound:      "there is no such message: it was acked, purged or expired, or never was",
	fault.IdempotencyKeyReused: "this idempotency key was used with another request",
	fault.EventIDReused:        "this event_id was used with other content",
	fault.Unavailable:          "the store cannot be reached at the moment",
}

// hints are for an error that has none of its own.
var hints = map[fault.Code]string{
	fault.Unavailable: "send the call again in a moment; with an idempotency key it takes effect once, whatever became of this one",
}

// told gives the error that a client is told. What has no code of its own is logged and told as INTERNAL, without detail.
func (c *call) told(err error) *fault.Error {
	e, ok := errors.AsType[*fault.Error](err)
	switch {
	case ok && e.Code != fault.Internal && statuses[e.Code] != 0:
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, batch.ErrFull), errors.Is(err, batch.ErrClosed):
		e = &fault.Error{Code: fault.Unavailable, RetryAfter: time.Second, Message: "the server is too busy or is stopping; nothing was done", Err: err}
	default:
		c.Logger.ErrorContext(c.ctx, "a call failed", "route", c.route, "request_id", c.id, "error", err)
		return &fault.Error{
			Code: fault.Internal, Message: "something went wrong on our side; the server's log has it under this request_id",
			Hint: "give the request_id to whoever runs the server",
		}
	}
	if e.Code == fault.Unavailable && c.mayWarn() {
		c.Logger.WarnContext(c.ctx, "a call could not be served", "route", c.route, "request_id", c.id, "error", err)
	}
	if e.Message == "" || e.Code == fault.Unavailable && e.Hint == "" {
		d := *e
		d.Message, d.Hint = cmp.Or(d.Message, sentences[e.Code]), cmp.Or(d.Hint, hints[e.Code])
		e = &d
	}
	return e
}

// mayWarn is true once a second: a store that is away fails every call, and one line says it.
func (s *server) mayWarn() bool {
	now := time.Now().Unix()
	return s.warned.Swap(now) != now
}

// fail sends an error.
func (c *call) fail(err error) {
	e := c.told(err)
	status := statuses[e.Code]
	h := c.w.Header()
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		retryafter.Set(h, e.RetryAfter)
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="onceward"`)
	}
	buf := getBuffer()
	defer putBuffer(buf)
	if c.bare {
		buf.WriteString(`{"error":`)
		writeError(buf, e)
		buf.WriteByte('}')
	} else {
		buf.WriteString(`{"ok":false,"data":null,"error":`)
		writeError(buf, e)
		c.writeMetadata(buf)
	}
	_ = c.send(status, jsonKind, buf.Bytes()) // a client that cannot be told has nothing to be undone
}

// at moves the field of an error beneath prefix, and renames it where the client used another name for it.
func at(err error, prefix string, names map[string]string) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Field == "" {
		return err
	}
	d := *e
	for from, to := range names {
		if rest, ok := strings.CutPrefix(d.Field, from); ok && (rest == "" || rest[0] == '/') {
			d.Field = to + rest
			if said, ok := strings.CutPrefix(d.Message, from[1:]+" "); ok {
				d.Message = to[1:] + " " + said
			}
			break
		}
	}
	d.Field = prefix + d.Field
	return &d
}
