package enqueue

import (
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/postgres"
)

func TestShop(t *testing.T) {
	t.Parallel()
	ctx, at := t.Context(), pgtest.Database(t)
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", "onceward")
	u.RawQuery = q.Encode()
	if _, err := postgres.Functions(ctx, u.String(), true); err != nil {
		t.Fatal(err)
	}
	store, err := postgres.Open(ctx, u.String(), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, name := range []string{"receipts", "refunds"} {
		if _, err := store.CreateQueue(ctx, queue.Spec{Project: queue.DefaultProject, Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	shop, err := pgxpool.New(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	defer shop.Close()
	schema, err := os.ReadFile("shop.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shop.Exec(ctx, string(schema), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	received := func(name, want string) {
		t.Helper()
		got, err := store.Receive(ctx, queue.Receive{Project: queue.DefaultProject, Queue: name, Max: 10, Visibility: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		bodies := ""
		for _, m := range got {
			bodies += string(m.Body)
		}
		if bodies != want {
			t.Errorf("received %s of %s, want %s", bodies, name, want)
		}
	}

	if _, err := shop.Exec(ctx, "SELECT place_order('o-1', 12.50)"); err != nil {
		t.Fatal(err)
	}
	received("receipts", `{"order" : "o-1"}`)

	tx, err := shop.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "SELECT place_order('o-2', 1)"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	received("receipts", "")

	for range 2 { // the second time as after an answer that was lost
		if err := PlaceOrder(ctx, shop, "o-3", "7"); err != nil {
			t.Fatal(err)
		}
	}
	received("receipts", `{"order":"o-3"}`)

	if _, err := shop.Exec(ctx, "DELETE FROM orders WHERE id = 'o-1'"); err != nil {
		t.Fatal(err)
	}
	received("refunds", `{"id":"o-1","total":12.50}`)
	var events int
	if err := shop.QueryRow(ctx, "SELECT count(*) FROM onceward.events").Scan(&events); err != nil || events != 1 {
		t.Errorf("%d events, %v; want that of the one order that was placed by SQL", events, err)
	}
}
