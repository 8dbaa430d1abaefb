package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
)

// bareSubject inserts rows, and does nothing else.
type bareSubject struct {
	pool *pgxpool.Pool
	drop func() error
}

func openBare(ctx context.Context) (subject, error) {
	pool, drop, err := pool(ctx, "64")
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea NOT NULL)")
	return &bareSubject{pool, drop}, err
}

// pool opens a database of its own with so many connections.
func pool(ctx context.Context, most string) (*pgxpool.Pool, func() error, error) {
	url, drop, err := database(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := pgxpool.New(ctx, url+"&pool_max_conns="+most)
	return p, drop, err
}

func (b *bareSubject) enqueue(ctx context.Context, _ int64, body []byte) error {
	_, err := b.pool.Exec(ctx, "INSERT INTO bare (body) VALUES ($1)", body)
	return err
}

func (b *bareSubject) enqueueMany(ctx context.Context, _ int64, bodies [][]byte) error {
	_, err := b.pool.Exec(ctx, "INSERT INTO bare (body) SELECT unnest($1::bytea[])", bodies)
	return err
}

func (b *bareSubject) consume(context.Context, func(int64)) error {
	return errors.New("bare rows are for nobody")
}

func (b *bareSubject) roots() map[string]int {
	return map[string]int{"database": grounds.cluster.Pid()}
}

func (b *bareSubject) close() error {
	b.pool.Close()
	return b.drop()
}
