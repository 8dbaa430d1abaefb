package upgrade

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/test/served"
	"github.com/onceward/onceward/webhook"
)

var stores = map[string]func(t *testing.T, b []byte, gone time.Duration) (store string){"sqlite": openSQLite, "postgres": openPostgres}

// A database of each version of the schema, and of each release, is opened, read and worked on.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for store, open := range stores {
		all, err := filepath.Glob("../../store/" + store + "/migrations/*.sql")
		if err != nil || len(all) < 8 {
			t.Fatalf("%d migrations of %s, %v", len(all), store, err)
		}
		var versions []string
		for i := range all {
			versions = append(versions, fmt.Sprint(i+1))
		}
		for _, version := range append(versions, tags(t)...) {
			name := store + "-" + version
			if name == "postgres-1" {
				continue // of that time no program was ever whole
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				what, err := os.ReadFile(filepath.Join("testdata", name+".json"))
				if os.IsNotExist(err) && version == versions[len(versions)-1] {
					t.Skip("the newest version has none yet: it is made before the next migration is added, as doc.go says")
				} else if err != nil {
					t.Fatalf("%v: each version has a database, made as doc.go says", err)
				}
				var k known
				if err := json.Unmarshal(what, &k); err != nil {
					t.Fatal(err)
				}
				zipped, err := os.ReadFile(filepath.Join("testdata", name+".gz"))
				if err != nil {
					t.Fatal(err)
				}
				z, err := gzip.NewReader(bytes.NewReader(zipped))
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(z)
				if err != nil {
					t.Fatal(err)
				}
				r := receive(t)
				k.check(t, serve(t, open(t, b, time.Since(k.MadeAt)), r.Listener.Addr().String()), r)
			})
		}
	}
}

// tags are the releases.
func tags(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "tag", "--list", "v*").Output()
	if err != nil {
		t.Logf("no tags can be listed here: %v", err)
	}
	return strings.Fields(string(out))
}

// Who runs a release has a database that its program wrote, whatever commits of the same schema did.
func TestEachTagHasADatabase(t *testing.T) {
	t.Parallel()
	all := tags(t)
	if len(all) == 0 {
		t.Log("there is no tag yet, so none lacks a database")
	}
	for _, tag := range all {
		for store := range stores {
			for _, ending := range []string{".gz", ".json"} {
				if _, err := os.Stat(filepath.Join("testdata", store+"-"+tag+ending)); err != nil {
					t.Errorf("%v: each tag has a database that its program wrote, made as doc.go says", err)
				}
			}
		}
	}
}

// openSQLite makes a file of b, with all its times moved. They are whole microseconds, and no other number is as large.
func openSQLite(t *testing.T, b []byte, gone time.Duration) string {
	path := filepath.Join(t.TempDir(), "o.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(sqlitetest.Driver, sqlitetest.DSN(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT m.name, c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND c.hidden = 0 AND m.name NOT LIKE 'sqlite_%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var moves []string
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		moves = append(moves, fmt.Sprintf(`UPDATE %q SET %q = %[2]q + %d WHERE typeof(%[2]q) = 'integer' AND %[2]q > 1600000000000000`, table, column, gone.Microseconds()))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		if _, err := db.Exec(m); err != nil {
			t.Fatalf("%s: %v", m, err)
		}
	}
	return "sqlite:" + path
}

// openPostgres makes a database of what pg_dump said, with all its times moved.
func openPostgres(t *testing.T, b []byte, gone time.Duration) string {
	at := pgtest.Database(t)
	each := func(statement string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		if _, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%.100s: %v", statement, err)
		}
	}
	each(string(b))
	each(fmt.Sprintf(`DO $$ DECLARE c record; BEGIN
		FOR c IN SELECT r.oid::regclass AS t, a.attname AS name FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid
			WHERE r.relnamespace = 'public'::regnamespace AND r.relkind IN ('r', 'p') AND NOT r.relispartition
			AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.atttypid = 'timestamptz'::regtype
		LOOP EXECUTE format('UPDATE %%s SET %%I = %%I + interval ''%d seconds''', c.t, c.name, c.name); END LOOP; END $$`, int(gone.Seconds())))
	return at
}

