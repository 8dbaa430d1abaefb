// Package enqueue publishes a job together with the row that it is about, in one transaction of the caller's own: shop.sql does it in
// SQL, for any language, and PlaceOrder in Go. See docs/enqueue.md.
package enqueue

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/postgres"
)

// PlaceOrder stores an order and publishes the job of its receipt: both or neither. It may be called again for the same order after an error whose
// outcome is unknown.
func PlaceOrder(ctx context.Context, pool *pgxpool.Pool, id, total string) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, total) VALUES ($1, $2) ON CONFLICT DO NOTHING", id, total); err != nil {
			return fmt.Errorf("store order %s: %w", id, err)
		}
		body, err := json.Marshal(map[string]string{"order": id})
		if err != nil {
			return err
		}
		out, err := queue.PublishTx(ctx, postgres.Tx(tx).In("onceward"), queue.Publish{Queue: "receipts", Body: body, Key: "receipt:" + id})
		if err == nil {
			err = out[0].Err
		}
		if err != nil {
			return fmt.Errorf("publish the receipt of order %s: %w", id, err)
		}
		return nil
	})
}
