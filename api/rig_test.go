package api_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/store/sqlite"
	"github.com/onceward/onceward/webhook"
)

const otherKey = "another-projects-key-0123456789"

// rig is an API over real HTTP on a real store in a file.
type rig struct {
	*edge
	store *sqlite.DB
	rules webhook.Rules
	ids   *ids.Codec
	db    *sql.DB // the same file, beside the store
}

// open gives a rig with a project beside the default one, whose key is otherKey.
func open(t testing.TB) *rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.SetRootKey(t.Context(), "root", access.Hash(rootKey)); err != nil {
		t.Fatal(err)
	}
	// The store's own driver, of which only one is built in: two libraries in one process would drop each other's locks.
	driver := "sqlite"
	if slices.Contains(sql.Drivers(), "sqlite3") {
		driver = "sqlite3"
	}
	db, err := sql.Open(driver, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	r := &rig{store: s, ids: ids.New(s.Secret()), db: db}
	r.exec(t, "PRAGMA busy_timeout = 10000")
	r.exec(t, "INSERT INTO projects (id, name, created_at) VALUES (77, 'other', 0)")
	r.exec(t, "INSERT INTO keys (id, project, name, hash, scopes, created_at) VALUES (7700, 77, 'other', ?, ?, 0)", access.Hash(otherKey), `["admin"]`)
	sealer, err := webhook.NewSealer(bytes.Repeat([]byte{9}, 32))
	if err != nil {
		t.Fatal(err)
	}
	r.rules = webhook.Rules{AllowPrivate: true, Sealer: sealer}
	r.edge = serve(t, api.Config{Store: s, IDs: r.ids, Rules: r.rules})
	return r
}

func (r *rig) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	if _, err := r.db.ExecContext(context.Background(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// other is the same server under the other project's key.
func (r *rig) other() *edge {
	e := *r.edge
	e.key = otherKey
	return &e
}

func (r *rig) post(path, body string, with ...string) *answer {
	r.t.Helper()
	return r.do("POST", path, body, with...)
}

func (r *rig) get(path string) *answer {
	r.t.Helper()
	return r.do("GET", path, "")
}

// queue makes a queue.
func (r *rig) queue(name string, settings ...string) {
	r.t.Helper()
	r.post("/v1/queue/create", `{"name":"`+name+`"`+strings.Join(append([]string{""}, settings...), ",")+`}`).ok(nil)
}

type received struct {
	ID         string            `json:"message_id"`
	Queue      string            `json:"queue"`
	Status     string            `json:"status"`
	Count      int               `json:"delivery_count"`
	Receipt    string            `json:"receipt_handle"`
	Priority   int               `json:"priority"`
	Headers    map[string]string `json:"headers"`
	Group      *string           `json:"message_group_id"`
	Published  string            `json:"published_at"`
	Origin     string            `json:"origin_at"`
	Until      string            `json:"visible_until"`
	Visible    string            `json:"visible_at"`
	DeadAt     *string           `json:"dead_lettered_at"`
	Source     *string           `json:"source_queue"`
	LastError  *string           `json:"last_error"`
	EventID    string            `json:"event_id"`
	DeliveryID string            `json:"delivery_id"`
	EndpointID string            `json:"endpoint_id"`
	Name       string            `json:"name"`
}

type page struct {
	Items []received `json:"items"`
	Next  *string    `json:"next_cursor"`
}

// publish stores a message and gives its id.
func (r *rig) publish(name, payload string) string {
	r.t.Helper()
	var m received
	r.post("/v1/queue/publish", `{"queue":"`+name+`","payload":`+payload+`}`).ok(&m)
	return m.ID
}

// consume receives at most n messages.
func (r *rig) consume(name string, n int) []received {
	r.t.Helper()
	var p page
	r.post("/v1/queue/consume", fmt.Sprintf(`{"queue":"%s","max_messages":%d}`, name, n)).ok(&p)
	return p.Items
}

// kill publishes a message and dead-letters it.
func (r *rig) kill(name, payload string) string {
	r.t.Helper()
	id := r.publish(name, payload)
	for _, m := range r.consume(name, 10) {
		r.post("/v1/queue/nack", `{"queue":"`+name+`","receipt_handle":"`+m.Receipt+`","requeue":false,"error":"bad"}`).ok(nil)
	}
	return id
}

// all reads a list to its end, by pages of limit, and gives what id makes of each item.
func (r *rig) all(path string, limit int, id func(received) string) []string {
	r.t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	var out []string
	next := ""
	for range 100 {
		var p page
		r.get(fmt.Sprintf("%s%slimit=%d%s", path, sep, limit, next)).ok(&p)
		if len(p.Items) > limit {
			r.t.Errorf("%s: %d items on a page of %d", path, len(p.Items), limit)
		}
		for _, it := range p.Items {
			out = append(out, id(it))
		}
		if p.Next == nil {
			return out
		}
		next = "&cursor=" + *p.Next
	}
	r.t.Fatalf("%s has no end", path)
	return nil
}

func messageID(m received) string { return m.ID }

// redrives moves what is to be moved until nothing is.
func (r *rig) redrives() {
	r.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		_, again, err := r.store.StepRedrives(context.Background(), 100)
		if err != nil {
			r.t.Fatal(err)
		}
		if again == 0 {
			return
		}
		if time.Now().After(end) {
			r.t.Fatal("a redrive does not end")
		}
		time.Sleep(min(again, 10*time.Millisecond))
	}
}
