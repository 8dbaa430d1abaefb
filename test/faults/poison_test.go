package faults

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/sqlitetest"
)

// H-W02: one event goes to three endpoints, and the database refuses what came of one of them, as often as it is told. That one alone is sent again, under the same key; the others are delivered by
// one POST each.
func TestOneOutcomeRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		c := spawn(t, store, "--delivery-slack", "1s") // a process of its own: that it gave up an outcome is an error when it stops
		var mu sync.Mutex
		posts, recorded := map[string]int{}, make(chan struct{})
		count := func(path string) int {
			mu.Lock()
			defer mu.Unlock()
			return posts[path]
		}
		r := receive(t, func(w http.ResponseWriter, q *http.Request) {
			mu.Lock()
			posts[q.URL.Path]++
			mu.Unlock()
			<-recorded
		})
		for i := range 3 {
			c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": fmt.Sprint(r.URL, "/", i), "timeout_seconds": 3, "retry_ladder": []int{1, 1, 1, 1}})
		}
		c.must(t, "POST", "/v1/webhooks/events", object{"event_type": "a", "event_id": "one", "payload": 1})
		eventually(t, 20*time.Second, "the three are being sent", func() bool { return count("/0") == 1 && count("/1") == 1 && count("/2") == 1 })

		db, sqlite := beside(t, store)
		var claim int64
		if err := db.QueryRow("SELECT claim_id FROM deliveries WHERE endpoint = (SELECT min(endpoint) FROM deliveries)").Scan(&claim); err != nil {
			t.Fatal(err)
		}
		refuse, cure := fmt.Sprintf("CREATE TRIGGER poison BEFORE UPDATE ON claims WHEN OLD.id = %d AND NEW.state = 'done' BEGIN SELECT RAISE(ABORT, 'poisoned'); END", claim), "DROP TRIGGER poison"
		if !sqlite {
			refuse = fmt.Sprintf(`CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'poisoned' USING ERRCODE = 'check_violation'; END $$;
				CREATE TRIGGER poison BEFORE UPDATE ON claims FOR EACH ROW WHEN (OLD.id = %d AND NEW.state = 'done') EXECUTE FUNCTION poison()`, claim)
			cure = "DROP FUNCTION poison CASCADE"
		}
		if _, err := db.Exec(refuse); err != nil {
			t.Fatal(err)
		}
		close(recorded)
		delivered := func(n int) func() bool {
			return func() bool {
				return len(c.must(t, "GET", "/v1/webhooks/deliveries?state=delivered", nil).items("items")) == n
			}
		}
		eventually(t, 20*time.Second, "the other two are delivered", delivered(2))
		eventually(t, 30*time.Second, "the one is sent again once its lease is over", func() bool { return count("/0") >= 2 })
		if _, err := db.Exec(cure); err != nil {
			t.Fatal(err)
		}
		eventually(t, 30*time.Second, "the one is delivered too", delivered(3))
		if count("/1") != 1 || count("/2") != 1 {
			t.Errorf("POSTs by endpoint: %v; only the first one's outcome was refused, the others get one each", posts)
		}
		if keys, _ := r.effects(); keys != 3 {
			t.Errorf("%d keys came of one event to three endpoints", keys)
		}
	})
}

// beside opens a store's database beside its server.
func beside(t *testing.T, store string) (db *sql.DB, sqlite bool) {
	t.Helper()
	path, sqlite := strings.CutPrefix(store, "sqlite:")
	if sqlite {
		return sqlitetest.OpenFile(t, path), true
	}
	url, _, _ := strings.Cut(store, "&pool_max_conns")
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, false
}
