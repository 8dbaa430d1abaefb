package faults

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const pool = 6 // connections of each server; one more hears of new work

// H-Q13: PostgreSQL is restarted under load, again and again, with two servers on it. Nothing that was answered is missing, no server ever
// has more connections than its pool, and afterwards one server hears at once of what the other published.
func TestPostgresRestartUnderLoad(t *testing.T) {
	t.Parallel()
	db := cluster(t)
	at := func(name string) string {
		return fmt.Sprintf("%s&pool_max_conns=%d&application_name=%s", db.URL("postgres"), pool, name)
	}
	a, b, r := serve(t, at("server-a")), serve(t, at("server-b")), receive(t, nil)
	scene(t, a, r)
	a.must(t, "POST", "/v1/queue/create", object{"name": "woken"})
	l := startLoad(t, a, 4, false)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	var most atomic.Int64
	wg.Go(func() { watchConnections(ctx, db.URL("postgres"), &most) })
	for range 8 { // waiters, as many as there are connections and more
		wg.Go(func() {
			for ctx.Err() == nil {
				if got := b.post(ctx, "/v1/queue/consume", object{"queue": "woken", "wait_seconds": 5}); ctx.Err() == nil && !got.ok() {
					if !got.away() {
						t.Errorf("a poll: %v", got)
					}
					select {
					case <-ctx.Done():
					case <-time.After(100 * time.Millisecond):
					}
				}
			}
		})
	}
	for range size(3, 20) {
		l.more(40)
		db.Down()
		if err := db.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.more(40)
	stop()
	wg.Wait()
	l.check(a, r)
	if n := most.Load(); n == 0 || n > pool+1 {
		t.Errorf("a server had %d connections at once; its pool is %d, and one listens", n, pool)
	}
	hears(t, db.URL("postgres"), a, b)
}

// watchConnections keeps the most connections that one server had.
func watchConnections(ctx context.Context, url string, most *atomic.Int64) {
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, url)
		for err == nil && ctx.Err() == nil {
			var n int64
			err = conn.QueryRow(ctx, `SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM pg_stat_activity
				WHERE application_name LIKE 'server-_' GROUP BY application_name) x`).Scan(&n)
			most.Store(max(most.Load(), n))
			time.Sleep(5 * time.Millisecond)
		}
		if conn != nil {
			conn.Close(context.WithoutCancel(ctx))
		}
	}
}

// hears sees that both servers listen again, and that a poll on one is woken by a publish on the other before its own next look.
func hears(t *testing.T, url string, a, b *client) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	eventually(t, 30*time.Second, "both servers listen", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(DISTINCT application_name) FROM pg_stat_activity WHERE query ILIKE 'LISTEN%'`).Scan(&n)
		return err == nil && n == 2
	})
	quickest := time.Hour
	for range 10 {
		got := make(chan time.Time, 1)
		began := make(chan struct{})
		go func() {
			close(began)
			m := b.post(t.Context(), "/v1/queue/consume", object{"queue": "woken", "wait_seconds": 20})
			if len(m.items("items")) != 1 {
				t.Errorf("the poll got %v", m)
			}
			got <- time.Now()
		}()
		<-began
		a.must(t, "POST", "/v1/queue/publish", object{"queue": "woken", "payload": 1})
		sent := time.Now()
		quickest = min(quickest, (<-got).Sub(sent))
	}
	if quickest > 250*time.Millisecond { // of ten: a poll alone is seldom so quick, and the machine seldom so slow
		t.Errorf("of ten publishes on one server the quickest was received on the other after %v", quickest)
	}
}
