package client_test

import (
	"encoding/json/jsontext"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/client"
)

// Another path of the same call.
var twins = map[string]string{"POST /v1/queue/dlq/redrive_cancel/{id}": "POST /v1/redrives/{id}/cancel"}

// noter notes which routes are called, and with which parameters.
type noter struct {
	mu     sync.Mutex
	called map[string]bool // routes, and "route?parameter"
}

func (n *noter) before(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, r := range api.Routes() {
		path, _, _ := strings.Cut(r, "?")
		mux.HandleFunc(path, func(w http.ResponseWriter, q *http.Request) {
			n.mu.Lock()
			n.called[path] = true
			for name := range q.URL.Query() {
				n.called[path+"?"+name] = true
			}
			n.mu.Unlock()
			h.ServeHTTP(w, q)
		})
	}
	return mux
}

// Every call of the contract has a method, and a real server takes what it sends and answers what it reads.
func TestEveryRouteHasAMethod(t *testing.T) {
	t.Parallel()
	n := &noter{called: map[string]bool{}}
	c := serve(t, n.before)
	for name, walk := range map[string]func(*testing.T, *client.Client){
		"queue": walkQueue, "messages": walkMessages, "redrive": walkRedrive, "endpoints": walkEndpoints, "deliveries": walkDeliveries, "ledger": walkLedger, "access": walkAccess,
	} {
		t.Run(name, func(t *testing.T) { walk(t, c) })
	}
	for _, r := range api.Routes() {
		path, parameters, _ := strings.Cut(r, "?")
		if twin, ok := twins[path]; ok {
			path = twin
		}
		if !n.called[path] {
			t.Errorf("no method calls %s: give the client one, and call it here", path)
		}
		for name := range strings.SplitSeq(parameters, "&") {
			if name != "" && name != "limit" && name != "cursor" && !n.called[path+"?"+name] {
				t.Errorf("nothing sends %s?%s", path, name)
			}
		}
	}
}

