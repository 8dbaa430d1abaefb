package faults

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
	"github.com/onceward/onceward/webhook"
)

// What a receiver's process is told by its environment.
const (
	farStore  = "FAULTS_RECEIVER_STORE"
	farListen = "FAULTS_RECEIVER_LISTEN"
	farSecret = "FAULTS_RECEIVER_SECRET"
)

// beReceiver is a receiver's whole process: it writes what it is paid into its own database, once.
func beReceiver(store string) error {
	const paid = "INSERT INTO paid (event) VALUES "
	if path, ok := strings.CutPrefix(store, "sqlite:"); ok {
		db, err := sql.Open(sqlitetest.Driver, sqlitetest.DSN(path))
		if err != nil {
			return err
		}
		d := sqldb.SQLite(db)
		return serveReceiver(d, d.Install, func(ctx context.Context, tx *sql.Tx, event string) error {
			_, err := tx.ExecContext(ctx, paid+"(?)", event)
			return err
		})
	}
	pool, err := pgxpool.New(context.Background(), store)
	if err != nil {
		return err
	}
	d := sqldb.Pgx(pool)
	return serveReceiver(d, d.Install, func(ctx context.Context, tx pgx.Tx, event string) error {
		_, err := tx.Exec(ctx, paid+"($1)", event)
		return err
	})
}

func serveReceiver[T any](store ledger.TxStore[T], install func(context.Context) error, pay func(context.Context, T, string) error) error {
	if err := install(context.Background()); err != nil {
		return err
	}
	h, err := webhook.NewReceiver(webhook.ReceiverConfig[T]{
		Store: store, Secrets: []string{os.Getenv(farSecret)}, Timeout: 3 * time.Second, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Effect: func(ctx context.Context, tx T, r webhook.Received) error {
			time.Sleep(rand.N(5 * time.Millisecond))
			if err := pay(ctx, tx, r.EventID); err != nil {
				return err
			}
			time.Sleep(rand.N(5 * time.Millisecond)) // between the effect and done
			return nil
		},
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", os.Getenv(farListen))
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		h.ServeHTTP(w, q)
		time.Sleep(rand.N(5 * time.Millisecond)) // between done and the answer
	}))
}

// farProcess is a receiver's process, which is killed and started again.
type farProcess struct {
	cmd *exec.Cmd
	url string
	env []string
	log *text
}

func startFar(t testing.TB, store, secret string) *farProcess {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	f := &farProcess{url: "http://" + at + "/hooks", log: &text{}, env: []string{farStore + "=" + store, farListen + "=" + at, farSecret + "=" + secret}}
	f.start(t)
	t.Cleanup(func() {
		f.kill()
		if t.Failed() {
			t.Logf("the receiver wrote: %.4000s", f.log.String())
		}
	})
	return f
}

// start starts the process, and waits until it answers.
func (f *farProcess) start(t testing.TB) {
	t.Helper()
	f.cmd = exec.Command(os.Args[0])
	f.cmd.Env, f.cmd.Stderr = append(os.Environ(), f.env...), f.log
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the receiver answers", func() bool {
		r, err := http.Get(f.url)
		if err != nil {
			return false
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
		return r.StatusCode == http.StatusMethodNotAllowed
	})
}

// kill is SIGKILL.
func (f *farProcess) kill() {
	f.cmd.Process.Kill()
	f.cmd.Wait()
}

// Sender and receiver are both killed, at any moment and again and again. With webhook.Receiver at the far side every event that was answered 2xx, and none
// but those that were sent, took effect there exactly once.
func TestBothEndsKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		theirs, driver := "sqlite:"+filepath.Join(t.TempDir(), "receiver.db"), ""
		if !strings.HasPrefix(store, "sqlite:") {
			theirs, driver = pgtest.Database(t), "pgx"
		}
		db, err := sql.Open("pgx", theirs)
		if driver == "" {
			db, err = sql.Open(sqlitetest.Driver, sqlitetest.DSN(strings.TrimPrefix(theirs, "sqlite:")))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec("CREATE TABLE paid (event text NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		secret := webhook.NewSecret()
		far, s := startFar(t, theirs, secret), spawn(t, store)
		s.must(t, "POST", "/v1/queue/create", object{"name": "jobs"})
		s.must(t, "POST", "/v1/webhooks/endpoints", object{
			"url": far.url, "secret": secret, "timeout_seconds": 5, "max_in_flight": 20, "retry_ladder": slices.Repeat([]int{1}, 20),
		})

		l := &load{t: t, die: true, events: map[string]bool{}}
		l.target.Store(s.client)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var senders sync.WaitGroup
		for range 4 {
			senders.Go(func() {
				for ctx.Err() == nil {
					id := fmt.Sprint("evt_", l.next())
					if a := l.until(ctx, "/v1/webhooks/events", object{"event_type": "paid", "event_id": id, "payload": object{"id": id}}); a.ok() {
						l.mu.Lock()
						l.events[id] = true
						l.mu.Unlock()
					}
					time.Sleep(40 * time.Millisecond)
				}
			})
		}
		for i := range size(6, 60) {
			time.Sleep(200*time.Millisecond + rand.N(400*time.Millisecond))
			if i%3 != 1 {
				far.kill()
			}
			if i%3 != 0 {
				s.kill()
				s = spawn(t, store)
				l.target.Store(s.client)
			}
			if i%3 != 1 {
				far.start(t)
			}
			l.more(10)
		}
		stop()
		senders.Wait()
		l.rests(s.client)

		var effects, events int
		if err := db.QueryRow("SELECT count(*), count(DISTINCT event) FROM paid").Scan(&effects, &events); err != nil {
			t.Fatal(err)
		}
		sent := s.allEvents(t)
		if effects != events || events != len(sent) || len(sent) < len(l.events) || len(l.events) == 0 {
			t.Errorf("%d events were answered, %d are there; the receiver was paid %d times for %d of them", len(l.events), len(sent), effects, events)
		}
		again := 0
		for cursor, more := "", true; more; {
			page := s.must(t, "GET", "/v1/webhooks/deliveries?limit=500&cursor="+cursor, nil)
			for _, d := range page.items("items") {
				if d := s.must(t, "GET", "/v1/webhooks/deliveries/"+d["delivery_id"].(string), nil); len(d.items("attempts")) > 1 {
					again++
				}
			}
			cursor, more = page.data["next_cursor"].(string)
		}
		if again == 0 {
			t.Error("nothing was sent more than once: the test shows nothing")
		}
		t.Logf("%d events, %d of them sent more than once", events, again)
	})
}
