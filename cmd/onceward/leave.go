package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// leaving lets go of a server's connections at a stop without breaking off anything that a client sent. For a while the server goes
// on to answer, and each answer is its connection's last; then the others are closed once nothing is on them. Shutdown
// of net/http alone drops the requests that it reads after it began.
type leaving struct {
	mu   sync.Mutex
	open map[net.Conn]connState
}

type connState struct {
	http.ConnState
	since time.Time
}

const (
	lookAgain = 5 * time.Millisecond // between looks at what is still open
	unused    = time.Second          // from when on a connection without a request is one that nobody needs
)

// watch has s tell l of its connections; ctx ends at the soft stop.
func (l *leaving) watch(ctx context.Context, s *http.Server) {
	l.open = map[net.Conn]connState{}
	h := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
	s.ConnState = func(c net.Conn, state http.ConnState) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if state == http.StateClosed || state == http.StateHijacked {
			delete(l.open, c)
			return
		}
		l.open[c] = connState{state, time.Now()}
	}
}

// done closes what nobody needs any more, until nothing is open or hard ends. No new connection may come.
func (l *leaving) done(hard context.Context) {
	for l.closeUnused() > 0 {
		select {
		case <-time.After(lookAgain):
		case <-hard.Done():
			return
		}
	}
}

// closeUnused gives how many connections are left: a request is on them, or about to be.
func (l *leaving) closeUnused() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, is := range l.open {
		under := c
		if t, ok := c.(*tls.Conn); ok {
			under = t.NetConn()
		}
		if (is.ConnState == http.StateIdle || is.ConnState == http.StateNew && time.Since(is.since) > unused) && quiet(under) {
			c.Close()
			delete(l.open, c)
		}
	}
	return len(l.open)
}

// Close ends the listening. Who is connected by then and not accepted yet still is: the system would break those connections off,
// with what was sent on them.
func (l *crowd) Close() error {
	l.closing.Store(true)
	l.once.Do(func() { l.late, l.closed = closeListener(l.Listener) })
	return l.closed
}

// accept gives the next connection; once the listener is closed, those that were connected before.
func (l *crowd) accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil || !l.closing.Load() {
		return c, err
	}
	l.Close() // waits for the one that is under way
	if len(l.late) == 0 {
		return nil, net.ErrClosed
	}
	c, l.late = l.late[0], l.late[1:]
	return c, nil
}
