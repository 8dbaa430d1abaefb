package idempotency_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/sqldb"
	"github.com/onceward/onceward/store/sqlite"
)

// A request and what it does to the store are one transaction: a repeated one gets the first answer, and does nothing.
func ExampleStore() {
	dir, err := os.MkdirTemp("", "onceward")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "onceward.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()

	export := func(key, body string) {
		hash := sha256.Sum256([]byte(body))
		r := idempotency.Request{Project: access.DefaultProject, Scope: "POST /exports", Key: key, Hash: hash[:]}
		answer, replay, err := store.Once(ctx, r, func(ctx context.Context) ([]byte, error) {
			q, err := store.CreateQueue(ctx, queue.Spec{Project: access.DefaultProject, Name: "exports"}) // with this ctx: in the transaction
			return []byte("made " + q.Name), err
		})
		fmt.Printf("%q replay: %v %v\n", answer, replay, err)
	}
	export("k1", `{"month":5}`)
	export("k1", `{"month":5}`)
	export("k1", `{"month":6}`)
	// Output:
	// "made exports" replay: false <nil>
	// "made exports" replay: true <nil>
	// "" replay: false the idempotency key "k1" was used for another request
}

// The handler of a POST, guarded: it makes an export, whose work is published under the operation's id, so that a publish that is repeated makes no
// second job.
func Example() {
	dir, err := os.MkdirTemp("", "onceward")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "onceward.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()

	guard, err := idempotency.New(idempotency.Config{
		Ledger: store,
		Tenant: func(r *http.Request) (string, error) { return r.Header.Get("X-Account"), nil }, // as your sign-in has proved it
	})
	if err != nil {
		panic(err)
	}
	made := 0
	service := http.NewServeMux()
	service.Handle("POST /exports", guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op, _ := idempotency.FromContext(r.Context())
		_ = op.ID // goes along with what is published or called from here, as its idempotency key
		made++
		w.Header().Set("Location", fmt.Sprintf("/exports/%d", made))
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "export %d is on its way", made)
	})))

	post := func(key, body string) {
		r := httptest.NewRequest("POST", "/exports", strings.NewReader(body))
		r.Header.Set("Idempotency-Key", key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Account", "acme")
		w := httptest.NewRecorder()
		service.ServeHTTP(w, r)
		if w.Code >= 400 {
			fmt.Println(w.Code)
			return
		}
		fmt.Printf("%d %s %s, replayed %q\n", w.Code, w.Header().Get("Location"), w.Body, w.Header().Get("Idempotent-Replayed"))
	}
	post("exp_1", `{"month":5}`)
	post("exp_1", `{"month":5.0}`) // the same: the first answer again
	post("exp_1", `{"month":6}`)   // another request
	post("exp_2", `{"month":6}`)
	// Output:
	// 202 /exports/1 export 1 is on its way, replayed ""
	// 202 /exports/1 export 1 is on its way, replayed "true"
	// 409
	// 202 /exports/2 export 2 is on its way, replayed ""
}

// The order and the record of its answer commit together, in a database that is yours.
func ExampleTx() {
	dir, err := os.MkdirTemp("", "onceward")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open(sqlitetest.Driver, sqlitetest.DSN(filepath.Join(dir, "app.db")))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	ledger := sqldb.SQLite(db)
	if err := ledger.Install(context.Background()); err != nil {
		panic(err)
	}
	if _, err := db.Exec("CREATE TABLE orders (id integer PRIMARY KEY, item text)"); err != nil {
		panic(err)
	}
	guard, err := idempotency.New(idempotency.Config{Ledger: ledger, Tenant: idempotency.OneTenant, Required: true})
	if err != nil {
		panic(err)
	}
	orders, err := idempotency.Tx(guard, func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
		item, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		var id int
		if err := tx.QueryRowContext(r.Context(), "INSERT INTO orders (item) VALUES (?) RETURNING id", string(item)).Scan(&id); err != nil {
			return err
		}
		fmt.Fprintf(w, "order %d", id)
		return nil
	})
	if err != nil {
		panic(err)
	}
	for range 2 {
		r := httptest.NewRequest("POST", "/orders", strings.NewReader("tea"))
		r.Header.Set("Idempotency-Key", "o-17")
		w := httptest.NewRecorder()
		orders.ServeHTTP(w, r)
		fmt.Println(w.Body)
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM orders").Scan(&n); err != nil {
		panic(err)
	}
	fmt.Println(n, "order")
	// Output:
	// order 1
	// order 1
	// 1 order
}
