package webhook

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// receiver is a hostile one: it speaks on the bare connection and counts the POSTs that came in whole.
type receiver struct {
	url     string
	seen    atomic.Int64
	codings atomic.Int64 // POSTs that asked for an answer in a coding
	keys    sync.Map     // of idempotency-key
}

// receive listens and lets each connection be handled by hand, which gets each whole request of it.
func receive(t *testing.T, hand func(c *net.TCPConn, n int) (goOn bool)) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{url: "http://" + l.Addr().String()}
	var open sync.Map
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Store(c, true)
			wg.Go(func() {
				defer c.Close()
				br := bufio.NewReader(c)
				for n := 1; ; n++ {
					q, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					if _, err := io.Copy(io.Discard, q.Body); err != nil {
						return
					}
					r.seen.Add(1)
					if _, asked := q.Header["Accept-Encoding"]; asked {
						r.codings.Add(1)
					}
					r.keys.Store(q.Header.Get("Idempotency-Key"), true)
					if !hand(c.(*net.TCPConn), n) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		wg.Wait()
	})
	return r
}

// say answers with text and goes on.
func say(text string) func(*net.TCPConn, int) bool {
	return func(c *net.TCPConn, _ int) bool {
		_, err := io.WriteString(c, text)
		return err == nil
	}
}

func reset(c *net.TCPConn) { c.SetLinger(0); c.Close() }

// names is a DNS server of our own: each name's addresses, of which each look takes the next. An unknown name is not found; a name
// without addresses is never answered.
type names map[string][]string

func (n names) resolver(t *testing.T) *net.Resolver {
	var mu sync.Mutex
	looks := map[string]int{}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe() // a stream, so the messages have their length before them
		go func() {
			defer theirs.Close()
			for {
				var size [2]byte
				if _, err := io.ReadFull(theirs, size[:]); err != nil {
					return
				}
				q := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(theirs, q); err != nil {
					return
				}
				mu.Lock()
				a := n.answer(q, looks)
				mu.Unlock()
				if a != nil {
					theirs.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...))
				}
			}
		}()
		return ours, nil
	}}
}

// answer makes the answer to one question (RFC 1035, 4.1).
func (n names) answer(q []byte, looks map[string]int) []byte {
	var labels []string
	i := 12
	for q[i] != 0 {
		labels = append(labels, string(q[i+1:i+1+int(q[i])]))
		i += 1 + int(q[i])
	}
	end := i + 5
	name, kind := strings.ToLower(strings.Join(labels, ".")), binary.BigEndian.Uint16(q[i+1:])
	addrs, ok := n[name]
	if ok && len(addrs) == 0 {
		return nil
	}
	head := []byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}
	a := append(head, q[12:end]...)
	if !ok {
		a[3] |= 3
		return a
	}
	ip := netip.MustParseAddr(addrs[min(looks[name]/2, len(addrs)-1)]) // A and AAAA are asked for together
	looks[name]++
	if want := map[bool]uint16{true: 1, false: 28}[ip.Is4()]; kind != want {
		return a
	}
	a[7] = 1
	a = append(a, 0xc0, 12)
	a = binary.BigEndian.AppendUint16(a, kind)
	a = append(a, 0, 1, 0, 0, 0, 0)
	a = binary.BigEndian.AppendUint16(a, uint16(len(ip.AsSlice())))
	return append(a, ip.AsSlice()...)
}

// attempt posts a small event and closes what it used.
func attempt(t *testing.T, w wiring, url string, timeout time.Duration) reply {
	t.Helper()
	p := w.poster()
	defer p.close()
	return p.post(t.Context(), false, url, http.Header{"idempotency-key": {"k"}}, []byte(`{"a":1}`), timeout)
}

