package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/webhook"
)

// subscribe makes a queue that is pushed to a path of the receiver.
func (r *rig) subscribe(path string, q queue.Spec, s webhook.SubscriptionSpec) (webhook.Subscription, string) {
	r.Helper()
	q.Project = 1
	if _, err := r.db.CreateQueue(r.Context(), q); err != nil {
		r.Fatal(err)
	}
	return r.subscribeTo(path, q.Name, s)
}

// subscribeTo has what is there pushed.
func (r *rig) subscribeTo(path, name string, s webhook.SubscriptionSpec) (webhook.Subscription, string) {
	r.Helper()
	s.Project, s.Queue, s.URL = 1, name, "http://example.com/"+path
	made, secret, err := s.New(r.rules)
	if err != nil {
		r.Fatal(err)
	}
	sub, _, err := r.db.Subscribe(r.Context(), made, s.Apply)
	if err != nil {
		r.Fatal(err)
	}
	return sub, secret
}

// push starts a pusher over a store, the rig's own or one before it.
func (r *rig) push(store webhook.PushStore) (stop func()) {
	r.Helper()
	if store == nil {
		store = r.db
	}
	p, err := webhook.NewPusher(webhook.PusherConfig{Store: store, IDs: r.codec, Rules: r.rules, Owner: "a server", Dial: r.dial()})
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		if err := p.Run(ctx); err != nil {
			r.Error(err)
		}
		close(done)
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	r.stops = append(r.stops, stop)
	return stop
}

func (r *rig) publish(q, body string) (id string) {
	r.Helper()
	out, err := r.db.Publish(r.Context(), queue.Publish{Project: 1, Queue: q, Body: []byte(body)})
	if err != nil || out[0].Err != nil {
		r.Fatal(err, out)
	}
	return r.codec.Encode(ids.Message, 1, out[0].ID)
}

func (r *rig) counts(q string) queue.Stats {
	r.Helper()
	s, err := r.db.QueueStats(r.Context(), 1, q)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// A message is POSTed, signed, under its id; 2xx acks it, and its key is done.
func TestPush(t *testing.T) {
	inBubble(t, func(r *rig) {
		_, secret := r.subscribe("work", queue.Spec{Name: "jobs"}, webhook.SubscriptionSpec{})
		raw, err := webhook.ParseSecret(secret)
		if err != nil {
			r.Fatal(err)
		}
		r.answer = func(w http.ResponseWriter, q *http.Request, _ int) {
			if q.URL.Path != "/work" || q.Method != "POST" || q.Header.Get("Content-Type") != "application/json" {
				r.Errorf("%s %s %v", q.Method, q.URL, q.Header)
			}
			if q.Header.Get("Webhook-Timestamp") != strconv.FormatInt(time.Now().Unix(), 10) || q.Header.Get("Webhook-Signature") != webhook.Sign(raw, q.Header.Get("Webhook-Id"), time.Now(), []byte(`{ "n": 1.0 }`)) {
				r.Errorf("not signed: %v", q.Header)
			}
			w.WriteHeader(204)
		}
		r.push(nil)
		id := r.publish("jobs", `{ "n": 1.0 }`)
		time.Sleep(2 * time.Second)
		got := r.posts(id)
		if len(got) != 1 || got[0].body != `{ "n": 1.0 }` || got[0].key != id || got[0].attempt != "1" {
			r.Fatalf("the receiver got %+v", got)
		}
		if s := r.counts("jobs"); s.Messages != 0 || s.Dead != 0 {
			r.Errorf("left: %+v", s)
		}
		c, _, err := r.db.FindClaim(r.Context(), 1, webhook.PushScope, id)
		if err != nil || c.State != ledger.Done || c.Attempt != 1 {
			r.Errorf("its key: %+v, %v", c, err)
		}
	})
}

// What is not 2xx is tried again after 30 s × 2ⁿ, counted, and dead-lettered by the queue's rule; a redrive begins anew.
func TestPushBacksOff(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.subscribe("work", queue.Spec{Name: "jobs", MaxReceives: new(4)}, webhook.SubscriptionSpec{})
		answers := []int{500, 404, 302, 410}
		r.answer = func(w http.ResponseWriter, _ *http.Request, n int) {
			if n <= len(answers) {
				w.Header().Set("Location", "http://example.com/elsewhere")
				w.WriteHeader(answers[n-1])
			}
		}
		r.push(nil)
		id := r.publish("jobs", `1`)
		time.Sleep(10 * time.Minute)
		got := r.posts(id)
		if len(got) != 4 {
			r.Fatalf("%d POSTs, want one for each receive", len(got))
		}
		for i, wait := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
			if d := got[i+1].at.Sub(got[i].at); d < wait || d > wait+time.Second {
				r.Errorf("%v after POST %d, want %v", d, i+1, wait)
			}
			if want := string(rune('2' + i)); got[i+1].attempt != want {
				r.Errorf("attempt %s, want %s", got[i+1].attempt, want)
			}
		}
		if s := r.counts("jobs"); s.Messages != 0 || s.Dead != 1 {
			r.Fatalf("at its last receive: %+v", s)
		}
		c, _, err := r.db.FindClaim(r.Context(), 1, webhook.PushScope, id)
		if err != nil || c.State != ledger.Failed {
			r.Errorf("its key: %+v, %v", c, err)
		}
		if _, err := r.db.StartRedrive(r.Context(), queue.RedriveCall{Project: 1, Queue: "jobs"}); err != nil {
			r.Fatal(err)
		}
		if _, _, err := r.db.StepRedrives(r.Context(), 10); err != nil {
			r.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if got := r.posts(id); len(got) != 5 || got[4].attempt != "1" {
			r.Errorf("redriven: %+v", got)
		}
		if s := r.counts("jobs"); s.Messages != 0 || s.Dead != 0 {
			r.Errorf("redriven: %+v", s)
		}
	})
}

