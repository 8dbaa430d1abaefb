package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
)

type asynqSubject struct {
	*broker
	at     asynq.RedisClientOpt
	client *asynq.Client
}

// startRedis starts one each of whose writes is on disk before its answer.
func startRedis(ctx context.Context) (*broker, int, error) {
	return startBroker(ctx, "redis-server", nil, func(dir string, port int) ([]string, error) {
		return []string{"--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always"}, nil
	})
}

func openAsynq(ctx context.Context) (subject, error) {
	b, port, err := startRedis(ctx)
	if err != nil {
		return nil, err
	}
	at := asynq.RedisClientOpt{Addr: fmt.Sprintf("127.0.0.1:%d", port), PoolSize: 64}
	return &asynqSubject{b, at, asynq.NewClient(at)}, nil
}

func (s *asynqSubject) enqueue(ctx context.Context, _ int64, body []byte) error {
	_, err := s.client.EnqueueContext(ctx, asynq.NewTask("bench", body))
	return err
}

func (s *asynqSubject) enqueueMany(ctx context.Context, from int64, bodies [][]byte) error {
	for i, b := range bodies { // it has no batches
		if err := s.enqueue(ctx, from+int64(i), b); err != nil {
			return err
		}
	}
	return nil
}

func (s *asynqSubject) consume(ctx context.Context, came func(i int64)) error {
	server := asynq.NewServer(s.at, asynq.Config{Concurrency: 100, LogLevel: asynq.FatalLevel, TaskCheckInterval: 10 * time.Millisecond})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		came(number(t.Payload()))
		return nil
	}))
	if err != nil {
		return err
	}
	<-ctx.Done()
	server.Shutdown() // what was worked is written
	return nil
}

func (s *asynqSubject) close() error {
	s.client.Close()
	return s.stop()
}
