// Package idempotency is the request ledger: a client that repeats a request under the same key gets the first answer
// again, and its effect happens once.
//
// [New] makes [Middleware] for net/http over a [ledger.Store], Onceward's own or one in your database (store/sqldb). A request with an
// Idempotency-Key claims its key before the handler runs, and its answer is kept before the client has it:
//
//   - the same request again: the first answer, status, chosen headers and body, with the header Idempotent-Replayed: true
//   - the first one is still under way: 409 IDEMPOTENCY_IN_FLIGHT and Retry-After
//   - another request under the key: 409 IDEMPOTENCY_KEY_REUSED, or 422
//   - the process of the first died: taken over when its lease is over, under the same [Operation]
//   - it was answered 5xx, 429, 401, 408 or 425, or it panicked: nothing is kept; the request is done anew, under the same Operation
//   - the handler said [NotBegun]: nothing is kept, and the key is free for another request too
//
// Keys are apart by tenant, method and route. A request is the same if method, path, query, content type and body are; JSON is compared by
// what it means. A client that goes away ends nothing: the work is finished, and its answer kept for when it comes again.
//
// An answer is held back until it is kept, and Flush does nothing until then. One that is larger than is kept streams from there on, and ends when
// its record is made; a repeated request is told that it was done. Informational answers (1xx) and trailers are not passed on. A handler that streams for long,
// or takes over its connection, has no place behind this.
//
// A handler's work is over when it returns: the key of one that answers 5xx while a goroutine of it still works, as [net/http.TimeoutHandler] within a
// Middleware does, is free at once, and the repeated request works beside it. [Config].Timeout ends the handler's context instead, and keeps the key.
//
// The record follows the work, so a process that dies between the two leaves work that is done again, under the same Operation. With [Tx] that cannot be:
// the handler's own transaction has both.
package idempotency

import (
	"context"
	"time"
)

// Window is how long a request key is remembered.
const Window = 24 * time.Hour

// Request names a request by its key.
type Request struct {
	Project int64
	Scope   string // method and path
	Key     string // 1 to 255 printable ASCII characters
	Hash    []byte // of the request without its key, 32 bytes: another request under the key is refused
}

// Store remembers answers.
type Store interface {
	// Once runs effect and keeps its answer under the request's key in one transaction, which effect's context carries:
	// every call of the same store with it is part of that transaction. A second call of the key waits for the first
	// and gets its answer with replay true; another Hash gets IDEMPOTENCY_KEY_REUSED. If effect fails, nothing is kept and the key is free.
	// effect may be run again, after all that it did was undone.
	Once(ctx context.Context, r Request, effect func(ctx context.Context) (answer []byte, err error)) (answer []byte, replay bool, err error)
}
