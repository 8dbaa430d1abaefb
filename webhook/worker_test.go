package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// sender is a store of jobs that shows what came of them.
type sender struct {
	mu     sync.Mutex
	jobs   []webhook.Job
	begun  []*webhook.Job
	out    []webhook.Outcome
	asked  webhook.Take
	settle chan struct{}
}

func (s *sender) TakeDeliveries(_ context.Context, t webhook.Take) (webhook.Taken, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = t
	n := min(t.Max, len(s.jobs))
	got := webhook.Taken{Jobs: s.jobs[:n]}
	s.jobs = s.jobs[n:]
	return got, nil
}

func (s *sender) BeginDeliveries(_ context.Context, jobs []*webhook.Job) ([]ledger.Applied, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = append(s.begun, jobs...)
	return make1(len(jobs), ledger.Applied{Applied: true, State: ledger.Started}), nil
}

func (s *sender) SettleDeliveries(_ context.Context, out ...webhook.Outcome) ([]ledger.Applied, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = append(s.out, out...)
	for range out {
		s.settle <- struct{}{}
	}
	return make1(len(out), ledger.Applied{Applied: true, State: ledger.Done}), nil
}

func make1(n int, a ledger.Applied) []ledger.Applied {
	out := make([]ledger.Applied, n)
	for i := range out {
		out[i] = a
	}
	return out
}

func (s *sender) WaitDeliveries(ctx context.Context, _ webhook.Take) (none webhook.Taken) {
	<-ctx.Done()
	return none
}

// bundle is a worker over a sender.
type bundle struct {
	store *sender
	codec *ids.Codec
	rules webhook.Rules
	conf  webhook.WorkerConfig
	log   bytes.Buffer
}

func setup(t testing.TB) *bundle {
	t.Helper()
	s, err := webhook.NewSealer(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{
		store: &sender{settle: make(chan struct{}, 100)}, codec: ids.New(bytes.Repeat([]byte{3}, 32)),
		rules: webhook.Rules{AllowPrivate: true, Sealer: s},
	}
	b.conf = webhook.WorkerConfig{
		Store: b.store, IDs: b.codec, Rules: b.rules, Owner: "test",
		Logger: slog.New(slog.NewJSONHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	return b
}

// job makes a job to url, and answers it with its secret.
func (b *bundle) job(t testing.TB, url string) (webhook.Job, string) {
	t.Helper()
	e, secret, err := webhook.EndpointSpec{URL: &url, Tenant: new("acme"), Headers: &map[string]string{"X-Ours": "1", "User-Agent": "ours/2"}}.New(9, b.rules)
	if err != nil {
		t.Fatal(err)
	}
	e.ID = 5
	return webhook.Job{
		ClaimID: 1, Fence: 1, MessageID: 2, Lease: 1, LeaseFor: 25 * time.Second, DeliveryID: 4, Project: 9, Attempt: 3, Tries: 2,
		Cause: webhook.ByRetry, Policy: ledger.Idempotent, Ladder: webhook.DefaultLadder(), EventID: "evt_1", EventType: "ticket.resolved",
		Payload: []byte(`{"b": 1.0, "a": 9007199254740993}`), Endpoint: e,
	}, secret
}

// run works until n outcomes are settled, then stops softly.
func (b *bundle) run(t *testing.T, n int, jobs ...webhook.Job) []webhook.Outcome {
	t.Helper()
	b.store.jobs = jobs
	w, err := webhook.NewWorker(b.conf)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	for range n {
		select {
		case <-b.store.settle:
		case <-ctx.Done():
			t.Fatal("not settled in time")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return b.store.out
}

// TestOnTheWire is what a receiver gets, to the byte.
func TestOnTheWire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var h http.Header
	var body []byte
	var length int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		h, length = q.Header, q.ContentLength
		body, _ = io.ReadAll(q.Body)
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "thanks")
	}))
	defer s.Close()
	j, secret := b.job(t, s.URL+"/hooks?a=b")
	former := j.Endpoint.Secrets[0].Sealed
	now := time.Now()
	second, err := webhook.Rotate(now, &j.Endpoint, nil, time.Hour, b.rules)
	if err != nil {
		t.Fatal(err)
	}
	j.Endpoint.Secrets = append(j.Endpoint.Secrets, webhook.Secret{Sealed: former, ExpiresAt: now.Add(-time.Second)})
	out := b.run(t, 1, j)

	if !bytes.Equal(body, j.Payload) || length != int64(len(body)) {
		t.Errorf("body %q of %d bytes", body, length)
	}
	for _, s := range []string{secret, second} {
		if err := webhook.Verify(h, body, time.Now(), s); err != nil {
			t.Error(err)
		}
		theirs, err := standardwebhooks.NewWebhook(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := theirs.Verify(body, h); err != nil {
			t.Error(err)
		}
	}
	if n := len(strings.Fields(h.Get("Webhook-Signature"))); n != 2 {
		t.Errorf("%d signatures for two valid secrets", n)
	}
	ep := b.codec.Encode(ids.Endpoint, 9, 5)
	key := webhook.DeliveryKey(ep, "evt_1", 0)
	if p := h.Get("Traceparent"); !regexp.MustCompile(`^00-` + key[:32] + `-[0-9a-f]{16}-01$`).MatchString(p) {
		t.Errorf("traceparent %q", p)
	}
	for _, name := range []string{"Webhook-Signature", "Webhook-Timestamp", "Traceparent", "Content-Length"} {
		h.Del(name)
	}
	want := http.Header{
		"Content-Type": {"application/json"}, "Webhook-Id": {"evt_1"}, "Webhook-Attempt": {"3"}, "Idempotency-Key": {key},
		"User-Agent": {"ours/2"}, "X-Ours": {"1"},
	}
	if d := cmp.Diff(want, h); d != "" {
		t.Error(d)
	}

	o := out[0]
	if o.Kind != ledger.Succeeded || o.Result != webhook.WasDelivered || o.Status != 202 || string(o.Response) != "thanks" || o.Error != "" {
		t.Errorf("%+v", o)
	}
	if o.Latency <= 0 || o.Ago < o.Latency || o.Ago > 10*time.Second {
		t.Errorf("latency %v, ago %v", o.Latency, o.Ago)
	}
	if a := b.store.asked; a.Owner != "test" || a.Slack != 10*time.Second || a.Max > 512 {
		t.Errorf("asked for %+v", a)
	}

	var line map[string]any
	if err := json.Unmarshal(b.log.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, b.log.String())
	}
	for k, v := range map[string]any{
		"msg": "delivery attempt", "event_id": "evt_1", "endpoint_id": ep, "tenant": "acme", "attempt": 3.0, "outcome": "delivered",
		"status": 202.0, "state": "done", "applied": true, "delivery_id": b.codec.Encode(ids.Delivery, 9, 4), "trace_id": key[:32],
	} {
		if line[k] != v {
			t.Errorf("%s is %v in the log, want %v", k, line[k], v)
		}
	}
	if strings.Contains(b.log.String(), "whsec_") || strings.Contains(b.log.String(), "9007199254740993") {
		t.Error("a secret or a payload is in the log")
	}
}

