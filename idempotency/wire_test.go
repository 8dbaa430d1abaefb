package idempotency_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// listen serves the rig's service on a real connection.
func (r *rig) listen() *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.service.ServeHTTP(w, q) }))
	r.Cleanup(s.Close)
	return s
}

func (r *rig) send(ctx context.Context, s *httptest.Server) (*http.Response, error) {
	q := request(r.T, "POST", s.URL+"/exports")
	q.RequestURI = ""
	return s.Client().Do(q.WithContext(ctx))
}

// Nothing of an answer leaves before its record is made, whatever the handler flushes.
func TestHeldBack(t *testing.T) {
	onAll(t, func(r *rig) {
		conn := make(chan struct{})
		sent := false
		live := r.config.Ledger
		r.config.Ledger = away{live, never, never, func() error {
			select {
			case <-conn:
				sent = true
			case <-time.After(50 * time.Millisecond):
			}
			return nil
		}}
		r.build()
		s := r.listen()
		r.serve(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "early")
			if err := http.NewResponseController(w).Flush(); err != nil {
				r.Error(err)
			}
			w.(http.Flusher).Flush()
		})
		resp, err := r.send(r.Context(), s)
		close(conn)
		if err != nil {
			r.Fatal(err)
		}
		r.is(resp, http.StatusOK, "early")
		if sent {
			r.Error("the client had its answer before the ledger had the record")
		}
	})
}

// An answer that is too large to be kept streams. A repeated request is told so, and nothing is done again.
func TestLarge(t *testing.T) {
	onAll(t, func(r *rig) {
		r.config.MaxAnswer = 1000
		r.build()
		s := r.listen()
		read := make(chan struct{})
		r.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3000")
			for i := range 3 {
				fmt.Fprintf(w, "%-999d\n", i)
				w.(http.Flusher).Flush()
			}
			<-read // while the handler still runs, the client has what was written
		})
		resp, err := r.send(r.Context(), s)
		if err != nil {
			r.Fatal(err)
		}
		b := bufio.NewReader(resp.Body)
		for i := range 3 {
			if line, err := b.ReadString('\n'); err != nil || line != fmt.Sprintf("%-999d\n", i) {
				r.Fatalf("%q %v", line, err)
			}
		}
		close(read)
		if rest, err := io.ReadAll(b); err != nil || len(rest) > 0 || resp.ContentLength != -1 {
			r.Errorf("%q %v, %d", rest, err, resp.ContentLength)
		}
		r.is(r.post(), http.StatusConflict, "answered with status 200; its answer of more than 1000 bytes was not kept")
		r.want(1)
	})
}

// A stream whose record cannot be made ends as a broken one, so that its client repeats the request.
func TestLargeWithoutRecord(t *testing.T) {
	onAll(t, func(r *rig) {
		r.config.MaxAnswer = 10
		r.config.Lease = time.Second
		r.config.Ledger = away{r.config.Ledger, never, never, always}
		r.build()
		s := r.listen()
		r.serve(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 100)) })
		resp, err := r.send(r.Context(), s)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		if err == nil {
			r.Error("the client has a whole answer, and the ledger no record")
		}
	})
}

// A client that goes away does not end what was begun: the work is finished, its answer kept, and given to the client that comes again.
func TestClientGone(t *testing.T) {
	onAll(t, func(r *rig) {
		begun, gone := make(chan struct{}), make(chan struct{})
		guarded, seen := r.service, sync.OnceFunc(func() { close(gone) })
		r.service = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { // the server sees the connection close
			context.AfterFunc(q.Context(), seen)
			guarded.ServeHTTP(w, q)
		})
		s := r.listen()
		r.serve(func(w http.ResponseWriter, q *http.Request) {
			close(begun)
			<-gone
			if err := q.Context().Err(); err != nil {
				r.Errorf("the work was ended: %v", err)
			}
			made(w, q)
		})
		ctx, cancel := context.WithCancel(r.Context())
		go func() { <-begun; cancel() }()
		if _, err := r.send(ctx, s); err == nil {
			r.Fatal("answered")
		}
		for {
			resp, err := r.send(r.Context(), s)
			if err != nil {
				r.Fatal(err)
			}
			if resp.StatusCode != http.StatusConflict {
				r.replayed(resp, http.StatusAccepted, fmt.Sprintf(`{"op":%q}`, r.ops[0].ID))
				break
			}
			resp.Body.Close()
		}
		r.want(1)
	})
}

// A body that does not come in its time is refused, and nothing is done.
func TestSlowBody(t *testing.T) {
	onAll(t, func(r *rig) {
		r.config.Timeout = 100 * time.Millisecond
		r.build()
		s := r.listen()
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			r.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /exports HTTP/1.1\r\nHost: x\r\nTenant: acme\r\nIdempotency-Key: k\r\nContent-Length: 9\r\n\r\n{")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			r.Fatal(err)
		}
		r.is(resp, http.StatusBadRequest, "could not be read to its end within 100ms")
		r.want(0)
	})
}

// What a goroutine of a handler writes when that has returned is not part of the answer: the client, and whoever repeats the request, have the same.
func TestLateWriter(t *testing.T) {
	for name, early := range map[string]string{"held back": "early", "streaming": strings.Repeat("early", 300)} {
		t.Run(name, func(t *testing.T) {
			onAll(t, func(r *rig) {
				returned, wrote := make(chan struct{}), make(chan error, 1)
				settles := sync.OnceFunc(func() { close(returned) }) // a settling that failed is said again
				r.config.Ledger = away{r.config.Ledger, never, never, func() error {
					settles()
					err := <-wrote
					wrote <- err
					return nil
				}}
				r.config.MaxAnswer = 1000
				r.build()
				r.serve(func(w http.ResponseWriter, _ *http.Request) {
					io.WriteString(w, early)
					go func() {
						<-returned
						w.WriteHeader(http.StatusAccepted)
						w.(http.Flusher).Flush()
						_, err := io.WriteString(w, strings.Repeat("late", 300))
						wrote <- err
					}()
				})
				if got := r.is(r.post(), http.StatusOK, ""); got != early {
					r.Errorf("the client has %.20q, %d bytes", got, len(got))
				}
				if err := <-wrote; err == nil {
					r.Error("who writes too late is not told")
				}
			})
		})
	}
}
