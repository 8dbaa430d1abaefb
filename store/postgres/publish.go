package postgres

import (
	"context"
	"errors"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/queue"
)

func (db *DB) commitPublishes(ctx context.Context, items []queue.Publish) ([]batch.Result[queue.Published], error) {
	return nil, errors.New("not here yet")
}
