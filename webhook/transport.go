package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/onceward/onceward/internal/failpoint"
)

// Guard looks at an address after the name was resolved, before anything is sent to it, as a [net.Dialer]'s Control
// does. Its error means that the address is refused.
type Guard func(network, address string, c syscall.RawConn) error

// Dial makes a connection, as [net.Dialer.DialContext] does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// public knows the addresses that anybody may be sent to. Azure's own service for its machines has a public address,
// which the registries do not know as special.
var public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))

// PublicOnly refuses loopback, private, link-local (which the clouds' metadata services are), multicast and otherwise
// special networks, and every form of IPv6 that leads to an IPv4 address: mapped, NAT64, 6to4, Teredo.
func PublicOnly() Guard { return public.Safe }

// errGuard is beneath the error of a dial that a Guard refused. What the Guard said is not in its text, which a tenant may
// read: it would tell what a name resolves to inside our network.
var errGuard = errors.New("address refused")

const (
	dialTimeout    = 5 * time.Second
	idleTimeout    = 20 * time.Second // below the 60 to 75 s of usual servers, so that they rarely hang up first
	idlePerHost    = 512              // as many as one endpoint may have in flight, of half the places: fewer were dialled anew for each take
	idleInAll      = 4096
	maxHeader      = 32 << 10
	maxTLSSessions = 4096
)

// wiring is what a transport is made over: all of it may be nil.
type wiring struct {
	guard    Guard
	tls      *tls.Config
	resolver *net.Resolver
	dial     Dial // instead of the net's own
}

func (w wiring) poster() poster {
	return poster{kept: w.transport(true), fresh: w.transport(false)}
}

// transport sends each request once: no proxy of the environment, no hidden repeat, and no redirect, since it is not
// used through a Client. HTTP/1 only: under HTTP/2 one lost connection makes many attempts ambiguous at once.
func (w wiring) transport(keepAlive bool) *http.Transport {
	d := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Resolver: w.resolver}
	if guard := w.guard; guard != nil {
		d.Control = func(network, address string, c syscall.RawConn) error {
			if err := guard(network, address, c); err != nil {
				return fmt.Errorf("%w: %w", errGuard, err)
			}
			return nil
		}
	}
	dial := d.DialContext
	if w.dial != nil {
		dial = w.dial
	}
	var p http.Protocols
	p.SetHTTP1(true)
	conf := w.tls.Clone()
	if conf == nil {
		conf = &tls.Config{}
	}
	conf.MinVersion = tls.VersionTLS12
	conf.ClientSessionCache = tls.NewLRUClientSessionCache(maxTLSSessions)
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &countingConn{Conn: c, under: c}, nil
		},
		// Our own, to count above TLS: what that says for itself, as the alert at a close, is no byte of a request.
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			t, err := shakeHands(ctx, c, addr, conf)
			if err != nil {
				c.Close()
				return nil, err
			}
			return &countingConn{Conn: t, under: c}, nil
		},
		Protocols:              &p,
		DisableKeepAlives:      !keepAlive,
		MaxIdleConns:           idleInAll,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		ReadBufferSize:         2 << 10,
		DisableCompression:     true,
	}
}

// shakeHands makes TLS of a connection to addr.
func shakeHands(ctx context.Context, c net.Conn, addr string, conf *tls.Config) (*tls.Conn, error) {
	if conf.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		conf = conf.Clone()
		conf.ServerName = host
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	t := tls.Client(c, conf)
	return t, t.HandshakeContext(ctx)
}

// countingConn counts what was written, to know after a failure whether any byte of a request can have left. Nothing of
// net/http's own says so: httptrace.WroteHeaders means that they are in a buffer.
type countingConn struct {
	net.Conn
	under   net.Conn // Conn, or what its TLS is over
	written atomic.Int64
	waits   atomic.Bool // for the answer to a request
	closed  atomic.Bool
}

// Close ends the connection. While an answer is waited for it is aborted: else the kernel would go on to hand over what it still has of the request, at
// a time when we have long given it up and another has sent it again.
func (c *countingConn) Close() error {
	c.closed.Store(true)
	if t, ok := c.under.(*net.TCPConn); ok && c.waits.Load() {
		t.SetLinger(0)
	}
	return c.Conn.Close()
}

func (c *countingConn) Write(p []byte) (int, error) {
	if c.closed.Load() {
		return 0, net.ErrClosed // of this nothing can have left: it is not counted
	}
	c.written.Add(int64(len(p))) // before: a write that fails may have sent some
	if failpoint.On && len(p) > 1 {
		return c.writeApart(p)
	}
	return c.Conn.Write(p)
}

// writeApart sends the first byte by itself, with a fail point after it and one after the rest.
func (c *countingConn) writeApart(p []byte) (int, error) {
	n, err := c.Conn.Write(p[:1])
	failpoint.At(failpoint.FirstByteSent, "POST")
	if err != nil {
		return n, err
	}
	n, err = c.Conn.Write(p[1:])
	failpoint.At(failpoint.RequestSent, "POST")
	return n + 1, err
}
