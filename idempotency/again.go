package idempotency

import (
	"bytes"

	"github.com/onceward/onceward/internal/fault"
)

// ErrKeyReused is for errors.Is: the key is known from another request.
var ErrKeyReused = fault.Sentinel(fault.IdempotencyKeyReused)

// Again refuses the request where its key is known from one with another hash: [ErrKeyReused]. nil if it is the same request again.
func (r Request) Again(hash []byte) error {
	if bytes.Equal(hash, r.Hash) {
		return nil
	}
	return reused(r.Key)
}

func reused(key string) error {
	return fault.New(fault.IdempotencyKeyReused, "the idempotency key %q was used for another request", key).
		WithHint("a key stands for one request: make a new key for a new one, or send the first one again")
}
