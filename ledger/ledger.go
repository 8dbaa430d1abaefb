package ledger

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
)

// Config says how a Ledger works. Store and Scope are required.
type Config struct {
	Store Store  // of package store/sqldb, say
	Scope string // what kind of work; keys of two scopes have nothing to do with each other. 1 to 128 bytes

	Project  int64         // whose work: a tenant, say. Keys of two projects have nothing to do with each other (1)
	Policy   Policy        // of Handle: whether the receiver of the effect knows our key (Idempotent)
	Lease    time.Duration // how long a worker that died holds up the others; a living one extends it (60 s; 1 s to 12 h)
	MaxTries int           // after which a key is failed, or stuck where a try had an unknown outcome (5)
	Window   time.Duration // how long the receiver remembers our key, after which a try with an unknown outcome is not made again (0: for ever)
	Keep     time.Duration // how long a key is remembered once it is done or failed, which must be longer than any redelivery can take (0: Memory)
	// Retry is the pause after a try, the first being 1 (1 s, doubled with each, at most 5 min).
	Retry  func(try int) time.Duration
	Owner  string       // who works, in the history of a key (the host's name and the process's number)
	Logger *slog.Logger // what nobody can be told by an error (slog.Default())
}

// Ledger is the front door: work that is handed over at least once takes effect once. It is safe for use by many goroutines; calls that come
// at the same time share a transaction of the store.
type Ledger struct{ c Config }

// NewLedger makes a Ledger.
func NewLedger(c Config) (*Ledger, error) {
	def := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	def(&c.Lease, DefaultLease)
	if c.Project == 0 {
		c.Project = 1
	}
	if c.Policy == "" {
		c.Policy = Idempotent
	}
	if c.MaxTries == 0 {
		c.MaxTries = DefaultAttempts
	}
	if c.Retry == nil {
		c.Retry = doubling
	}
	if c.Owner == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown host"
		}
		c.Owner = fmt.Sprintf("%s, process %d", host, os.Getpid())
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	switch {
	case c.Store == nil:
		return nil, fault.Invalid("/Store", "a Ledger needs a Store").WithHint("package store/sqldb has them for databases of yours")
	case c.Scope == "" || len(c.Scope) > MaxScope:
		return nil, fault.Invalid("/Scope", "Scope has %d bytes; 1 to %d", len(c.Scope), MaxScope).WithHint("name the kind of work: \"mail\", \"invoice\"")
	case c.Policy != Idempotent && c.Policy != Once:
		return nil, fault.Invalid("/Policy", "Policy is %s; %s or %s", fault.Quote(string(c.Policy)), Idempotent, Once)
	case c.Lease < MinLease || c.Lease > MaxLease:
		return nil, fault.Invalid("/Lease", "Lease is %v; %v to %v", c.Lease, MinLease, MaxLease)
	case c.MaxTries < 1 || c.MaxTries > math.MaxInt32:
		return nil, fault.Invalid("/MaxTries", "MaxTries is %d; 1 to %d", c.MaxTries, math.MaxInt32)
	case c.Window < 0 || c.Keep < 0:
		return nil, fault.Invalid("/Window", "Window is %v and Keep %v; neither can be below 0", c.Window, c.Keep)
	}
	return &Ledger{c}, nil
}

// In gives the same Ledger for another project and scope. It costs nothing to make one for each tenant.
func (l *Ledger) In(project int64, scope string) *Ledger {
	c := l.c
	c.Project, c.Scope = project, scope
	return &Ledger{c}
}

// doubling is 1 s, doubled with each try, at most 5 min.
func doubling(try int) time.Duration {
	return min(5*time.Minute, time.Second<<min(max(try-1, 0), 10))
}

// Fingerprint makes the hash of a JSON payload, for [Work]: two that mean the same have one (RFC 8785's order of members and form of text,
// numbers by their exact decimal value), two that differ never do. For what is not JSON take sha256.Sum256 of its bytes.
func Fingerprint(payload []byte) ([]byte, error) {
	form, err := canon.Append(nil, payload)
	if err != nil {
		return nil, fault.Invalid("/payload", "the payload is not JSON that can be compared: %v", err).
			WithHint("a name that stands twice, a lone surrogate and bad UTF-8 are refused; take sha256.Sum256 of what is not JSON")
	}
	sum := sha256.Sum256(form)
	return sum[:], nil
}

// Find gives a key's claim and the newest 50 lines of its history, oldest first: [ErrNotFound].
func (l *Ledger) Find(ctx context.Context, key string) (Claim, []Note, error) {
	return l.c.Store.FindClaim(ctx, l.c.Project, l.c.Scope, key)
}

// Resolve is a person's word on a stuck key: Done (it did), Failed (it did not), or Retry (try again, even of a failed one). Give Key, As, the Fence you
// saw, Who and a Note; the rest is the Ledger's. What is to be tried again needs its message handed over once more: [ErrNotFound], [ErrChanged], [ErrConflict].
func (l *Ledger) Resolve(ctx context.Context, r Resolution) (Claim, error) {
	r.Project, r.Scope = l.c.Project, l.c.Scope
	out, err := l.c.Store.ResolveClaim(ctx, r)
	return out.Claim, err
}

const (
	sweepEvery  = 5 * time.Second
	forgetEvery = time.Minute
	sweepLimit  = 200
)

// Run keeps the store tidy until ctx ends: keys whose workers died show what became of them without being asked for, and what ended long ago is
// forgotten. Any number of processes may run it; without it nothing is done twice either, but the tables grow. It acts on all projects and scopes.
func (l *Ledger) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	var forgot time.Time
	for {
		l.sweep(ctx, "reap keys", l.c.Store.ReapClaims)
		if time.Since(forgot) >= forgetEvery {
			l.sweep(ctx, "forget keys", l.c.Store.ForgetClaims)
			forgot = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweep calls a step until it finds nothing more to do.
func (l *Ledger) sweep(ctx context.Context, what string, step func(context.Context, int) (int, error)) {
	for ctx.Err() == nil {
		n, err := step(ctx, sweepLimit)
		if err != nil && ctx.Err() == nil {
			l.c.Logger.ErrorContext(ctx, "the ledger could not be kept tidy; it is tried again", "step", what, "error", err)
		}
		if err != nil || n < sweepLimit {
			return
		}
	}
}
