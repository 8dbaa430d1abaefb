package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/queue"
)

// A client that goes away while it waits takes nothing with it: what comes afterwards is there for others, uncounted.
func TestClientGoneWhileItWaits(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", r.url+"/v1/queue/consume", strings.NewReader(`{"queue":"jobs","wait_seconds":20}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+rootKey)
	req.Header.Set("Content-Type", "application/json")
	over := make(chan error)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		over <- err
	}()
	cancel()
	if err := <-over; err == nil {
		t.Fatal("the poll was answered")
	}
	r.publish("jobs", `1`)
	var got []received
	eventually(t, "the message is there for another", func() bool { got = r.consume("jobs", 1); return len(got) == 1 })
	if got[0].Count != 1 {
		t.Errorf("delivery_count = %d; the client that is gone received nothing", got[0].Count)
	}
}

// A client that closes its side in the middle of a body may still listen: it is told what went wrong, never 200.
func TestBodyCutShort(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	for name, head := range map[string]string{
		"of a length": "Content-Length: 60000\r\n\r\n" + `{"queue":"jobs","payload":1}`,
		"chunked":     "Transfer-Encoding: chunked\r\n\r\n" + "1000\r\n" + `{"queue":"jobs","payload":1}`,
		"large":       "Content-Length: 600000\r\n\r\n" + `{"queue":"jobs","payload":1}` + strings.Repeat(" ", 70_000),
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(c, "POST /v1/queue/publish HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s", rootKey, head)
		c.(*net.TCPConn).CloseWrite()
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("a body %s, cut short: no answer: %v", name, err)
		}
		said, _ := io.ReadAll(res.Body)
		if res.Body.Close(); res.StatusCode != 400 || !strings.Contains(string(said), "before it was whole") {
			t.Errorf("a body %s, cut short: %s %s", name, res.Status, said)
		}
	}
	if got := r.consume("jobs", 10); len(got) != 0 {
		t.Errorf("%d messages were stored of bodies cut short", len(got))
	}
}

// What a client will never know of is undone, and it hears nothing: an empty answer would be a 200.
func TestGoneIsNoSuccess(t *testing.T) {
	t.Parallel()
	s := newStub()
	received := make(chan bool)
	s.receive = func(ctx context.Context, _ queue.Receive) ([]queue.Message, error) {
		close(received)
		<-ctx.Done()
		return []queue.Message{{ID: 1, Lease: 1, Body: []byte("1")}}, nil
	}
	settled := make(chan queue.Settle, 1)
	s.settle = func(_ context.Context, items []queue.Settle) ([]queue.Settled, error) {
		settled <- items[0]
		return make([]queue.Settled, 1), nil
	}
	e := serve(t, api.Config{Store: s})
	c, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	body := `{"queue":"jobs"}`
	fmt.Fprintf(c, "POST /v1/queue/consume HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", rootKey, len(body), body)
	<-received
	c.(*net.TCPConn).CloseWrite()
	if said, _ := io.ReadAll(c); len(said) != 0 {
		t.Errorf("it was told %q", said)
	}
	if it := <-settled; it.Verb != queue.Release {
		t.Errorf("what it was to receive is settled by %v", it.Verb)
	}
}
