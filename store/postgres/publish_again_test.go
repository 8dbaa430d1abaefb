package postgres

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// failing makes statements fail before they are sent, as long as left is above zero.
type failing struct {
	mark string // in their text
	left atomic.Int64
}

func (f *failing) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	if strings.Contains(d.SQL, f.mark) && f.left.Add(-1) >= 0 {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	return ctx
}

func (f *failing) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// openFailing gives a server some of whose statements fail.
func openFailing(t testing.TB, f *failing) *DB {
	t.Helper()
	url := pgtest.Database(t)
	db := openAt(t, url)
	cfg, err := poolConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.Tracer = f
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	db.pool.Close()
	db.pool = pool
	return db
}

// A replay whose first answer cannot be read at once must not have the messages published again that share its commit.
func TestPublishNotStoredAgain(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]int64{"once": 1, "for good": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &failing{mark: "FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS u(project, queue, key, n)"}
			db := openFailing(t, f)
			make1(t, db, "jobs")
			keyed := queue.Publish{Project: 1, Queue: "jobs", Body: []byte("1"), Key: "k", Hash: make([]byte, 32)}
			first := publish(t, db, keyed)[0]
			f.left.Store(fails)
			out, err := db.Publish(t.Context(), queue.Publish{Project: 1, Queue: "jobs", Body: []byte("2")}, keyed)
			if err != nil || out[0].Err != nil || out[0].ID == 0 {
				t.Fatalf("the new message: %+v, %v", out, err)
			}
			switch {
			case fails == 1 && (out[1].Err != nil || out[1].ID != first.ID):
				t.Errorf("the replay: %+v, want the id %d", out[1], first.ID)
			case fails > 1 && out[1].Err == nil:
				t.Errorf("the replay: %+v, want an error", out[1])
			}
			if n := count(t, db, "SELECT count(*) FROM messages"); n != 2 {
				t.Errorf("%d messages, want 2", n)
			}
		})
	}
}