func walkQueue(t *testing.T, c *client.Client) {
	ctx := t.Context()
	if err := errors.Join(c.Healthy(ctx), c.Ready(ctx)); err != nil {
		t.Error(err)
	}
	made := do[*client.Queue](t)(c.CreateQueue(ctx, client.NewQueue{Name: "settings", Type: "standard", QueueSettings: client.QueueSettings{
		DLQ: "graveyard", MaxReceives: 7, Visibility: 90 * time.Second, RetentionDays: 2, DedupWindow: time.Hour, ContentDedup: new(false), RequireReceipt: new(true),
	}}))
	want := client.Queue{
		Name: "settings", Type: "standard", DLQ: "graveyard", MaxReceives: 7, Visibility: 90 * time.Second, RetentionDays: 2, DedupWindow: time.Hour,
		RequireReceipt: true, CreatedAt: made.CreatedAt,
	}
	if *made != want || time.Since(made.CreatedAt).Abs() > time.Minute {
		t.Errorf("%+v", made)
	}
	if _, err := c.CreateQueue(ctx, client.NewQueue{Name: "settings", QueueSettings: client.QueueSettings{MaxReceives: 8}}); !errors.Is(err, client.QueueExists) {
		t.Errorf("made anew: %v", err)
	}
	if q := do[*client.Queue](t)(c.UpdateQueue(ctx, "settings", client.QueueSettings{Visibility: 1500 * time.Millisecond})); q.Visibility != 1500*time.Millisecond || q.MaxReceives != 7 {
		t.Errorf("%+v", q)
	}
	if q := do[*client.Queue](t)(c.Queue(ctx, "graveyard")); !q.IsDLQ || q.MaxReceives != 0 {
		t.Errorf("%+v", q)
	}
	if !do[*client.Queue](t)(c.PauseQueue(ctx, "settings")).Paused || do[*client.Queue](t)(c.ResumeQueue(ctx, "settings")).Paused {
		t.Error("paused and resumed")
	}
	if names := all(t, c.Queues(ctx)); !slices.ContainsFunc(names, func(q client.Queue) bool { return q.Name == "graveyard" }) {
		t.Errorf("%+v", names)
	}
	do[*client.Published](t)(c.Publish(ctx, "settings", client.NewMessage{Payload: 1}))
	do[*client.Published](t)(c.Publish(ctx, "settings", client.NewMessage{Payload: 2, Delay: time.Hour}))
	if s := do[*client.QueueStats](t)(c.QueueStats(ctx, "settings")); s.Messages != 2 || s.Delayed != 1 || s.Available != 1 {
		t.Errorf("%+v", s)
	}
	if err := c.DeleteQueue(ctx, "settings", false); !errors.Is(err, client.QueueNotEmpty) {
		t.Error(err)
	}
	id, secret, err := c.Subscribe(ctx, "settings", client.NewSubscription{URL: "https://example.invalid/work", Timeout: 2 * time.Second})
	if err != nil || id == "" || secret == "" {
		t.Errorf("%q %q %v", id, secret, err)
	}
	if again, shown, err := c.Subscribe(ctx, "settings", client.NewSubscription{URL: "https://example.invalid/work", MaxInFlight: 3}); err != nil || again != id || shown != "" {
		t.Errorf("%q %q %v", again, shown, err)
	}
	for s, err := range c.Subscriptions(ctx, "settings") {
		if err != nil || s.ID != id || s.Timeout != 2*time.Second || s.MaxInFlight != 3 {
			t.Errorf("%+v %v", s, err)
		}
	}
	if err := c.Unsubscribe(ctx, "settings", id); err != nil {
		t.Error(err)
	}
	if err := c.Unsubscribe(ctx, "settings", id); !errors.Is(err, client.NotFound) {
		t.Error(err)
	}
	if n := do[int64](t)(c.PurgeQueue(ctx, "settings")); n != 2 {
		t.Errorf("%d purged", n)
	}
	do[*client.Published](t)(c.Publish(ctx, "settings", client.NewMessage{Payload: 1}))
	if err := c.DeleteQueue(ctx, "settings", true); err != nil {
		t.Error(err)
	}
	if _, err := c.Queue(ctx, "settings"); !errors.Is(err, client.QueueNotFound) {
		t.Error(err)
	}
}

