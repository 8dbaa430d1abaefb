package onceward

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/internal/beat"
	"github.com/onceward/onceward/internal/group"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/webhook"
)

// Server is an open store, the API over it, and what works on it in the background. Several servers may share one
// PostgreSQL store.
type Server struct {
	config   Config
	store    store.Store
	ids      *ids.Codec
	rules    webhook.Rules
	handler  http.Handler
	metrics  *metrics
	beat     *beat.Beat
	firstKey string

	stopping  chan struct{}
	stop      sync.Once
	closing   sync.Once
	closeErr  error
	workerEnd func(context.Context) error
	pusherEnd func(context.Context) error
}

// New opens the store, brings its schema up to date, and makes the server over it. It refuses, with a sentence, a config
// that is out of range, a store that cannot be reached, that a newer version wrote or that another process has (SQLite), and a
// secrets key that is not the store's.
func New(ctx context.Context, c Config) (*Server, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	where, err := parseStore(c.Store)
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, metrics: newMetrics(), beat: beat.New(pace), stopping: make(chan struct{})}
	if s.store, err = openStore(ctx, where, c.Logger, s.metrics.commit); err != nil {
		return nil, err
	}
	if err := s.build(ctx, where); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) build(ctx context.Context, where storeURL) error {
	c := s.config
	if err := s.sealer(ctx, where); err != nil {
		return err
	}
	if err := s.setKey(ctx); err != nil {
		return err
	}
	if db, ok := s.store.(callersStore); ok {
		if err := db.SetPrice(ctx, c.PublishPrice); err != nil {
			return err
		}
	}
	s.ids = ids.New(s.store.Secret())
	s.handler = api.New(api.Config{
		Store: s.store, IDs: s.ids, Rules: s.rules, Logger: c.Logger, Stop: s.stopping, Observe: s.metrics.request, PublishPrice: c.PublishPrice,
	})
	worker, err := webhook.NewWorker(webhook.WorkerConfig{
		Store: sender{s.store, s.metrics}, IDs: s.ids, Rules: s.rules, Slack: c.DeliverySlack, Concurrency: c.SendConcurrency,
		Grace: c.Grace, Owner: owner(), Logger: c.Logger, Observe: s.metrics.attempt, Dial: c.Dial,
	})
	if err != nil {
		return err
	}
	s.workerEnd = worker.Run
	pusher, err := webhook.NewPusher(webhook.PusherConfig{
		Store: s.store, IDs: s.ids, Rules: s.rules, Slack: c.DeliverySlack, Grace: c.Grace, Owner: owner(), Rest: s.beat.Left, Logger: c.Logger, Dial: c.Dial,
	})
	if err != nil {
		return err
	}
	s.pusherEnd = pusher.Run
	if c.Registry != nil {
		return s.metrics.register(c.Registry, s.store)
	}
	return nil
}

// callersStore is a store to which messages are published beside its servers, inside transactions of callers' own: the price stands in it.
type callersStore interface {
	SetPrice(ctx context.Context, price account.USD) error
}

// sealer reads or makes the secrets key and sees that it is the store's.
func (s *Server) sealer(ctx context.Context, where storeURL) error {
	key, made, err := s.config.secretsKey(where)
	if err != nil {
		return err
	}
	sealer, err := webhook.NewSealer(key)
	if err != nil {
		return err
	}
	s.rules = webhook.Rules{AllowPrivate: s.config.AllowPrivateNetworks, Sealer: sealer}
	e, err := s.anEndpoint(ctx)
	if err != nil || e == nil || len(e.Secrets) == 0 {
		return err
	}
	if _, err := sealer.Open(e.Project, e.Secrets[0].Sealed); err == nil {
		return nil
	}
	if made != "" {
		return errors.Join(fmt.Errorf("the store has endpoints whose secrets were sealed with a key that is not in %s: bring that key back", made), os.Remove(made))
	}
	return errors.New("the secrets key is not the one that this store's endpoint secrets were sealed with")
}

// anEndpoint finds one of any project; nil if there is none.
func (s *Server) anEndpoint(ctx context.Context) (*webhook.Endpoint, error) {
	for after := int64(0); ; {
		projects, err := s.store.Projects(ctx, after, mostProjects)
		if err != nil || len(projects) == 0 {
			return nil, err
		}
		for _, p := range projects {
			some, err := s.store.Endpoints(ctx, webhook.Filter{Project: p.ID, Page: queue.Page{Limit: 1}})
			if err != nil {
				return nil, err
			}
			if len(some) > 0 {
				return &some[0], nil
			}
			after = p.ID
		}
	}
}

// mostProjects is how many are asked for at a time.
const mostProjects = 100

// setKey sets the key of the config, or makes the first one of an empty store.
func (s *Server) setKey(ctx context.Context) error {
	if k := s.config.APIKey; k != "" {
		if err := s.store.SetRootKey(ctx, access.Configured, access.Hash(k)); err != nil {
			return err
		}
		_, live, err := s.store.KeyByHash(ctx, access.Hash(k))
		if err == nil && !live {
			s.config.Logger.WarnContext(ctx, "the configured API key was revoked and opens nothing; configure another one")
		}
		return err
	}
	has, err := s.store.HasKeys(ctx)
	if err != nil || has {
		return err
	}
	var b [4]byte
	rand.Read(b[:])
	key := access.NewSecret()
	// Two servers may do this at once, each on an empty store: each key is kept under a name of its own, so both work.
	if err := s.store.SetRootKey(ctx, "first-"+hex.EncodeToString(b[:]), access.Hash(key)); err != nil {
		return err
	}
	s.firstKey = key
	return nil
}

// owner names this process in what it holds, for people who look.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var b [3]byte
	rand.Read(b[:])
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), hex.EncodeToString(b[:]))
}

// FirstKey gives the API key that New made on an empty store; empty if it made none. It is kept nowhere in clear: show it now.
func (s *Server) FirstKey() string { return s.firstKey }

// Handler answers the HTTP API. It may be served before Run begins: events are then kept, and sent once it does.
func (s *Server) Handler() http.Handler { return s.handler }

// Run sends what is due and keeps the store in order, until ctx ends; then it lets what is being sent finish within the
// grace and gives back the rest. A store that is away is waited for. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.Stop)()
	parts := []group.Part{{Name: "webhook worker", Run: s.workerEnd}, {Name: "pusher", Run: s.pusherEnd}}
	for _, d := range s.duties() {
		parts = append(parts, group.Part{Name: d.name, Run: d.run})
	}
	return group.Run(ctx, group.Limits{Soft: s.config.Grace + 4*time.Second, Hard: time.Second}, parts...)
}

// Stop ends long polls with an empty answer, now and from now on. Run does it when its context ends.
func (s *Server) Stop() { s.stop.Do(func() { close(s.stopping) }) }

// Close waits for what was accepted and lets go of the store. Call it after Run has returned and nothing is being served.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.Stop()
		s.closeErr = s.store.Close()
	})
	return s.closeErr
}
