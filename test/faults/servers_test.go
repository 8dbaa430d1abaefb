package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
)

// H-Q21: two, three and five servers share one PostgreSQL. One is killed at a random instant under load; the others carry on, and nothing
// that was answered is missing, acked twice or sent more often than what was under way just then.
func TestServersShareAndOneIsKilled(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			shareAndKill(t, pgtest.Database(t), n, size(1, 12))
		})
	}
}

func shareAndKill(t *testing.T, database string, n, kills int) {
	f := startFleet(t, database+"&pool_max_conns=5", n)
	r := receiveCrowd(t, 40*time.Millisecond)
	x := &traffic{f: f, lenient: true, endpoints: 3, inFlight: 6, lease: 10}
	x.begin(r)
	x.more(60 * n)
	x.shared()
	posts := 0
	for range kills {
		x.more(20 * n)
		<-time.After(rand.N(500 * time.Millisecond)) // any instant of the load will do
		dead := f.at(rand.N(n))
		dead.kill()
		held := heldBy(t, database, dead)
		t.Logf("one of %d was killed with %d deliveries under way", n, held)
		posts += held
		f.replace(dead)
		x.more(20 * n)
		if kills > 1 {
			f.replace(nil, f.spawn())
		}
	}
	x.finish(r, kills*eachConsume*2*n, posts)
}

// shared sees that each server comes to give and to send at least a third of what would be fair.
func (x *traffic) shared() {
	t := x.f.t
	t.Helper()
	var given, sent []int
	t.Cleanup(func() { t.Logf("before a kill the servers gave %v messages and sent %v deliveries", given, sent) })
	fair := func(l []int) bool {
		sum := 0
		for _, n := range l {
			sum += n
		}
		return slices.Min(l)*3*len(l) >= sum && sum >= 20*len(l)
	}
	eventually(t, 2*time.Minute, "each server does a third of its share", func() bool {
		given, sent = nil, nil
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, s := range x.f.up {
			given, sent = append(given, x.consumed[s]), append(sent, s.sent())
		}
		return fair(given) && fair(sent)
	})
}

// heldBy is how many deliveries a dead server holds.
func heldBy(t testing.TB, database string, dead *child) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	err = conn.QueryRow(t.Context(), "SELECT count(*) FROM claims WHERE kind = 'd' AND state IN ('claimed', 'started') AND owner LIKE $1",
		fmt.Sprintf("%%/%d/%%", dead.cmd.Process.Pid)).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
