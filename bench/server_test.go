package bench

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/internal/pgtest"
)

const key = "bench-key-0123456789"

func TestMain(m *testing.M) {
	if os.Getenv(sinkVariable) != "" {
		beSink()
	}
	debug.SetGCPercent(400) // as the program does
	code := m.Run()
	if cluster.c != nil {
		cluster.c.Close()
	}
	os.Exit(code)
}

var cluster struct {
	sync.Mutex
	c *pgtest.Cluster
}

// database gives the URL of an empty database on a cluster with fsync on, and the cluster's process.
func database(b *testing.B) (url string, pid int) {
	cluster.Lock()
	defer cluster.Unlock()
	if cluster.c == nil {
		c, err := pgtest.Start(context.Background(), pgtest.Options{Fsync: true})
		if err != nil {
			b.Fatal(err)
		}
		cluster.c = c
	}
	b.Setenv("ONCEWARD_TEST_POSTGRES", cluster.c.URL("postgres"))
	return pgtest.Database(b), cluster.c.Pid()
}

// server is the program over one store, on a real socket.
type server struct {
	postmaster int
	caller     *child.Caller
}

// onStores runs f against each store.
func onStores(b *testing.B, f func(b *testing.B, s *server)) {
	b.Run("sqlite", func(b *testing.B) {
		f(b, start(b, "sqlite:"+filepath.Join(b.TempDir(), "bench.db"), nil, 0))
	})
	b.Run("postgres", func(b *testing.B) {
		url, pid := database(b)
		f(b, start(b, url, bytes.Repeat([]byte{7}, 32), pid))
	})
}

func start(b *testing.B, store string, secretsKey []byte, postmaster int) *server {
	s, err := onceward.New(b.Context(), onceward.Config{
		Store: store, APIKey: key, SecretsKey: secretsKey, AllowPrivateNetworks: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	h := &http.Server{Handler: s.Handler()}
	go h.Serve(l)
	b.Cleanup(func() {
		h.Close()
		stop()
		running.Wait()
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return &server{postmaster: postmaster, caller: &child.Caller{URL: "http://" + l.Addr().String(), Key: key}}
}

// post makes a call and reads its data into to, if that is not nil.
func (s *server) post(b *testing.B, path string, body []byte, to any) {
	if err := s.caller.Call(context.Background(), "POST", path, body, to); err != nil {
		b.Error(err)
	}
}

// rate gives how many calls a second 64 callers make, once they are warm.
func rate(call func(i int)) float64 {
	share(500, 64, call)
	const n = 10_000
	began := time.Now()
	share(n, 64, call)
	return n / time.Since(began).Seconds()
}

// share has callers make n calls, each with its number.
func share(n, callers int, call func(i int)) {
	next := make(chan int, callers)
	var w sync.WaitGroup
	for range callers {
		w.Go(func() {
			for i := range next {
				call(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	w.Wait()
}

// report gives CPU-seconds for 10,000 and the rate.
func (s *server) report(b *testing.B, before time.Duration, took time.Duration) {
	used := usage(b, s.postmaster) - before
	b.ReportMetric(used.Seconds()*10000/float64(b.N), "cpu-s/10k")
	b.ReportMetric(float64(b.N)/took.Seconds(), "per-s")
	b.ReportMetric(0, "ns/op")
}
