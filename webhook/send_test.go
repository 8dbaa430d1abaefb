package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/worker"
)

// A receiver that answers the first request of a connection and hangs up on the second, after it came whole. Go's own transport would
// send such a POST again by itself, since it carries an Idempotency-Key.
func TestOnePostForEachAttempt(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"a body": "hello", "none": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, func(c *net.TCPConn, n int) bool {
				return n == 1 && say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")(c, n)
			})
			p := wiring{}.poster()
			defer p.close()
			for i := range 6 {
				got := p.post(t.Context(), false, r.url, http.Header{"idempotency-key": {"k"}, "x-idempotency-key": {"k"}}, []byte(body), time.Second)
				if !got.sent || (got.status == 200) != (i%2 == 0) {
					t.Errorf("post %d: %+v", i, got)
				}
				if n := r.seen.Load(); n != int64(i+1) {
					t.Fatalf("%d POSTs on the wire after %d attempts", n, i+1)
				}
			}
			if _, ok := r.keys.Load("k"); !ok {
				t.Error("the key did not arrive")
			}
		})
	}
}

// A receiver that resets each connection after its answer. Attempts may find a dead connection: one in which no byte was written is made
// again at once, one in which any was is not. The receiver never sees more POSTs than attempts, and none of those that say "not sent".
func TestDeadKeptConnection(t *testing.T) {
	t.Parallel()
	r := receive(t, func(c *net.TCPConn, n int) bool {
		say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(c, n)
		reset(c)
		return false
	})
	p := wiring{}.poster()
	defer p.close()
	ok, unknown, not := 0, 0, 0
	for range 500 {
		switch got := p.post(t.Context(), false, r.url, http.Header{"idempotency-key": {"k"}}, []byte("x"), time.Second); {
		case got.err == nil:
			ok++
		case got.sent:
			unknown++
		default:
			not++
		}
	}
	if n := int(r.seen.Load()); n < ok || n > ok+unknown || not > 0 {
		t.Errorf("delivered %d, unknown %d, not sent %d; the receiver saw %d", ok, unknown, not, n)
	}
	// Policy once uses a connection for each attempt: none of its outcomes is unknown for a stale one.
	for range 100 {
		if got := p.post(t.Context(), true, r.url, http.Header{}, []byte("x"), time.Second); got.err != nil {
			t.Errorf("once: %+v", got)
		}
	}
}

// noticed is a connection that tells when its own side has closed it.
type noticed struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *noticed) Close() error {
	defer n.once.Do(func() { close(n.closed) })
	return n.Conn.Close()
}

// A receiver that closes a kept connection just as it is taken for a POST: nothing of that was sent, not even where TLS says at the close that it
// closes. Another connection is used at once, and nothing is unknown.
func TestClosedAsItWasTaken(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*httptest.Server){"over TLS": (*httptest.Server).StartTLS, "plain": (*httptest.Server).Start} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 10 { // net/http may or may not begin to write on what is closed
				var seen atomic.Int64
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
					io.Copy(io.Discard, q.Body)
					seen.Add(1)
				}))
				s.Config.ErrorLog = log.New(io.Discard, "", 0)
				start(s)
				defer s.Close()
				roots := x509.NewCertPool()
				if c := s.Certificate(); c != nil {
					roots.AddCert(c)
				}
				var made []*noticed
				p := wiring{tls: &tls.Config{RootCAs: roots}, dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
					if err != nil {
						return nil, err
					}
					made = append(made, &noticed{Conn: c, closed: make(chan struct{})})
					return made[len(made)-1], nil
				}}.poster()
				defer p.close()
				if got := p.post(t.Context(), false, s.URL, http.Header{}, []byte("x"), 10*time.Second); got.status != 200 {
					t.Fatalf("the first: %+v", got)
				}
				taken := 0
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
					if taken++; taken == 1 {
						s.CloseClientConnections()
						<-made[0].closed
					}
				}})
				got := p.post(ctx, false, s.URL, http.Header{}, []byte("x"), 10*time.Second)
				if got.status != 200 {
					t.Fatalf("%+v; nothing of it was sent", got)
				}
				if len(made) != 2 || seen.Load() != 2 {
					t.Fatalf("%d connections and %d POSTs, want 2 of each", len(made), seen.Load())
				}
			}
		})
	}
}

func TestKeepsConnections(t *testing.T) {
	t.Parallel()
	made := map[string]bool{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		made[q.RemoteAddr] = true
		if q.ProtoMajor != 1 {
			t.Errorf("over %s", q.Proto)
		}
		w.Write(make([]byte, 3000))
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	p := wiring{tls: &tls.Config{RootCAs: roots}}.poster()
	defer p.close()
	post := func(once bool) {
		if got := p.post(t.Context(), once, s.URL, http.Header{}, []byte("x"), 5*time.Second); got.status != 200 || len(got.body) != keepResponse || got.cut {
			t.Errorf("%+v", got)
		}
	}
	for range 5 {
		post(false)
	}
	if len(made) != 1 {
		t.Errorf("%d connections for 5 attempts", len(made))
	}
	for range 3 {
		post(true)
	}
	if len(made) != 4 {
		t.Errorf("%d connections after 3 more of policy once", len(made)-1)
	}
}

// Stopped before the first byte: given back. After it: nobody can know.
func TestStopped(t *testing.T) {
	t.Parallel()
	mute := names{"mute.test": nil}
	slow := receive(t, func(c *net.TCPConn, _ int) bool { io.Copy(io.Discard, c); return false })
	for name, c := range map[string]struct {
		url  string
		kind ledger.Kind
		why  string
	}{
		"before the first byte": {"http://mute.test", ledger.GivenBack, ""},
		"after it":              {slow.url, ledger.Ambiguous, "the server stopped during the attempt"},
	} {
		for cause, err := range map[string]error{"stop": worker.ErrStopped, "lease": worker.ErrLeaseLost} {
			t.Run(name+" by "+cause, func(t *testing.T) {
				t.Parallel()
				p := wiring{resolver: mute.resolver(t)}.poster()
				defer p.close()
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(100*time.Millisecond, func() { cancel(err) })
				start := time.Now()
				got := p.post(ctx, false, c.url, http.Header{}, []byte("x"), 20*time.Second)
				f := judge(got.answer, terms{ladder: DefaultLadder(), tries: 1}, 0)
				if !got.stop || f.kind != c.kind || time.Since(start) > 3*time.Second {
					t.Errorf("%+v, %+v after %v", got, f, time.Since(start))
				}
				why := c.why
				if why != "" && cause == "lease" {
					why = "the lease was lost during the attempt"
				}
				if f.why != why {
					t.Errorf("why: %q of %v", f.why, got.err)
				}
			})
		}
	}
}