// serve runs today's server on a store. What it sends to the host of push subscriptions, whom no name server knows, goes to that address.
func serve(t *testing.T, store, pushes string) *caller {
	key, err := hex.DecodeString(secretsKey)
	if err != nil {
		t.Fatal(err)
	}
	c := onceward.Config{
		Store: store, APIKey: apiKey, SecretsKey: key, AllowPrivateNetworks: true, Grace: 2 * time.Second, PublishPrice: price,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == pushHost+":80" {
				address = pushes
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	return &caller{t, served.Run(t, c, httptest.NewServer).URL, apiKey}
}

// check reads all that is known, and works on it to its end.
func (k known) check(t *testing.T, c *caller, r *receiver) {
	k.Usage.check(c)                                                             // before anything is charged
	for _, e := range []string{k.Endpoint, k.Refused.Endpoint, k.Refused.Once} { // what goes on by itself finds nobody at the old addresses
		c.do("PATCH", "/v1/webhooks/endpoints/"+e, object{"url": r.URL})
	}
	there := c.list("/v1/queue/messages/jobs")
	want := map[string]bool{k.Dead: true}
	for _, id := range there {
		want[id] = true
		if !slices.Contains(k.Messages, id) || id == k.Dead {
			t.Errorf("%s is there, and was not", id)
		}
	}
	if len(there) != 4 || !want[k.Messages[5]] || !want[k.Held["message_id"].(string)] {
		t.Errorf("%v are there, want four of %v without %s", there, k.Messages, k.Dead)
	}
	if got := c.list("/v1/queue/dlq/list/jobs"); fmt.Sprint(got) != fmt.Sprint([]string{k.Dead}) {
		t.Errorf("the dead letters are %v, want %s", got, k.Dead)
	}
	again := c.do("POST", "/v1/queue/publish", object{"queue": "jobs", "payload": object{"n": 3}, "headers": object{"h": "v"}, "idempotency_key": "k3"})
	if again["message_id"] != k.Messages[3] {
		t.Errorf("published again under its key: %v, want %s", again, k.Messages[3])
	}
	c.ack("jobs", k.Held)
	c.do("POST", "/v1/queue/dlq/redrive/jobs", object{})
	delete(want, k.Held["message_id"].(string))
	delete(want, k.Messages[5]) // put off
	for end := time.Now().Add(20 * time.Second); len(want) > 0 && time.Now().Before(end); {
		m := c.receive("jobs", 60)
		id := m["message_id"].(string)
		if !want[id] {
			t.Errorf("%s was received and is none of those that wait", id)
		}
		delete(want, id)
		c.ack("jobs", m)
	}
	if len(want) > 0 {
		t.Errorf("never received: %v", want)
	}
	if got := c.list("/v1/queue/messages/jobs"); len(got) != 1 || got[0] != k.Messages[5] {
		t.Errorf("left are %v, want the one that is put off, %s", got, k.Messages[5])
	}

	if d := c.do("GET", "/v1/webhooks/deliveries/"+k.Delivered, nil); d["state"] != "delivered" || len(d["attempts"].([]any)) != 1 {
		t.Errorf("what was delivered is %v", d)
	}
	if d := c.event("a", "e1"); d != k.Delivered {
		t.Errorf("the same event again: %v", d)
	}
	c.do("POST", "/v1/webhooks/deliveries/"+k.Waiting+"/cancel", nil)
	c.do("POST", "/v1/webhooks/deliveries/"+k.Waiting+"/resend", object{"reason": "it was cancelled"})
	c.until(k.Waiting, "delivered")
	r.came(t, "e2", k.Secret)

	k.Project.check(c, k.Delivered)
	k.Work.check(c)
	k.Callers.check(c, k.Work)
	k.Steps.check(c)
	k.Pushed.check(c, r)
	k.Refused.check(c, r, k.Callers)
	k.Moving.check(c)

	// What has come since.
	c.do("POST", "/v1/queue/create", object{"name": "line", "type": "fifo"})
	c.publish(object{"queue": "line", "payload": 1, "message_group_id": "g"})
	m := c.receive("line", 60)
	claim := c.do("POST", "/v1/ledger/claim", object{"scope": "mail", "key": "k", "owner": "o", "queue": "line", "receipt_handle": m["receipt_handle"]})
	c.do("POST", "/v1/ledger/complete", object{"scope": "mail", "key": "k", "fence": claim["fence"], "settle": true})
	c.do("POST", "/v1/queue/push_subscribe/line", object{"url": r.URL})
	c.do("POST", "/v1/projects", object{"name": "another", "credit_limit_usd": 1})
}

// receiver keeps what is sent to it.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	posts map[string][]post // by webhook-id
}

type post struct {
	header http.Header
	body   []byte
}

func receive(t *testing.T) *receiver {
	r := &receiver{posts: map[string][]post{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		id := q.Header.Get("webhook-id")
		r.posts[id] = append(r.posts[id], post{q.Header, body})
	}))
	t.Cleanup(r.Close)
	return r
}

// came wants one POST of an id, with a signature by the secret of then.
func (r *receiver) came(t *testing.T, id, secret string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.posts[id]) != 1 {
		t.Errorf("%d POSTs of %s came, want 1", len(r.posts[id]), id)
		return
	}
	p := r.posts[id][0]
	if err := webhook.Verify(p.header, p.body, time.Now(), secret); err != nil {
		t.Errorf("the signature of %s by the secret of then: %v", id, err)
	}
}
