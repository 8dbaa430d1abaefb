package simulation

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// stream is one direction of a connection: what was written and not yet read, and why no more will come.
type stream struct {
	mu       sync.Mutex
	held     []byte
	end      error // to who reads, once held is empty
	broken   error // to who writes
	deaf     bool  // the first write ends it for the reader, and the writer cannot tell: an answer that is lost
	deadline time.Time
	news     chan struct{} // closed at each change
}

func (s *stream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.news)
	s.news = make(chan struct{})
}

func (s *stream) read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		if len(s.held) > 0 {
			n := copy(p, s.held)
			s.held = s.held[n:]
			s.mu.Unlock()
			return n, nil
		}
		end, deadline, news := s.end, s.deadline, s.news
		s.mu.Unlock()
		if end != nil {
			return 0, end
		}
		if deadline.IsZero() {
			<-news
			continue
		}
		left := time.Until(deadline)
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		t := time.NewTimer(left)
		select {
		case <-news:
		case <-t.C:
		}
		t.Stop()
	}
}

func (s *stream) write(p []byte) (n int, err error) {
	s.change(func() {
		switch {
		case s.broken != nil:
			err = s.broken
		case s.deaf:
			s.held, s.end, n = nil, syscall.ECONNRESET, len(p)
		default:
			s.held, n = append(s.held, p...), len(p)
		}
	})
	return n, err
}

// conn is one end of a connection in memory.
type conn struct {
	in, out *stream
	name    string
}

// pair makes the two ends.
func pair(name string) (*conn, *conn) {
	a, b := &stream{news: make(chan struct{})}, &stream{news: make(chan struct{})}
	return &conn{a, b, name}, &conn{b, a, name}
}

func (c *conn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close ends it in order: what was written can still be read at the other end.
func (c *conn) Close() error {
	c.in.change(func() { c.in.held, c.in.end, c.in.broken = nil, net.ErrClosed, syscall.EPIPE })
	c.out.change(func() {
		c.out.broken = net.ErrClosed
		if c.out.end == nil {
			c.out.end = io.EOF
		}
	})
	return nil
}

// reset breaks it at both ends, and what was under way is lost.
func (c *conn) reset() {
	for _, s := range []*stream{c.in, c.out} {
		s.change(func() { s.held, s.end, s.broken = nil, syscall.ECONNRESET, syscall.ECONNRESET })
	}
}

type address string

func (a address) Network() string { return "memory" }
func (a address) String() string  { return string(a) }

func (c *conn) LocalAddr() net.Addr  { return address(c.name) }
func (c *conn) RemoteAddr() net.Addr { return address(c.name) }

func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }
func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.change(func() { c.in.deadline = t })
	return nil
}
func (c *conn) SetWriteDeadline(time.Time) error { return nil } // a write never waits
