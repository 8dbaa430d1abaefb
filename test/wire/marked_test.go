package wire

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// Everything is done with secrets that are marked, well and badly, and nothing that the program says has a mark in it: no log, no metric, no error, no list,
// no attempt, no replay, but the one answer that a secret is shown in.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		secretsStayInside(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db"), nil)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db, err := pgtest.Start(t.Context(), pgtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		secretsStayInside(t, strings.Replace(db.URL("postgres"), "postgres@", "postgres:"+databaseMark+"@", 1), db)
	})
}

const databaseMark = "markedDatabasePassword"

func secretsStayInside(t *testing.T, store string, db *pgtest.Cluster) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	metrics := l.Addr().String()
	l.Close()
	s := start(t, store, "--metrics-listen", metrics, "--log-level", "debug")

	given, rotated, pushed := mark(1), mark(2), mark(3)
	marks := []string{databaseMark, apiKey, strings.Repeat("5a", 32), given, rotated, pushed, "markedBearer", "markedToken", "markedPayload", "markedWrongKey"}
	// What a client sent, its owner may see again: URLs, headers, payloads. Not the secrets.
	const theirs = "markedToken markedBearer markedPayload"
	var said, answered strings.Builder
	hear := func(a answer) { fmt.Fprintln(&answered, a.status, a.header, a.raw) }
	r := receive(t)
	r.will(status(500, 200))

	// Shown once, in the answer to who made it; what they were is then looked for like the others.
	k := s.do(t, "POST", "/v1/keys", object{"scopes": []string{"admin"}}, "Idempotency-Key", "key")
	e := s.do(t, "POST", endpoints, object{
		"url": strings.Replace(r.url, "?", "?token=markedToken&", 1), "secret": given, "retry_ladder": []int{1}, "headers": object{"Authorization": "Bearer markedBearer"},
	}, "Idempotency-Key", "endpoint")
	e2 := s.do(t, "POST", endpoints, object{"url": "http://127.0.0.1:9/?token=markedToken", "retry_ladder": []int{3600}, "tenant": "nobody"}, "Idempotency-Key", "endpoint2")
	path := endpoints + "/" + text(e["endpoint_id"])
	s.queue(t, "jobs", nil)
	p := s.do(t, "POST", "/v1/queue/push_subscribe/jobs", object{"url": "http://127.0.0.1:9/nobody?token=markedToken", "timeout_seconds": 1})
	for _, shown := range []any{k["key"], e2["secret"], p["secret"]} {
		if text(shown) == "" {
			t.Fatalf("a secret was not shown to who made it: %v %v %v", k, e2, p)
		}
		marks = append(marks, text(shown))
	}
	s.do(t, "POST", "/v1/queue/push_subscribe/jobs", object{"url": "http://127.0.0.1:9/other", "secret": pushed, "timeout_seconds": 1})
	s.do(t, "POST", path+"/rotate_secret", object{"secret": rotated}, "Idempotency-Key", "rotate")

	// Used, with an attempt that fails and one that nobody hears.
	s.publish(t, "jobs", "markedPayload", nil)
	d := s.do(t, "POST", events, object{"event_type": "a", "event_id": "e1", "payload": object{"p": "markedPayload"}})
	s.until(t, d["deliveries"].([]any)[0].(object)["delivery_id"], "delivered")
	d2 := s.do(t, "POST", events, object{"event_type": "a", "event_id": "e2", "payload": object{"p": "markedPayload"}, "tenant": "nobody"})
	s.until(t, d2["deliveries"].([]any)[0].(object)["delivery_id"], "retrying")
	if got := r.requests(); len(got) < 2 || got[0].header.Get("Authorization") != "Bearer markedBearer" {
		t.Fatalf("the receiver got %v", got)
	}
	s.as(t, "", "read")

	// Refused: what was sent is not said again.
	hear(s.call(t, "GET", "/v1/keys", nil, "Authorization", "Bearer markedWrongKey0123456789"))
	hear(s.call(t, "GET", "/v1/keys", nil, "Authorization", "markedWrongKey"))
	hear(s.post(t, endpoints, object{"url": r.url, "secret": "whsec_markedToken"}))
	hear(s.post(t, endpoints, object{"url": r.url, "secret": given, "headers": object{"Authorization": "Bearer markedBearer\n"}}))
	hear(s.post(t, endpoints, object{"url": "http://u:markedToken@127.0.0.1/", "secret": given}))
	hear(s.post(t, endpoints, object{"url": "http://a b?token=markedToken", "secret": given}))
	hear(s.post(t, path+"/rotate_secret", object{"secret": rotated + "!"}))
	hear(s.call(t, "PATCH", path, object{"secret": given}))
	hear(s.post(t, "/v1/queue/push_subscribe/jobs", object{"url": "http://127.0.0.1:9/", "secret": pushed + "!"}))
	hear(s.post(t, "/v1/keys", object{"scopes": []string{"admin"}, "expires_at": "1970-01-01T00:00:00Z"}))
	for _, again := range []struct {
		path, key string
		body      object
	}{
		{"/v1/keys", "key", object{"scopes": []string{"admin"}}},
		{endpoints, "endpoint2", object{"url": "http://127.0.0.1:9/?token=markedToken", "retry_ladder": []int{3600}, "tenant": "nobody"}},
		{path + "/rotate_secret", "rotate", object{"secret": rotated}},
	} {
		hear(s.post(t, again.path, again.body, "Idempotency-Key", again.key))
	}

	// Listed and measured.
	for _, path := range []string{
		"/v1/keys", "/v1/projects", "/v1/webhooks/deliveries", "/v1/webhooks/deliveries/" + text(d["deliveries"].([]any)[0].(object)["delivery_id"]), "/v1/queue/stats/jobs",
		"/v1/account/balance", path, endpoints, "/v1/queue/push_list/jobs", "/v1/queue/messages/jobs", events, events + "/e1",
	} {
		hear(s.call(t, "GET", path, nil))
	}
	res, err := http.Get("http://" + metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(&said, res.Body)
	res.Body.Close()

	// The database goes away, and a program cannot start on it.
	if db != nil {
		db.Down()
		hear(s.post(t, "/v1/queue/publish", object{"queue": "jobs", "payload": "markedPayload"}))
		eventually(t, "the log tells of it", 20*time.Second, func() bool { return strings.Contains(s.logged(), "cannot be used") })
		for _, bad := range []string{store, store + "&no%zz", strings.Replace(store, "postgres:", "postgres:%zz", 1), strings.Replace(store, "?", "?pool_max_conns=x&", 1), strings.Replace(store, "127.0.0.1", "[::1", 1)} {
			_, out := ends(t, []string{"ONCEWARD_API_KEY=" + apiKey, "ONCEWARD_SECRETS_KEY=" + strings.Repeat("5a", 32)}, "serve", "--listen", "127.0.0.1:0", "--store", bad)
			fmt.Fprintln(&said, out)
			_, out = ends(t, nil, "migrate", "--show", "--store", bad)
			fmt.Fprintln(&said, out)
		}
	}
	said.WriteString(s.logged())
	all := said.String()
	for _, m := range marks {
		where := all
		if !strings.Contains(theirs, m) {
			where += answered.String()
		}
		for _, form := range []string{m, url.QueryEscape(m), base64.StdEncoding.EncodeToString([]byte(m)), strings.TrimPrefix(m, "whsec_")} {
			if i := strings.Index(where, form); i >= 0 {
				t.Errorf("%q was said: …%s…", m, where[max(0, i-300):min(len(where), i+100)])
				break
			}
		}
	}
	if !strings.Contains(all, "delivery attempt") || !strings.Contains(all, "onceward_http_request_seconds") {
		t.Error("neither log nor metrics were read: the test shows nothing")
	}
}

// mark is a signing secret that is like no other.
func mark(n byte) string {
	b := make([]byte, 24)
	for i := range b {
		b[i] = 'A' + n + byte(i)
	}
	return "whsec_" + base64.StdEncoding.EncodeToString(b)
}
