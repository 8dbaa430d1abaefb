package idempotency

import (
	"encoding/json/v2"
	"errors"
	"net/http"
	"strconv"
	"uuid"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/retryafter"
)

// ErrInFlight is for errors.Is: the first request of the key is still under way.
var ErrInFlight = fault.Sentinel(fault.IdempotencyInFlight)

// status gives the HTTP status of what the middleware itself answers.
func (m *Middleware) status(code fault.Code) int {
	switch code {
	case fault.InvalidArgument:
		return http.StatusBadRequest
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.IdempotencyKeyReused:
		return m.c.ReusedStatus
	case fault.IdempotencyInFlight, fault.Conflict:
		return http.StatusConflict
	case fault.PayloadTooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// fail answers an error. What has no code is logged, and told without detail.
func (c *call) fail(err error) {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || c.m.status(e.Code) == http.StatusInternalServerError {
		c.m.c.Logger.Error("a request with an idempotency key could not be served", "key", c.key, "error", err)
		e = fault.New(fault.Internal, "something went wrong on our side").Wrap(err)
	} else if e.Code == fault.Unavailable {
		c.m.c.Logger.Warn("a request with an idempotency key could not be served", "key", c.key, "error", err)
	}
	status := c.m.status(e.Code)
	if status == http.StatusServiceUnavailable || e.RetryAfter > 0 {
		retryafter.Set(c.w.Header(), e.RetryAfter)
	}
	c.m.c.Fail(c.w, c.r, status, e)
}

// failure is an error in the contract's envelope.
type failure struct {
	OK    bool `json:"ok"`
	Data  any  `json:"data"`
	Error struct {
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
		Hint    *string    `json:"hint"`
		Field   *string    `json:"field"`
	} `json:"error"`
	Metadata struct {
		RequestID string `json:"request_id"`
	} `json:"metadata"`
}

// envelope answers as docs/http-api.md has it.
func envelope(w http.ResponseWriter, _ *http.Request, status int, err error) {
	e, _ := errors.AsType[*fault.Error](err)
	var f failure
	f.Error.Code, f.Error.Message = e.Code, e.Message
	if e.Hint != "" {
		f.Error.Hint = &e.Hint
	}
	h := w.Header()
	if f.Metadata.RequestID = h.Get("X-Request-Id"); f.Metadata.RequestID == "" {
		f.Metadata.RequestID = uuid.NewV7().String()
		h.Set("X-Request-Id", f.Metadata.RequestID)
	}
	body, _ := json.Marshal(f) // of strings
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body)
}
