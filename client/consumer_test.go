package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/client"
)

var quiet = slog.New(slog.DiscardHandler)

// consume runs a consumer of the queue jobs until what it gives is called, which also gives what Run returned.
func consume(t *testing.T, c client.Consumer) (stop func() error) {
	t.Helper()
	if c.Logger == nil {
		c.Logger = quiet
	}
	c.Queue = "jobs"
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	go func() { ran <- c.Run(ctx) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-ran
	})
}

// bubble runs a test with a server and its queue jobs where time is as quick as the work.
func bubble(t *testing.T, test func(t *testing.T, c *client.Client, gate *gate)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		c := serve(t, g.before)
		do[*client.Queue](t)(c.CreateQueue(t.Context(), client.NewQueue{Name: "jobs", QueueSettings: client.QueueSettings{MaxReceives: 10}}))
		test(t, c, g)
	})
}

// gate stands before a server and counts its calls; it can be shut, and an answer with the payload "spoilt" in it is no JSON behind it.
type gate struct {
	shut  atomic.Bool
	mu    sync.Mutex
	calls map[string]int
}

func (g *gate) before(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		g.mu.Lock()
		if g.calls == nil {
			g.calls = map[string]int{}
		}
		g.calls[q.URL.Path]++
		g.mu.Unlock()
		if g.shut.Load() {
			panic(http.ErrAbortHandler) // the connection breaks off
		}
		h.ServeHTTP(spoiling{w}, q)
	})
}

type spoiling struct{ http.ResponseWriter }

func (w spoiling) Write(p []byte) (int, error) {
	return w.ResponseWriter.Write(bytes.ReplaceAll(p, []byte(`"spoilt"`), []byte(`[spoilt}`)))
}

func (w spoiling) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (g *gate) count(path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[path]
}

func publish(t *testing.T, c *client.Client, n int) {
	t.Helper()
	m := make([]client.NewMessage, n)
	for i := range m {
		m[i].Payload = i
	}
	for _, r := range do[[]client.Result[client.Published]](t)(c.PublishBatch(t.Context(), "jobs", m)) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

func count(t *testing.T, c *client.Client) client.QueueStats {
	t.Helper()
	return *do[*client.QueueStats](t)(c.QueueStats(t.Context(), "jobs"))
}

// until waits for what goes on beside the test.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); !cond(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came: " + what)
		}
	}
}

func TestConsumerWorks(t *testing.T) {
	bubble(t, func(t *testing.T, c *client.Client, g *gate) {
		var at, most, done atomic.Int64
		stop := consume(t, client.Consumer{Client: c, Concurrency: 7, Handle: func(ctx context.Context, m *client.Message) error {
			n := at.Add(1)
			defer at.Add(-1)
			for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
			}
			time.Sleep(time.Second)
			done.Add(1)
			return nil
		}})
		publish(t, c, 100)
		until(t, "all messages acked", func() bool { return count(t, c).Messages == 0 })
		if err := stop(); err != nil {
			t.Error(err)
		}
		if done.Load() != 100 || most.Load() != 7 {
			t.Errorf("%d done, at most %d at a time", done.Load(), most.Load())
		}
		if n := g.count("/v1/queue/ack_batch"); n > 60 {
			t.Errorf("%d calls acked 100 messages", n)
		}
	})
}

