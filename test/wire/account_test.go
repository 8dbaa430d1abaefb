package wire

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/postgres"
)

// What a publish costs, in the answer, the balance and the days; and that a kill neither loses nor doubles any of it.
func TestAccount(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "o.db") },
		"postgres": func(t *testing.T) string { return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := store(t)
			s := start(t, where, "--publish-price-usd", "0.00002")
			checkCosts(t, s)
			if name == "postgres" {
				checkCallersCosts(t, s, where)
			}
			killAccount(t, s, where)
		})
	}
}

// costs wants an answer's cost, to the digit.
func (a answer) costs(t testing.TB, usd string) answer {
	t.Helper()
	if a.ok(t); !strings.Contains(a.raw, `"cost_usd":`+usd+`,"idempotent_replay"`) {
		t.Errorf("want cost_usd %s: %s", usd, clip(a.raw))
	}
	return a
}

func checkCosts(t *testing.T, s *server) {
	s.queue(t, "jobs", nil)
	one := object{"queue": "jobs", "payload": 1}
	s.post(t, "/v1/queue/publish", one, "Idempotency-Key", "k").costs(t, "0.00002")
	s.post(t, "/v1/queue/publish", one, "Idempotency-Key", "k").costs(t, "0")
	s.post(t, "/v1/queue/publish", object{"queue": "jobs", "payload": 2}, "Idempotency-Key", "k").refused(t, 409, "IDEMPOTENCY_KEY_REUSED")
	batch := []object{{"payload": 1, "idempotency_key": "k"}, {"payload": 2}, {"payload": 3}, {"payload": 4, "priority": 77}}
	s.post(t, "/v1/queue/publish_batch", object{"queue": "jobs", "messages": batch}).costs(t, "0.00004")
	s.post(t, "/v1/queue/pause/jobs", nil).costs(t, "0")
	is(t, "balance", s.do(t, "GET", "/v1/account/balance", nil), object{"balance_usd": nil, "spent_usd": 0.00006, "credit_limit_usd": nil})
	days := items(t, s.do(t, "GET", "/v1/account/usage", nil))
	if len(days) != 1 {
		t.Fatalf("usage: %v", days)
	}
	is(t, "usage", days[0], object{"messages": 3, "cost_usd": 0.00006})
	if at, err := time.Parse("2006-01-02", text(days[0]["day"])); err != nil || time.Since(at) > 25*time.Hour || time.Since(at) < 0 {
		t.Errorf("the day is %v", days[0]["day"])
	}

	// A project with a limit: to the last message, and no further.
	p := s.do(t, "POST", "/v1/projects", object{"name": "poor", "credit_limit_usd": 0.00005})
	is(t, "project", p, object{"credit_limit_usd": 0.00005})
	key := text(s.do(t, "POST", "/v1/keys", object{"scopes": []string{"admin"}, "project_id": p["project_id"]})["key"])
	as := []string{"Authorization", "Bearer " + key}
	s.post(t, "/v1/queue/create", object{"name": "jobs"}, as...).ok(t)
	three := []object{{"payload": 1}, {"payload": 2}, {"payload": 3}}
	got := items(t, s.post(t, "/v1/queue/publish_batch", object{"queue": "jobs", "messages": three}, as...).costs(t, "0.00004").ok(t))
	if got[0]["error"] != nil || got[1]["error"] != nil || got[2]["error"].(object)["code"] != "INSUFFICIENT_CREDIT" {
		t.Errorf("batch: %v", got)
	}
	poor := s.post(t, "/v1/queue/publish", one, append([]string{"Idempotency-Key", "later"}, as...)...)
	poor.refused(t, 402, "INSUFFICIENT_CREDIT")
	poor.says(t, "0.00002 USD", "0.00005", "0.00001 is left", "PATCH /v1/projects/{id}")
	is(t, "balance", s.call(t, "GET", "/v1/account/balance", nil, as...).ok(t), object{"balance_usd": 0.00001, "spent_usd": 0.00004, "credit_limit_usd": 0.00005})
	path := "/v1/projects/" + text(p["project_id"])
	s.call(t, "PATCH", path, object{"credit_limit_usd": 1}, as...).refused(t, 403, "FORBIDDEN")
	for body, field := range map[string]string{`{}`: "/credit_limit_usd", `{"credit_limit_usd":-1}`: "/credit_limit_usd", `{"credit_limit_usd":"1"}`: "/credit_limit_usd", `{"credit_limit_usd":0.0000000001}`: "/credit_limit_usd", `{"credit_limit_usd":1e-10}`: "/credit_limit_usd", `{"credit_limit_usd":1e10}`: "/credit_limit_usd", `{"credit_limit_usd":1e999999999999}`: "/credit_limit_usd", `{"name":"x"}`: "/name"} {
		s.call(t, "PATCH", path, body).refused(t, 400, "INVALID_ARGUMENT", field)
	}
	for _, form := range []string{"6e-5", "6E-05", "0.6e-4", "60e-6", "600e-7", "0.00006000000000000"} { // as Python and JavaScript write small numbers
		is(t, "raised to "+form, s.call(t, "PATCH", path, `{"credit_limit_usd":`+form+`}`).ok(t), object{"credit_limit_usd": 0.00006, "name": "poor"})
	}
	s.post(t, "/v1/queue/publish", one, append([]string{"Idempotency-Key", "later"}, as...)...).costs(t, "0.00002")
	s.post(t, "/v1/queue/publish", one, as...).refused(t, 402, "INSUFFICIENT_CREDIT")
	s.call(t, "PATCH", path, object{"credit_limit_usd": nil}).ok(t)
	s.post(t, "/v1/queue/publish", one, as...).costs(t, "0.00002")
	s.call(t, "PATCH", "/v1/projects/prj_0", object{"credit_limit_usd": nil}).refused(t, 404, "NOT_FOUND")
	is(t, "the other project pays for itself", s.do(t, "GET", "/v1/account/balance", nil), object{"spent_usd": 0.00006})
}

