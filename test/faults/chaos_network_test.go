//go:build linux

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// island is a network namespace with three links to ours: what goes over one that is cut is lost without a word, as beyond a dead switch.
type island struct {
	t    testing.TB
	name string
}

// The links' ends, ours and the island's.
const (
	apiHere, apiThere   = "10.213.77.1", "10.213.77.2"
	dbHere, dbThere     = "10.213.77.5", "10.213.77.6"
	hookHere, hookThere = "10.213.77.9", "10.213.77.10"
)

func newIsland(t testing.TB) *island {
	t.Helper()
	if os.Geteuid() != 0 {
		skip(t, "this test makes a network namespace and links, which needs root")
	}
	i := &island{t, fmt.Sprint("owchaos", os.Getpid())}
	if out, err := exec.Command("ip", "netns", "add", i.name).CombinedOutput(); err != nil {
		skip(t, "a network namespace cannot be made here: %v: %s. On Debian or Ubuntu: apt-get install -y iproute2", err, out)
	}
	t.Cleanup(func() { i.ip("netns", "del", i.name) }) // and its links with it
	i.ip("-n", i.name, "link", "set", "lo", "up")
	for link, ends := range map[string][2]string{"api": {apiHere, apiThere}, "db": {dbHere, dbThere}, "hook": {hookHere, hookThere}} {
		here := i.link(link)
		i.ip("link", "add", here, "type", "veth", "peer", "name", link, "netns", i.name)
		i.ip("addr", "add", ends[0]+"/30", "dev", here)
		i.ip("link", "set", here, "up")
		i.ip("-n", i.name, "addr", "add", ends[1]+"/30", "dev", link)
		i.ip("-n", i.name, "link", "set", link, "up")
	}
	return i
}

func (i *island) link(name string) string { return fmt.Sprint("ow", os.Getpid(), name) }

func (i *island) ip(args ...string) {
	i.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		i.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// cut takes a link away for a while.
func (i *island) cut(link string, long time.Duration) {
	i.t.Helper()
	i.ip("link", "set", i.link(link), "down")
	time.Sleep(long)
	i.ip("link", "set", i.link(link), "up")
}

// Of two servers one is cut off, from the database and from the receivers, by a network that drops what is sent and says nothing. The other goes on, and
// what was answered is there.
func TestChaosNetworkCut(t *testing.T) {
	t.Parallel()
	i := newIsland(t)
	db, err := pgtest.Start(t.Context(), pgtest.Options{Fsync: true, Listen: dbHere})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	store := db.URL("postgres") + "&pool_max_conns=6"
	f := startFleet(t, store, 1)
	far := spawnBy(t, []string{"ip", "netns", "exec", i.name}, strings.Replace(store, "127.0.0.1", dbHere, 1), "--listen", apiThere+":0")
	f.replace(nil, far)
	c := startChaosOn(f, receiveCrowd(t, 10*time.Millisecond, hookHere))
	for _, long := range size([]time.Duration{5 * time.Second}, []time.Duration{time.Second, 5 * time.Second, 20 * time.Second, 70 * time.Second}) {
		c.fault(fmt.Sprint("no database for ", long), func() { i.cut("db", long) })
		c.fault(fmt.Sprint("no receivers for ", long), func() { i.cut("hook", long) })
		c.fault(fmt.Sprint("no callers for ", long), func() { i.cut("api", long) })
	}
	if far.sent() == 0 {
		t.Error("the server that was cut off has sent nothing: the test shows nothing")
	}
	c.rest()
}
