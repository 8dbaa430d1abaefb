// A receiver of webhooks: it believes what is signed, and lets each delivery take effect once, in one transaction with the effect.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/store/sqldb"
	"github.com/onceward/onceward/webhook"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS received (event_id text NOT NULL, payload text NOT NULL)`); err != nil {
		return err
	}
	store := sqldb.Pgx(pool)
	if err := store.Install(ctx); err != nil {
		return err
	}
	receiver, err := webhook.NewReceiver(webhook.ReceiverConfig[pgx.Tx]{
		Store: store, Secrets: []string{os.Getenv("WEBHOOK_SECRET")},
		Effect: func(ctx context.Context, tx pgx.Tx, r webhook.Received) error {
			_, err := tx.Exec(ctx, "INSERT INTO received (event_id, payload) VALUES ($1, $2)", r.EventID, string(r.Payload))
			return err
		},
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", os.Getenv("LISTEN"))
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	server := &http.Server{Handler: receiver}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() { stopped <- server.Shutdown(context.WithoutCancel(ctx)) })
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return <-stopped // once the requests that were under way are answered
}
