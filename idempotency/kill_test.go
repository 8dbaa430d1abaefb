package idempotency_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/store/sqldb"
)

const (
	childEnv = "ONCEWARD_IDEMPOTENCY_TEST_CHILD"
	dieEnv   = "ONCEWARD_IDEMPOTENCY_TEST_DIE"
)

// points are where the process of a request is killed, and how many effects that leaves in the end without Tx and with it.
var points = []struct {
	name      string
	plain, tx int
}{
	{"before the claim", 1, 1},
	{"before the effect", 1, 1},
	{"after the effect", 2, 1}, // and before its record, which with Tx commits with it
	{"before the answer", 1, 1},
	{"", 1, 1}, // not at all
}

// die kills the process if that is its point.
func die(point string) {
	if os.Getenv(dieEnv) == point && point != "" {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// TestChild is no test: it is the service that TestKilled kills. It prints its address.
func TestChild(t *testing.T) {
	mode := os.Getenv(childEnv)
	if mode == "" {
		return // nothing to do in the parent
	}
	kind, rest, _ := strings.Cut(mode, " ")
	driver, dsn, _ := strings.Cut(rest, " ")
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	l := sqldb.Postgres(db)
	if driver != "pgx" {
		l = sqldb.SQLite(db)
	}
	m, err := idempotency.New(idempotency.Config{Ledger: l, Tenant: idempotency.OneTenant, Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	effect := func(ctx context.Context, on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}, w http.ResponseWriter,
	) error {
		die("before the effect")
		op, _ := idempotency.FromContext(ctx)
		if _, err := on.ExecContext(ctx, "INSERT INTO effects VALUES ($1)", op.ID); err != nil {
			return err
		}
		die("after the effect")
		fmt.Fprint(w, op.ID)
		return nil
	}
	guarded := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if err := effect(q.Context(), db, w); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	if kind == "tx" {
		if guarded, err = idempotency.Tx(m, func(w http.ResponseWriter, q *http.Request, tx *sql.Tx) error { return effect(q.Context(), tx, w) }); err != nil {
			t.Fatal(err)
		}
	}
	n, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(n.Addr())
	http.Serve(n, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		die("before the claim")
		guarded.ServeHTTP(deathbed{w}, q)
	}))
}

// deathbed kills the process before the answer.
type deathbed struct{ http.ResponseWriter }

func (d deathbed) WriteHeader(status int) {
	if status == http.StatusOK {
		die("before the answer")
	}
	d.ResponseWriter.WriteHeader(status)
}

func (d deathbed) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// A process killed -9 at each point of a request. The client repeats it, to the next process, until it is answered. Without Tx the one gap is between
// the effect and its record: the effect is there twice, under one operation. With Tx it is there once, whatever happens.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (driver, dsn string){
		"sqlite":   func(t *testing.T) (string, string) { return sqlitetest.Driver, sqlitetest.DSN(t.TempDir() + "/app.db") },
		"postgres": func(t *testing.T) (string, string) { return "pgx", scratch(t) },
	} {
		for _, kind := range []string{"plain", "tx"} {
			for _, p := range points {
				t.Run(name+"/"+kind+"/"+p.name, func(t *testing.T) {
					t.Parallel()
					driver, dsn := open(t)
					db, err := sql.Open(driver, dsn)
					if err != nil {
						t.Fatal(err)
					}
					defer db.Close()
					l := sqldb.Postgres(db)
					if driver != "pgx" {
						l = sqldb.SQLite(db)
					}
					if err := l.Install(t.Context()); err != nil {
						t.Fatal(err)
					}
					if _, err := db.Exec("CREATE TABLE effects (op text NOT NULL)"); err != nil {
						t.Fatal(err)
					}
					mode := kind + " " + driver + " " + dsn
					answer := ""
					if p.name != "" {
						address, wait := child(t, mode, p.name)
						if _, err := send(t, address); err == nil {
							t.Fatal("the process that was to die has answered")
						}
						wait()
					}
					address, _ := child(t, mode, "")
					for answer == "" {
						if answer, err = send(t, address); err != nil {
							t.Fatal(err)
						}
					}
					want := p.plain
					if kind == "tx" {
						want = p.tx
					}
					var effects, operations int
					if err := db.QueryRow("SELECT count(*), count(DISTINCT op) FROM effects").Scan(&effects, &operations); err != nil {
						t.Fatal(err)
					}
					if effects != want || operations != 1 {
						t.Errorf("%d effects of %d operations; want %d of 1", effects, operations, want)
					}
					if again, err := send(t, address); again != answer || err != nil {
						t.Errorf("answered %q, then %q, %v", answer, again, err)
					}
				})
			}
		}
	}
}

// child starts a service in a process of its own.
func child(t *testing.T, mode, dies string) (address string, wait func()) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestChild$")
	c.Env = append(os.Environ(), childEnv+"="+mode, dieEnv+"="+dies)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	wait = func() { c.Wait() }
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	line := bufio.NewScanner(out)
	if !line.Scan() || !strings.HasPrefix(line.Text(), "127.0.0.1:") {
		rest, _ := io.ReadAll(out)
		t.Fatalf("%s\n%s", line.Text(), rest)
	}
	return line.Text(), wait
}

// send sends the request. The answer is empty while the first of its key is still under way, and after that as it is.
func send(t *testing.T, address string) (string, error) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/exports", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	q.Header["Idempotency-Key"], q.Header["Content-Type"] = []string{"k"}, []string{"application/json"}
	// One POST alone: by itself net/http repeats one that has a key, when its connection turns out dead.
	q.GetBody = nil
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return "", err
	case resp.StatusCode == http.StatusConflict:
		time.Sleep(50 * time.Millisecond)
		return "", nil
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%d %s", resp.StatusCode, b)
	}
	return string(b), nil
}

// scratch gives a database of the test's own.
func scratch(t *testing.T) string {
	t.Helper()
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	url, drop, err := pgtest.Scratch(t.Context(), c.URL("postgres"), "killed_")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return url
}
