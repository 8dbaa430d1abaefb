package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/group"
)

func listenLocal(t *testing.T) *crowd {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &crowd{Listener: l, max: 1000, spare: 10, log: slog.New(slog.DiscardHandler)}
}

// Who is connected when the listening ends, and was not accepted yet, is accepted.
func TestClosedListenerKeepsWhoIsConnected(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the system breaks them off")
	}
	l := listenLocal(t)
	for range 3 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "sent")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c, err := l.Accept()
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer c.Close()
		b := make([]byte, 4)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "sent" {
			t.Errorf("connection %d: read %q, %v", i, b, err)
		}
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("then: %v; want that it is closed", err)
	}
}

// A stop under load: every request that was sent is answered, and who is not connected is refused. Nobody waits for one that is not used.
func TestStopBreaksNothingOff(t *testing.T) {
	t.Parallel()
	for range 5 {
		l := listenLocal(t)
		ctx, stop := context.WithCancel(t.Context())
		s := httpServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, "done")
		}))
		ran := make(chan error, 1)
		go func() {
			ran <- group.Run(ctx, group.Limits{Soft: time.Minute}, serveHTTP("test", l, s, 100*time.Millisecond))
		}()
		unused, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer unused.Close()
		var clients sync.WaitGroup
		var begun sync.WaitGroup
		for i := range 16 {
			begun.Add(1)
			clients.Go(func() {
				c := &http.Client{Transport: &http.Transport{DisableKeepAlives: i%2 == 0}, Timeout: 30 * time.Second}
				for n := 0; ; n++ {
					res, err := c.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader("a request"))
					if err != nil {
						if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
							t.Errorf("a request broke off: %v", err)
						}
						break
					}
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
					if n == 0 {
						begun.Done()
					}
				}
			})
		}
		begun.Wait()
		stop()
		clients.Wait()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}
}
