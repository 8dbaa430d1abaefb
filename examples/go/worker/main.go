// The worker of a service that makes exports. The queue hands a job out at least once; the ledger lets it take effect once, in one transaction with
// the export itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
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
	if _, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS exports (id text NOT NULL, format text NOT NULL, made_at timestamptz NOT NULL DEFAULT now())`); err != nil {
		return err
	}
	store := sqldb.Pgx(pool)
	if err := store.Install(ctx); err != nil {
		return err
	}
	l, err := ledger.NewLedger(ledger.Config{Store: store, Scope: "export"})
	if err != nil {
		return err
	}
	go l.Run(ctx) // forgets what ended long ago
	onceward, err := client.New(client.Config{URL: os.Getenv("ONCEWARD_URL"), APIKey: os.Getenv("ONCEWARD_API_KEY")})
	if err != nil {
		return err
	}
	if _, err := onceward.CreateQueue(ctx, client.NewQueue{Name: "exports"}); err != nil { // whoever comes first makes it
		return err
	}
	fmt.Println("working")
	return client.Consumer{Client: onceward, Queue: "exports", Visibility: 5 * time.Second, Handle: func(ctx context.Context, m *client.Message) error {
		return handle(ctx, l, m)
	}}.Run(ctx)
}

// export is the job as it stands in the queue.
type export struct {
	ID     string `json:"id"`
	Format string `json:"format"`
}

func handle(ctx context.Context, l *ledger.Ledger, m *client.Message) error {
	var job export
	if err := m.Decode(&job); err != nil {
		return client.DeadLetter(err) // no other try can go better
	}
	hash, err := ledger.Fingerprint(m.Payload)
	if err != nil {
		return client.DeadLetter(err)
	}
	out, _ := ledger.Tx(ctx, l, ledger.Work{Key: job.ID, Hash: hash, OriginAt: m.OriginAt}, func(ctx context.Context, tx pgx.Tx, _ ledger.Try) ([]byte, error) {
		fmt.Println("begun", job.ID)
		time.Sleep(200 * time.Millisecond) // the slow part
		_, err := tx.Exec(ctx, "INSERT INTO exports (id, format) VALUES ($1, $2)", job.ID, job.Format)
		return nil, err
	})
	switch d := out.Disposition(); d.Action {
	case ledger.Ack:
		fmt.Println("done", job.ID)
		return nil
	case ledger.Release:
		return client.GiveBack(d.Wait)
	case ledger.DeadLetter:
		return client.DeadLetter(errors.New(d.Reason))
	default:
		return client.Leave(errors.New(d.Reason))
	}
}
