package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errOver refuses a context that outlives its transaction: what is done with it would be done in another's.
var errOver = errors.New("the transaction is over: its context was used outside of the effect it was given to")

// nobody is the connection of a transaction that is over.
type nobody struct{}

func (nobody) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, errOver
}
func (nobody) Query(context.Context, string, ...any) (pgx.Rows, error) { return nil, errOver }
func (nobody) QueryRow(context.Context, string, ...any) pgx.Row        { return noRow{} }
func (nobody) SendBatch(_ context.Context, b *pgx.Batch) pgx.BatchResults {
	return pgx.FailedBatchResults(b, errOver)
}

type noRow struct{}

func (noRow) Scan(...any) error { return errOver }
