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

	"github.com/onceward/onceward/internal/failpoint"
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
		skip(t, "a small file system cannot be mounted here: %v; it needs root", err)
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
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			db, set := movable(t)
			set(by)
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

// The database's clock is set back and forward under load, once by more than any lease: leases end late, or early, which fences bear, and what is due waits as long as it was set back, or not
// at all. Nothing waits longer, and nothing comes to nothing.
func TestChaosClockSet(t *testing.T) {
	t.Parallel()
	moves := func(t *testing.T, c *chaos, set func(time.Duration)) {
		at := time.Duration(0)
		for range size(1, 5) {
			for _, by := range []time.Duration{-20 * time.Second, time.Hour, -20 * time.Second, 5 * time.Second} {
				c.fault(fmt.Sprint("the clock was moved by ", by), func() { at += by; set(at) })
			}
		}
		c.inFlight *= 2 // leases that ended early had their places given to others while their POSTs were open
		c.rest()
	}
	t.Run("sqlite", func(t *testing.T) { // whose clock is its process's
		t.Parallel()
		program, err := failProgram()
		if err != nil {
			t.Fatal(err)
		}
		set, file := clockFile(t)
		f := &fleet{t: t, store: "sqlite:" + filepath.Join(t.TempDir(), "onceward.db")}
		f.up = []*child{f.ready(run(t, []string{"env", failpoint.ClockVariable + "=" + file, program}, f.store))}
		moves(t, startChaosOn(f, receiveCrowd(t, 50*time.Millisecond)), set) // some are under way when it moves
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db, set := movable(t)
		moves(t, startChaosOn(startFleet(t, db.URL("postgres")+"&pool_max_conns=6", 2), receiveCrowd(t, 50*time.Millisecond)), set)
	})
}

// movable is a PostgreSQL whose clock is set by how far it is from ours.
func movable(t *testing.T) (*pgtest.Cluster, func(time.Duration)) {
	t.Helper()
	const library = "/usr/lib/*/faketime/libfaketime.so.1"
	found, _ := filepath.Glob(library)
	if len(found) == 0 {
		skip(t, "%s is not here, which moves a program's clock. On Debian or Ubuntu: apt-get install -y faketime", library)
	}
	set, file := clockFile(t)
	db, err := pgtest.Start(t.Context(), pgtest.Options{Fsync: true, Env: []string{
		"LD_PRELOAD=" + found[0], "FAKETIME_TIMESTAMP_FILE=" + file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, func(off time.Duration) {
		set(off)
		is := 0
		onDatabase(t, db, fmt.Sprintf("SELECT (extract(epoch FROM now()) - %d)::int", time.Now().Unix()), &is)
		if d := time.Duration(is)*time.Second - off; d.Abs() > 5*time.Second {
			t.Fatalf("the database's clock is %ds from ours, and was set to %v", is, off)
		}
	}
}

// clockFile is a file that says, in seconds, how far a clock is from ours.
func clockFile(t *testing.T) (set func(time.Duration), file string) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil { // the database may run as another user
			t.Fatal(err)
		}
	}
	file = filepath.Join(dir, "clock")
	set = func(off time.Duration) {
		if err := os.WriteFile(file+".new", fmt.Appendf(nil, "%+d\n", int(off.Seconds())), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	set(0)
	return set, file
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
