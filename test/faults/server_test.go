package faults

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/test/served"
)

var secretsKey = bytes.Repeat([]byte{0x5a}, 32)

// serve runs a server of this process on a store until the test ends.
func serve(t testing.TB, store string, with ...func(*onceward.Config)) *client {
	t.Helper()
	c := onceward.Config{
		Store: store, APIKey: apiKey, SecretsKey: secretsKey, AllowPrivateNetworks: true, DeliverySlack: 3 * time.Second,
		Grace: 2 * time.Second,
	}
	for _, w := range with {
		w(&c)
	}
	return newClient(t, served.Run(t, c, httptest.NewServer).URL)
}

// child is a server in a process of its own.
type child struct {
	*client
	cmd   *exec.Cmd
	ended chan struct{}
	log   *text
}

var listening = regexp.MustCompile(`listening on (http://[0-9.]+:[0-9]+)`)

// spawn starts the program on a store and waits until it answers. Of a flag that is given twice the last counts.
func spawn(t testing.TB, store string, with ...string) *child {
	t.Helper()
	return spawnBy(t, nil, store, with...)
}

// spawnBy is spawn by another program, which becomes ours.
func spawnBy(t testing.TB, by []string, store string, with ...string) *child {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return run(t, append(slices.Clone(by), bin), store, with...)
}

// run starts what becomes a server.
func run(t testing.TB, program []string, store string, with ...string) *child {
	t.Helper()
	line := append(slices.Clone(program), "serve", "--listen", "127.0.0.1:0", "--store", store, "--allow-private-networks", "--delivery-slack", "3s")
	line = append(line, with...)
	cmd := exec.Command(line[0], line[1:]...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ONCEWARD_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "ONCEWARD_API_KEY="+apiKey, "ONCEWARD_SECRETS_KEY="+strings.Repeat("5a", 32))
	c := &child{cmd: cmd, ended: make(chan struct{}), log: &text{}}
	cmd.Stderr = c.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("the program wrote: %.4000s", c.log.String())
		}
	})
	at := make(chan string, 1)
	go func() {
		defer close(c.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				at <- m[1]
			}
		}
		cmd.Wait()
	}()
	select {
	case url := <-at:
		c.client = newClient(t, url)
	case <-c.ended:
		t.Fatalf("the program ended at once: %s", c.log.String())
	case <-time.After(time.Minute):
		t.Fatalf("the program says no address within a minute: %s", c.log.String())
	}
	return c
}

// kill is SIGKILL.
func (c *child) kill() {
	c.cmd.Process.Kill()
	<-c.ended
}

// term is SIGTERM, and how long the program then took; it must end well.
func (c *child) term(t testing.TB) time.Duration {
	t.Helper()
	begun := time.Now()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	select {
	case <-c.ended:
	case <-time.After(25 * time.Second):
		t.Fatal("the program still runs 25 s after SIGTERM")
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the program ended with %d", code)
	}
	return time.Since(begun)
}

// text is a buffer that may be written and read at once.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// receiver gets webhooks and remembers each POST.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	posts  map[string][]time.Time // by delivery key
	events map[string]time.Time   // when an event first came
}

// receive starts a receiver; answer may be nil: 200. It is at a free port of 127.0.0.1, or of another address.
func receive(t testing.TB, answer http.HandlerFunc, at ...string) *receiver {
	r := &receiver{posts: map[string][]time.Time{}, events: map[string]time.Time{}}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body) // only then is a sender that goes away noticed
		key, event := q.Header.Get("Idempotency-Key"), q.Header.Get("Webhook-Id")
		r.mu.Lock()
		r.posts[key] = append(r.posts[key], time.Now())
		if r.events[event].IsZero() {
			r.events[event] = time.Now()
		}
		r.mu.Unlock()
		if answer != nil {
			answer(w, q)
		}
	}))
	for _, a := range at {
		r.Listener.Close()
		var err error
		if r.Listener, err = net.Listen("tcp", a+":0"); err != nil {
			t.Fatal(err)
		}
	}
	r.Start()
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// effects gives how many keys came, and how many POSTs came for the one that came most often.
func (r *receiver) effects() (keys, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.posts {
		most = max(most, len(p))
	}
	return len(r.posts), most
}

// came gives when an event first came; zero: it did not.
func (r *receiver) came(event string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[event]
}
