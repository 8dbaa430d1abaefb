package wire

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

const (
	projectFields = "project_id name created_at credit_limit_usd"
	keyFields     = "key_id project_id name scopes created_at expires_at revoked_at"
)

// caller calls a server under a key.
type caller struct {
	*server
	key string
}

func (c caller) call(t testing.TB, method, path string, body any, headers ...string) answer {
	t.Helper()
	return c.server.call(t, method, path, body, append([]string{"Authorization", "Bearer " + c.key}, headers...)...)
}

// project makes a project and gives its id.
func (s *server) project(t testing.TB, name string) string {
	t.Helper()
	return text(s.do(t, "POST", "/v1/projects", object{"name": name})["project_id"])
}

// as makes a key and calls under it.
func (s *server) as(t testing.TB, project string, scopes ...string) (c caller, keyID string) {
	t.Helper()
	body := object{"scopes": scopes}
	if project != "" {
		body["project_id"] = project
	}
	k := s.do(t, "POST", "/v1/keys", body)
	return caller{s, text(k["key"])}, text(k["key_id"])
}

// on runs a check on a server of each store.
func on(t *testing.T, check func(t *testing.T, s *server)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		check(t, start(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		check(t, start(t, pgtest.Database(t)))
	})
}

func TestProjectsAndKeys(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, s *server) {
		p := s.do(t, "POST", "/v1/projects", object{"name": "team"})
		fields(t, "a project", p, projectFields)
		stamp(t, p, "created_at")
		s.post(t, "/v1/projects", object{"name": "team"}).refused(t, 409, "CONFLICT", "/name")
		l := items(t, s.do(t, "GET", "/v1/projects", nil))
		if len(l) != 2 || l[0]["name"] != "team" || l[1]["name"] != "default" {
			t.Errorf("projects, newest first: %v", l)
		}
		k := s.do(t, "POST", "/v1/keys", object{"name": "ci", "scopes": []string{"read"}, "project_id": p["project_id"], "expires_at": "2100-01-01T01:00:00+01:00"})
		fields(t, "a key, once", k, keyFields+" key")
		is(t, "a key", k, object{"name": "ci", "scopes": []string{"read"}, "project_id": p["project_id"], "expires_at": "2100-01-01T00:00:00.000000Z", "revoked_at": nil})
		ids := keyIDs(t, s, "?project_id="+text(p["project_id"]))
		if len(ids) != 1 || ids[0] != k["key_id"] {
			t.Errorf("the team's keys: %v", ids)
		}
		raw := s.call(t, "GET", "/v1/keys?project_id="+text(p["project_id"]), nil).raw
		if strings.Contains(raw, text(k["key"])) || strings.Contains(raw, `"key"`) {
			t.Errorf("a list shows a secret: %s", raw)
		}
		// Once, and the replay without the secret.
		body := object{"scopes": []string{"publish"}, "idempotency_key": "k"}
		first, again := s.post(t, "/v1/keys", body), s.post(t, "/v1/keys", body)
		if first.replayed(t) || !again.replayed(t) || again.ok(t)["key"] != nil || again.ok(t)["key_id"] != first.ok(t)["key_id"] {
			t.Errorf("%s, then %s", clip(first.raw), clip(again.raw))
		}
		body["scopes"] = []string{"read"}
		s.post(t, "/v1/keys", body).refused(t, 409, "IDEMPOTENCY_KEY_REUSED")

		// A foreign project's id is as one that is none.
		mine, id := s.as(t, text(p["project_id"]), "admin")
		for path, foreign := range map[string]string{"/v1/keys?project_id=": s.project(t, "other"), "/v1/keys/": text(first.ok(t)["key_id"])} {
			method := map[bool]string{true: "GET", false: "DELETE"}[strings.Contains(path, "?")]
			there, none := mine.call(t, method, path+foreign, nil), mine.call(t, method, path+"nobody", nil)
			there.refused(t, 404, "NOT_FOUND")
			if a, b := there.body["error"].(object), none.body["error"].(object); strings.ReplaceAll(text(a["message"]), foreign, "nobody") != b["message"] || a["field"] != b["field"] || a["hint"] != b["hint"] {
				t.Errorf("%s: %v, and of nothing %v", path, a, b)
			}
		}
		mine.call(t, "POST", "/v1/keys", object{"scopes": []string{"root"}}).refused(t, 403, "FORBIDDEN", "/scopes/0")
		mine.call(t, "GET", "/v1/projects", nil).refused(t, 403, "FORBIDDEN")
		is(t, "revoked", mine.call(t, "DELETE", "/v1/keys/"+id, nil).ok(t), object{"deleted": true})
		s.stop(t, 25*time.Second)
	})
}

