package idempotency

import (
	"context"
	"encoding/json/v2"
	"errors"
	"io"
	"math"
	"net/http"
	"time"
	"uuid"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

// Scope is that of request keys in the ledger.
const Scope = "request"

// patience bounds a call of the ledger.
const patience = 10 * time.Second

// Middleware gives a repeated request its first answer again. One serves any number of handlers.
type Middleware struct {
	c     Config
	owner string // this process, in the ledger's history
}

// New makes a Middleware.
func New(c Config) (*Middleware, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Middleware{c: c, owner: "idempotency " + uuid.New().String()}, nil
}

// Handler guards next: see the package's comment for what that means. GET, HEAD, OPTIONS and TRACE, which are safe to repeat, go straight
// to next.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.serve(w, r, work{plain: next.ServeHTTP, run: m.run(next)})
	})
}

// work is what a request asks for.
type work struct {
	plain func(w http.ResponseWriter, r *http.Request) // without a key
	run   func(c *call)                                // under one
}

// call is a request under way that has a key.
type call struct {
	m    *Middleware
	w    http.ResponseWriter
	r    *http.Request
	key  string // in the ledger
	body []byte
	hash [32]byte
	at   time.Time // when the claim was asked for
	*operation
	fence int64
}

func (m *Middleware) serve(w http.ResponseWriter, r *http.Request, do work) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		do.plain(w, r)
		return
	}
	c := &call{m: m, w: w, r: r, operation: new(operation)}
	key, err := HeaderKey(r.Header)
	switch {
	case err != nil:
	case key == "" && m.c.Required:
		err = fault.New(fault.InvalidArgument, "this call needs an %s header", Header).
			WithHint("make a new key for each request, and send the same one again with each repetition of it")
	case key == "":
		c.ID = "op_" + uuid.New().String()
		c.Attempt = 1
		do.plain(w, r.WithContext(c.operation.in(r.Context())))
		return
	default:
		err = c.read(key)
	}
	if err == nil {
		err = c.claim(do)
	}
	if err != nil {
		c.fail(err)
	}
}

// read takes in the request.
func (c *call) read(key string) error {
	tenant, err := c.m.c.Tenant(c.r)
	switch _, coded := errors.AsType[*fault.Error](err); {
	case coded:
		return err
	case err != nil:
		return fault.New(fault.Unauthenticated, "%v", err).Wrap(err)
	case tenant == "":
		return fault.New(fault.Unauthenticated, "it is not known on whose behalf this call comes")
	}
	if c.key, err = ledgerKey(tenant, c.r.Method, c.m.c.Route(c.r), key); err != nil {
		return err
	}
	if c.body, err = c.readBody(); err != nil {
		return err
	}
	c.hash, err = fingerprint(c.r, c.body)
	return err
}

// ledgerKey is a key in the ledger: text that a person can read, of parts that cannot run into each other.
func ledgerKey(tenant, method, route, key string) (string, error) {
	b, err := json.Marshal([]string{tenant, method, route, key})
	if err != nil {
		return "", fault.New(fault.InvalidArgument, "the call's address or its tenant is no text: %v", err)
	}
	return string(b), nil
}

func (c *call) readBody() ([]byte, error) {
	if c.r.Body == nil || c.r.Body == http.NoBody {
		return nil, nil
	}
	wire := http.NewResponseController(c.w)
	timed := wire.SetReadDeadline(time.Now().Add(c.m.c.Timeout)) == nil // not every server can
	b, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, int64(c.m.c.MaxBody)))
	if err == nil {
		if timed {
			_ = wire.SetReadDeadline(time.Time{}) // else the server would take it for a client that is gone
		}
		return b, nil
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, fault.New(fault.PayloadTooLarge, "the body has more than %d bytes", c.m.c.MaxBody)
	}
	return nil, fault.New(fault.InvalidArgument, "the body could not be read to its end within %v", c.m.c.Timeout).Wrap(err)
}

// claim asks for the key, and does what the ledger rules.
func (c *call) claim(do work) error {
	if c.r.Context().Err() != nil {
		return fault.New(fault.Unavailable, "the client is gone; nothing was done")
	}
	a, err := c.ask()
	if err != nil {
		return fault.New(fault.Unavailable, "the ledger of requests cannot be reached; nothing was done").
			WithHint("send the call again with the same key").Wrap(err)
	}
	switch a.Verdict {
	case ledger.Granted:
		c.operation.Operation, c.fence = Operation{ID: a.Claim.OpID(), Attempt: a.Claim.Attempt}, a.Claim.Fence
		if time.Since(c.at) >= c.m.c.Lease { // another may have the key by now
			c.free(ledger.GivenBack, "")
			return fault.New(fault.Unavailable, "the ledger of requests answered too late; nothing was done").
				WithHint("send the call again with the same key")
		}
		do.run(c)
		return nil
	case ledger.WasDone:
		return c.again(a.Claim.Result)
	case ledger.Busy:
		return c.busy(a.Wait)
	case ledger.Mismatch:
		key, _ := HeaderKey(c.r.Header)
		return reused(key)
	default:
		return fault.New(fault.Conflict, "the request of this key is %s in the ledger, and is not done again", a.Verdict).
			WithHint("find out what became of it; for a new request make a new key")
	}
}

// ask claims the key. Whoever goes away meanwhile leaves no key behind that is taken and served by nobody.
func (c *call) ask() (ledger.Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), patience)
	defer cancel()
	c.at = time.Now()
	out, err := c.m.c.Ledger.Claim(ctx, ledger.Call{
		Project: c.m.c.Project, Scope: Scope, Key: c.key, Policy: ledger.Idempotent, MaxTries: math.MaxInt32, Keep: c.m.c.Keep,
		Grant: ledger.Grant{GrantID: uuid.New().String(), Owner: c.m.owner, Lease: c.m.c.Lease, WorkHash: c.hash[:]},
	})
	if err != nil {
		return ledger.Answer{}, err
	}
	return out[0], out[0].Err
}

// again gives the first answer once more.
func (c *call) again(kept []byte) error {
	a, err := readAnswer(kept)
	if err != nil {
		return err
	}
	if a.Large {
		return fault.New(fault.Conflict, "this request was done and answered with status %d; its answer of more than %d bytes was not kept", a.Status, c.m.c.MaxAnswer).
			WithHint("ask for what it made, by a call that reads")
	}
	a.replay(c.w)
	return nil
}

// soon is the longest that a client is told to wait for a request that is under way: most are done long before their lease is over.
const soon = 5 * time.Second

func (c *call) busy(wait time.Duration) error {
	e := fault.New(fault.IdempotencyInFlight, "the first request of this key is still under way").WithHint("send the call again with the same key after Retry-After")
	e.RetryAfter = min(wait, soon)
	return e
}
