package wire

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
)

// refusal is an error that the contract's table has: what brings it about, and what a person must be able to read from it.
type refusal struct {
	code, when string // as the table has them
	field      any    // nil: null
	says       []string
	call       func() answer
}

// contract reads the table of errors of docs/http-api.md: a status for each code and cause.
func contract(t *testing.T) map[[2]string]int {
	t.Helper()
	b, err := os.ReadFile("../../docs/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(b), "\n## Errors\n")
	if !ok {
		t.Fatal("docs/http-api.md has no section of errors")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[[2]string]int{}
	for _, m := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([A-Z_]+)` \\| (.+?) \\| .+ \\|$").FindAllStringSubmatch(section, -1) {
		rows[[2]string{m[2], m[3]}], _ = strconv.Atoi(m[1])
	}
	// Each code that the conventions name has a row, save those that are kept for later.
	_, codes, _ := strings.Cut(string(b), "\n| codes | ")
	codes, _, _ = strings.Cut(codes, "Kept for what comes")
	named := regexp.MustCompile("`([A-Z_]{5,})`").FindAllStringSubmatch(codes, -1)
	if len(named) < 15 {
		t.Fatalf("the conventions name only the codes %v", named)
	}
	for _, c := range named {
		found := false
		for row := range rows {
			found = found || row[0] == c[1]
		}
		if !found {
			t.Errorf("%s has no row in the table of errors", c[1])
		}
	}
	return rows
}

// Every error of the contract, by what brings it about: status, code, field, a sentence that a tired person can act on, and nothing stored.
func TestErrors(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "o.db")
		checkErrors(t, "sqlite:"+path, breakage{
			table: func(from, to string) {
				db, err := sql.Open("sqlite", path)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if _, err := db.Exec("PRAGMA busy_timeout = 10000; ALTER TABLE " + from + " RENAME TO " + to); err != nil {
					t.Fatal(err)
				}
			},
			away: func() (back func()) {
				db, err := sql.Open("sqlite", path)
				if err != nil {
					t.Fatal(err)
				}
				db.SetMaxOpenConns(1)
				if _, err := db.Exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE"); err != nil {
					t.Fatal(err)
				}
				return func() { db.Exec("ROLLBACK"); db.Close() }
			},
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		c, err := pgtest.Start(t.Context(), pgtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		checkErrors(t, c.URL("postgres"), breakage{
			table: func(from, to string) {
				conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(t.Context())
				if _, err := conn.Exec(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
					t.Fatal(err)
				}
			},
			open: func() (end func()) {
				conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Exec(t.Context(), `BEGIN; SELECT pg_advisory_xact_lock_shared(1801812339, hashtext('theirs') & 1023); INSERT INTO publish_keys (project, queue, key, hash, message_id, published_at, visible_at, expires_at)
					VALUES (1, 'jobs', 'theirs', decode(repeat('00', 32), 'hex'), 1, now(), now(), now() + interval '1 day')`); err != nil {
					t.Fatal(err)
				}
				return func() { conn.Close(t.Context()) }
			},
			away: func() (back func()) {
				c.Down()
				return func() {
					if err := c.Up(t.Context()); err != nil {
						t.Error(err)
					}
				}
			},
		})
	})
}

// breakage is what only faults bring about.
type breakage struct {
	table func(from, to string)
	away  func() (back func())
	open  func() (end func()) // a transaction of somebody's own that has the publish key "theirs" of the queue "jobs"; nil where there can be none
}

const heldByAnother = "the key, the `event_id`, the queue to delete or a message of the queue to purge is in a transaction of somebody's own that is [still open](enqueue.md#a-transaction-that-stays-open)"

func checkErrors(t *testing.T, store string, b breakage) {
	rows := contract(t)
	s := start(t, store, "--max-connections", "64", "--publish-price-usd", "0.00002")
	w := newSetting(t, s)
	seen := map[[2]string]bool{}
	check := func(r refusal, untouched bool) {
		t.Helper()
		row := [2]string{r.code, r.when}
		status, ok := rows[row]
		if !ok {
			t.Errorf("the table of errors has no row for %s: %s", r.code, r.when)
			return
		}
		seen[row] = true
		before := ""
		if untouched {
			before = w.all(t)
		}
		a := r.call()
		a.refused(t, status, r.code)
		e, _ := a.body["error"].(object)
		t.Logf("%d %s %v: %v · %v", a.status, r.code, e["field"], e["message"], e["hint"])
		if e["field"] != r.field {
			t.Errorf("%s, %s: the field is %v, want %v", r.code, r.when, e["field"], r.field)
		}
		a.says(t, r.says...)
		if untouched && w.all(t) != before {
			t.Errorf("%s, %s: something was stored", r.code, r.when)
		}
		if retry := a.header.Get("Retry-After"); (status == 503 || status == 429) != (retry != "") {
			t.Errorf("%s, %s: Retry-After is %q", r.code, r.when, retry)
		}
	}
	for _, r := range w.refusals(t) {
		check(r, true)
	}
	w.faults(t, b, check)
	if b.open == nil {
		seen[[2]string{"UNAVAILABLE", heldByAnother}] = true
	}
	for row := range rows {
		if !seen[row] {
			t.Errorf("no call here is answered %s: %s", row[0], row[1])
		}
	}
}

// setting is a server with something of each kind in it, at rest.
type setting struct {
	*server
	gone, held, other  string // receipts: of an acked message, of one in flight, of another queue's
	message            string // the id of one that is gone
	endpoint, foreign  string // disabled, so that what it is sent waits
	pending, cancelled string // deliveries
	orphan             string // a delivery whose endpoint was deleted
	read, revoked      string // keys
	poor               string // the key of a project without credit
}

func newSetting(t *testing.T, s *server) *setting {
	w := &setting{server: s}
	s.queue(t, "jobs", object{"message_retention_days": 1})
	s.queue(t, "strict", object{"require_receipt": true})
	s.queue(t, "line", object{"type": "fifo", "content_dedup": true})
	s.publish(t, "line", 7, object{"message_group_id": "a"})
	s.queue(t, "full", nil)
	s.publish(t, "full", 1, nil)
	s.publish(t, "jobs", 1, nil)
	m := s.one(t, "jobs", nil)
	w.gone, w.message = text(m["receipt_handle"]), text(m["message_id"])
	s.settle(t, "ack", "jobs", m, nil)
	s.publish(t, "jobs", 2, object{"idempotency_key": "order-7"})
	w.held = text(s.one(t, "jobs", object{"visibility_timeout": 43200})["receipt_handle"])
	s.publish(t, "strict", 1, nil)
	s.claim(t, "granted", "mail", "carried", object{"lease_seconds": 43200, "queue": "jobs", "receipt_handle": w.held})
	s.claim(t, "granted", "mail", "failed", nil)
	s.say(t, "fail", "mail", "failed", 1, object{"kind": "permanent"})
	w.other = text(s.one(t, "strict", object{"visibility_timeout": 43200})["receipt_handle"])
	s.queue(t, "busy", nil)
	for i := range 3 {
		s.kill(t, "busy", i, nil)
	}
	// Endpoints: nothing is sent.
	make := func(tenant string) string {
		e := s.endpoint(t, "http://127.0.0.1:9/", object{"tenant": tenant})
		s.do(t, "POST", endpoints+"/"+text(e["endpoint_id"])+"/disable", nil)
		return text(e["endpoint_id"])
	}
	w.endpoint, w.foreign = make("acme"), make("other")
	deliver := func(id, to string) string {
		d := s.do(t, "POST", events, object{"event_id": id, "event_type": "a", "payload": 1, "tenant": "acme", "endpoint_ids": []string{to}})
		return text(d["deliveries"].([]any)[0].(object)["delivery_id"])
	}
	w.pending, w.cancelled = deliver("e-1", w.endpoint), deliver("e-2", w.endpoint)
	s.do(t, "POST", "/v1/webhooks/deliveries/"+w.cancelled+"/cancel", nil)
	third := make("acme")
	w.orphan = deliver("e-3", third)
	s.call(t, "DELETE", endpoints+"/"+third, nil).ok(t)
	s.do(t, "POST", endpoints+"/"+w.endpoint+"/rotate_secret", object{}, "Idempotency-Key", "rotate-1")
	for s.post(t, endpoints+"/"+w.foreign+"/rotate_secret", object{}).status == 200 {
	}
	key := func(scopes ...string) object { return s.do(t, "POST", "/v1/keys", object{"scopes": scopes}) }
	w.read = text(key("read")["key"])
	revoked := key("admin")
	s.call(t, "DELETE", "/v1/keys/"+text(revoked["key_id"]), nil).ok(t)
	w.revoked = text(revoked["key"])
	s.do(t, "POST", "/v1/queue/dlq/redrive/busy", object{"rate_per_second": 0.001})
	poor := s.do(t, "POST", "/v1/projects", object{"name": "poor", "credit_limit_usd": 0})
	w.poor = text(s.do(t, "POST", "/v1/keys", object{"scopes": []string{"admin"}, "project_id": poor["project_id"]})["key"])
	s.post(t, "/v1/queue/create", object{"name": "jobs"}, "Authorization", "Bearer "+w.poor).ok(t)
	return w
}

// peeked is a connection of whose answer something was read.
type peeked struct {
	net.Conn
	r io.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// all gives all that the server shows of itself.
func (w *setting) all(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{
		"/v1/queue/list", "/v1/queue/messages/jobs", "/v1/queue/messages/strict", "/v1/queue/messages/full", "/v1/queue/dlq/list/jobs", endpoints, events, "/v1/webhooks/deliveries", "/v1/keys", "/v1/projects",
		"/v1/ledger/claims?state=started", "/v1/ledger/claims?state=failed", "/v1/ledger/claims?scope=mail&key=failed",
	} {
		fmt.Fprintln(&b, path, w.do(t, "GET", path, nil))
	}
	return b.String()
}

// faults are the errors that no call brings about by itself. The last of them break the store for good.
func (w *setting) faults(t *testing.T, b breakage, check func(refusal, bool)) {
	publish := func() answer { return w.post(t, "/v1/queue/publish", object{"queue": "jobs", "payload": 1}) }
	slowly := w.dial(t)
	io.WriteString(slowly, head("/v1/queue/publish", 1000)+`{"queue":"jobs",`)
	cut := w.dial(t)
	io.WriteString(cut, head("/v1/queue/publish", 1000)+`{"queue":"jobs","payload":1}`)
	cut.(*net.TCPConn).CloseWrite()
	const invalid, body = "INVALID_ARGUMENT", "the body does not come to its end, or too slowly"
	check(refusal{invalid, body, nil, []string{"before it was whole", "again"}, func() answer { return hear(t, cut) }}, true)
	check(refusal{invalid, body, nil, []string{"slowly", "20s", "parts"}, func() answer { return hear(t, slowly) }}, true)

	const unavailable = "UNAVAILABLE"
	if b.open != nil {
		end := b.open()
		check(refusal{unavailable, heldByAnother, nil, []string{"theirs", "transaction"}, func() answer {
			return w.post(t, "/v1/queue/publish", object{"queue": "jobs", "payload": 1, "idempotency_key": "theirs"})
		}}, true)
		end()
	}
	var crowd []net.Conn
	for range 80 {
		c := w.dial(t)
		io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		crowd = append(crowd, c)
	}
	last := w.dial(t)
	check(refusal{unavailable, "the server has as many connections as it may", nil, []string{"64 connections", "nothing was done", "in a moment"}, func() answer {
		const body = `{"queue":"jobs","payload":1}`
		io.WriteString(last, head("/v1/queue/publish", len(body))+body)
		return hear(t, last)
	}}, false)
	for _, c := range crowd {
		c.Close()
	}
	eventually(t, "there is a place again", 30*time.Second, func() bool {
		c := w.dial(t)
		defer c.Close()
		io.WriteString(c, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		return err == nil && res.StatusCode == 200
	})

	const blank = 16 << 20
	most := bytes.Repeat([]byte(" "), blank-1<<20) // room is taken as bytes come
	var large []net.Conn
	first := make(chan net.Conn, 128<<20/len(most)+4)
	for range cap(first) {
		c := w.dial(t)
		large = append(large, c)
		go func() {
			io.WriteString(c, head("/v1/queue/publish_batch", blank))
			c.Write(most)
		}()
		go func() {
			r := bufio.NewReader(c)
			r.Peek(1)
			first <- peeked{c, r}
		}()
	}
	check(refusal{unavailable, "large bodies or answers are under way that take all the room there is", nil, []string{"bytes of requests", "nothing was done", "in a moment", "65536"}, func() answer {
		return hear(t, <-first) // the one that came too late for a room is told so, before those that hold one are too slow
	}}, true)
	for _, c := range large {
		c.Close()
	}

	before := w.all(t)
	back := b.away()
	check(refusal{unavailable, "the store cannot be reached or written to", nil, []string{"cannot", "send the", "key"}, publish}, false)
	back()
	eventually(t, "the store is back", time.Minute, func() bool { return w.call(t, "GET", "/readyz", nil).status == 200 })
	if w.all(t) != before {
		t.Error("something was stored while the store was away")
	}

	b.table("bodies", "broken")
	check(refusal{"INTERNAL", "a fault of ours", nil, []string{"request_id", "log", "whoever runs the server"}, func() answer {
		a := publish()
		if strings.Contains(a.raw, "bodies") || strings.Contains(strings.ToLower(a.raw), "sql") {
			t.Errorf("the answer tells what went wrong inside: %s", a.raw)
		}
		if id := a.header.Get("X-Request-Id"); !strings.Contains(w.logged(), id) {
			t.Errorf("the log has no line of the request %s", id)
		}
		return a
	}}, false)
	b.table("broken", "bodies")

	late := w.dial(t)
	polled := make(chan bool)
	go func() { w.consume(t, "jobs", object{"wait_seconds": 20}); close(polled) }()
	io.WriteString(late, "GET /readyz HTTP/1.1\r\nHost: x\r\n") // a request that has begun
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-polled // which a stop ends
	check(refusal{unavailable, "the server is stopping", nil, []string{"stopping", "in a moment"}, func() answer {
		io.WriteString(late, "\r\n")
		return hear(t, late)
	}}, false)
}
