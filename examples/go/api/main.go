// The API of a service that makes exports. It answers POST /exports at once and hands the work to a queue; a request that is repeated, and a publish whose answer
// was lost, make no second export.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/idempotency"
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
	requests := sqldb.Pgx(pool) // the request ledger, in this service's own database
	if err := requests.Install(ctx); err != nil {
		return err
	}
	onceward, err := client.New(client.Config{URL: os.Getenv("ONCEWARD_URL"), APIKey: os.Getenv("ONCEWARD_API_KEY")})
	if err != nil {
		return err
	}
	if _, err := onceward.CreateQueue(ctx, client.NewQueue{Name: "exports"}); err != nil {
		return err
	}
	once, err := idempotency.New(idempotency.Config{
		Ledger: requests, Required: true,
		Tenant: idempotency.OneTenant, // in yours: who the request's credentials prove
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /exports", once.Handler(makeExport(onceward)))
	l, err := net.Listen("tcp", os.Getenv("LISTEN"))
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", l.Addr())
	server := &http.Server{Handler: mux}
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() { stopped <- server.Shutdown(context.WithoutCancel(ctx)) })
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return <-stopped // once the requests that were under way are answered
}

// export is the job as it stands in the queue.
type export struct {
	ID     string `json:"id"`
	Format string `json:"format"`
}

func makeExport(onceward *client.Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Format string `json:"format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Format == "" {
			idempotency.NotBegun(r.Context()) // its client can put it right under the same key
			http.Error(w, "the body must be JSON with a format", http.StatusBadRequest)
			return
		}
		// The operation's id is the same however often the request comes: as the publish key it makes one message of them all.
		op, _ := idempotency.FromContext(r.Context())
		job := export{op.ID, in.Format}
		if _, err := onceward.Publish(r.Context(), "exports", client.NewMessage{Payload: job, Key: op.ID}); err != nil {
			http.Error(w, "the export could not be queued; send the request again under its key", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		json.NewEncoder(w).Encode(map[string]string{"export_id": op.ID})
	})
}
