package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/onceward/onceward/internal/group"
)

// listen takes the address, under TLS if there is a certificate. HTTP/1.1 alone, as without one.
func (c *serveCmd) listen() (net.Listener, error) {
	if c.TLSCert == "" {
		return net.Listen("tcp", c.Listen)
	}
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("read --tls-cert %q and --tls-key %q: %w", c.TLSCert, c.TLSKey, err)
	}
	return tls.Listen("tcp", c.Listen, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
}

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