// What a handler says becomes of its message.
func TestConsumerSettles(t *testing.T) {
	bubble(t, func(t *testing.T, c *client.Client, _ *gate) {
		why := errors.New("no printer")
		says := map[string]error{
			"error": why, "retry": client.RetryIn(time.Hour, why), "dead": client.DeadLetter(why), "back": client.GiveBack(2 * time.Hour),
			"wrapped": fmt.Errorf("outer: %w", client.DeadLetter(why)), "leave": client.Leave(why),
		}
		var log strings.Builder
		stop := consume(t, client.Consumer{Client: c, Logger: slog.New(slog.NewTextHandler(&log, nil)), Handle: func(_ context.Context, m *client.Message) error {
			name := ""
			if err := m.Decode(&name); err != nil {
				return err
			}
			if name == "panic" {
				panic("at the disco")
			}
			return says[name]
		}})
		for _, name := range []string{"fine", "error", "retry", "dead", "back", "wrapped", "panic", "leave"} {
			do[*client.Published](t)(c.Publish(t.Context(), "jobs", client.NewMessage{Payload: name}))
		}
		time.Sleep(500 * time.Millisecond) // before the first comes again
		if err := stop(); err != nil {
			t.Error(err)
		}
		type state struct {
			status, why string
			count       int
			in          time.Duration
		}
		got := map[string]state{}
		now := time.Now()
		for _, m := range append(all(t, c.Messages(t.Context(), "jobs", "")), all(t, c.DeadLetters(t.Context(), "jobs"))...) {
			name := ""
			if err := m.Decode(&name); err != nil {
				t.Error(err)
			}
			s := state{m.Status, m.LastError, m.DeliveryCount, 0}
			if m.Status == client.Delayed {
				s.in = m.VisibleAt.Sub(now).Round(time.Second)
			}
			got[name] = s
		}
		for name, want := range map[string]state{
			"error": {client.Delayed, "no printer", 1, 0}, "retry": {client.Delayed, "no printer", 1, time.Hour}, "dead": {client.DeadLettered, "no printer", 1, 0},
			"back": {client.Delayed, "", 0, 2 * time.Hour}, "wrapped": {client.DeadLettered, "outer: no printer", 1, 0},
			"panic": {client.Delayed, "the handler panicked: at the disco", 1, 0}, "leave": {client.InFlight, "", 1, 0},
		} {
			g := got[name]
			if want.in == 0 {
				g.in = 0
			}
			if g != want {
				t.Errorf("%s: %+v, want %+v", name, g, want)
			}
		}
		if _, left := got["fine"]; left {
			t.Error("what was done is still there")
		}
		if !strings.Contains(log.String(), "at the disco") || !strings.Contains(log.String(), "consumer_test.go") {
			t.Errorf("the log does not say where it panicked: %s", log.String())
		}
	})
}

// A handler may work far longer than its lease: nobody else gets its message.
func TestConsumerExtends(t *testing.T) {
	bubble(t, func(t *testing.T, c *client.Client, _ *gate) {
		var begun, done atomic.Int64
		stop := consume(t, client.Consumer{Client: c, Visibility: 5 * time.Second, Handle: func(ctx context.Context, m *client.Message) error {
			begun.Add(1)
			select {
			case <-time.After(time.Minute):
				done.Add(1)
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}})
		publish(t, c, 3)
		until(t, "all done", func() bool { return done.Load() == 3 })
		until(t, "all acked", func() bool { return count(t, c).Messages == 0 })
		if err := stop(); err != nil || begun.Load() != 3 {
			t.Errorf("%v; begun %d times", err, begun.Load())
		}
	})
}

// A lease that is lost ends the handler, and nothing that it says afterwards touches the message.
func TestConsumerLosesLeases(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, c *client.Client, g *gate, m *client.Message){
		"another worker has it": func(t *testing.T, c *client.Client, _ *gate, m *client.Message) {
			do[*client.Settled](t)(c.Release(t.Context(), "jobs", m.Receipt, 0))
			if got := do[[]*client.Message](t)(c.Consume(t.Context(), "jobs", client.Receive{Visibility: time.Hour})); len(got) != 1 {
				t.Fatalf("received %d", len(got))
			}
		},
		"it was acked": func(t *testing.T, c *client.Client, _ *gate, m *client.Message) {
			do[*client.Settled](t)(c.Ack(t.Context(), "jobs", m.Receipt))
		},
		"the server is away": func(_ *testing.T, _ *client.Client, g *gate, _ *client.Message) { g.shut.Store(true) },
		"the queue is not there": func(t *testing.T, c *client.Client, _ *gate, _ *client.Message) {
			do[bool](t)(true, c.DeleteQueue(t.Context(), "jobs", true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *client.Client, g *gate) {
				began, ended := make(chan *client.Message, 9), make(chan error, 9)
				publish(t, c, 1)
				stop := consume(t, client.Consumer{Client: c, Concurrency: 1, Visibility: 8 * time.Second, Handle: func(ctx context.Context, m *client.Message) error {
					began <- m
					<-ctx.Done()
					ended <- context.Cause(ctx)
					return errors.New("broken off") // a nack, if it were listened to
				}})
				m := <-began
				before := g.count("/v1/queue/nack") + g.count("/v1/queue/release")
				lose(t, c, g, m)
				lost := g.count("/v1/queue/nack") + g.count("/v1/queue/release")
				at := time.Now()
				if err := <-ended; !errors.Is(err, client.ErrLeaseLost) {
					t.Errorf("the handler's context ended with %v", err)
				}
				if took := time.Since(at); took > 8*time.Second {
					t.Errorf("it took %v", took)
				}
				g.shut.Store(false)
				if err := stop(); err != nil && !errors.Is(err, client.QueueNotFound) {
					t.Error(err)
				}
				if n := g.count("/v1/queue/nack") + g.count("/v1/queue/release"); n != lost || lost > before+1 {
					t.Errorf("the message was touched %d times by who had lost it", n-lost)
				}
			})
		})
	}
}

