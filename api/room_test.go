package api_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

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
