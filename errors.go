package onceward

import (
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/migrate"
)

// Error is a failure that a program can act on: its Code, the Field of the request at fault as a JSON pointer, how long to
// wait before trying again, and beside them a sentence and a hint for people. Every package here answers it, wrapped or
// not: find it with [errors.AsType], or compare with a package's sentinels, like queue.ErrQueueNotFound, by [errors.Is].
type Error = fault.Error

// Code names a kind of [Error], as the HTTP contract spells it: "INVALID_ARGUMENT", "UNAVAILABLE" and so on.
type Code = fault.Code

// NewerError is what [New], [Migrate] and [Migrations] answer of a store that a newer version wrote.
type NewerError = migrate.NewerError