// checkCallersCosts wants what a caller's own transaction publishes to be charged at the server's price, with its commit.
func checkCallersCosts(t *testing.T, s *server, where string) {
	s.queue(t, "theirs", nil)
	db, err := pgx.Connect(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	for _, rollback := range []bool{true, false} {
		tx, err := db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out, err := queue.PublishTx(t.Context(), postgres.Tx(tx), queue.Publish{Queue: "theirs", Body: []byte(`1`)}, queue.Publish{Queue: "theirs", Body: []byte(`2`)})
		if err != nil || out[0].Err != nil || out[1].Cost.String() != "0.00002" {
			t.Fatalf("%+v, %v", out, err)
		}
		is(t, "before the end of the transaction", s.do(t, "GET", "/v1/account/balance", nil), object{"spent_usd": 0.00006})
		end := tx.Commit
		if rollback {
			end = tx.Rollback
		}
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	is(t, "after the commit", s.do(t, "GET", "/v1/account/balance", nil), object{"spent_usd": 0.0001})
	is(t, "usage", items(t, s.do(t, "GET", "/v1/account/usage", nil))[0], object{"messages": 5, "cost_usd": 0.0001})
}

// killAccount kills the server amid publishes, sends them all again, and wants each to have been charged once.
func killAccount(t *testing.T, s *server, where string) {
	const each = 60
	p := s.do(t, "POST", "/v1/projects", object{"name": "killed"})
	key := text(s.do(t, "POST", "/v1/keys", object{"scopes": []string{"admin"}, "project_id": p["project_id"]})["key"])
	s.post(t, "/v1/queue/create", object{"name": "jobs"}, "Authorization", "Bearer "+key).ok(t)
	for round := range 2 {
		var wg sync.WaitGroup
		var answered atomic.Int64
		for w := range 4 {
			wg.Go(func() {
				for i := range each {
					req, err := http.NewRequest("POST", s.url+"/v1/queue/publish", strings.NewReader(`{"queue":"jobs","payload":1}`))
					if err != nil {
						t.Error(err)
						return
					}
					req.Header.Set("Authorization", "Bearer "+key)
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("Idempotency-Key", fmt.Sprintf("%d-%d-%d", round, w, i))
					res, err := s.client.Do(req)
					if err != nil {
						return // it is dead
					}
					res.Body.Close()
					answered.Add(1)
				}
			})
		}
		for int(answered.Load()) < 2+each*round { // somewhere amid them
			time.Sleep(time.Millisecond)
		}
		s.cmd.Process.Kill()
		<-s.done
		wg.Wait()
		s = start(t, where, "--publish-price-usd", "0.00002")
		for w := range 4 {
			for i := range each {
				s.post(t, "/v1/queue/publish", object{"queue": "jobs", "payload": 1}, "Authorization", "Bearer "+key, "Idempotency-Key", fmt.Sprintf("%d-%d-%d", round, w, i)).ok(t)
			}
		}
		n := 4 * each * (round + 1)
		cost := fmt.Sprintf("%.9f", 0.00002*float64(n))
		got := s.call(t, "GET", "/v1/account/balance", nil, "Authorization", "Bearer "+key)
		if spent := fmt.Sprintf("%.9f", got.ok(t)["spent_usd"]); spent != cost {
			t.Errorf("%d messages cost %s, want %s", n, spent, cost)
		}
		day := items(t, s.call(t, "GET", "/v1/account/usage", nil, "Authorization", "Bearer "+key).ok(t))
		sum := 0.0
		for _, d := range day {
			sum += d["messages"].(float64)
		}
		if int(sum) != n {
			t.Errorf("%v of %d messages are in the usage", sum, n)
		}
	}
}
