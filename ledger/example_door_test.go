package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
)

// exampleDatabase opens the database of an application, with the ledger in it.
func exampleDatabase(scope string) (context.Context, *ledger.Ledger, *sql.DB, func()) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	must(err)
	db, err := sql.Open(sqlitetest.Driver, sqlitetest.DSN(filepath.Join(dir, "app.db")))
	must(err)
	_, err = db.ExecContext(ctx, "CREATE TABLE stock (n integer); INSERT INTO stock VALUES (10)")
	must(err)
	store := sqldb.SQLite(db)
	must(store.Install(ctx))
	l, err := ledger.NewLedger(ledger.Config{Store: store, Scope: scope})
	must(err)
	return ctx, l, db, func() {
		store.Close()
		db.Close()
		os.RemoveAll(dir)
	}
}

func exampleLedger(scope string) (context.Context, *ledger.Ledger, func()) {
	ctx, l, _, end := exampleDatabase(scope)
	return ctx, l, end
}

// The receiver knows our key: a mail API that takes an Idempotency-Key, say.
func ExampleLedger_Do() {
	ctx, l, end := exampleLedger("invoice")
	defer end()
	send := func(ctx context.Context, t ledger.Try) ([]byte, error) {
		fmt.Println("send, try", t.Attempt)
		return []byte("sent as 4711"), nil
	}
	for range 2 {
		o, err := l.Do(ctx, ledger.Work{Key: "invoice-17"}, send)
		fmt.Println(string(o.Result), err)
	}
	// Output:
	// send, try 1
	// sent as 4711 <nil>
	// sent as 4711 <nil>
}

// The receiver cannot tell a repetition. A try whose outcome nobody knows is the last, until a person says what happened.
func ExampleLedger_Once() {
	ctx, l, end := exampleLedger("payout")
	defer end()
	work := ledger.Work{Key: "payout-3"}
	o, err := l.Once(ctx, work, func(context.Context, ledger.Try) ([]byte, error) { return nil, fmt.Errorf("the line broke") })
	fmt.Println(err)

	// The bank's statement does not show it:
	_, err = l.Resolve(ctx, ledger.Resolution{Key: work.Key, As: ledger.Retry, Fence: o.Claim.Fence, Who: "anna", Note: "not on the statement"})
	fmt.Println("resolved:", err)
	o, err = l.Once(ctx, work, func(context.Context, ledger.Try) ([]byte, error) { return []byte("paid"), nil })
	fmt.Println(string(o.Result), err)
	// Output:
	// key "payout-3" of scope "payout": nobody can know whether it happened; a person has to resolve it: the line broke
	// resolved: <nil>
	// paid <nil>
}

// The effect is in the ledger's own database: both are kept, or neither.
func ExampleTx() {
	ctx, l, db, end := exampleDatabase("stock")
	defer end()
	take := func(ctx context.Context, tx *sql.Tx, t ledger.Try) ([]byte, error) {
		_, err := tx.ExecContext(ctx, "UPDATE stock SET n = n - 1")
		return nil, err
	}
	for range 3 {
		_, err := ledger.Tx(ctx, l, ledger.Work{Key: "sale-5"}, take)
		var left int
		db.QueryRowContext(ctx, "SELECT n FROM stock").Scan(&left)
		fmt.Println(left, err)
	}
	// Output:
	// 9 <nil>
	// 9 <nil>
	// 9 <nil>
}

func ExampleFingerprint() {
	a, _ := ledger.Fingerprint([]byte(`{"amount": 10.0, "to": "anna"}`))
	b, _ := ledger.Fingerprint([]byte(`{"to":"anna","amount":1e1}`))
	c, _ := ledger.Fingerprint([]byte(`{"to":"anna","amount":10.01}`))
	fmt.Println(string(a) == string(b), string(a) == string(c))
	// Output: true false
}
