package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/onceward/onceward/internal/group"
)

// serveHTTP is the part of a group that answers on l. At the soft stop it takes no new connection and lets requests end;
// at the hard stop it cuts them.
func serveHTTP(name string, l net.Listener, h http.Handler) group.Part {
	return group.Part{Name: name, Run: func(ctx context.Context) error {
		s := &http.Server{
			Handler:           h,
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       60 * time.Second,
			WriteTimeout:      90 * time.Second, // a poll waits up to 20 s
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    64 << 10,
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(l) }()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
		}
		err := s.Shutdown(group.Hard(ctx))
		if err != nil {
			s.Close()
		}
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			return e
		}
		if errors.Is(err, context.Canceled) {
			return nil // cut at the hard stop, as told
		}
		return err
	}}
}