func TestWorkerOutcomes(t *testing.T) {
	t.Parallel()
	status := func(s int) http.HandlerFunc { return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(s) } }
	for name, c := range map[string]struct {
		receiver http.HandlerFunc
		change   func(*webhook.Job)
		kind     ledger.Kind
		result   webhook.Result
		again    time.Duration // ± 10 %
		errorHas string
		disables bool
		begun    int
	}{
		"refused": {receiver: status(503), kind: ledger.Definite, result: webhook.Refused, again: 2 * time.Minute, errorHas: "503 Service Unavailable"},
		"gone":    {receiver: status(410), kind: ledger.Permanent, result: webhook.Refused, errorHas: "410", disables: true},
		"once":    {receiver: status(200), change: func(j *webhook.Job) { j.Policy = ledger.Once }, kind: ledger.Succeeded, result: webhook.WasDelivered, begun: 1},
		"once and 500": {
			receiver: status(500), change: func(j *webhook.Job) { j.Policy = ledger.Once }, kind: ledger.Ambiguous, result: webhook.Unknown,
			again: 2 * time.Minute, errorHas: "500", begun: 1,
		},
		"time-out": {
			receiver: func(_ http.ResponseWriter, q *http.Request) { io.Copy(io.Discard, q.Body); <-q.Context().Done() },
			change:   func(j *webhook.Job) { j.Endpoint.Timeout = 200 * time.Millisecond }, kind: ledger.Ambiguous, result: webhook.Unknown,
			again: 2 * time.Minute, errorHas: "no answer within the time-out",
		},
		"a lease shorter than the time-out": {
			receiver: func(_ http.ResponseWriter, q *http.Request) { io.Copy(io.Discard, q.Body); <-q.Context().Done() },
			change:   func(j *webhook.Job) { j.LeaseFor = time.Second }, kind: ledger.Ambiguous, result: webhook.Unknown, again: 2 * time.Minute,
			errorHas: "no answer within the time-out", begun: 1,
		}, // the heartbeat
		"another server's secret": {
			receiver: status(200), change: func(j *webhook.Job) { j.Endpoint.Project = 10 }, kind: ledger.Definite,
			result: webhook.NotSent, again: 2 * time.Minute, errorHas: "secret cannot be read",
		},
		"Retry-After": {
			receiver: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(429)
			},
			kind: ledger.Definite, result: webhook.Refused, again: time.Hour, errorHas: "429",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			var seen atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { seen.Add(1); c.receiver(w, q) }))
			defer s.Close()
			j, _ := b.job(t, s.URL)
			if c.change != nil {
				c.change(&j)
			}
			var observed int
			b.conf.Observe = func(webhook.Outcome, ledger.Applied) { observed++ }
			o := b.run(t, 1, j)[0]
			if o.Kind != c.kind || o.Result != c.result || !strings.Contains(o.Error, c.errorHas) || (o.Disable != "") != c.disables {
				t.Errorf("%+v", o)
			}
			if d := float64(o.RetryIn); d < 0.89*float64(c.again) || d > 1.11*float64(c.again) {
				t.Errorf("again in %v, want %v", o.RetryIn, c.again)
			}
			if len(b.store.begun) != c.begun || observed != 1 || seen.Load() > 1 {
				t.Errorf("begun %d times, observed %d, received %d", len(b.store.begun), observed, seen.Load())
			}
		})
	}
}

