package api_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/queue"
)

func message(id int64) queue.Message {
	now := time.Now()
	return queue.Message{Row: queue.Row{ID: id, Project: 1, Lease: 3, Receives: 1, VisibleAt: now.Add(time.Minute), PublishedAt: now, OriginAt: now}, Queue: "jobs", Body: []byte(`{"a": 1.0}`)}
}

func TestLongPoll(t *testing.T) {
	t.Parallel()
	const body = `{"queue":"jobs","wait_seconds":20}`
	type page struct {
		Items []struct {
			ID string `json:"message_id"`
		} `json:"items"`
	}

	t.Run("ends empty when the time is over", func(t *testing.T) {
		t.Parallel()
		s := newStub()
		s.receive = func(context.Context, queue.Receive) ([]queue.Message, error) { return nil, nil }
		var p page
		began := time.Now()
		a := serve(t, api.Config{Store: s}).do("POST", "/v1/queue/consume", `{"queue":"jobs","wait_seconds":0.3}`).ok(&p)
		if d := time.Since(began); d < 300*time.Millisecond || d > 15*time.Second || p.Items == nil || len(p.Items) != 0 {
			t.Errorf("after %v: %s", d, a.raw)
		}
	})
	t.Run("ends with the message that comes", func(t *testing.T) {
		t.Parallel()
		s := newStub()
		var there atomic.Bool
		s.receive = func(context.Context, queue.Receive) ([]queue.Message, error) {
			if there.Load() {
				return []queue.Message{message(5)}, nil
			}
			return nil, nil
		}
		s.wait = func(context.Context) []queue.Message { there.Store(true); return nil }
		var p page
		serve(t, api.Config{Store: s}).do("POST", "/v1/queue/consume", body).ok(&p)
		if len(p.Items) != 1 {
			t.Errorf("got %v", p)
		}
	})
	t.Run("a wake-up for nothing is no hot loop", func(t *testing.T) {
		t.Parallel()
		s := newStub()
		var n atomic.Int32
		s.receive = func(context.Context, queue.Receive) ([]queue.Message, error) { n.Add(1); return nil, nil }
		s.wait = func(context.Context) []queue.Message { return nil }
		serve(t, api.Config{Store: s}).do("POST", "/v1/queue/consume", `{"queue":"jobs","wait_seconds":1}`).ok(nil)
		if n := n.Load(); n > 20 {
			t.Errorf("%d receives in a second", n)
		}
	})
	t.Run("ends empty when the server stops", func(t *testing.T) {
		t.Parallel()
		s := newStub()
		waiting := make(chan struct{})
		s.receive = func(context.Context, queue.Receive) ([]queue.Message, error) { return nil, nil }
		s.wait = func(ctx context.Context) []queue.Message { close(waiting); <-ctx.Done(); return nil }
		stop := make(chan struct{})
		e := serve(t, api.Config{Store: s, Stop: stop})
		done := make(chan *answer)
		go func() { done <- e.do("POST", "/v1/queue/consume", body) }()
		<-waiting
		close(stop)
		select {
		case a := <-done:
			var p page
			if a.ok(&p); p.Items == nil || len(p.Items) != 0 {
				t.Errorf("got %s", a.raw)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the poll goes on")
		}
		e.do("GET", "/readyz", "").fails(503, "UNAVAILABLE", "")
		var p page // and one that comes after it does not wait
		e.do("POST", "/v1/queue/consume", `{"queue":"jobs","wait_seconds":20}`).ok(&p)
	})
}

// What was received for a client that is gone is released under its own lease, the count with it.
func TestConsumeOfAClientThatWentAway(t *testing.T) {
	t.Parallel()
	none := func(context.Context, queue.Receive) ([]queue.Message, error) { return nil, nil }
	t.Run("by a receive", func(t *testing.T) {
		t.Parallel()
		received := make(chan struct{})
		s := newStub()
		s.receive = func(ctx context.Context, _ queue.Receive) ([]queue.Message, error) {
			close(received)
			<-ctx.Done() // too late to withdraw
			return []queue.Message{message(5), message(6)}, nil
		}
		goesAway(t, s, received)
	})
	t.Run("while it waited", func(t *testing.T) {
		t.Parallel()
		received := make(chan struct{})
		s := newStub()
		s.receive = none
		s.wait = func(ctx context.Context) []queue.Message {
			close(received)
			<-ctx.Done()
			return []queue.Message{message(5), message(6)}
		}
		goesAway(t, s, received)
	})
}

func goesAway(t *testing.T, s *stub, received <-chan struct{}) {
	t.Helper()
	var released atomic.Pointer[[]queue.Settle]
	s.settle = func(ctx context.Context, items []queue.Settle) ([]queue.Settled, error) {
		if ctx.Err() != nil {
			t.Error("released with the client's context, which is over")
		}
		released.Store(&items)
		return make([]queue.Settled, len(items)), nil
	}
	e := serve(t, api.Config{Store: s})
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", e.url+"/v1/queue/consume", strings.NewReader(`{"queue":"jobs","max_messages":2,"wait_seconds":5}`))
	req.Header.Set("Authorization", "Bearer "+rootKey)
	req.Header.Set("Content-Type", "application/json")
	failed := make(chan error)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-received
	cancel()
	if err := <-failed; err == nil {
		t.Fatal("the request was answered")
	}
	eventually(t, "released", func() bool { return released.Load() != nil })
	for i, r := range *released.Load() {
		if r.Verb != queue.Release || r.ID != int64(5+i) || r.Lease != 3 || r.Project != 1 || r.Queue != "jobs" || r.Delay != 0 {
			t.Errorf("%+v", r)
		}
	}
	eventually(t, "observed as gone", func() bool { return e.seen.has(observed{"/v1/queue/consume", "POST", 499}) })
}
