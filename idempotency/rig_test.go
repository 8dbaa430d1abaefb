package idempotency_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/leak"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqldb"
	"github.com/onceward/onceward/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// connections are those of each pool: far fewer than there are callers.
const connections = 4

// onPostgres opens a ledger on a database that all tests of this process share, each with a project of its own.
func onPostgres[L idempotency.Ledger](open func(ctx context.Context, url string) (L, error)) func(testing.TB) idempotency.Ledger {
	once := sync.OnceValues(func() (L, error) {
		c, err := cluster()
		if err != nil {
			var none L
			return none, err
		}
		return open(context.Background(), c.URL("postgres"))
	})
	return func(t testing.TB) idempotency.Ledger {
		t.Helper()
		l, err := once()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

var cluster = sync.OnceValues(func() (*pgtest.Cluster, error) {
	return pgtest.Start(context.Background(), pgtest.Options{Dir: pgtest.Memory()})
})

// ledgers are those that the middleware is tried on: of Onceward's own stores, and in a database of the caller's.
var ledgers = map[string]func(t testing.TB) idempotency.Ledger{
	"Onceward's SQLite": func(t testing.TB) idempotency.Ledger { return ours(t, t.TempDir()) },
	"Onceward's PostgreSQL": onPostgres(func(ctx context.Context, url string) (*postgres.DB, error) {
		return postgres.Open(ctx, url+"&pool_max_conns="+strconv.Itoa(connections), postgres.Options{})
	}),
	"SQLite": func(t testing.TB) idempotency.Ledger { return theirs(t, t.TempDir()) },
	"PostgreSQL by database/sql": onPostgres(func(ctx context.Context, url string) (*sqldb.DB[*sql.Tx], error) {
		db, err := sql.Open("pgx", url)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(connections)
		l := sqldb.Postgres(db)
		return l, l.Install(ctx)
	}),
	"PostgreSQL by pgx": onPostgres(func(ctx context.Context, url string) (*sqldb.DB[pgx.Tx], error) {
		p, err := pgxpool.New(ctx, url+"&pool_max_conns="+strconv.Itoa(connections))
		if err != nil {
			return nil, err
		}
		l := sqldb.Pgx(p)
		return l, l.Install(ctx)
	}),
}

// ours opens Onceward's SQLite.
func ours(t testing.TB, dir string) idempotency.Ledger {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "o.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// theirs opens a ledger in a SQLite of the caller's.
func theirs(t testing.TB, dir string) *sqldb.DB[*sql.Tx] {
	t.Helper()
	l := sqldb.SQLite(sqlitetest.OpenFile(t, filepath.Join(dir, "app.db")))
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// projects gives each test one of its own.
var projects atomic.Int64

// onAll runs a test on every ledger there is.
func onAll(t *testing.T, test func(r *rig)) {
	t.Helper()
	t.Parallel()
	for name, open := range ledgers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newRig(t, idempotency.Config{Ledger: open(t), Project: projects.Add(1)}))
		})
	}
}

// rig is a service whose POST /exports is guarded, and /things/{id} by every method.
type rig struct {
	*testing.T
	config   idempotency.Config
	service  http.Handler
	postgres bool
	guard    func(*idempotency.Middleware) http.Handler

	mu      sync.Mutex
	handler http.HandlerFunc
	ops     []idempotency.Operation // of the handlers begun, in order
}

func newRig(t *testing.T, c idempotency.Config) *rig {
	t.Helper()
	r := &rig{T: t, handler: made}
	if c.Tenant == nil {
		c.Tenant = func(r *http.Request) (string, error) { return r.Header.Get("Tenant"), nil }
	}
	c.Logger = quiet
	r.config = c
	r.guard = func(m *idempotency.Middleware) http.Handler {
		return m.Handler(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.begins(q)(w, q) }))
	}
	r.build()
	return r
}

// build makes the service anew, by what its config is now.
func (r *rig) build() {
	m, err := idempotency.New(r.config)
	if err != nil {
		r.Fatal(err)
	}
	guarded := r.guard(m)
	mux := http.NewServeMux()
	mux.Handle("POST /exports", guarded)
	mux.Handle("/things/{id}", guarded)
	r.service = mux
}

// begins notes a handler that is begun, and gives what it does.
func (r *rig) begins(q *http.Request) http.HandlerFunc {
	r.mu.Lock()
	defer r.mu.Unlock()
	if op, ok := idempotency.FromContext(q.Context()); ok {
		r.ops = append(r.ops, op)
	}
	return r.handler
}

// made answers what an export does.
func made(w http.ResponseWriter, q *http.Request) {
	op, _ := idempotency.FromContext(q.Context())
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Location", "/exports/7")
	h.Set("Set-Cookie", "session=secret")
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"op":%q}`, op.ID)
}

func (r *rig) begun() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

func (r *rig) serve(h http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handler = h
}

// want says in order how many handlers were begun.
func (r *rig) want(begun int) {
	r.Helper()
	if n := r.begun(); n != begun {
		r.Fatalf("%d handlers were begun, want %d", n, begun)
	}
}

type change func(*http.Request)

func header(name string, values ...string) change {
	return func(q *http.Request) { q.Header[http.CanonicalHeaderKey(name)] = values }
}

func body(s string) change {
	return func(q *http.Request) { q.Body, q.ContentLength = io.NopCloser(strings.NewReader(s)), int64(len(s)) }
}

// request is an export under the key k of tenant acme, with what is changed.
func request(t testing.TB, method, target string, changes ...change) *http.Request {
	q := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for _, c := range append([]change{header("Idempotency-Key", "k"), header("Tenant", "acme"), header("Content-Type", "application/json"), body(`{"month":5}`)}, changes...) {
		c(q)
	}
	return q
}

func (r *rig) post(changes ...change) *http.Response { return r.call("POST", "/exports", changes...) }

func (r *rig) call(method, target string, changes ...change) *http.Response {
	w := httptest.NewRecorder()
	r.service.ServeHTTP(w, request(r.T, method, target, changes...))
	return w.Result()
}

// is checks an answer's status and part of its body, and gives the body.
func (r *rig) is(resp *http.Response, status int, part string) string {
	r.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	if resp.StatusCode != status || !strings.Contains(string(b), part) {
		r.Fatalf("answered %d %s; want %d with %q", resp.StatusCode, b, status, part)
	}
	return string(b)
}

// replayed checks that an answer is the first one again.
func (r *rig) replayed(resp *http.Response, status int, whole string) {
	r.Helper()
	if got := r.is(resp, status, ""); got != whole || resp.Header.Get("Idempotent-Replayed") != "true" {
		r.Fatalf("%q, replayed %q; want %q again", got, resp.Header.Get("Idempotent-Replayed"), whole)
	}
}
