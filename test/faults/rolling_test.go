package faults

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

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

// Servers of the last release are replaced by today's, one after the other and under load: the first of today's changes the schema beneath those that are left.
// Nothing that was answered is lost, no call fails, and nothing is done again.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	old := os.Getenv("ONCEWARD_TEST_OLD")
	if old == "" {
		t.Skip("set ONCEWARD_TEST_OLD to the program of the last release")
	}
	database := pgtest.Database(t)
	f := &fleet{t: t, store: database + "&pool_max_conns=5", with: []string{"--drain", "2s"}}
	for range 3 {
		f.replace(nil, f.ready(run(t, []string{old}, f.store, f.with...)))
	}
	r := receiveCrowd(t, 40*time.Millisecond)
	x := &traffic{f: f, endpoints: 3, inFlight: 6, lease: 120}
	x.begin(r)
	for range 3 {
		x.more(60)
		leaves := f.at(0)
		f.replace(nil, f.spawn())
		x.more(60)
		leaves.term(t)
		if n := heldBy(t, database, leaves); n > 0 {
			t.Errorf("a server that was told to stop left %d deliveries to their leases", n)
		}
		f.replace(leaves)
	}
	x.more(60)
	x.finish(r, 0, 0)
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
