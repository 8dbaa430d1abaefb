package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/queue"
)

// A large answer that finds no room is not sent: what it would have handed out goes back, and a small one is sent all the same.
func TestNoRoomForAnswers(t *testing.T) {
	t.Parallel()
	s := newStub()
	var size int
	s.receive = func(context.Context, queue.Receive) ([]queue.Message, error) {
		return []queue.Message{{ID: 5, Lease: 3, Queue: "jobs", Body: []byte(`"` + strings.Repeat("x", size) + `"`)}}, nil
	}
	var settled []queue.Settle
	s.settle = func(_ context.Context, items []queue.Settle) ([]queue.Settled, error) {
		settled = append(settled, items...)
		return make([]queue.Settled, len(items)), nil
	}
	e := serve(t, api.Config{Store: s})
	empty := api.Fill(e.handler, true)
	size = 100_000
	a := e.do("POST", "/v1/queue/consume", `{"queue":"jobs"}`).fails(503, "UNAVAILABLE", "")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if len(settled) != 1 || settled[0].Verb != queue.Release || settled[0].ID != 5 || settled[0].Lease != 3 {
		t.Errorf("what could not be handed out is settled by %+v", settled)
	}
	size = 10
	e.do("POST", "/v1/queue/consume", `{"queue":"jobs"}`).ok(nil)
	empty()
	size = 100_000
	e.do("POST", "/v1/queue/consume", `{"queue":"jobs"}`).ok(nil)
	if len(settled) != 1 {
		t.Errorf("answers that were sent are settled by %+v", settled[1:])
	}
	api.Fill(e.handler, true)() // all of it is free again
}

// A large body waits for room and goes on when there is some; a small one never waits. A client that gives up while it waits
// leaves nothing behind.
func TestRoomForBodies(t *testing.T) {
	t.Parallel()
	s := newStub()
	published := make(chan int, 10)
	s.publish = func(_ context.Context, items []queue.Publish) ([]queue.Published, error) {
		published <- len(items[0].Body)
		return []queue.Published{{ID: 1, PublishedAt: time.Now(), VisibleAt: time.Now()}}, nil
	}
	e := serve(t, api.Config{Store: s})
	body := func(n int) string { return `{"queue":"jobs","payload":"` + strings.Repeat("x", n) + `"}` }
	empty := api.Fill(e.handler, false)
	var waiting sync.WaitGroup
	for range 5 {
		waiting.Go(func() { e.do("POST", "/v1/queue/publish", body(100_000)).ok(nil) })
	}
	e.do("POST", "/v1/queue/publish", body(60_000)).ok(nil)
	if n := <-published; n != 60_002 || len(published) > 0 {
		t.Errorf("a payload of %d bytes was published, and %d more", n, len(published))
	}
	empty()
	waiting.Wait()
	if len(published) != 5 {
		t.Errorf("%d of 5 that waited were published", len(published))
	}
	api.Fill(e.handler, false)()
}

// What is announced takes no room before it comes: connections of one project that send nothing, or no more than a beginning, shut out no other's
// large bodies.
func TestIdleBodiesTakeNoRoom(t *testing.T) {
	t.Parallel()
	s := newStub()
	const idle = "an-idle-projects-key-0123456789"
	s.keys[idle] = access.Key{ID: 2, Project: 2, Name: "idle", Scopes: []access.Scope{access.Publish}}
	s.publish = func(context.Context, []queue.Publish) ([]queue.Published, error) {
		return []queue.Published{{ID: 1, PublishedAt: time.Now(), VisibleAt: time.Now()}}, nil
	}
	e := serve(t, api.Config{Store: s})
	for i := range 16 {
		c, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/queue/publish HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\nExpect: 100-continue\r\n\r\n", idle)
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "100") { // it is being read
			t.Fatalf("%q, %v", line, err)
		}
		if i%2 == 0 {
			io.WriteString(c, strings.Repeat(" ", 8<<10))
		}
	}
	for range 20 { // the beginnings come meanwhile
		e.do("POST", "/v1/queue/publish", `{"queue":"jobs","payload":"`+strings.Repeat("x", 100_000)+`"}`).ok(nil)
	}
}

// Bodies that have come half and find no more room do not wait for each other: all come to their ends.
func TestHalfBodiesComeToTheirEnds(t *testing.T) {
	t.Parallel()
	s := newStub()
	s.publish = func(_ context.Context, items []queue.Publish) ([]queue.Published, error) {
		return []queue.Published{{ID: 1, PublishedAt: time.Now(), VisibleAt: time.Now()}}, nil
	}
	e := serve(t, api.Config{Store: s})
	const size = 250_000
	empty := api.Leave(e.handler, size, 16<<20) // for one of them, or for the beginnings of three
	body := `{"queue":"jobs","payload":"` + strings.Repeat("x", size-50) + `"}`
	half := make(chan bool)
	var begun, all sync.WaitGroup
	for i := range 12 {
		begun.Add(1)
		all.Go(func() {
			first, rest := strings.NewReader(body[:70_000]), strings.NewReader(body[70_000:])
			wait := sync.OnceFunc(func() { begun.Done(); <-half })
			var in io.Reader = io.MultiReader(first, readFunc(func([]byte) (int, error) { wait(); return 0, io.EOF }), rest)
			req, err := http.NewRequest("POST", e.url+"/v1/queue/publish", in)
			if err != nil {
				t.Error(err)
				return
			}
			if i%2 == 0 {
				req.ContentLength = int64(len(body))
			}
			req.Header.Set("Authorization", "Bearer "+rootKey)
			req.Header.Set("Content-Type", "application/json")
			e.send(req).ok(nil)
		})
	}
	begun.Wait()
	close(half)
	all.Wait()
	empty()
	api.Fill(e.handler, false)() // all of it is free again
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
