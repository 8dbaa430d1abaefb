package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/internal/pgtest"
)

// A request that is repeated, a worker that is killed in the middle of its work, a message that comes twice: each export is made once.
func TestExports(t *testing.T) {
	for _, language := range []string{"go", "node"} {
		t.Run(language, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *child.Server, c *client.Client) {
				db := pgtest.Database(t)
				env := []string{"ONCEWARD_URL=" + s.URL, "DATABASE_URL=" + db}
				worker := start(t, command(t, language, "worker"), env...)
				if _, err := c.Queue(t.Context(), "exports"); err != nil {
					t.Fatalf("the worker, started first, waits for a queue that is not there: %v", err)
				}
				api := start(t, command(t, language, "api"), env...)

				goOn := hold(t, db) // the worker is in the middle of the first until it is killed
				id := post(t, api.url, "k1", `{"format":"csv"}`, 202)
				for range 2 {
					if again := post(t, api.url, "k1", `{"format":"csv"}`, 202); again != id {
						t.Errorf("repeated: %s, not %s", again, id)
					}
				}
				post(t, api.url, "k1", `{"format":"pdf"}`, 409)
				post(t, api.url, "", `{"format":"csv"}`, 400)

				worker.says(t, "begun "+id)
				worker.kill()
				goOn()
				if n := rows(t, db, "SELECT count(*) FROM exports"); n != 0 {
					t.Fatalf("%d exports were made by a worker that was killed in the middle of the first", n)
				}
				worker = start(t, command(t, language, "worker"), env...)
				worker.says(t, "done "+id)

				post(t, api.url, "more-0", `{}`, 400) // what is wrong is put right under the same key
				var ids []string
				for i := range 10 {
					ids = append(ids, post(t, api.url, fmt.Sprint("more-", i), `{"format":"csv"}`, 202))
				}
				for _, id := range append(ids, id) { // a copy of each: under another publish key, as another system's error would make it
					if _, err := c.Publish(t.Context(), "exports", client.NewMessage{Payload: map[string]string{"id": id, "format": "csv"}}); err != nil {
						t.Fatal(err)
					}
				}
				until(t, "all messages are acked", func() bool {
					q, err := c.QueueStats(t.Context(), "exports")
					if err != nil {
						t.Fatal(err)
					}
					return q.Messages == 0
				})
				if all, each := rows(t, db, "SELECT count(*) FROM exports"), rows(t, db, "SELECT count(DISTINCT id) FROM exports"); all != 11 || each != 11 {
					t.Errorf("%d exports of %d, for 11 requests", all, each)
				}
				if q, err := c.QueueStats(t.Context(), "exports"); err != nil || q.Dead != 0 {
					t.Errorf("%+v, %v", q, err)
				}
				worker.term(t)
				api.term(t)
			})
		})
	}
}

// hold keeps exports from being written until what it answers is called.
func hold(t *testing.T, db string) (goOn func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE exports IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() { conn.Close(context.WithoutCancel(t.Context())) }
}

// post asks for an export and gives its id.
func post(t *testing.T, url, key, body string, want int) string {
	t.Helper()
	q, err := http.NewRequest("POST", url+"/exports", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if key != "" {
		q.Header.Set("Idempotency-Key", key)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var a struct {
		ID string `json:"export_id"`
	}
	if r.StatusCode != want {
		t.Fatalf("POST /exports under %q: %d, not %d", key, r.StatusCode, want)
	}
	if want == 202 {
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil || a.ID == "" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	return a.ID
}
