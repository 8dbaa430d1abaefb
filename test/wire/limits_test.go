package wire

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// dial opens a connection to s that lasts no longer than the test may.
func (s *server) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(3 * time.Minute))
	return c
}

// head is a POST's first line and headers, with what a body needs.
func head(path string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, apiKey, length)
}

// hear reads the answer on a connection.
func hear(t *testing.T, c net.Conn) answer {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: res.StatusCode, header: res.Header, raw: string(raw)}
	if res.Close {
		a.header.Set("Connection", "close") // which ReadResponse takes out
	}
	if err := json.Unmarshal(raw, &a.body); err != nil {
		t.Fatalf("%d %s is no JSON object: %v", a.status, clip(a.raw), err)
	}
	return a
}

func checkHeaders(t *testing.T, s *server) {
	a := s.call(t, "GET", "/v1/queue/list", nil, "X-Long", strings.Repeat("x", 40<<10))
	a.refused(t, 431, "HEADERS_TOO_LARGE")
	a.says(t, "32768", "X-Long", "40966")
	s.call(t, "GET", "/v1/queue/list?cursor="+strings.Repeat("x", 40<<10), nil).refused(t, 431, "HEADERS_TOO_LARGE")
	s.call(t, "GET", "/v1/queue/list", nil, "X-Long", strings.Repeat("x", 30<<10)).ok(t)
	// Beyond what is read at all: in net/http's own words, and the connection is closed.
	c := s.dial(t)
	go fmt.Fprintf(c, "GET /v1/queue/list HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 200<<10))
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 431 {
		t.Errorf("headers of 200 KiB: %v, %v", res, err)
	}
}

// Who is slow loses his connection, and in time: with headers, with a small body, with a large one that drips. One that is only slower
// than most is served.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := start(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db"))
	s.queue(t, "slow", nil)
	drip := func(c net.Conn) {
		for {
			if _, err := c.Write([]byte("1")); err != nil {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	const path = "/v1/queue/publish"
	for _, c := range []struct {
		name, sent string
		status     int // 0: closed without an answer
		within     time.Duration
	}{
		{"nothing", "", 0, 10 * time.Second},
		{"headers", "POST " + path + " HTTP/1.1\r\nHost: x\r\nX-Slow: ", 0, 10 * time.Second},
		{"a small body", head(path, 60_000) + `{"queue":"slow","payload":`, 400, 20 * time.Second},
		{"a large body", head(path, 1<<20) + `{"queue":"slow","payload":`, 400, 20 * time.Second},
		{"a large body of no length", strings.Replace(head(path, 0), "Content-Length: 0", "Transfer-Encoding: chunked", 1) + fmt.Sprintf("100000\r\n%s", strings.Repeat(" ", 70_000)), 400, 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := s.dial(t)
			began := time.Now()
			if _, err := io.WriteString(conn, c.sent); err != nil {
				t.Fatal(err)
			}
			if c.name != "nothing" {
				go drip(conn)
			}
			if c.status != 0 {
				a := hear(t, conn)
				a.refused(t, c.status, "INVALID_ARGUMENT")
				a.says(t, "slowly", "131072")
			} else if b, err := io.ReadAll(conn); len(b) > 0 && !strings.Contains(string(b), " 408 ") || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("it was answered %q, %v", b, err)
			}
			if took := time.Since(began); took < c.within-time.Second || took > c.within+time.Minute {
				t.Errorf("it ended after %v, want %v", took, c.within)
			}
		})
	}
	t.Run("a steady one", func(t *testing.T) {
		t.Parallel()
		const size = 6 << 20
		conn := s.dial(t)
		body := `{"queue":"none","messages":[{"payload":1}]}`
		io.WriteString(conn, head("/v1/queue/publish_batch", size+len(body)))
		for range 30 { // longer than a small body may take
			if _, err := io.WriteString(conn, strings.Repeat(" ", size/30)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		io.WriteString(conn, strings.Repeat(" ", size%30)+body)
		hear(t, conn).refused(t, 404, "QUEUE_NOT_FOUND")
	})
	t.Run("a reader", func(t *testing.T) {
		t.Parallel()
		s.queue(t, "slow-reader", nil)
		const count = 20 // more than the sockets take
		for range count {
			s.publish(t, "slow-reader", strings.Repeat("x", 250_000), nil)
		}
		conn := s.dial(t)
		conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		body := `{"queue":"slow-reader","max_messages":20}`
		io.WriteString(conn, head("/v1/queue/consume", len(body))+body)
		began := time.Now()
		// What it was given and never took is given back, the counts with it.
		eventually(t, "they are in flight", time.Minute, func() bool { return s.stats(t, "slow-reader")["in_flight_count"] == float64(count) })
		eventually(t, "they are given back", 2*time.Minute, func() bool { return s.stats(t, "slow-reader")["available_count"] == float64(count) })
		if took := time.Since(began); took < 50*time.Second {
			t.Errorf("a reader of 5 MB that does not read was given up after %v", took)
		}
		if m := s.one(t, "slow-reader", nil); m["delivery_count"] != 1.0 {
			t.Errorf("what was given back and received has the count %v", m["delivery_count"])
		}
	})
}

// An idle connection is closed after two minutes.
func TestIdle(t *testing.T) {
	if os.Getenv("ONCEWARD_TEST_LONG") == "" {
		t.Skip("it waits for two minutes: make test-long")
	}
	t.Parallel()
	conn := start(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db")).dial(t)
	io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	if a := hear(t, conn); a.status != 200 {
		t.Errorf("/healthz: %d", a.status)
	}
	began := time.Now()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("an idle connection: %d bytes, %v", n, err)
	}
	if took := time.Since(began); took < 119*time.Second {
		t.Errorf("an idle connection was closed after %v", took)
	}
}

// Beyond its connections a server tells who comes, and beyond those it closes.
func TestConnections(t *testing.T) {
	t.Parallel()
	cert, key, roots := certificate(t)
	for name, args := range map[string][]string{"plain": nil, "TLS": {"--tls-cert", cert, "--tls-key", key}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most, spare = 8, 256
			s := start(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db"), append(args, "--max-connections", strconv.Itoa(most))...)
			dial := func() net.Conn { return s.dial(t) }
			if args != nil {
				dial = func() net.Conn {
					c := tls.Client(s.dial(t), &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
					if err := c.Handshake(); err != nil {
						t.Fatal(err)
					}
					return c
				}
			}
			ask := func(c net.Conn, path string) answer {
				fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, apiKey)
				return hear(t, c)
			}
			var open []net.Conn
			for range most {
				open = append(open, dial())
				ask(open[len(open)-1], "/v1/queue/list").ok(t)
			}
			a := ask(dial(), "/v1/queue/list")
			a.refused(t, 503, "UNAVAILABLE")
			a.says(t, "8 connections", "--max-connections")
			if a.header.Get("Retry-After") == "" || a.header.Get("Connection") != "close" {
				t.Errorf("the refusal has the headers %v", a.header)
			}
			if a := ask(dial(), "/healthz"); a.status != 200 {
				t.Errorf("/healthz in a crowd: %d %s", a.status, a.raw)
			}
			ask(open[0], "/v1/queue/list").ok(t) // who was there goes on
			open[0].Close()
			eventually(t, "there is a place again", 30*time.Second, func() bool {
				c := dial()
				defer c.Close()
				return ask(c, "/v1/queue/list").status == 200
			})
			// Silent ones, until the spare places are taken too. They last for 10 s: on a slow machine it takes more than one try.
			eventually(t, "a connection too many is closed", 2*time.Minute, func() bool {
				var last net.Conn
				for range most + spare {
					last = s.dial(t)
					defer last.Close()
				}
				last.SetReadDeadline(time.Now().Add(5 * time.Second))
				_, err := last.Read(make([]byte, 1))
				return !errors.Is(err, os.ErrDeadlineExceeded)
			})
			ask(open[1], "/v1/queue/list").ok(t)
		})
	}
}

// highest gives the most memory that a process has held, in MiB.
func (s *server) highest(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Skip("this machine does not tell what memory a process has held")
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// A flood of the largest bodies: some are held, the others wait outside and are told so, small calls go on, and memory stays bounded.
func TestFloodOfBodies(t *testing.T) {
	t.Parallel()
	s := start(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db"))
	s.queue(t, "flood", nil)
	quiet := s.highest(t)
	const callers, size = 64, 16 << 20 // 1 GiB
	tail := `{"queue":"none","messages":[{"payload":"` + strings.Repeat("x", 200_000) + `"}]}`
	sent, finish := make(chan bool, callers), make(chan bool)
	statuses := make(chan int, callers)
	for range callers {
		conn := s.dial(t)
		go func() {
			answered := make(chan int, 1)
			go func() {
				status := 0 // cut off while it sent
				if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
					status = res.StatusCode
				}
				answered <- status
			}()
			blank := strings.Repeat(" ", 1<<20)
			io.WriteString(conn, head("/v1/queue/publish_batch", size))
			for i := range 15 {
				if _, err := io.WriteString(conn, blank); err != nil {
					break
				}
				if i == 2 {
					sent <- true
				}
			}
			<-finish
			if _, err := io.WriteString(conn, blank[len(tail):]+tail); err != nil {
				conn.Close()
			}
			statuses <- <-answered
		}()
	}
	// Eight have room; of the others the sockets take what they take.
	for range 8 {
		<-sent
	}
	for range 50 {
		s.publish(t, "flood", 1, nil)
	}
	held := s.highest(t)
	close(finish)
	for range 10 {
		s.publish(t, "flood", 1, nil)
	}
	got := map[int]int{}
	for range callers {
		got[<-statuses]++
	}
	s.publish(t, "flood", 1, nil)
	most := s.highest(t)
	t.Logf("answered: %v; at rest %d MiB, while they came %d MiB, at most %d MiB", got, quiet, held, most)
	if got[404] < 8 || got[404]+got[503]+got[0] != callers { // there is no such queue: nothing but the bodies costs anything here
		t.Errorf("the calls were answered %v", got)
	}
	if held > quiet+300 || most > 900 {
		t.Errorf("%d bodies of %d MiB made a server of %d MiB hold %d MiB while they came, and %d at most", callers, size>>20, quiet, held, most)
	}
}
