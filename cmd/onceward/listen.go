package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/onceward/onceward/internal/group"
)

// httpServer answers with h. Who is slow loses his connection; the API gives large bodies and answers more time.
func httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      90 * time.Second, // a poll waits up to 20 s
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10, // the API refuses less, in its own words
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          100,
			MaxReceiveBufferPerConnection: 256 << 10, // what waits for room stays with the client
			MaxReceiveBufferPerStream:     256 << 10,
			WriteByteTimeout:              30 * time.Second,
		},
	}
}

// listen takes the address, and reads the certificate if there is one.
func (c *serveCmd) listen(log *slog.Logger) (*crowd, *certificate, error) {
	var cert *certificate
	if c.TLSCert != "" {
		var err error
		if cert, err = openCertificate(c.TLSCert, c.TLSKey, log); err != nil {
			return nil, nil, err
		}
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, nil, err
	}
	return &crowd{Listener: l, max: int64(c.MaxConnections), spare: crowdSpare, log: log}, cert, nil
}

// answer gives the parts that answer with h on l, over TLS (HTTP/2 and HTTP/1.1) if there is a certificate.
func answer(l *crowd, cert *certificate, h http.Handler, drain time.Duration, log *slog.Logger) []group.Part {
	s := httpServer(h)
	s.ConnContext = l.greet
	s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug) // whose handshake failed, which is whoever knocks
	if cert == nil {
		return []group.Part{serveHTTP("http", l, s, drain)}
	}
	s.TLSConfig = cert.config()
	return []group.Part{serveHTTP("https", l, s, drain), cert.part()}
}

// serveHTTP is the part of a group that answers on l. At the soft stop it goes on for the drain, then takes no new connection and lets
// requests end; at the hard stop it cuts them.
func serveHTTP(name string, l net.Listener, s *http.Server, drain time.Duration) group.Part {
	return group.Part{Name: name, Run: func(ctx context.Context) error {
		open := &leaving{}
		open.watch(ctx, s)
		ended := make(chan error, 1)
		go func() {
			if s.TLSConfig != nil {
				ended <- s.ServeTLS(l, "", "")
			} else {
				ended <- s.Serve(l)
			}
		}()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
		}
		hard := group.Hard(ctx)
		select {
		case <-time.After(drain):
		case <-hard.Done():
		}
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			return err
		}
		open.done(hard)
		err := s.Shutdown(hard)
		if err != nil {
			s.Close()
		}
		if errors.Is(err, context.Canceled) {
			return nil // cut at the hard stop, as told
		}
		return err
	}}
}
