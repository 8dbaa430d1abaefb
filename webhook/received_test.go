package webhook_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
	"github.com/onceward/onceward/webhook"
)

// far is a receiver with a database of its own.
type far struct {
	t      *testing.T
	db     *sql.DB
	h      http.Handler
	secret string
	effect func(ctx context.Context, tx *sql.Tx, r webhook.Received) error
}

func newFar(t *testing.T) *far {
	db := sqlitetest.Open(t)
	f := &far{t: t, db: db, secret: webhook.NewSecret()}
	store := sqldb.SQLite(db)
	if err := store.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE paid (event text)"); err != nil {
		t.Fatal(err)
	}
	f.effect = func(ctx context.Context, tx *sql.Tx, r webhook.Received) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO paid (event) VALUES (?)", r.EventID)
		return err
	}
	var err error
	f.h, err = webhook.NewReceiver(webhook.ReceiverConfig[*sql.Tx]{
		Store: store, Secrets: []string{webhook.NewSecret(), f.secret}, MaxPayload: 1000, Logger: slog.New(slog.DiscardHandler),
		Effect: func(ctx context.Context, tx *sql.Tx, r webhook.Received) error { return f.effect(ctx, tx, r) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// request is a delivery as our sender makes it.
func (f *far) request(key, id, body string, at time.Time) *http.Request {
	f.t.Helper()
	raw, err := webhook.ParseSecret(f.secret)
	if err != nil {
		f.t.Fatal(err)
	}
	q := httptest.NewRequest("POST", "/hooks", strings.NewReader(body))
	q.Header.Set("Webhook-Id", id)
	q.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	q.Header.Set("Webhook-Signature", webhook.Sign(raw, id, at, []byte(body)))
	q.Header.Set("Webhook-Attempt", "3")
	if key != "" {
		q.Header.Set("Idempotency-Key", key)
	}
	return q
}

func (f *far) post(q *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.h.ServeHTTP(w, q)
	return w
}

// wants posts, and looks at the answer and at how many effects there are then.
func (f *far) wants(what string, q *http.Request, status, effects int) {
	f.t.Helper()
	w := f.post(q)
	var n int
	if err := f.db.QueryRow("SELECT count(*) FROM paid").Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	if w.Code != status || n != effects {
		f.t.Errorf("%s: answered %d %s, %d effects; want %d and %d", what, w.Code, w.Body, n, status, effects)
	}
	if (status == http.StatusServiceUnavailable) != (w.Header().Get("Retry-After") != "") {
		f.t.Errorf("%s: Retry-After is %q", what, w.Header().Get("Retry-After"))
	}
}

func TestReceiver(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	now := time.Now()
	f.wants("a delivery", f.request("k1", "evt_1", `{"n":1}`, now), 204, 1)
	f.wants("the same again", f.request("k1", "evt_1", `{"n":1}`, now.Add(time.Second)), 204, 1)
	f.wants("another key: a resend that asks for it", f.request("k2", "evt_1", `{"n":1}`, now), 204, 2)
	f.wants("the key with another body", f.request("k1", "evt_1", `{"n":2}`, now), 422, 2)
	f.wants("the key with another event", f.request("k1", "evt_2", `{"n":1}`, now), 422, 2)
	f.wants("a sender without our key", f.request("", "msg_1", `{}`, now), 204, 3)
	f.wants("and again", f.request("", "msg_1", `{}`, now), 204, 3)

	forged := f.request("k3", "evt_3", `{"n":3}`, now)
	forged.Body = http.NoBody
	f.wants("a body that was not signed", forged, 401, 3)
	f.wants("old", f.request("k3", "evt_3", `{}`, now.Add(-6*time.Minute)), 401, 3)
	f.wants("too large", f.request("k3", "evt_3", `"`+strings.Repeat("x", 1000)+`"`, now), 413, 3)
	get := f.request("k3", "evt_3", `{}`, now)
	get.Method = "GET"
	f.wants("no POST", get, 405, 3)
	f.wants("a key that is none", f.request(strings.Repeat("k", 600), "evt_3", `{}`, now), 422, 3)
}

func TestReceiverEffects(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	pay, now := f.effect, time.Now()
	var seen webhook.Received
	then := func(after error) func(context.Context, *sql.Tx, webhook.Received) error {
		return func(ctx context.Context, tx *sql.Tx, r webhook.Received) error {
			seen = r
			if err := pay(ctx, tx, r); err != nil {
				return err
			}
			return after
		}
	}
	q := func(key string) *http.Request { return f.request(key, "evt_"+key, `{"b": 1.0}`, now) }
	f.effect = then(errors.New("the bank is closed"))
	for range 10 { // more than a Ledger's own limit: the sender's ladder decides
		f.wants("undone", q("a"), 503, 0)
	}
	if seen.EventID != "evt_a" || seen.Key != "a" || seen.Attempt != 3 || !bytes.Equal(seen.Payload, []byte(`{"b": 1.0}`)) || seen.Header.Get("Webhook-Id") != "evt_a" {
		t.Errorf("%+v", seen)
	}
	f.effect = func(ctx context.Context, tx *sql.Tx, r webhook.Received) error {
		if err := pay(ctx, tx, r); err != nil {
			return err
		}
		panic("oh")
	}
	f.wants("one that panics", q("a"), 503, 0)
	f.effect = then(nil)
	f.wants("done at last", q("a"), 204, 1)
	f.effect = then(ledger.Refused(errors.New("no such customer")))
	f.wants("refused for good", q("b"), 422, 1)
	f.effect = then(nil)
	f.wants("and it stays so", q("b"), 422, 1)
	f.db.Close()
	if w := f.post(q("c")); w.Code != 503 {
		t.Errorf("without a database: %d", w.Code)
	}
}

func TestReceiverConfig(t *testing.T) {
	t.Parallel()
	db := sqlitetest.Open(t)
	whole := webhook.ReceiverConfig[*sql.Tx]{
		Store: sqldb.SQLite(db), Secrets: []string{webhook.NewSecret()}, Effect: func(context.Context, *sql.Tx, webhook.Received) error { return nil },
	}
	for what, spoil := range map[string]func(*webhook.ReceiverConfig[*sql.Tx]){
		"Store":      func(c *webhook.ReceiverConfig[*sql.Tx]) { c.Store = nil },
		"secret":     func(c *webhook.ReceiverConfig[*sql.Tx]) { c.Secrets = nil },
		"secret 1":   func(c *webhook.ReceiverConfig[*sql.Tx]) { c.Secrets = []string{"x"} },
		"Effect":     func(c *webhook.ReceiverConfig[*sql.Tx]) { c.Effect = nil },
		"MaxPayload": func(c *webhook.ReceiverConfig[*sql.Tx]) { c.MaxPayload = -1 },
	} {
		c := whole
		spoil(&c)
		if _, err := webhook.NewReceiver(c); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
