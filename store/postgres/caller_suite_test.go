package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/storetest"
	"github.com/onceward/onceward/webhook"
)

// byCallers is a store of which every publish and every event is made inside a transaction of a caller's own.
type byCallers struct {
	*DB
	areas   []string
	claims  bool // and every call for a key
	opened  func(ctx context.Context, url string) error
	publish func(ctx context.Context, s *byCallers, tx pgx.Tx, items []queue.Publish) ([]queue.Published, error)
	send    func(ctx context.Context, s *byCallers, tx pgx.Tx, events []webhook.NewEvent) ([]webhook.Sent, error)
	pool    *pgxpool.Pool // with the settings that a caller's connections have
	price   *standing
}

// standing is the price that stands in the store.
type standing struct {
	sync.Mutex
	price account.USD
}

// priced has the price of a publish stand in the store, from which alone a caller's transaction knows it.
func (s *byCallers) priced(ctx context.Context, price account.USD) error {
	s.price.Lock()
	defer s.price.Unlock()
	if s.price.price == price {
		return nil
	}
	err := s.SetPrice(context.WithoutCancel(ctx), price)
	if err == nil {
		s.price.price = price
	}
	return err
}

func (s *byCallers) Publish(ctx context.Context, items ...queue.Publish) (out []queue.Published, err error) {
	if s.publish == nil || s.carried(ctx) != nil {
		return s.DB.Publish(ctx, items...)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		out, err = s.publish(ctx, s, tx, items)
		return err
	})
	return out, err
}

func (s *byCallers) Send(ctx context.Context, events ...webhook.NewEvent) (out []webhook.Sent, err error) {
	if s.send == nil || s.carried(ctx) != nil {
		return s.DB.Send(ctx, events...)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		out, err = s.send(ctx, s, tx, events)
		return err
	})
	return out, err
}

func (s *byCallers) Close() error {
	s.pool.Close()
	return s.DB.Close()
}

// given gives the id that an event's client gave: none if it is not part of its request.
func given(e webhook.NewEvent) string {
	if e.Request == nil {
		return e.EventID
	}
	made := e
	if err := made.SetKey(e.Request.Key, ""); err == nil && bytes.Equal(made.Request.Hash, e.Request.Hash) {
		return ""
	}
	return e.EventID
}

// publishAreas are the suite's parts that are about publishing and sending; at length, all that publish and send much.
func publishAreas() []string {
	areas := []string{"publish", "content", "events", "account"}
	if os.Getenv("ONCEWARD_TEST_LONG") != "" {
		areas = append(areas, "audit", "receive", "wait")
	}
	return areas
}

// suiteByCallers runs the suite's parts that publish and send, in transactions of callers.
func suiteByCallers(t *testing.T, like byCallers) {
	storetest.Run(t, storetest.Backend{
		Dialect: storetest.Postgres,
		Areas:   like.areas,
		Open: func(t testing.TB) *storetest.Instance {
			url := pgtest.Database(t)
			open := func(t testing.TB) store.Store {
				db, err := Open(t.Context(), url, Options{})
				if err != nil {
					t.Fatal(err)
				}
				pool, err := pgxpool.New(context.WithoutCancel(t.Context()), url)
				if err != nil {
					t.Fatal(err)
				}
				if like.opened != nil {
					if err := like.opened(t.Context(), url); err != nil {
						t.Fatal(err)
					}
				}
				s := like
				s.DB, s.pool, s.price = db, pool, &standing{price: -1}
				return &s
			}
			s := open(t)
			db, err := sql.Open("pgx", url)
			if err != nil {
				t.Fatal(err)
			}
			return &storetest.Instance{Store: s, DB: db, Reopen: open}
		},
	})
}

func TestSuiteInCallersTransactions(t *testing.T) {
	t.Parallel()
	suiteByCallers(t, byCallers{
		areas: publishAreas(),
		publish: func(ctx context.Context, s *byCallers, tx pgx.Tx, items []queue.Publish) (out []queue.Published, err error) {
			for _, p := range items {
				if err := s.priced(ctx, p.Price); err != nil {
					return nil, err
				}
				one, err := queue.PublishTx(ctx, Tx(tx), p)
				if err != nil {
					return nil, err
				}
				out = append(out, one...)
			}
			return out, nil
		},
		send: func(ctx context.Context, _ *byCallers, tx pgx.Tx, events []webhook.NewEvent) ([]webhook.Sent, error) {
			events = slices.Clone(events)
			for i := range events {
				events[i].EventID = given(events[i])
			}
			return webhook.SendTx(ctx, Tx(tx), events...)
		},
	})
}
