// Package idempotency is the request ledger: a client that repeats a request under the same key gets the first answer
// again, and its effect happens once.
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
	Once(ctx context.Context, r Request, effect func(ctx context.Context) (answer []byte, err error)) (answer []byte, replay bool, err error)
}
