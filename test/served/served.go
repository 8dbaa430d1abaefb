// Package served runs a server in the process of a test.
package served

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/onceward/onceward"
)

// Run serves until the test ends, behind what listen makes of the server's handler. A server that cannot start, or that ends badly, fails the test.
func Run(t testing.TB, c onceward.Config, listen func(http.Handler) *httptest.Server) *httptest.Server {
	t.Helper()
	c.Logger = slog.New(slog.DiscardHandler)
	s, err := onceward.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	web := listen(s.Handler())
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Errorf("run: %v", err)
		}
		web.Close()
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return web
}
