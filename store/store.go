// Package store names what a store must do. Its folders are the stores: sqlite, embedded, one file and one process; and
// postgres, for any number of servers. Both pass the one suite in storetest.
package store

import (
	"context"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// Store is everything that the domains ask of a store.
type Store interface {
	access.Store
	access.Registry
	account.Store
	idempotency.Store
	queue.Admin
	queue.Store
	queue.Redriver
	ledger.Store
	ledger.Lister
	webhook.Endpoints
	webhook.Deliveries
	webhook.Sender
	webhook.Subscriptions

	// Secret is the store's own, 32 bytes made at its first start: ids are made with it.
	Secret() []byte
	// Ping answers nil if the store can be reached and written to.
	Ping(ctx context.Context) error
	// Close waits for what was accepted, then lets go of the store.
	Close() error
}
