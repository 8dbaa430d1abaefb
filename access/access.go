// Package access says who may do what: projects, their keys and the scopes of a key.
package access

import (
	"context"
	"crypto/sha256"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

// ErrNotFound is for errors.Is.
var ErrNotFound = fault.Sentinel(fault.NotFound)

// DefaultProject is the project that every store has.
const DefaultProject int64 = 1

// Scope is what a key may do.
type Scope string

// The scopes. Admin has all of its project; Root has also the projects and the keys of any.
const (
	Publish  Scope = "publish"
	Consume  Scope = "consume"
	Webhooks Scope = "webhooks"
	Read     Scope = "read"
	Admin    Scope = "admin"
	Root     Scope = "root"
)

// scopes are all there are, in the order in which they are shown.
var scopes = []Scope{Publish, Consume, Webhooks, Read, Admin, Root}

// Key is a bearer key without its secret, which is kept only as a hash.
type Key struct {
	ID        int64
	Project   int64
	Name      string
	Scopes    []Scope
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not
}

// May reports whether the key has scope s, by itself or by admin or root.
func (k Key) May(s Scope) bool {
	return slices.Contains(k.Scopes, Root) || s != Root && slices.Contains(k.Scopes, Admin) || slices.Contains(k.Scopes, s)
}

// Live reports whether the key is neither revoked nor expired at now.
func (k Key) Live(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Hash is how a key's secret is kept and looked up. The secrets are long and random, so a plain hash is enough.
func Hash(secret string) []byte {
	h := sha256.Sum256([]byte("onceward key\x00" + secret))
	return h[:]
}

// Store is what the program itself asks of keys. [Registry] is what people do with them.
type Store interface {
	// KeyByHash finds a key, with whether it is live by the database's clock: ErrNotFound.
	KeyByHash(ctx context.Context, hash []byte) (k Key, live bool, err error)
	// SetRootKey makes hash the default project's root key named name, in place of the one of that name. A key of that hash that was
	// revoked stays revoked: a restart is no way around it.
	SetRootKey(ctx context.Context, name string, hash []byte) error
	// HasKeys reports whether the store has any key.
	HasKeys(ctx context.Context) (bool, error)
}
