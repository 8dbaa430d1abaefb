package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/internal/pgtest"
)

var program = sync.OnceValues(func() (string, error) {
	to := filepath.Join(scratch, "onceward")
	if out, err := exec.Command("go", "build", "-o", to, "github.com/onceward/onceward/cmd/onceward").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return to, nil
})

// killed is a server's process that is killed and started again, behind an address that stays.
type killed struct {
	t     *testing.T
	store string
	at    atomic.Pointer[url.URL]
	now   *child.Server
	front *httptest.Server
}

func newKilled(t *testing.T, store string) *killed {
	k := &killed{t: t, store: store}
	k.start()
	k.front = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(k.at.Load()) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // a connection that breaks off, as without a proxy
	})
	k.front.Config.ErrorLog = nil
	t.Cleanup(func() {
		k.front.CloseClientConnections()
		k.front.Close()
		k.now.Kill()
	})
	return k
}

func (k *killed) start() {
	k.t.Helper()
	bin, err := program()
	if err != nil {
		k.t.Fatal(err)
	}
	if k.now, err = child.Start(k.t.Context(), bin, "killed", k.store, "ONCEWARD_API_KEY="+apiKey, "ONCEWARD_SECRETS_KEY="+strings.Repeat("5a", 32)); err != nil {
		k.t.Fatal(err)
	}
	at, err := url.Parse(k.now.URL)
	if err != nil {
		k.t.Fatal(err)
	}
	k.at.Store(at)
}

// The server is killed again and again under publishes that are given no key and consumers that ack: what a publish answered is one message, however often it was
// sent, none that was answered is lost, and each is acked.
func TestServerKilledUnderPublishes(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "onceward.db") },
		"postgres": func(t *testing.T) string { return pgtest.Database(t) + "&pool_max_conns=6" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKilled(t, store(t))
			c, err := client.New(client.Config{URL: k.front.URL, APIKey: apiKey, MaxTries: 1000})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.HTTP.CloseIdleConnections)
			do[*client.Queue](t)(c.CreateQueue(t.Context(), client.NewQueue{Name: "jobs", QueueSettings: client.QueueSettings{MaxReceives: 1000}}))

			var (
				mu    sync.Mutex
				made  = map[string]int{}         // message ids answered, and for which publish
				seen  = map[int]map[string]int{} // of each publish the messages that came, and how often
				tried atomic.Int64
				wg    sync.WaitGroup
			)
			ctx, stop := context.WithCancel(t.Context())
			for range 4 {
				wg.Go(func() {
					for ctx.Err() == nil {
						i := int(tried.Add(1))
						p, err := c.Publish(context.WithoutCancel(ctx), "jobs", client.NewMessage{Payload: i})
						if err != nil {
							t.Errorf("publish %d: %v", i, err)
							return
						}
						mu.Lock()
						if was, known := made[p.MessageID]; known {
							t.Errorf("%s was answered for %d and %d", p.MessageID, was, i)
						}
						made[p.MessageID] = i
						mu.Unlock()
					}
				})
			}
			consumer, end := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() {
				ran <- client.Consumer{Client: c, Queue: "jobs", Concurrency: 50, Visibility: 2 * time.Second, Logger: quiet, Handle: func(_ context.Context, m *client.Message) error {
					var i int
					if err := m.Decode(&i); err != nil {
						return client.DeadLetter(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if seen[i] == nil {
						seen[i] = map[string]int{}
					}
					seen[i][m.ID]++
					return nil
				}}.Run(consumer)
			}()
			answered := func() int {
				mu.Lock()
				defer mu.Unlock()
				return len(made)
			}
			for range 3 {
				from := answered()
				await(t, "20 more publishes are answered", func() bool { return answered() >= from+20 })
				k.now.Kill()
				k.start()
			}
			from := answered()
			await(t, "20 more publishes are answered", func() bool { return answered() >= from+20 })
			stop()
			wg.Wait()
			await(t, "every message is acked", func() bool { return do[*client.QueueStats](t)(c.QueueStats(t.Context(), "jobs")).Messages == 0 })
			end()
			if err := <-ran; err != nil {
				t.Error(err)
			}
			if n := int(tried.Load()); len(made) != n {
				t.Errorf("%d of %d publishes were answered", len(made), n)
			}
			for id, i := range made {
				if len(seen[i]) != 1 || seen[i][id] == 0 {
					t.Errorf("publish %d was answered %s; %v came", i, id, seen[i])
				}
			}
			t.Logf("%d publishes", len(made))
		})
	}
}

func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// The address that nobody listens at any more is no reason to end: it is tried again.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	c, err := client.New(client.Config{URL: "http://" + at, MaxTries: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Publish(t.Context(), "jobs", client.NewMessage{Payload: 1})
	if e, ok := errors.AsType[*client.Error](err); !ok || !e.Temporary() || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), at) {
		t.Errorf("%v", err)
	}
}
