package idempotency

import (
	"context"
	"sync/atomic"
)

// Operation is what a handler may know of the request that it serves.
type Operation struct {
	// ID is the same however often the request is repeated and its handler begun anew. What the work does elsewhere goes there under this id: as
	// the key of a publish, as the Idempotency-Key of a call. A request without a key has one of its own.
	ID string
	// Attempt is 1 for the first handler that was begun for the request. Beyond that an earlier one died, panicked, or gave an answer that is not
	// kept: its work may be there in part.
	Attempt int
}

type operation struct {
	Operation
	notBegun atomic.Bool
}

type operationKey struct{}

func (o *operation) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, operationKey{}, o)
}

// operationOf gives the one that ctx carries, or none.
func operationOf(ctx context.Context) *operation {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		return o
	}
	return new(operation)
}

// FromContext gives the operation of a handler's context; false outside of a [Middleware], and for what is safe to repeat.
func FromContext(ctx context.Context) (Operation, bool) {
	o, ok := ctx.Value(operationKey{}).(*operation)
	if !ok {
		return Operation{}, false
	}
	return o.Operation, true
}

// NotBegun says that the request is refused before its work began: nothing is kept of its answer, and the key is free, for another request too.
// It is for what is wrong with the request itself, so that its client can put it right under the same key. Outside of a [Middleware] it does nothing.
func NotBegun(ctx context.Context) {
	if o, ok := ctx.Value(operationKey{}).(*operation); ok {
		o.notBegun.Store(true)
	}
}