// The worker's clock is an hour behind the database's: the receiver still finds the request in time, and a secret that ended has ended.
func TestSignedByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var h http.Header
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { h = q.Header }))
	defer s.Close()
	j, former := b.job(t, s.URL)
	theirs := time.Now().Add(time.Hour)
	j.TakenAt = theirs
	second, err := webhook.Rotate(theirs.Add(-time.Hour), &j.Endpoint, nil, 30*time.Minute, b.rules)
	if err != nil {
		t.Fatal(err)
	}
	b.run(t, 1, j)
	if err := webhook.Verify(h, j.Payload, theirs, second); err != nil {
		t.Error(err)
	}
	if err := webhook.Verify(h, j.Payload, theirs, former); !errors.Is(err, webhook.ErrBadSignature) {
		t.Errorf("signed with a secret that ended: %v", err)
	}
}

// refusals are what is said of an address of this machine where private networks are not allowed, by its scheme.
var refusals = map[string]string{
	"https": "the address was refused: it is not a public one",
	"http":  "the address was refused: it is http://, which is sent to only where private networks are allowed",
}

// untouched gives an address of this machine to which nobody is to connect.
func untouched(t *testing.T, scheme string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
			t.Error("a connection to a private address")
		}
	}()
	t.Cleanup(func() { l.Close(); <-over })
	return scheme + "://" + l.Addr().String()
}

// An endpoint that was made while private networks were allowed is not sent to once they no more are.
func TestWorkerRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	for scheme, why := range refusals {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			j, _ := b.job(t, untouched(t, scheme))
			b.conf.Rules.AllowPrivate = false
			o := b.run(t, 1, j)[0]
			if o.Kind != ledger.Definite || o.Result != webhook.NotSent || o.Error != why {
				t.Errorf("%s: %+v", scheme, o)
			}
		})
	}
}

func TestWorkerConfig(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, change := range map[string]func(*webhook.WorkerConfig){
		"no store":                  func(c *webhook.WorkerConfig) { c.Store = nil },
		"no ids":                    func(c *webhook.WorkerConfig) { c.IDs = nil },
		"no sealer":                 func(c *webhook.WorkerConfig) { c.Rules.Sealer = nil },
		"a time-out past the lease": func(c *webhook.WorkerConfig) { c.Slack = time.Second / 2 },
		"no room for a payload":     func(c *webhook.WorkerConfig) { c.PayloadBytes = webhook.MaxPayload - 1 },
		"concurrency":               func(c *webhook.WorkerConfig) { c.Concurrency = -1 },
	} {
		c := b.conf
		change(&c)
		if _, err := webhook.NewWorker(c); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// However many attempts may be made at a time, what they hold of payloads is bounded.
func TestWorkerHoldsBoundedPayloads(t *testing.T) {
	t.Parallel()
	var under, most atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		n := under.Add(1)
		defer under.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		io.Copy(io.Discard, q.Body)
	}))
	defer receiver.Close()
	b := setup(t)
	b.conf.Concurrency, b.conf.PayloadBytes = 64, 3*webhook.MaxPayload
	jobs := make([]webhook.Job, 20)
	for i := range jobs {
		jobs[i], _ = b.job(t, receiver.URL)
		jobs[i].Payload = bytes.Repeat([]byte("1"), webhook.MaxPayload)
	}
	out := b.run(t, len(jobs), jobs...)
	if len(out) != len(jobs) || most.Load() > 3 {
		t.Errorf("%d outcomes, %d payloads at a time; want %d, at most 3", len(out), most.Load(), len(jobs))
	}
}