// What was subscribed while private networks were allowed is not sent to once they no more are: the message comes back with the reason.
func TestPusherRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	for scheme, why := range refusals {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "o.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			r := &rig{T: t, db: db, codec: ids.New(db.Secret()), rules: setup(t).rules}
			sub, _, err := webhook.SubscriptionSpec{Project: 1, Queue: "jobs", URL: untouched(t, scheme)}.New(r.rules)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "jobs", MaxReceives: new(1)}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := db.Subscribe(t.Context(), sub, func(*webhook.Subscription) {}); err != nil {
				t.Fatal(err)
			}
			r.publish("jobs", `1`)
			r.rules.AllowPrivate = false
			p, err := webhook.NewPusher(webhook.PusherConfig{Store: db, IDs: r.codec, Rules: r.rules, Owner: "a server"})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- p.Run(ctx) }()
			var dead []queue.Message
			for tick := time.Tick(10 * time.Millisecond); len(dead) == 0 && ctx.Err() == nil; <-tick {
				if dead, _, err = db.DeadLetters(ctx, 1, "jobs", queue.Page{Limit: 1}); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if len(dead) != 1 || dead[0].LastError != why {
				t.Errorf("%s: %+v", scheme, dead)
			}
		})
	}
}

// lastWords loses a store's first answers to outcomes: they were kept, and the server died before it heard.
type lastWords struct {
	webhook.PushStore
	before bool // or died before they were
	mu     sync.Mutex
	left   int
}

func (l *lastWords) SettleClaims(ctx context.Context, words ...ledger.Word) ([]ledger.Applied, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return l.PushStore.SettleClaims(ctx, words...)
	}
	l.left--
	words = slices.Clone(words)
	for i := range words {
		words[i].Settle = false
	}
	if !l.before {
		if _, err := l.PushStore.SettleClaims(ctx, words...); err != nil {
			return nil, err
		}
	}
	return make([]ledger.Applied, len(words)), nil // the worker takes it for said, and goes on
}

