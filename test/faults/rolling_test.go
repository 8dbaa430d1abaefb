package faults

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
)

// H-Q22: a rolling restart under load: each server in turn gets SIGTERM and another comes, before it or after it. Clients that go on to the next
// server at a refused connection or a 503 see no call fail: nothing that was sent breaks off, nothing is lost, nothing is done again.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"the new one first", "the old one first"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			database := pgtest.Database(t)
			f := startFleet(t, database+"&pool_max_conns=5", 3, "--drain", "2s")
			r := receiveCrowd(t, 40*time.Millisecond)
			x := &traffic{f: f, endpoints: 3, inFlight: 6, lease: 120}
			x.begin(r)
			for range size(3, 30) {
				x.more(60)
				old := f.at(0)
				if order == "the new one first" {
					f.replace(nil, f.spawn())
				}
				ready, gone := make(chan struct{}), make(chan error, 1)
				go func() { gone <- unready(old.url, ready) }()
				<-ready
				took := old.term(t)
				if err := <-gone; err != nil {
					t.Error(err)
				}
				t.Logf("stopped in %v", took)
				if n := heldBy(t, database, old); n > 0 {
					t.Errorf("a server that was told to stop left %d deliveries to their leases", n)
				}
				if order == "the old one first" {
					f.replace(nil, f.spawn())
				}
				x.more(30)
				f.replace(old)
			}
			x.more(60)
			x.finish(r, 0, 0)
		})
	}
}

// oldCommit is of this repository, and stands in for the last release until there is one: its last migration on PostgreSQL is the 13th.
const oldCommit = "e4898912595248bed6859bc3b00bc1d9268596d0"

// oldProgram gives the program of that commit, or of ONCEWARD_TEST_OLD. It is built once a user.
func oldProgram(t *testing.T) string {
	if old := os.Getenv("ONCEWARD_TEST_OLD"); old != "" {
		return old
	}
	git := func(args ...string) ([]byte, error) {
		return exec.CommandContext(t.Context(), "git", append([]string{"-C", "../.."}, args...)...).Output()
	}
	if _, err := git("cat-file", "-e", oldCommit+"^{commit}"); err != nil {
		skip(t, "this checkout has no commit %.12s (a shallow one has not): set ONCEWARD_TEST_OLD to the program of the last release", oldCommit)
	}
	kept, err := os.UserCacheDir()
	if err != nil {
		kept = scratch
	}
	kept = filepath.Join(kept, "onceward-test")
	program := filepath.Join(kept, fmt.Sprintf("onceward-%.12s-%s-%s", oldCommit, runtime.GOOS, runtime.GOARCH))
	if _, err := os.Stat(program); err == nil {
		return program
	}
	dir := t.TempDir()
	source, err := git("archive", oldCommit)
	if err == nil {
		tar := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
		tar.Stdin = bytes.NewReader(source)
		err = tar.Run()
	}
	if err == nil {
		err = os.MkdirAll(kept, 0o755)
	}
	if err != nil {
		t.Fatalf("get the source of %.12s: %v", oldCommit, err)
	}
	// Under a name of its own first: two runs of these tests may build it at once.
	building := fmt.Sprintf("%s.%d", program, os.Getpid())
	defer os.Remove(building)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", building, "./cmd/onceward")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program of %.12s: %v\n%s", oldCommit, err, out)
	}
	if err := os.Rename(building, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// Servers of the last release are replaced by today's, one after the other and under load: the first of today's changes the schema beneath those that are left.
// Nothing that was answered is lost, no call fails, and nothing is done again; groups of a fifo queue keep their order, and work that is claimed over either kind takes effect once.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	old := oldProgram(t)
	if _, err := program(); err != nil { // before the load begins
		t.Fatal(err)
	}
	begun := time.Now()
	database := pgtest.Database(t)
	f := &fleet{t: t, store: database + "&pool_max_conns=5", with: []string{"--drain", "1s"}}
	for range 2 {
		f.replace(nil, f.ready(run(t, []string{old}, f.store, f.with...)))
	}
	r := receiveCrowd(t, 40*time.Millisecond)
	x, l, w := &traffic{f: f, endpoints: 3, inFlight: 6, lease: 120}, &lines{f: f}, &hands{f: f}
	x.begin(r)
	l.begin()
	w.begin()
	before := schema(t, database)
	for range 2 {
		x.more(60)
		leaves := f.at(0)
		f.replace(nil, f.spawn())
		if now := schema(t, database); now <= before {
			t.Fatalf("the schema is at %d still with a server of today's; it shows nothing unless it was older", now)
		}
		x.more(60)
		t.Logf("stopped in %v", leaves.term(t))
		if n := heldBy(t, database, leaves); n > 0 {
			t.Errorf("a server that was told to stop left %d deliveries to their leases", n)
		}
		f.replace(leaves)
	}
	x.more(60)
	l.finish()
	w.finish()
	x.finish(r, 0, 0)
	t.Logf("in %v", time.Since(begun))
}

// schema gives the number of a database's last migration.
func schema(t *testing.T, database string) (n int) {
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), "SELECT max(version) FROM migrations").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// unready asks a server that is about to stop whether it is ready, until it is gone: it must have said no before. It tells of the
// first answer.
func unready(url string, asked chan<- struct{}) error {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	told := sync.OnceFunc(func() { close(asked) })
	defer told()
	said := 0
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		res, err := c.Get(url + "/readyz")
		switch {
		case refused(err) && said == http.StatusServiceUnavailable:
			return nil
		case err != nil:
			return fmt.Errorf("/readyz: %w, and the last answer was %d; want a 503 and then a refused connection", err, said)
		}
		res.Body.Close()
		said = res.StatusCode
		told()
	}
	return fmt.Errorf("/readyz still answers %d", said)
}
