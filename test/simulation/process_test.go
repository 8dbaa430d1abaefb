package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/account"
)

const (
	apiHost = "api.sim"
	apiKey  = "simulated-root-key"
)

// process is a server as the world sees it: what it answers, and whom it calls.
type process struct {
	server *onceward.Server
	http   *http.Server
	door   *listener
	calls  links // to receivers
	cancel context.CancelFunc
	ended  chan error // of Run
}

// start starts the server over the store's file as it is.
func (w *world) start() {
	p := &process{ended: make(chan error, 1)}
	var err error
	p.server, err = onceward.New(context.Background(), onceward.Config{
		Store: "sqlite:" + w.file, APIKey: apiKey, SecretsKey: make([]byte, 32), AllowPrivateNetworks: true, Grace: w.grace,
		PublishPrice: account.USD(math.Round(w.price * 1e9)),
		Logger:       slog.New(complaints{w}),
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := w.net.dial(ctx, network, addr)
			if err == nil && !p.calls.add(c.(*conn)) {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
			}
			return c, err
		},
	})
	if err != nil {
		w.fail("the server does not start: %v", err)
		return
	}
	p.door, p.http = w.net.listen(apiHost), &http.Server{Handler: p.server.Handler()}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(context.Background())
	w.going.Go(func() { p.http.Serve(p.door) })
	w.going.Go(func() { p.ended <- p.server.Run(ctx) })
	w.process, w.since = p, w.now()
}

// stop ends the server as SIGTERM does.
func (w *world) stop() {
	p := w.process
	p.server.Stop()
	if err := p.http.Shutdown(context.Background()); err != nil {
		w.fail("the API does not stop: %v", err)
	}
	p.cancel()
	begun := w.now()
	if err := <-p.ended; err != nil {
		w.fail("the server stops with an error: %v", err)
	}
	if took := w.now().Sub(begun); took > w.grace+6*time.Second {
		w.fail("the server took %v to stop, with a grace of %v", took, w.grace)
	}
	if err := p.server.Close(); err != nil {
		w.fail("the store does not close: %v", err)
	}
	w.down()
}

// cut ends the server as SIGKILL does: from this moment nobody hears of it, and its files are as they are. What is left of it works on
// files that nobody reads, until it ends.
func (w *world) cut() {
	p := w.process
	p.door.Close()
	p.door.cut()
	p.calls.cut()
	w.lives++
	next := filepath.Join(filepath.Dir(w.file), fmt.Sprintf("%d.db", w.lives))
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(w.file + suffix)
		if err == nil {
			err = os.WriteFile(next+suffix, b, 0o600)
		}
		if err != nil && !os.IsNotExist(err) {
			w.fail("the files of the store: %v", err)
		}
	}
	w.file = next
	p.cancel()
	w.going.Go(func() {
		<-p.ended
		p.http.Close()
		p.server.Close()
	})
	w.down()
}

// down notes that no server runs.
func (w *world) down() {
	w.process = nil
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gaps = append(w.gaps, gap{from: w.now()})
}

// gap is a time without something: a server, an endpoint.
type gap struct {
	from, to time.Time
}

// up starts the server again.
func (w *world) up() {
	w.mu.Lock()
	w.gaps[len(w.gaps)-1].to = w.now()
	w.mu.Unlock()
	w.start()
}

// complaints takes the server's log: an error there is one here.
type complaints struct{ w *world }

func (complaints) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (c complaints) WithAttrs([]slog.Attr) slog.Handler         { return c }
func (c complaints) WithGroup(string) slog.Handler              { return c }
func (c complaints) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	c.w.fail("the server logs an error: %s", text)
	return nil
}
