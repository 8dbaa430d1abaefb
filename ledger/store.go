package ledger

import (
	"context"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

// Sentinels of this package, for errors.Is.
var (
	ErrNotFound = fault.Sentinel(fault.NotFound)     // no such key in the project
	ErrChanged  = fault.Sentinel(fault.ClaimChanged) // the claim moved since the fence the caller saw
	ErrConflict = fault.Sentinel(fault.Conflict)     // the claim's state does not allow it
)

// Call is a request for a key, made if it is not there.
type Call struct {
	Project int64
	Scope   string
	Key     string
	Grant
	Policy   Policy        // of a key made by this call; an existing key keeps its own
	MaxTries int           // the same
	Window   time.Duration // the same; 0 is for ever
	Keep     time.Duration // the same: how long the key is remembered once it is done or failed; 0 is Memory
	OriginAt time.Time     // the same; zero: the message's, or now

	// The message that is to carry the key, and the lease under which it is held; 0 if none. What becomes of the one reaches the other: see
	// Word.Settle and Beat. Its newest grant's message is a key's. A lost lease is granted nothing (Ruling.Lost).
	MessageID int64
	Lease     int
}

// Answer is what became of a Call.
type Answer struct {
	Ruling
	Claim Claim // as it is now; zero if there is none, and none was made
	Err   error // why nothing was done: the message that was to carry the key is gone, is a dead letter, or carries another
}

// Word is what a holder says of its grant.
type Word struct {
	Project int64
	Scope   string
	Key     string
	Fence   int64

	Kind    Kind
	RetryIn time.Duration
	Error   string
	Result  []byte

	Settle bool // acks, releases or dead-letters the message that carries the key in the same transaction, if the lease it was claimed under still holds
}

// Beat is a holder's Begin, or its heartbeat.
type Beat struct {
	Project int64
	Scope   string
	Key     string
	Fence   int64
	Lease   time.Duration
}

// Resolution is a person's act on a claim.
type Resolution struct {
	Project int64
	Scope   string
	Key     string
	As      State // Done, Retry or Failed
	Fence   int64 // the fence the person saw; 0 is not compared
	Who     string
	Note    string
}

// Resolved is what became of a person's act.
type Resolved struct {
	Claim    Claim
	Requeued bool // the dead letter that carries the key went back to its queue with it
}

// Note is one line of a claim's history: grants, outcomes, a person's acts, and the words of workers fenced out.
type Note struct {
	At     time.Time
	What   string // granted, begun, done, definite, …, fenced, resolved, reopened, closed
	Fence  int64
	Who    string
	Detail string
}

// Store keeps claims. Each method is one transaction; the batched ones answer one result for each item, in order. Of
// equal keys in one batch one is granted, the others are Busy or Mismatch. The time is the database's.
type Store interface {
	// Claim asks for keys, making those that are not there.
	Claim(ctx context.Context, calls ...Call) ([]Answer, error)
	// Begin makes the line before the effect durable, or extends the holder's lease.
	Begin(ctx context.Context, beats ...Beat) ([]Applied, error)
	// SettleClaims applies outcomes. A fenced-out worker's word changes nothing and is recorded.
	SettleClaims(ctx context.Context, words ...Word) ([]Applied, error)
	// ReapClaims moves at most limit claims whose holders are gone, or whose wait can lead nowhere. It acts only on
	// what it saw, and answers how many it moved.
	ReapClaims(ctx context.Context, limit int) (int, error)
	// ResolveClaim applies a person's act and records it: ErrNotFound, ErrChanged, ErrConflict.
	ResolveClaim(ctx context.Context, r Resolution) (Resolved, error)
	// ReopenClaim is a redrive of one key by itself: ErrNotFound, ErrConflict.
	ReopenClaim(ctx context.Context, project int64, scope, key, who string) (Claim, error)
	// FindClaim gives a claim with its newest 50 notes, oldest first: ErrNotFound.
	FindClaim(ctx context.Context, project int64, scope, key string) (Claim, []Note, error)
	// ForgetClaims deletes at most limit claims that were done or failed longer ago than they are to be remembered.
	ForgetClaims(ctx context.Context, limit int) (int, error)
}

// Lister shows what keys there are.
type Lister interface {
	// Claims lists a project's keys in a state, newest first, without their results: at most limit, before the claim of id after (0: from the
	// newest).
	Claims(ctx context.Context, project int64, state State, after int64, limit int) ([]Claim, error)
}

// TxStore is a Store in a database that the caller owns, T being its transaction: a *sql.Tx, say. Every call of the
// Store with a context that carries a transaction is part of it, and is kept or undone with it.
type TxStore[T any] interface {
	Store
	// InTx runs f in a transaction, which its context carries: committed if f answers nil, else undone. f is run again if the
	// database undid it for the sake of another (a deadlock, a serialisation failure), so it must do nothing outside of tx. A key that it claims
	// is locked until the end: whoever else wants it waits.
	InTx(ctx context.Context, f func(ctx context.Context, tx T) error) error
	// Join gives a context that carries a transaction which the caller began and ends. A word that was not Applied in it is the
	// caller's sign to roll back: another has the key.
	Join(ctx context.Context, tx T) context.Context
}