// A server that dies between the 2xx and the ack: the message comes again, its key is done, and it is acked without a POST. One that dies before its
// key is done is sent again under the same id.
func TestPushDiesAfterTheEffect(t *testing.T) {
	for name, c := range map[string]struct {
		before bool
		posts  int
	}{"after the key": {false, 1}, "before the key": {true, 2}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.subscribe("work", queue.Spec{Name: "jobs", MaxReceives: new(5)}, webhook.SubscriptionSpec{Timeout: new(5 * time.Second)})
				r.push(&lastWords{PushStore: r.db, before: c.before, left: 1})
				id := r.publish("jobs", `1`)
				time.Sleep(10 * time.Second)
				if n := len(r.posts(id)); n != 1 {
					r.Fatalf("%d POSTs", n)
				}
				time.Sleep(time.Minute)
				if got := r.posts(id); len(got) != c.posts {
					r.Errorf("%d POSTs in the end, want %d", len(got), c.posts)
				}
				if s := r.counts("jobs"); s.Messages != 0 || s.Dead != 0 {
					r.Errorf("left: %+v", s)
				}
			})
		})
	}
}

// No more than max_in_flight are open at a time, another subscription of another queue goes on meanwhile, and two of one queue share its messages.
func TestPushInFlight(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.subscribe("slow", queue.Spec{Name: "slow"}, webhook.SubscriptionSpec{MaxInFlight: new(2)})
		r.subscribe("quick", queue.Spec{Name: "quick"}, webhook.SubscriptionSpec{})
		r.subscribe("too", queue.Spec{Name: "quick"}, webhook.SubscriptionSpec{})
		var mu sync.Mutex
		open, most := 0, 0
		paths := map[string]int{}
		r.answer = func(w http.ResponseWriter, q *http.Request, _ int) {
			mu.Lock()
			paths[q.URL.Path]++
			slow := q.URL.Path == "/slow"
			if slow {
				open++
				most = max(most, open)
			}
			mu.Unlock()
			if slow {
				time.Sleep(10 * time.Second)
				mu.Lock()
				open--
				mu.Unlock()
			}
		}
		r.push(nil)
		for range 6 {
			r.publish("slow", `1`)
		}
		for range 40 {
			r.publish("quick", `1`)
		}
		time.Sleep(5 * time.Second)
		if s := r.counts("quick"); s.Messages != 0 {
			r.Errorf("behind those that hang: %+v", s)
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if most != 2 || paths["/slow"] != 6 || paths["/quick"]+paths["/too"] != 40 {
			r.Errorf("%d open at a time, %v", most, paths)
		}
	})
}

// A subscription that is removed sends nothing more within a second; one that is changed goes on by what it is now; a paused queue's messages wait.
func TestUnsubscribe(t *testing.T) {
	inBubble(t, func(r *rig) {
		sub, _ := r.subscribe("work", queue.Spec{Name: "jobs"}, webhook.SubscriptionSpec{})
		stop := r.push(nil)
		first := r.publish("jobs", `1`)
		time.Sleep(2 * time.Second)
		if n := len(r.posts(first)); n != 1 {
			r.Fatalf("%d POSTs", n)
		}
		if _, err := r.db.PauseQueue(r.Context(), 1, "jobs", true); err != nil {
			r.Fatal(err)
		}
		paused := r.publish("jobs", `2`)
		time.Sleep(5 * time.Second)
		if n := len(r.posts(paused)); n != 0 {
			r.Errorf("%d POSTs of a paused queue", n)
		}
		if _, err := r.db.PauseQueue(r.Context(), 1, "jobs", false); err != nil {
			r.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if n := len(r.posts(paused)); n != 1 {
			r.Errorf("%d POSTs after the pause", n)
		}
		if err := r.db.Unsubscribe(r.Context(), 1, "jobs", sub.ID); err != nil {
			r.Fatal(err)
		}
		time.Sleep(time.Second)
		late := r.publish("jobs", `3`)
		time.Sleep(time.Minute)
		if n := len(r.posts(late)); n != 0 {
			r.Errorf("%d POSTs after the unsubscription", n)
		}
		if s := r.counts("jobs"); s.Messages != 1 || s.InFlight != 0 {
			r.Errorf("after the unsubscription: %+v", s)
		}
		stop()
	})
}

// What is being sent is finished at a stop, and what was not begun is there for others, uncounted.
func TestPushStops(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.subscribe("work", queue.Spec{Name: "jobs"}, webhook.SubscriptionSpec{MaxInFlight: new(1)})
		r.answer = func(http.ResponseWriter, *http.Request, int) { time.Sleep(3 * time.Second) }
		stop := r.push(nil)
		sent := []string{r.publish("jobs", `1`), r.publish("jobs", `2`)}
		time.Sleep(2 * time.Second)
		stop()
		if n := len(r.posts(sent[0])) + len(r.posts(sent[1])); n != 1 {
			r.Errorf("%d POSTs, want that which was under way", n)
		}
		if s := r.counts("jobs"); s.Messages != 1 || s.InFlight != 0 {
			r.Errorf("after the stop: %+v", s)
		}
		m, err := r.db.Receive(r.Context(), queue.Receive{Project: 1, Queue: "jobs", Max: 10})
		if err != nil || len(m) != 1 || m[0].Receives != 1 {
			r.Errorf("left: %+v, %v", m, err)
		}
		synctest.Wait()
	})
}

