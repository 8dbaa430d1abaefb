package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// Store is what the API asks of a store.
type Store interface {
	// KeyByHash finds a key, with whether it is live by the database's clock: access.ErrNotFound.
	KeyByHash(ctx context.Context, hash []byte) (k access.Key, live bool, err error)
	// Ping answers nil if the store can be reached and written to.
	Ping(ctx context.Context) error

	access.Registry
	account.Store
	idempotency.Store
	ledger.Store
	ledger.Lister
	queue.Admin
	queue.Store
	queue.Redriver
	webhook.Endpoints
	webhook.Deliveries
	webhook.Subscriptions
}

// Config says what the API serves. Store and IDs are required.
type Config struct {
	Store Store
	IDs   *ids.Codec    // of the store's secret
	Rules webhook.Rules // for endpoints; a Sealer is needed to make one

	// PublishPrice is what a project is charged for each message that it publishes. Default: nothing, and then nothing is metered.
	PublishPrice account.USD

	Logger *slog.Logger // for what a client is not told: slog.Default
	// Ready answers /readyz: nil is ready. Default: Store.Ping.
	Ready func(context.Context) error
	// Stop is closed when the server is to end: long polls then end empty. nil: never.
	Stop <-chan struct{}
	// Observe is told of each request: its route as it is written in the contract ("other" for a path that is none), and how long
	// it took. Status 499 is a client that went away unanswered. nil: nobody is.
	Observe func(route, method string, status int, took time.Duration)
}

type server struct {
	Config
	mux     *http.ServeMux
	keys    keyring
	rooms   rooms
	stopped context.Context // ends with Stop
	warned  atomic.Int64    // the second of the last warning that the store is away
}

// New makes the handler of everything under /v1, /healthz and /readyz. It panics without a Store or IDs.
func New(c Config) http.Handler {
	if c.Store == nil || c.IDs == nil {
		panic("api: New without Store or IDs")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Ready == nil {
		c.Ready = c.Store.Ping
	}
	if c.Observe == nil {
		c.Observe = func(string, string, int, time.Duration) {}
	}
	s := &server{Config: c, mux: http.NewServeMux(), rooms: newRooms(), stopped: stopContext(c.Stop)}
	s.keys.find = c.Store.KeyByHash
	s.register(append(routes(), s.pages()...))
	return s
}

// stopContext gives a context that ends when stop is closed.
func stopContext(stop <-chan struct{}) context.Context {
	if stop == nil {
		return context.Background()
	}
	// A child of the standard kind, made once, so that the polls that hang on it need no goroutine each.
	ctx, cancel := context.WithCancel(stopping{context.Background(), stop})
	context.AfterFunc(ctx, cancel)
	return ctx
}

type stopping struct {
	context.Context
	done <-chan struct{}
}

func (s stopping) Done() <-chan struct{} { return s.done }

func (s stopping) Err() error {
	select {
	case <-s.done:
		return context.Canceled
	default:
		return nil
	}
}