func walkMessages(t *testing.T, c *client.Client) {
	ctx := t.Context()
	do[*client.Queue](t)(c.CreateQueue(ctx, client.NewQueue{Name: "jobs"}))
	origin := time.Date(2026, 7, 26, 0, 38, 42, 320888000, time.UTC)
	if time.Since(origin) > 80*24*time.Hour { // the ledger's memory is shorter than this repository's life
		origin = time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	}
	one := client.NewMessage{
		Payload: jsontext.Value("{\"b\":  1.0,\n \"a\":[9007199254740993]}"), Key: "order-7", Priority: 3, Headers: map[string]string{"trace": "t"}, Group: "acme", OriginAt: origin,
	}
	first := do[*client.Published](t)(c.Publish(ctx, "jobs", one))
	again := do[*client.Published](t)(c.Publish(ctx, "jobs", one))
	if first.Replayed || !again.Replayed || first.MessageID != again.MessageID || first.Status != client.Available {
		t.Errorf("%+v, %+v", first, again)
	}
	one.Payload = 8
	if _, err := c.Publish(ctx, "jobs", one); !errors.Is(err, client.IdempotencyKeyReused) {
		t.Error(err)
	}
	looked := all(t, c.Messages(ctx, "jobs", client.Available))
	got := do[[]*client.Message](t)(c.Consume(ctx, "jobs", client.Receive{Max: 10, Visibility: time.Minute, Wait: time.Second}))
	if len(looked) != 1 || len(got) != 1 {
		t.Fatalf("%d looked at, %d received", len(looked), len(got))
	}
	m := got[0]
	if string(m.Payload) != "{\"b\":  1.0,\n \"a\":[9007199254740993]}" || m.ID != first.MessageID || m.Queue != "jobs" || m.Priority != 3 || m.Group != "acme" ||
		m.Headers["trace"] != "t" || !m.OriginAt.Equal(origin) || m.DeliveryCount != 1 || m.Status != client.InFlight || m.Receipt == "" || time.Until(m.VisibleUntil) < 50*time.Second {
		t.Errorf("%+v", m)
	}
	var v struct {
		A []jsontext.Value
		B float64
	}
	if err := m.Decode(&v); err != nil || v.B != 1 || string(v.A[0]) != "9007199254740993" {
		t.Errorf("%+v, %v", v, err)
	}
	if s := do[*client.Settled](t)(c.Extend(ctx, "jobs", m.Receipt, 2*time.Minute)); !s.Applied || time.Until(s.VisibleUntil) < 100*time.Second {
		t.Errorf("%+v", s)
	}
	if s := do[*client.Settled](t)(c.Release(ctx, "jobs", m.Receipt, 0)); !s.Applied || s.Status != client.Available {
		t.Errorf("%+v", s)
	}
	if s := do[*client.Settled](t)(c.Ack(ctx, "jobs", m.Receipt)); s.Applied || s.Reason != "lease_lost" {
		t.Errorf("%+v", s)
	}
	m = do[[]*client.Message](t)(c.Consume(ctx, "jobs", client.Receive{}))[0]
	if s := do[*client.Settled](t)(c.Nack(ctx, "jobs", m.Receipt, client.Nack{Delay: new(time.Hour), Error: "no printer"})); !s.Applied || s.Status != client.Delayed || time.Until(s.VisibleAt) < 59*time.Minute {
		t.Errorf("%+v", s)
	}
	batch := do[[]client.Result[client.Published]](t)(c.PublishBatch(ctx, "jobs", []client.NewMessage{
		{Payload: 1, Key: "k1"}, {Payload: 1, Key: "k1"}, {Payload: 2, Priority: 10}, {Payload: 3}, {Payload: 4}, {Payload: 5},
	}))
	if !batch[1].Value.Replayed || batch[0].Value.MessageID != batch[1].Value.MessageID || !errors.Is(batch[2].Err, client.InvalidArgument) || batch[3].Err != nil {
		t.Errorf("%+v", batch)
	}
	got = do[[]*client.Message](t)(c.Consume(ctx, "jobs", client.Receive{Max: 10}))
	var r []string
	for _, m := range got {
		r = append(r, m.Receipt)
	}
	if len(r) != 4 {
		t.Fatalf("%d received", len(r))
	}
	settled := func(l []client.Result[client.Settled], err error) {
		t.Helper()
		for _, s := range do[[]client.Result[client.Settled]](t)(l, err) {
			if s.Err != nil || !s.Value.Applied {
				t.Errorf("%+v", s)
			}
		}
	}
	settled(c.ExtendBatch(ctx, "jobs", r, time.Minute))
	settled(c.AckBatch(ctx, "jobs", r[:1]))
	settled(c.NackBatch(ctx, "jobs", r[1:2], client.Nack{DeadLetter: true, Error: "never"}))
	settled(c.ReleaseBatch(ctx, "jobs", r[2:], 0))
	mixed := do[[]client.Result[client.Settled]](t)(c.AckBatch(ctx, "jobs", []string{r[0], "rct_made_up", r[2]}))
	if !errors.Is(mixed[0].Err, client.MessageNotFound) || !errors.Is(mixed[1].Err, client.ReceiptInvalid) || mixed[2].Err != nil || mixed[2].Value.Applied {
		t.Errorf("%+v", mixed)
	}
	if _, err := c.Publish(ctx, "jobs", client.NewMessage{}); err == nil {
		t.Error("no payload was published")
	}
	if _, err := c.Publish(ctx, "jobs", client.NewMessage{Payload: jsontext.Value(`{"a":`)}); err == nil {
		t.Error("half a payload was published")
	}
}