// A dead-letter queue is pushed as any other, though each message's own key is over; so is a message that carries another's.
func TestPushBesideOtherKeys(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.subscribe("work", queue.Spec{Name: "jobs", MaxReceives: new(1)}, webhook.SubscriptionSpec{})
		r.subscribeTo("dead", "jobs-dlq", webhook.SubscriptionSpec{})
		var mu sync.Mutex
		var paths []string
		r.answer = func(w http.ResponseWriter, q *http.Request, _ int) {
			mu.Lock()
			defer mu.Unlock()
			if paths = append(paths, q.URL.Path); q.URL.Path == "/work" {
				w.WriteHeader(503)
			}
		}
		r.publish("jobs", `1`)
		r.push(nil)
		time.Sleep(5 * time.Second)
		if _, err := r.db.CreateQueue(r.Context(), queue.Spec{Project: 1, Name: "other", MaxReceives: new(9)}); err != nil {
			r.Fatal(err)
		}
		r.publish("other", `2`)
		m, err := r.db.Receive(r.Context(), queue.Receive{Project: 1, Queue: "other", Max: 1, Visibility: time.Second})
		if err != nil || len(m) != 1 {
			r.Fatal(m, err)
		}
		if _, err := r.db.Claim(r.Context(), ledger.Call{
			Project: 1, Scope: "mine", Key: "k", Policy: ledger.Idempotent, MaxTries: 3, Grant: ledger.Grant{GrantID: "g", Owner: "me", Lease: time.Second}, MessageID: m[0].ID, Lease: m[0].Lease,
		}); err != nil {
			r.Fatal(err)
		}
		r.subscribe("other", queue.Spec{Name: "other"}, webhook.SubscriptionSpec{})
		time.Sleep(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(paths, []string{"/work", "/dead", "/other"}) {
			r.Errorf("sent to %v", paths)
		}
		for _, q := range []string{"jobs", "jobs-dlq", "other"} {
			if s := r.counts(q); s.Messages != 0 {
				r.Errorf("%s: %+v", q, s)
			}
		}
	})
}

func TestPushBackoff(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{0: 30, 1: 30, 2: 60, 3: 120, 11: 30720, 15: 491520, 16: 604800, 1000: 604800} {
		if d := webhook.PushBackoff(n); d != want*time.Second {
			t.Errorf("after %d receives %v, want %d s", n, d, want)
		}
	}
}

func TestSubscriptionRefuses(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]webhook.SubscriptionSpec{
		"no url":            {},
		"http":              {URL: "http://example.com/"},
		"a private address": {URL: "https://10.0.0.1/"},
		"a short time-out":  {URL: "https://example.com/", Timeout: new(time.Millisecond)},
		"nothing in flight": {URL: "https://example.com/", MaxInFlight: new(0)},
		"a raw secret":      {URL: "https://example.com/", Secret: new("hunter2")},
	} {
		if _, _, err := s.New(webhook.Rules{}); err == nil || errors.Is(err, webhook.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
