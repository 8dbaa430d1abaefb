package postgres

import (
	"context"
	"errors"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/queue"
)

func (db *DB) commitSettles(ctx context.Context, items []queue.Settle) ([]batch.Result[queue.Settled], error) {
	return nil, errors.New("not here yet")
}
