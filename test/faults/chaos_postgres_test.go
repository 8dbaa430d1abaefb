//go:build linux

package faults

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
)

// comesBack is how long after a fault's end all calls must be answered again.
const comesBack = 15 * time.Second

// chaos is a traffic over servers whose ground is taken away, again and again.
type chaos struct {
	*traffic
	r *crowd
}

func startChaos(t *testing.T, store string, servers int) *chaos {
	return startChaosOn(startFleet(t, store, servers), receiveCrowd(t, 10*time.Millisecond))
}

func startChaosOn(f *fleet, r *crowd) *chaos {
	c := &chaos{r: r}
	c.traffic = &traffic{f: f, lenient: true, endpoints: 2, inFlight: 6, lease: 10}
	c.begin(c.r)
	c.more(40)
	return c
}

// fault makes a fault under the load and ends it; then calls must be answered again, and things be delivered, within what is promised.
func (c *chaos) fault(what string, fault func()) {
	t := c.f.t
	t.Helper()
	fault()
	over := time.Now()
	for i := range c.servers {
		s := c.f.at(i)
		eventually(t, comesBack, fmt.Sprintf("%s is over, and server %d answers", what, i), func() bool {
			return s.post(t.Context(), "/v1/queue/create", object{"name": "jobs", "max_receive_count": 20}).ok()
		})
	}
	c.more(20)
	t.Logf("%s: %v after it 20 more calls are answered", what, time.Since(over).Round(time.Millisecond))
}

// rest sees that nothing that was answered is missing, and that a receiver that dedups by our key saw one effect of each. What was received or sent
// again meanwhile is bounded by the ladder and by max_receive_count alone: a lease may be over before the fault is.
func (c *chaos) rest() { c.finish(c.r, 1<<30, 1<<30) }

// PostgreSQL is ended, killed, loses a process or all connections, and is frozen, one after the other and under load.
func TestChaosPostgres(t *testing.T) {
	t.Parallel()
	db := cluster(t)
	c := startChaos(t, db.URL("postgres")+"&pool_max_conns=6", 2)
	up := func() {
		if err := db.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	signal := func(s syscall.Signal) {
		if err := db.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	for range size(1, 10) {
		c.fault("a restart", func() { db.Down(); up() })
		c.fault("SIGKILL of all of the database", func() { signal(syscall.SIGKILL); up() })
		c.fault("SIGKILL of one of its processes", func() {
			syscall.Kill(oneBackend(t, db), syscall.SIGKILL) // it restarts by itself, and cuts every connection
		})
		c.fault("every connection cut", func() {
			for range 20 {
				onDatabase(t, db, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'onceward'", nil)
				time.Sleep(50 * time.Millisecond)
			}
		})
		c.fault("the database frozen", func() {
			signal(syscall.SIGSTOP)
			defer signal(syscall.SIGCONT)
			frozen, cancel := context.WithTimeout(t.Context(), size(4*time.Second, 90*time.Second))
			defer cancel()
			began := time.Now()
			if a := c.f.at(0).post(frozen, "/v1/queue/create", object{"name": "jobs"}); frozen.Err() == nil && !a.away() {
				t.Errorf("a call to a frozen database: %v after %v", a, time.Since(began))
			} else if took := time.Since(began); took > time.Minute {
				t.Errorf("a frozen database keeps a call for %v", took)
			}
			<-frozen.Done()
		})
	}
	c.rest()
}

// oneBackend is a process of the database that serves one of ours.
func oneBackend(t testing.TB, db *pgtest.Cluster) (pid int) {
	t.Helper()
	onDatabase(t, db, "SELECT pid FROM pg_stat_activity WHERE application_name = 'onceward' LIMIT 1", &pid)
	return pid
}

// onDatabase runs a statement on a connection of its own, to gets its one number; nil: whatever comes of it.
func onDatabase(t testing.TB, db *pgtest.Cluster, sql string, to *int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if to == nil {
		_, err = conn.Exec(t.Context(), sql)
	} else {
		err = conn.QueryRow(t.Context(), sql).Scan(to)
	}
	if err != nil {
		t.Fatal(err)
	}
}
