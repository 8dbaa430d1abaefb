package postgres_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/webhook"
)

// An order, the job of its receipt and the event for the customer's endpoints are one commit. The store stands in the same database, in the schema onceward.
func ExampleTx() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://db.example.com/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, total) VALUES ('o-1', 12.50)"); err != nil {
			return err
		}
		mine := postgres.Tx(tx).In("onceward")
		published, err := queue.PublishTx(ctx, mine, queue.Publish{Queue: "receipts", Body: []byte(`{"order":"o-1"}`), Key: "receipt:o-1"})
		if err != nil {
			return err
		}
		if err := published[0].Err; err != nil {
			return err
		}
		sent, err := webhook.SendTx(ctx, mine, webhook.NewEvent{EventID: "order-o-1", Type: "order.created", Payload: []byte(`{"id":"o-1"}`)})
		if err != nil {
			return err
		}
		return sent[0].Err
	})
	if err != nil {
		fmt.Println("neither the order nor the message is there:", err)
	}
}