// walkRedrive goes on where walkMessages may not have been yet.
func walkRedrive(t *testing.T, c *client.Client) {
	ctx := t.Context()
	do[*client.Queue](t)(c.CreateQueue(ctx, client.NewQueue{Name: "dead"}))
	do[*client.Published](t)(c.Publish(ctx, "dead", client.NewMessage{Payload: 7}))
	m := do[[]*client.Message](t)(c.Consume(ctx, "dead", client.Receive{}))[0]
	do[*client.Settled](t)(c.Nack(ctx, "dead", m.ID, client.Nack{DeadLetter: true, Error: "no printer"}))
	letters := all(t, c.DeadLetters(ctx, "dead"))
	if len(letters) != 1 || letters[0].LastError != "no printer" || letters[0].SourceQueue != "dead" || letters[0].DeadLetteredAt.IsZero() || letters[0].Status != client.DeadLettered {
		t.Fatalf("%+v", letters)
	}
	if r := do[*client.Redrive](t)(c.RedriveQueue(ctx, "dead", client.QueueRedrive{DryRun: true, Max: 5, MessageIDs: []string{m.ID}, Rate: 10})); r.Remaining != 1 || r.Rate != 10 || !r.DryRun {
		t.Errorf("%+v", r)
	}
	r := do[*client.Redrive](t)(c.RedriveQueue(ctx, "dead", client.QueueRedrive{}))
	back := do[[]*client.Message](t)(c.Consume(ctx, "dead", client.Receive{Wait: 20 * time.Second}))
	if len(back) != 1 || back[0].ID != m.ID {
		t.Errorf("%+v", back)
	}
	if of := do[*client.Redrive](t)(c.RedriveOf(ctx, "dead")); of.ID != r.ID || of.Queue != "dead" {
		t.Errorf("%+v", of)
	}
	if r = do[*client.Redrive](t)(c.CancelRedrive(ctx, r.ID)); r.State == client.Running || r.Moved != 1 {
		t.Errorf("%+v", r)
	}
}

func walkEndpoints(t *testing.T, c *client.Client) {
	ctx := t.Context()
	e := do[*client.Endpoint](t)(c.CreateEndpoint(ctx, client.NewEndpoint{Tenant: "acme", EndpointSettings: client.EndpointSettings{
		URL: "http://127.0.0.1:1/hook", EventTypes: []string{"ticket.*"}, Description: new("theirs"), Headers: map[string]string{"x-a": "b"}, Timeout: 2500 * time.Millisecond,
		Ladder: []time.Duration{time.Second, time.Hour}, Retry4xx: new(false), Policy: client.Once, Window: time.Hour, MaxInFlight: 3, Rate: 2.5,
	}}))
	if !strings.HasPrefix(e.Secret, "whsec_") || e.Tenant != "acme" || e.Description != "theirs" || e.Headers["x-a"] != "b" || e.Timeout != 2500*time.Millisecond || e.Retry4xx ||
		!slices.Equal(e.Ladder, []time.Duration{time.Second, time.Hour}) || e.Policy != client.Once || e.Window != time.Hour || e.MaxInFlight != 3 || e.Rate != 2.5 {
		t.Errorf("%+v", e)
	}
	u := do[*client.Endpoint](t)(c.UpdateEndpoint(ctx, e.ID, client.EndpointChange{
		EndpointSettings: client.EndpointSettings{Description: new(""), Ladder: []time.Duration{}}, WindowForever: true, RateNone: true,
	}))
	if u.Description != "" || len(u.Ladder) != 0 || u.Window != 0 || u.Rate != 0 || u.Timeout != e.Timeout || u.Secret != "" {
		t.Errorf("%+v", u)
	}
	if u = do[*client.Endpoint](t)(c.UpdateEndpoint(ctx, e.ID, client.EndpointChange{RateNone: true})); u.URL != e.URL {
		t.Errorf("%+v", u)
	}
	if d := do[*client.Endpoint](t)(c.DisableEndpoint(ctx, e.ID)); !d.Disabled || d.DisabledReason == "" {
		t.Errorf("%+v", d)
	}
	if do[*client.Endpoint](t)(c.EnableEndpoint(ctx, e.ID)).Disabled {
		t.Error("still disabled")
	}
	if r := do[*client.Endpoint](t)(c.RotateSecret(ctx, e.ID, client.Rotation{Grace: new(time.Duration(0))})); r.Secret == "" || r.Secret == e.Secret {
		t.Errorf("%+v", r)
	}
	if of := all(t, c.Endpoints(ctx, "acme")); len(of) != 1 || of[0].ID != e.ID || of[0].Secret != "" {
		t.Errorf("%+v", of)
	}
	if got := do[*client.Endpoint](t)(c.Endpoint(ctx, e.ID)); got.URL != e.URL {
		t.Errorf("%+v", got)
	}
	if err := c.DeleteEndpoint(ctx, e.ID); err != nil {
		t.Error(err)
	}
	if err := c.DeleteEndpoint(ctx, e.ID); !errors.Is(err, client.NotFound) {
		t.Error(err)
	}
}