func TestHostileReceivers(t *testing.T) {
	t.Parallel()
	megabyte := bytes.Repeat([]byte("a"), 1<<20)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	for range 4 {
		z.Write(megabyte)
	}
	z.Close()
	var poured atomic.Int64
	drip := func(head string, every time.Duration) func(*net.TCPConn, int) bool {
		return func(c *net.TCPConn, n int) bool {
			for ok := say(head)(c, n); ok; ok = say("x")(c, n) {
				time.Sleep(every)
			}
			return false
		}
	}
	for name, c := range map[string]struct {
		hand   func(*net.TCPConn, int) bool
		status int
		sent   bool
		cut    bool
		within time.Duration
		why    string
		kept   string // of its body; "" is not looked at
	}{
		"gzip that unpacks to much": {
			hand:   say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", zipped.Len(), zipped.Bytes())),
			status: 200, sent: true, within: time.Second, kept: zipped.String()[:keepResponse],
		},
		"a response of 1 GiB": {hand: func(c *net.TCPConn, n int) bool {
			say("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")(c, n)
			for {
				k, err := c.Write(megabyte)
				if poured.Add(int64(k)); err != nil {
					return false
				}
			}
		}, status: 200, sent: true, within: time.Second},
		"a body that drips": {hand: drip("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", 50*time.Millisecond), status: 200, sent: true, cut: true, within: 1500 * time.Millisecond},
		"a 503 that drips":  {hand: drip("HTTP/1.1 503 No\r\nContent-Length: 1000000\r\n\r\n", 50*time.Millisecond), status: 503, sent: true, cut: true, within: 1500 * time.Millisecond},
		"a 503 that stalls": {hand: func(c *net.TCPConn, n int) bool {
			say("HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\nshort")(c, n)
			io.Copy(io.Discard, c)
			return false
		}, status: 503, sent: true, cut: true, within: 1500 * time.Millisecond},
		"a 503 of a megabyte": {hand: func(c *net.TCPConn, n int) bool {
			say("HTTP/1.1 503 No\r\nContent-Length: 1048576\r\n\r\n")(c, n)
			c.Write(megabyte)
			return false
		}, status: 503, sent: true, within: time.Second},
		"a 503 to its end":             {hand: say("HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\nshort"), status: 503, sent: true, within: time.Second},
		"headers that drip":            {hand: drip("HTTP/1.1 200 OK\r\nX: ", 50*time.Millisecond), sent: true, within: 1500 * time.Millisecond, why: "no answer within the time-out"},
		"headers without end":          {hand: say("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 64<<10)), sent: true, within: time.Second, why: "server response headers exceeded"},
		"silence":                      {hand: func(c *net.TCPConn, _ int) bool { io.Copy(io.Discard, c); return false }, sent: true, within: 1500 * time.Millisecond, why: "no answer within the time-out"},
		"no HTTP":                      {hand: say("SSH-2.0-OpenSSH_9.2\r\n"), sent: true, within: time.Second, why: "malformed"},
		"a redirect to the metadata":   {hand: say("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n"), status: 302, sent: true, within: time.Second},
		"a redirect that keeps a POST": {hand: say("HTTP/1.1 307 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"), status: 307, sent: true, within: time.Second},
		"a reset after the request":    {hand: func(c *net.TCPConn, _ int) bool { reset(c); return false }, sent: true, within: time.Second, why: "the receiver reset the connection"},
		"a reset in the headers":       {hand: func(c *net.TCPConn, n int) bool { say("HTTP/1.1 200 OK\r\nX: ")(c, n); reset(c); return false }, sent: true, within: time.Second, why: "the receiver "},
		"a close after the request":    {hand: func(c *net.TCPConn, _ int) bool { return false }, sent: true, within: time.Second, why: "the receiver closed the connection"},
		"a 200 cut off": {hand: func(c *net.TCPConn, n int) bool {
			say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")(c, n)
			return false
		}, status: 200, sent: true, cut: true, within: time.Second},
		"a 503 cut off": {hand: func(c *net.TCPConn, n int) bool {
			say("HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\nshort")(c, n)
			return false
		}, status: 503, sent: true, cut: true, within: time.Second},
		"a chunk cut off": {hand: func(c *net.TCPConn, n int) bool {
			say("HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nshort")(c, n)
			return false
		}, status: 503, sent: true, cut: true, within: time.Second},
		"switching protocols":   {hand: say("HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"), status: 101, sent: true, within: 1500 * time.Millisecond},
		"a status out of range": {hand: say("HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n"), status: 999, sent: true, within: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := receive(t, c.hand)
			start := time.Now()
			got := attempt(t, wiring{}, r.url, time.Second)
			took := time.Since(start)
			if got.status != c.status || got.sent != c.sent || got.cut != c.cut || got.stop {
				t.Errorf("%+v", got)
			}
			if took > c.within+time.Second { // the second is the machine's
				t.Errorf("took %v", took)
			}
			if c.status == 0 && !strings.Contains(reason(got.answer), c.why) {
				t.Errorf("the reason is %q of %v", reason(got.answer), got.err)
			}
			if len(got.body) > keepResponse {
				t.Errorf("%d bytes of the answer kept", len(got.body))
			}
			if c.kept != "" && string(got.body) != c.kept {
				t.Errorf("what is kept of the answer is not what was on the wire: it begins with %q", got.body[:min(len(got.body), 8)])
			}
			if n := r.seen.Load(); n != 1 {
				t.Errorf("%d POSTs on the wire", n)
			}
			if r.codings.Load() > 0 {
				t.Error("the POST asked for an answer in a coding")
			}
		})
	}
	t.Cleanup(func() {
		if n := poured.Load(); n > 64<<20 {
			t.Errorf("%d bytes were taken from a receiver that pours", n)
		}
	})
}

func TestNotSent(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	plain := receive(t, say("HTTP/1.1 200 OK\r\n\r\n"))
	secure := tlsServer(t)
	mute, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts; nobody says a word
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mute.Close() })
	port := plain.url[strings.LastIndex(plain.url, ":"):]
	dns := names{
		"loop.test": {"127.0.0.1"}, "meta.test": {"169.254.169.254"}, "six.test": {"::1"}, "mapped.test": {"::ffff:127.0.0.1"},
		"nat64.test": {"64:ff9b::7f00:1"}, "six4.test": {"2002:7f00:1::"}, "ula.test": {"fd00::1"}, "ten.test": {"10.0.0.1"}, "mute.test": nil,
	}
	public := wiring{guard: PublicOnly(), resolver: dns.resolver(t)}
	private := "the address was refused: it is not a public one"
	for name, c := range map[string]struct {
		w   wiring
		url string
		why string
	}{
		"refused":                {wiring{}, "http://" + closed.Addr().String(), "the connection was refused"},
		"no such name":           {public, "http://nowhere.test", "DNS: nowhere.test was not found"},
		"a name never looked up": {public, "http://mute.test", "the connection was not made in time"},
		"an unknown authority":   {wiring{}, secure, "TLS: the receiver's certificate is not valid"},
		"no TLS":                 {wiring{}, "https" + strings.TrimPrefix(plain.url, "http"), "the receiver closed the connection before the request was sent"},
		"TLS never answered":     {wiring{}, "https://" + mute.Addr().String(), "the connection was not made in time"},
		"loopback":               {public, plain.url, private},
		"localhost":              {wiring{guard: PublicOnly()}, "http://localhost" + port, private},
		"loopback by name":       {public, "http://loop.test" + port, private},
		"metadata":               {public, "http://169.254.169.254/latest", private},
		"metadata by name":       {public, "http://meta.test", private},
		"private":                {public, "http://192.168.1.1", private},
		"private by name":        {public, "http://ten.test", private},
		"shared":                 {public, "http://100.64.0.1", private},
		"this host":              {public, "http://0.0.0.0" + port, private},
		"v6 loopback":            {public, "http://[::1]" + port, private},
		"v6 by name":             {public, "http://six.test" + port, private},
		"v6 link-local":          {public, "http://[fe80::1]", private},
		"v6 local":               {public, "http://ula.test", private},
		"v4 in v6":               {public, "http://[::ffff:127.0.0.1]" + port, private},
		"v4 in v6 by name":       {public, "http://mapped.test" + port, private},
		"NAT64":                  {public, "http://nat64.test", private},
		"6to4":                   {public, "http://six4.test", private},
		"Azure's own":            {public, "http://168.63.129.16", private},
		"Teredo":                 {public, "http://[2001:0:7f00:1::1]", private},
		"broadcast":              {public, "http://255.255.255.255", private},
		"reserved":               {public, "http://240.0.0.1", private},
		"multicast":              {public, "http://224.0.0.1", private},
		"an odd form":            {public, "http://2130706433" + port, "DNS: 2130706433 was not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 10 * time.Second
			if strings.HasSuffix(c.why, "not made in time") {
				timeout = 500 * time.Millisecond
			}
			got := attempt(t, c.w, c.url, timeout)
			if got.err == nil || got.sent || got.stop || got.status != 0 {
				t.Fatalf("%+v", got)
			}
			if why := reason(got.answer); !strings.HasPrefix(why, c.why) {
				t.Errorf("the reason is %q of %v", why, got.err)
			}
		})
	}
	t.Cleanup(func() {
		if n := plain.seen.Load(); n != 0 {
			t.Errorf("%d POSTs came to an address that is refused", n)
		}
	})
}

// A name that is public at the first look and private at the second: the guard sees what is dialled, not what was looked up before.
func TestRebinding(t *testing.T) {
	t.Parallel()
	r := receive(t, say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	port := r.url[strings.LastIndex(r.url, ":"):]
	first := true
	guard := func(network, address string, c syscall.RawConn) error {
		if first { // stands for a public address, of which the test has none
			first = false
			return nil
		}
		return PublicOnly()(network, address, c)
	}
	w := wiring{guard: guard, resolver: names{"rebind.test": {"127.0.0.1"}}.resolver(t)}
	p := w.poster()
	defer p.close()
	for i, want := range []bool{true, false} {
		got := p.post(t.Context(), true, "http://rebind.test"+port, http.Header{}, []byte("{}"), time.Second)
		if got.sent != want {
			t.Errorf("look %d: %+v", i+1, got)
		}
	}
	if n := r.seen.Load(); n != 1 {
		t.Errorf("%d POSTs", n)
	}
}

func tlsServer(t *testing.T) string {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}