func keyIDs(t *testing.T, s *server, query string) (ids []any) {
	t.Helper()
	for _, k := range items(t, s.do(t, "GET", "/v1/keys"+query, nil)) {
		fields(t, "a listed key", k, keyFields)
		ids = append(ids, k["key_id"])
	}
	return ids
}

// A revoked key acts for at most a second more, on every server, and what waits under it is given nothing.
func TestRevocation(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		checkRevocation(t, start(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db")))
	})
	t.Run("two servers on postgres", func(t *testing.T) {
		t.Parallel()
		url := pgtest.Database(t)
		checkRevocation(t, start(t, url), start(t, url))
	})
}

func checkRevocation(t *testing.T, servers ...*server) {
	s := servers[0]
	s.queue(t, "revoke", nil)
	key, id := s.as(t, "", "admin")
	other, _ := s.as(t, "", "admin")

	type seen struct {
		began  time.Time
		status int
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	calls := make([][]seen, len(servers))
	polls := make([]answer, len(servers))
	for i, each := range servers {
		c := caller{each, key.key}
		c.call(t, "GET", "/v1/queue/list", nil).ok(t)
		wg.Go(func() {
			for refused, end := 0, time.Now().Add(time.Minute); refused < 20 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				began := time.Now()
				a := c.call(t, "GET", "/v1/queue/list", nil)
				mu.Lock()
				calls[i] = append(calls[i], seen{began, a.status})
				mu.Unlock()
				if a.status == 401 {
					refused++
				}
			}
		})
	}
	called := func(n int) {
		eventually(t, fmt.Sprint("it acts on every server, ", n, " times"), time.Minute, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return !slices.ContainsFunc(calls, func(c []seen) bool { return len(c) < n })
		})
	}
	called(5)
	for i, each := range servers { // not before: on a slow machine their time would be over
		wg.Go(func() {
			polls[i] = caller{each, key.key}.call(t, "POST", "/v1/queue/consume", object{"queue": "revoke", "wait_seconds": 20})
		})
	}
	called(20) // by then the polls wait
	s.do(t, "DELETE", "/v1/keys/"+id, nil)
	gone := time.Now()
	eventually(t, "a second is over", time.Minute, func() bool { return time.Since(gone) > time.Second })
	published := s.publish(t, "revoke", 1, nil)["message_id"]
	wg.Wait()
	for i := range servers {
		live, dead := 0, false
		for _, c := range calls[i] {
			switch {
			case c.status == 200 && c.began.Sub(gone) > time.Second:
				t.Errorf("server %d: a call begun %v after the revocation was served", i, c.began.Sub(gone))
			case c.status == 200 && dead:
				t.Errorf("server %d: a key that was refused acts again", i)
			case c.status == 200:
				live++
			case c.status == 401:
				dead = true
			default:
				t.Errorf("server %d: %d", i, c.status)
			}
		}
		if live == 0 || !dead {
			t.Errorf("server %d: %d calls were served, refused: %v", i, live, dead)
		}
		polls[i].refused(t, 401, "UNAUTHENTICATED")
		caller{servers[i], other.key}.call(t, "GET", "/v1/queue/list", nil).ok(t)
	}
	is(t, "what came after", s.one(t, "revoke", nil), object{"message_id": published, "delivery_count": 1})
	// What is made on one works on the others at once.
	fresh, _ := s.as(t, "", "read")
	for _, each := range servers {
		caller{each, fresh.key}.call(t, "GET", "/v1/queue/list", nil).ok(t)
		each.stop(t, 25*time.Second)
	}
}