func walkDeliveries(t *testing.T, c *client.Client) {
	ctx := t.Context()
	bodies := make(chan string, 10)
	var refuse sync.Map
	customer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		if _, no := refuse.Load(q.Header.Get("Webhook-Id")); no {
			w.WriteHeader(503)
		}
		bodies <- string(b)
	}))
	defer customer.Close()
	e := do[*client.Endpoint](t)(c.CreateEndpoint(ctx, client.NewEndpoint{Tenant: "globex", EndpointSettings: client.EndpointSettings{URL: customer.URL, Ladder: []time.Duration{}}}))
	ev := client.NewEvent{Type: "ticket.resolved", ID: "evt_c1", Tenant: "globex", Subject: "user-7", Payload: jsontext.Value(`{"ticket":   7}`), Endpoints: []string{e.ID}}
	sent := do[*client.Sent](t)(c.SendEvent(ctx, ev))
	if again := do[*client.Sent](t)(c.SendEvent(ctx, ev)); !again.Replayed || len(again.Deliveries) != 1 || again.Deliveries[0] != sent.Deliveries[0] {
		t.Errorf("%+v", again)
	}
	if b := <-bodies; b != `{"ticket":   7}` {
		t.Errorf("the receiver got %s", b)
	}
	d := rest(t, c, sent.Deliveries[0].DeliveryID)
	if d.State != client.Delivered || len(d.Attempts) != 1 || d.Attempts[0].StatusCode != 200 || d.Attempts[0].Outcome != "delivered" || d.DeliveredAt.IsZero() || d.Subject != "user-7" || d.EndpointID != e.ID {
		t.Errorf("%+v", d)
	}
	filter := client.Filter{
		State: client.Delivered, EndpointID: e.ID, EventType: "ticket.resolved", EventID: "evt_c1", Tenant: "globex", Subject: "user-7",
		From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour),
	}
	if l := all(t, c.Deliveries(ctx, filter)); len(l) != 1 || l[0].ID != d.ID {
		t.Errorf("%+v", l)
	}
	filter.State, filter.EndpointID = "", ""
	if l := all(t, c.Events(ctx, filter)); len(l) != 1 || l[0].ID != "evt_c1" {
		t.Errorf("%+v", l)
	}
	if got := do[*client.Event](t)(c.Event(ctx, "evt_c1")); string(got.Payload) != `{"ticket":   7}` || len(got.Deliveries) != 1 {
		t.Errorf("%+v", got)
	}
	do[*client.Delivery](t)(c.ResendDelivery(ctx, d.ID, client.Resend{Reason: "lost", NewKey: true}))
	<-bodies
	if d = rest(t, c, d.ID); len(d.Attempts) != 2 || d.Attempts[1].Cause != "resend" {
		t.Errorf("%+v", d)
	}
	if _, err := c.ResolveDelivery(ctx, d.ID, client.Delivered, "seen"); !errors.Is(err, client.Conflict) {
		t.Error(err)
	}
	if _, err := c.CancelDelivery(ctx, d.ID, "by mistake"); !errors.Is(err, client.Conflict) {
		t.Error(err)
	}
	refuse.Store("evt_c2", true)
	failed := rest(t, c, do[*client.Sent](t)(c.SendEvent(ctx, client.NewEvent{Type: "a", ID: "evt_c2", Tenant: "globex", Payload: 1})).Deliveries[0].DeliveryID)
	refuse.Delete("evt_c2")
	if failed.State != client.Failed {
		t.Errorf("%+v", failed)
	}
	r := do[*client.Redrive](t)(c.RedriveDeliveries(ctx, client.DeliveryRedrive{
		EndpointID: e.ID, Tenant: "globex", States: []string{client.Failed}, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour), Max: 10, Rate: 100, Canary: new(true),
	}))
	for end := time.Now().Add(time.Minute); r.State == client.Running && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		r = do[*client.Redrive](t)(c.Redrive(ctx, r.ID))
	}
	if r.Moved != 1 || r.State != client.Completed || r.FinishedAt.IsZero() {
		t.Errorf("%+v", r)
	}
	if parts := all(t, c.RedriveParts(ctx, r.ID)); len(parts) != 1 || parts[0].EndpointID != e.ID || parts[0].Canary != failed.ID {
		t.Errorf("%+v", parts)
	}
	if s := do[*client.Sent](t)(c.TestEndpoint(ctx, e.ID, "")); len(s.Deliveries) != 1 {
		t.Errorf("%+v", s)
	}
}

