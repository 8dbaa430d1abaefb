package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type riverJob struct {
	Body json.RawMessage `json:"body"`
}

func (riverJob) Kind() string { return "bench" }

type riverWorker struct {
	river.WorkerDefaults[riverJob]
	came func(i int64)
}

func (w *riverWorker) Work(_ context.Context, j *river.Job[riverJob]) error {
	w.came(number(j.Args.Body))
	return nil
}

type riverSubject struct {
	pool   *pgxpool.Pool
	drop   func() error
	client *river.Client[pgx.Tx]
}

func openRiver(ctx context.Context) (subject, error) {
	pool, drop, err := pool(ctx, "64")
	if err != nil {
		return nil, err
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	return &riverSubject{pool, drop, client}, err
}

func (r *riverSubject) enqueue(ctx context.Context, _ int64, body []byte) error {
	_, err := r.client.Insert(ctx, riverJob{body}, nil)
	return err
}

func (r *riverSubject) enqueueMany(ctx context.Context, _ int64, bodies [][]byte) error {
	params := make([]river.InsertManyParams, len(bodies))
	for i, b := range bodies {
		params[i].Args = riverJob{b}
	}
	_, err := r.client.InsertManyFast(ctx, params)
	return err
}

func (r *riverSubject) consume(ctx context.Context, came func(i int64)) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{came: came})
	c, err := river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		Logger: slog.New(slog.DiscardHandler), Workers: workers, FetchCooldown: time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 500}},
	})
	if err != nil {
		return err
	}
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	<-ctx.Done()
	return c.Stop(context.WithoutCancel(ctx)) // what was worked is written
}

func (r *riverSubject) roots() map[string]int {
	return map[string]int{"database": grounds.cluster.Pid()}
}

func (r *riverSubject) close() error {
	r.pool.Close()
	return r.drop()
}
