//go:build linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// The database's machine dies under load and its synchronous standby is promoted. Servers that were given both addresses go on by themselves,
// and nothing that was answered is missing.
func TestChaosStandbyPromoted(t *testing.T) {
	t.Parallel()
	primary := cluster(t)
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { standby.Close() })
	onDatabase(t, primary, "ALTER SYSTEM SET synchronous_standby_names = 'standby'", nil)
	onDatabase(t, primary, "SELECT pg_reload_conf()", nil)
	synchronous := 0
	eventually(t, 20*time.Second, "the standby is synchronous", func() bool {
		onDatabase(t, primary, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", &synchronous)
		return synchronous == 1
	})
	hosts := func(c *pgtest.Cluster) string {
		_, at, _ := strings.Cut(c.URL("postgres"), "@")
		at, _, _ = strings.Cut(at, "/")
		return at
	}
	both := fmt.Sprintf("postgres://postgres@%s,%s/postgres?sslmode=disable&target_session_attrs=read-write&pool_max_conns=6", hosts(primary), hosts(standby))
	c := startChaos(t, both, 2)
	c.fault("the primary's end, and the standby's promotion", func() {
		if err := primary.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := standby.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	c.rest()
}

// The disk of PostgreSQL is full, the write-ahead log's too: calls are refused, and once there is room nothing that was answered is missing.
func TestChaosPostgresDiskFull(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "owdisk") // short: PostgreSQL's socket is beneath it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=160m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v; it needs root", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := pgtest.Start(t.Context(), pgtest.Options{Fsync: true, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c := startChaos(t, db.URL("postgres")+"&pool_max_conns=6", 2)
	s := c.f.at(0)
	s.must(t, "POST", "/v1/queue/create", object{"name": "aside"})
	large, kept := strings.Repeat("a", 200<<10), 0
	c.fault("a full disk", func() {
		filler := filepath.Join(dir, "filler")
		if !fill(t, filler) {
			t.Error("the disk never was full")
		}
		eventually(t, time.Minute, "a publish is refused for want of room", func() bool {
			switch a := s.post(t.Context(), "/v1/queue/publish", object{"queue": "aside", "payload": large}); {
			case a.ok():
				kept++
				return false
			case !a.away():
				t.Errorf("a publish on a full disk: %v", a)
			}
			return true
		})
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if db.Ended() { // it gives up where it cannot write its log; whoever made room starts it
			t.Log("PostgreSQL ended on the full disk")
			if err := db.Up(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n := s.stats(t, "aside")("message_count"); n < kept {
		t.Errorf("%d large messages are there; %d were answered", n, kept)
	}
	c.rest()
}

// The servers' clocks are an hour from the database's, before and behind: by its clock all deadlines are, and nobody notices. It is the database that is
// moved, since a Go program reads the kernel's clock.
func TestChaosClockAnHourOff(t *testing.T) {
	t.Parallel()
	const library = "/usr/lib/*/faketime/libfaketime.so.1"
	found, _ := filepath.Glob(library)
	if len(found) == 0 {
		t.Skipf("%s is not here, which moves a program's clock. On Debian or Ubuntu: apt-get install -y faketime", library)
	}
	for _, by := range []string{"+1h", "-1h"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			db, err := pgtest.Start(t.Context(), pgtest.Options{Fsync: true, Env: []string{"LD_PRELOAD=" + found[0], "FAKETIME=" + by, "FAKETIME_DONT_FAKE_MONOTONIC=1"}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			off := 0
			onDatabase(t, db, fmt.Sprintf("SELECT (extract(epoch FROM now()) - %d)::int / 60", time.Now().Unix()), &off)
			if off < 58 && off > -58 {
				t.Fatalf("the database's clock is %d minutes from ours", off)
			}
			c := startChaos(t, db.URL("postgres")+"&pool_max_conns=6", 2)
			for range size(1, 20) {
				c.fault("a server's end", func() {
					dead := c.f.at(0)
					dead.kill()
					c.f.replace(dead, c.f.spawn())
				})
			}
			c.rest()
		})
	}
}

// H-Q21: of two and of five servers one is killed every few seconds, and another comes, for as long as the load runs.
func TestChaosServersKilled(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			database := pgtest.Database(t)
			c := startChaos(t, database+"&pool_max_conns=5", n)
			begun, posts, kills := time.Now(), 0, 0
			for time.Since(begun) < size(10*time.Second, 10*time.Minute) {
				next := time.Now().Add(size(2*time.Second, 5*time.Second))
				c.fault("a server's end", func() {
					dead := c.f.at(kills)
					dead.kill()
					posts += heldBy(t, database, dead)
					c.f.replace(dead, c.f.spawn())
				})
				kills++
				time.Sleep(time.Until(next))
			}
			c.finish(c.r, kills*eachConsume*2*n, posts)
			t.Logf("%d servers were killed with %d deliveries under way", kills, posts)
		})
	}
}
