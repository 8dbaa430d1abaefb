package simulation

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// network is hosts by name. A host without a listener refuses.
type network struct {
	mu    sync.Mutex
	hosts map[string]*listener
}

// listener is a host's, with the connections that it took.
type listener struct {
	net   *network
	host  string
	came  chan net.Conn
	over  chan struct{}
	close sync.Once
	links
}

// links are connections that can be cut together.
type links struct {
	mu    sync.Mutex
	conns []*conn
	gone  bool
}

func (l *links) add(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, c)
	return !l.gone
}

// cut resets them, and whatever would come.
func (l *links) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	for _, c := range l.conns {
		c.reset()
	}
}

func (n *network) listen(host string) *listener {
	l := &listener{net: n, host: host, came: make(chan net.Conn, 1024), over: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[host] = l
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.came:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.close.Do(func() {
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		if l.net.hosts[l.host] == l {
			delete(l.net.hosts, l.host)
		}
		close(l.over)
	})
	return nil
}

func (l *listener) Addr() net.Addr { return address(l.host) }

// losesAnswer marks the context of a call whose answer does not arrive, though it was sent.
type losesAnswer struct{}

func (n *network) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	l := n.hosts[host]
	n.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: syscall.ECONNREFUSED}
	}
	ours, theirs := pair(host)
	ours.in.deaf = ctx.Value(losesAnswer{}) != nil
	if !l.add(theirs) {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: syscall.ECONNREFUSED}
	}
	l.came <- theirs
	return ours, nil
}
