package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/internal/fault"
)

// crowd is a listener that counts what is open. A connection beyond max is served one request, which is told so; beyond max and
// spare it is closed at once: memory and file descriptors are bounded whoever comes.
type crowd struct {
	net.Listener
	max, spare int64
	log        *slog.Logger
	open       atomic.Int64

	closing atomic.Bool
	once    sync.Once
	late    []net.Conn
	closed  error
}

// crowdSpare is how many more are told that there is no place.
const crowdSpare = 256

// member is a connection of a crowd.
type member struct {
	*net.TCPConn
	over  bool
	leave func()
}

func (l *crowd) Accept() (net.Conn, error) {
	for {
		c, err := l.accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.log.Warn("a connection could not be taken", "error", err) // it goes on: net/http waits up to a second between
			}
			return nil, err
		}
		n := l.open.Add(1)
		if n > l.max+l.spare {
			c.Close()
			l.open.Add(-1)
			continue
		}
		return &member{c.(*net.TCPConn), n > l.max, sync.OnceFunc(func() { l.open.Add(-1) })}, nil
	}
}

func (m *member) Close() error {
	m.leave()
	return m.TCPConn.Close()
}

// greet gives a new connection's context, in which those beyond the limit are refused.
func (l *crowd) greet(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if m, ok := c.(*member); !ok || !m.over {
		return ctx
	}
	return api.Refusing(ctx, fault.New(fault.Unavailable, "the server has %d connections open, the most it may have; nothing was done", l.max).
		WithHint("try again in a moment, and keep fewer connections open; --max-connections of the server is the limit"))
}
