package webhook_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/webhook"
)

// rig is a real store, a receiver over a network in memory, and workers: days pass in a moment.
type rig struct {
	*testing.T
	db       *sqlite.DB
	codec    *ids.Codec
	rules    webhook.Rules
	receiver *httptest.Server

	mu     sync.Mutex
	answer func(w http.ResponseWriter, q *http.Request, n int) // to the nth POST of an event
	got    map[string][]post
	stops  []func()

	observe func(webhook.Outcome, ledger.Applied) // of the workers to come
}

// post is what the receiver got.
type post struct {
	at           time.Time
	key, attempt string
	body         string
}

// inBubble runs a test over a rig.
func inBubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		db, err := sqlite.Open(t.Context(), filepath.Join(dir, "o.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := webhook.NewSealer(bytes.Repeat([]byte{7}, 32))
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{T: t, db: db, codec: ids.New(db.Secret()), rules: webhook.Rules{AllowPrivate: true, Sealer: s}, got: map[string][]post{}}
		r.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(200) }
		r.receiver = httptest.NewTestServer(t, http.HandlerFunc(r.receive))
		r.receiver.Client()
		defer func() {
			for _, stop := range r.stops {
				stop()
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(r)
	})
}

func (r *rig) receive(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	event := q.Header.Get("Webhook-Id")
	r.mu.Lock()
	r.got[event] = append(r.got[event], post{time.Now(), q.Header.Get("Idempotency-Key"), q.Header.Get("Webhook-Attempt"), string(body)})
	n, answer := len(r.got[event]), r.answer
	r.mu.Unlock()
	answer(w, q, n)
}

// posts gives what the receiver got of an event.
func (r *rig) posts(event string) []post {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]post{}, r.got[event]...)
}

func (r *rig) endpoint(s webhook.EndpointSpec) (webhook.Endpoint, string) {
	r.Helper()
	if s.URL == nil {
		s.URL = new("http://example.com/hooks")
	}
	e, secret, err := s.New(1, r.rules)
	if err == nil {
		e, err = r.db.CreateEndpoint(r.Context(), e)
	}
	if err != nil {
		r.Fatal(err)
	}
	return e, secret
}

// send sends an event and answers its deliveries.
func (r *rig) send(event string) []webhook.SentTo {
	r.Helper()
	h := sha256.Sum256([]byte(event))
	n := webhook.NewEvent{Project: 1, EventID: event, Type: "ticket.resolved", Payload: []byte(`{"b":1,"a":2}`), Hash: h[:]}
	if err := n.Check(); err != nil {
		r.Fatal(err)
	}
	out, err := r.db.Send(r.Context(), n)
	if err != nil || out[0].Err != nil {
		r.Fatal(err, out)
	}
	return out[0].Deliveries
}

// work starts a worker over a store, the rig's own or one before it. It is stopped at the end.
func (r *rig) work(store webhook.Sender) (w *webhook.Worker, stop func()) {
	r.Helper()
	if store == nil {
		store = r.db
	}
	w, err := webhook.NewWorker(webhook.WorkerConfig{Store: store, IDs: r.codec, Rules: r.rules, Observe: r.observe, Dial: r.dial()})
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { w.Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	r.stops = append(r.stops, stop)
	return w, stop
}

// dial reaches the receiver, whatever the address.
func (r *rig) dial() webhook.Dial { return r.receiver.Client().Transport.(*http.Transport).DialContext }

func (r *rig) delivery(id int64) webhook.Delivery {
	r.Helper()
	d, err := r.db.Delivery(r.Context(), 1, id)
	if err != nil {
		r.Fatal(err)
	}
	return d
}

// ended waits for a delivery's end, at most for the time given.
func (r *rig) ended(id int64, within time.Duration) webhook.Delivery {
	r.Helper()
	for start := time.Now(); ; time.Sleep(max(time.Second, within/400)) {
		d := r.delivery(id)
		switch d.State {
		case webhook.Pending, webhook.Sending, webhook.Retrying:
			if time.Since(start) > within {
				r.Fatalf("delivery still %s after %v: %+v", d.State, within, d.Attempts)
			}
		default:
			return d
		}
	}
}

// sweep does the store's own duties, as the server does beside the workers, until the end.
func (r *rig) sweep() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if _, err := r.db.Sweep(ctx, 1000); err != nil && ctx.Err() == nil {
				r.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
			}
		}
	}()
	r.stops = append(r.stops, func() { cancel(); <-done })
}