// rest waits until a delivery is at rest.
func rest(t *testing.T, c *client.Client, id string) *client.Delivery {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		d := do[*client.Delivery](t)(c.Delivery(t.Context(), id))
		if !slices.Contains([]string{client.Pending, client.Sending, client.Retrying}, d.State) {
			return d
		}
		if time.Now().After(end) {
			t.Fatalf("still %s after a minute", d.State)
		}
	}
}

func walkAccess(t *testing.T, c *client.Client) {
	ctx := t.Context()
	p := do[*client.Project](t)(c.CreateProject(ctx, client.NewProject{Name: "team-7"}))
	if _, err := c.CreateProject(ctx, client.NewProject{Name: "team-7"}); !errors.Is(err, client.Conflict) {
		t.Error(err)
	}
	if l := all(t, c.Projects(ctx)); len(l) != 2 || l[0] != *p {
		t.Errorf("%+v", l)
	}
	limit := 2.5
	if q := do[*client.Project](t)(c.CreateProject(ctx, client.NewProject{Name: "team-8", CreditLimit: &limit})); q.CreditLimit == nil || *q.CreditLimit != limit {
		t.Errorf("%+v", q)
	}
	if q := do[*client.Project](t)(c.LimitProject(ctx, p.ID, &limit)); q.CreditLimit == nil || *q.CreditLimit != limit {
		t.Errorf("%+v", q)
	}
	if q := do[*client.Project](t)(c.LimitProject(ctx, p.ID, nil)); q.CreditLimit != nil {
		t.Errorf("%+v", q)
	}
	if b := do[*client.Balance](t)(c.Balance(ctx)); b.Left != nil || b.Limit != nil || b.Spent != 0 {
		t.Errorf("%+v", b)
	}
	if days := all(t, c.Usage(ctx)); len(days) != 0 {
		t.Errorf("%+v", days)
	}
	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	k := do[*client.APIKey](t)(c.CreateAPIKey(ctx, client.NewAPIKey{Scopes: []string{"publish"}, Name: "shop", ExpiresAt: ends, ProjectID: p.ID}))
	if k.Secret == "" || k.ProjectID != p.ID || !k.ExpiresAt.Equal(ends) || !slices.Equal(k.Scopes, []string{"publish"}) {
		t.Errorf("%+v", k)
	}
	if l := all(t, c.APIKeys(ctx, p.ID)); len(l) != 1 || l[0].Secret != "" || l[0].ID != k.ID {
		t.Errorf("%+v", l)
	}
	if err := c.RevokeAPIKey(ctx, k.ID); err != nil {
		t.Error(err)
	}
	small, err := client.New(client.Config{URL: c.URL, HTTP: c.HTTP, APIKey: k.Secret, MaxTries: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small.CreateProject(ctx, client.NewProject{Name: "mine"}); !errors.Is(err, client.Unauthenticated) && !errors.Is(err, client.Forbidden) {
		t.Error(err)
	}
}
