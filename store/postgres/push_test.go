package postgres

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// killed is a store whose server is killed when its pusher stops: it lets go of nothing.
type killed struct{ *DB }

func (killed) LetGoSubscriptions(context.Context, string) error { return nil }

// Servers share the pushing: each message goes out once, no subscription has more in flight than it may over all of them, and where one is stopped or killed another goes on.
func TestPushOverServers(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	var mu sync.Mutex
	open, most, sent := 0, 0, map[string]int{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		mu.Lock()
		open++
		most = max(most, open)
		sent[q.Header.Get("Webhook-Id")]++
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		open--
		mu.Unlock()
	}))
	t.Cleanup(receiver.Close)
	sealer, err := webhook.NewSealer(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	rules := webhook.Rules{AllowPrivate: true, Sealer: sealer}
	db := openAt(t, url)
	make1(t, db, "jobs")
	spec := webhook.SubscriptionSpec{Project: 1, Queue: "jobs", URL: receiver.URL, MaxInFlight: new(3)}
	made, _, err := spec.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Subscribe(t.Context(), made, spec.Apply); err != nil {
		t.Fatal(err)
	}
	run := func(owner string, of func(*DB) webhook.PushStore) (stop func()) {
		on := openAt(t, url)
		p, err := webhook.NewPusher(webhook.PusherConfig{Store: of(on), IDs: ids.New(on.Secret()), Rules: rules, Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		stop = sync.OnceFunc(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(stop)
		return stop
	}
	all := 0
	round := func(what string) {
		t.Helper()
		for range 4 {
			items := make([]queue.Publish, 5)
			for i := range items {
				items[i].Queue = "jobs"
			}
			publish(t, db, items...)
			all += 5
		}
		eventually(t, what, func() bool { return count(t, db, "SELECT count(*) FROM messages") == 0 })
	}
	ofJobs := func(d *DB) webhook.PushStore { return d }
	stops := map[string]func(){}
	for _, owner := range []string{"a", "b"} {
		stops[owner] = run(owner, func(d *DB) webhook.PushStore { return killed{d} })
	}
	round("all is pushed")
	holder := query[string](t, db, "SELECT holder FROM subscriptions")
	stops[holder]() // as if killed: its time has to end
	round("another goes on where one was killed")
	if now := query[string](t, db, "SELECT holder FROM subscriptions"); now == holder {
		t.Errorf("%s, which was killed, still holds the subscription", now)
	}
	run("c", ofJobs)
	stops[query[string](t, db, "SELECT holder FROM subscriptions")]()
	round("a third goes on")
	mu.Lock()
	defer mu.Unlock()
	if most > 3 {
		t.Errorf("%d in flight, at most 3", most)
	}
	for id, n := range sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
	if len(sent) != all {
		t.Errorf("%d messages were sent of %d", len(sent), all)
	}
}
