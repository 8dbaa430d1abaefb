package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/client"
)

// forgetful loses the first answer to each call to a path, after the server has done it.
type forgetful struct {
	next http.RoundTripper
	seen map[string]bool
}

func (f *forgetful) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := f.next.RoundTrip(q)
	if err == nil && !f.seen[q.URL.Path] {
		f.seen[q.URL.Path] = true
		r.Body.Close()
		return nil, errReset
	}
	return r, err
}

// Every call whose first answer is lost is done once, though it is sent twice; and no secret that was made here is lost with it.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	lossy := *c.HTTP
	lossy.Transport = &forgetful{c.HTTP.Transport, map[string]bool{}}
	f, err := client.New(client.Config{URL: c.URL, APIKey: apiKey, HTTP: &lossy})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	do[*client.Queue](t)(f.CreateQueue(ctx, client.NewQueue{Name: "jobs"}))
	if p := do[*client.Published](t)(f.Publish(ctx, "jobs", client.NewMessage{Payload: 1})); !p.Replayed {
		t.Errorf("%+v", p)
	}
	for _, r := range do[[]client.Result[client.Published]](t)(f.PublishBatch(ctx, "jobs", []client.NewMessage{{Payload: 2}, {Payload: 3}})) {
		if r.Err != nil || !r.Value.Replayed {
			t.Errorf("%+v", r)
		}
	}
	if s := do[*client.QueueStats](t)(f.QueueStats(ctx, "jobs")); s.Messages != 3 {
		t.Errorf("%d messages of 3", s.Messages)
	}
	e := do[*client.Endpoint](t)(f.CreateEndpoint(ctx, client.NewEndpoint{EndpointSettings: client.EndpointSettings{URL: "http://127.0.0.1:1/"}}))
	if l := all(t, f.Endpoints(ctx, "")); len(l) != 1 || !strings.HasPrefix(e.Secret, "whsec_") {
		t.Errorf("%d endpoints, secret %q", len(l), e.Secret)
	}
	if r := do[*client.Endpoint](t)(f.RotateSecret(ctx, e.ID, client.Rotation{Grace: new(time.Hour)})); !strings.HasPrefix(r.Secret, "whsec_") || r.Secret == e.Secret {
		t.Errorf("the rotated secret is %q", r.Secret)
	}
	if s := do[*client.Sent](t)(f.SendEvent(ctx, client.NewEvent{Type: "a", Payload: 1})); !s.Replayed {
		t.Errorf("%+v", s)
	}
	if s := do[*client.Sent](t)(f.SendEvent(ctx, client.NewEvent{Type: "a", ID: "evt_1", Payload: 1})); s.Replayed {
		t.Errorf("%+v: its path was forgotten once already", s)
	}
	if l := all(t, f.Events(ctx, client.Filter{})); len(l) != 2 {
		t.Errorf("%d events", len(l))
	}
	k := do[*client.APIKey](t)(f.CreateAPIKey(ctx, client.NewAPIKey{Scopes: []string{"read"}}))
	if k.Secret != "" || k.ID == "" {
		t.Errorf("%+v: a secret that was shown once cannot be there again", k)
	}
	if l := all(t, f.APIKeys(ctx, "")); len(l) != 2 {
		t.Errorf("%d keys, the configured one among them", len(l))
	}
	if _, err := f.PurgeQueue(ctx, "jobs"); !errors.Is(err, errReset) {
		t.Errorf("a purge whose answer is lost: %v", err)
	}
}

// A list is asked for page after page, and no further than somebody looks.
func TestLists(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	ctx := t.Context()
	do[*client.Queue](t)(c.CreateQueue(ctx, client.NewQueue{Name: "jobs"}))
	messages := make([]client.NewMessage, 130)
	for i := range messages {
		messages[i].Payload = i
	}
	do[[]client.Result[client.Published]](t)(c.PublishBatch(ctx, "jobs", messages))
	counting := &counter{next: c.HTTP.Transport}
	with := *c.HTTP
	with.Transport = counting
	c, err := client.New(client.Config{URL: c.URL, APIKey: apiKey, HTTP: &with})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range all(t, c.Messages(ctx, "jobs", "")) {
		seen[m.ID] = true
	}
	if len(seen) != 130 || counting.n != 3 {
		t.Errorf("%d messages in %d pages", len(seen), counting.n)
	}
	counting.n = 0
	for range c.Messages(ctx, "jobs", "") {
		break
	}
	if counting.n != 1 {
		t.Errorf("%d pages for one message", counting.n)
	}
	n := 0
	for m, err := range c.Messages(ctx, "none", "") {
		if n++; err == nil || m.ID != "" || !errors.Is(err, client.QueueNotFound) {
			t.Errorf("%+v, %v", m, err)
		}
	}
	if n != 1 {
		t.Errorf("an error came %d times", n)
	}
}

type counter struct {
	next http.RoundTripper
	n    int
}

func (c *counter) RoundTrip(q *http.Request) (*http.Response, error) {
	c.n++
	return c.next.RoundTrip(q)
}
