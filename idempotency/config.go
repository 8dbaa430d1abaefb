package idempotency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/onceward/onceward/ledger"
)

// Ledger is what the middleware needs of a [ledger.Store].
type Ledger interface {
	Claim(ctx context.Context, calls ...ledger.Call) ([]ledger.Answer, error)
	Begin(ctx context.Context, beats ...ledger.Beat) ([]ledger.Applied, error)
	SettleClaims(ctx context.Context, words ...ledger.Word) ([]ledger.Applied, error)
}

// Config of a [Middleware]. Ledger and Tenant are required; the rest has a default.
type Config struct {
	Ledger Ledger
	// Project is whose the keys are in the ledger. Default: 1, the only one of a ledger of one's own.
	Project int64
	// Tenant says on whose behalf a request comes, from what its credentials proved. Keys of two tenants have nothing to do with each other.
	// An empty one is refused with 401, so is an error, whose text the client is told. [OneTenant] is for a service that has a single caller.
	Tenant func(*http.Request) (string, error)
	// Route names what is called. Default: the pattern of [http.ServeMux], or where there is none the path.
	Route func(*http.Request) string

	// Required refuses a request without a key. Default: it is served, and may take effect twice.
	Required bool
	// ReusedStatus answers a key that came with another request before: 409, or 422 as the IETF's draft has it. Default: 409.
	ReusedStatus int
	// Headers are kept with an answer beside those that describe its body and Location: names, as in [http.Header]. What is named here is shown
	// to whoever repeats the request, so no Set-Cookie unless that is meant.
	Headers []string
	// Keep is how long a finished request is remembered. Default: 24 h.
	Keep time.Duration

	// MaxBody is the most bytes of a request's body, which is read whole before anything is done. Default: 1 MiB.
	MaxBody int
	// MaxAnswer is the most bytes of an answer's body that are kept. Default: 1 MiB.
	MaxAnswer int
	// Timeout is the longest that the request's body and its handler may each take. Then the handler's context ends; one that goes on all the
	// same loses its key when the lease is over, and what it answers is not kept. Default: 60 s.
	Timeout time.Duration
	// Lease is how long a key stays taken when the process dies. While a handler runs it is extended. Default: 30 s; at least 1 s.
	Lease time.Duration

	// Fail answers an error in the service's own form: status, headers (Retry-After is set already where there is one) and body. err is an
	// onceward.Error; its Message and Hint are for the client, what it wraps is not. Default: the JSON envelope of docs/http-api.md.
	Fail func(w http.ResponseWriter, r *http.Request, status int, err error)
	// Logger gets what no client is told. Default: slog's.
	Logger *slog.Logger
}

// OneTenant is the Tenant of a service whose callers are all one.
func OneTenant(*http.Request) (string, error) { return "-", nil }

func (c Config) withDefaults() Config {
	def(&c.Project, 1)
	def(&c.ReusedStatus, http.StatusConflict)
	def(&c.Keep, Window)
	def(&c.MaxBody, 1<<20)
	def(&c.MaxAnswer, 1<<20)
	def(&c.Timeout, time.Minute)
	def(&c.Lease, 30*time.Second)
	if c.Route == nil {
		c.Route = route
	}
	if c.Fail == nil {
		c.Fail = envelope
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	headers := slices.Clone(always)
	for _, h := range c.Headers {
		headers = append(headers, http.CanonicalHeaderKey(h))
	}
	c.Headers = headers
	return c
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func route(r *http.Request) string {
	if r.Pattern != "" {
		return r.Pattern
	}
	return r.URL.EscapedPath()
}

func (c Config) validate() error {
	switch {
	case c.Ledger == nil:
		return errors.New("idempotency: Config.Ledger is missing: say where the keys are kept")
	case c.Tenant == nil:
		return errors.New("idempotency: Config.Tenant is missing: without it one customer could get the answer of another; a service with a single caller says OneTenant")
	case c.ReusedStatus != http.StatusConflict && c.ReusedStatus != http.StatusUnprocessableEntity:
		return fmt.Errorf("idempotency: Config.ReusedStatus is %d; it must be 409 or 422", c.ReusedStatus)
	case c.Lease < time.Second:
		return fmt.Errorf("idempotency: Config.Lease is %v; it must be at least 1 s", c.Lease)
	case c.Timeout < 0, c.Keep < 0, c.MaxBody < 0, c.MaxAnswer < 0:
		return errors.New("idempotency: a limit of Config is negative")
	}
	return nil
}