// A stop finishes what was begun, and gives back what could not be finished: uncounted, and at once.
func TestConsumerStops(t *testing.T) {
	bubble(t, func(t *testing.T, c *client.Client, _ *gate) {
		began := make(chan struct{}, 9)
		stop := consume(t, client.Consumer{Client: c, Grace: 10 * time.Second, Visibility: 2 * time.Second, Handle: func(ctx context.Context, m *client.Message) error {
			began <- struct{}{}
			wait := 5 * time.Second
			if string(m.Payload) == "1" {
				wait = time.Hour
			}
			select {
			case <-time.After(wait):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		publish(t, c, 2)
		<-began
		<-began
		at := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(at); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("the stop took %v", took)
		}
		left := all(t, c.Messages(t.Context(), "jobs", ""))
		if len(left) != 1 || string(left[0].Payload) != "1" || left[0].Status != client.Available || left[0].DeliveryCount != 0 {
			t.Errorf("%+v", left)
		}
	})
	t.Run("idle", func(t *testing.T) {
		bubble(t, func(t *testing.T, c *client.Client, _ *gate) {
			stop := consume(t, client.Consumer{Client: c, Handle: func(context.Context, *client.Message) error { return nil }})
			time.Sleep(time.Minute)
			at := time.Now()
			if err := stop(); err != nil || time.Since(at) > time.Second {
				t.Errorf("%v after %v", err, time.Since(at))
			}
			publish(t, c, 1)
			if s := count(t, c); s.Available != 1 {
				t.Errorf("%+v: somebody still receives", s)
			}
		})
	})
	t.Run("deaf", func(t *testing.T) {
		bubble(t, func(t *testing.T, c *client.Client, _ *gate) {
			began, end := make(chan struct{}), make(chan struct{})
			stop := consume(t, client.Consumer{Client: c, Grace: time.Second, Handle: func(context.Context, *client.Message) error {
				close(began)
				<-end // whatever its context says
				return nil
			}})
			publish(t, c, 1)
			<-began
			if err := stop(); err == nil || !strings.Contains(err.Error(), "handlers") {
				t.Errorf("%v", err)
			}
			close(end)
			until(t, "a late word still acks", func() bool { return count(t, c).Messages == 0 })
		})
	})
}

// A server that is away for minutes ends nothing; one that refuses does.
func TestConsumerAndTheServer(t *testing.T) {
	bubble(t, func(t *testing.T, c *client.Client, g *gate) {
		var done atomic.Int64
		stop := consume(t, client.Consumer{Client: c, Handle: func(context.Context, *client.Message) error {
			done.Add(1)
			return nil
		}})
		g.shut.Store(true)
		time.Sleep(5 * time.Minute)
		if n := g.count("/v1/queue/consume"); n < 20 || n > 100 {
			t.Errorf("%d calls in 5 minutes to a server that is away", n)
		}
		g.shut.Store(false)
		publish(t, c, 5)
		until(t, "all done", func() bool { return done.Load() == 5 })
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("no queue", func(t *testing.T) {
		bubble(t, func(t *testing.T, c *client.Client, _ *gate) {
			err := client.Consumer{Client: c, Queue: "none", Logger: quiet, Handle: func(context.Context, *client.Message) error { return nil }}.Run(t.Context())
			if !errors.Is(err, client.QueueNotFound) {
				t.Errorf("%v", err)
			}
		})
	})
	for name, c := range map[string]client.Consumer{
		"nothing": {}, "concurrency": {Client: &client.Client{}, Queue: "a", Handle: func(context.Context, *client.Message) error { return nil }, Concurrency: 1001},
		"visibility": {Client: &client.Client{}, Queue: "a", Handle: func(context.Context, *client.Message) error { return nil }, Visibility: time.Millisecond},
	} {
		if err := c.Run(t.Context()); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
}

// An answer that cannot be read ends nothing: what makes it so is dead-lettered after its receives, and the rest goes on.
func TestConsumerAndAnAnswerThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T, c *client.Client, _ *gate) {
		if _, err := c.Publish(t.Context(), "jobs", client.NewMessage{Payload: "spoilt"}); err == nil {
			t.Fatal("its answer, which has the payload in it, was read: the test shows nothing")
		}
		var done atomic.Int64
		stop := consume(t, client.Consumer{Client: c, Visibility: time.Second, Handle: func(context.Context, *client.Message) error {
			done.Add(1)
			return nil
		}})
		until(t, "it is dead-lettered", func() bool { return count(t, c).Dead == 1 })
		publish(t, c, 3)
		until(t, "the others are done", func() bool { return done.Load() == 3 })
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
