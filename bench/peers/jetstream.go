package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

type jetStreamSubject struct {
	*broker
	conn   *nats.Conn
	stream jetstream.JetStream
}

func jetStreamOn(always bool) func(context.Context) (subject, error) {
	return func(ctx context.Context) (subject, error) { return openJetStream(ctx, always) }
}

func openJetStream(ctx context.Context, always bool) (subject, error) {
	bin, err := build(".", "github.com/nats-io/nats-server/v2") // the newest: Debian's does not know sync_interval
	if err != nil {
		return nil, err
	}
	b, port, err := startBroker(ctx, bin, nil, func(dir string, port int) ([]string, error) {
		how := ""
		if always {
			how = "sync_interval: always"
		}
		config := filepath.Join(dir, "nats.conf")
		text := fmt.Sprintf("listen: 127.0.0.1:%d\njetstream { store_dir: %q\n%s }\n", port, dir, how)
		return []string{"-c", config}, os.WriteFile(config, []byte(text), 0o600)
	})
	if err != nil {
		return nil, err
	}
	s := &jetStreamSubject{broker: b}
	if s.conn, err = nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", port)); err != nil {
		return nil, err
	}
	if s.stream, err = jetstream.New(s.conn, jetstream.WithPublishAsyncMaxPending(64*1000)); err != nil {
		return nil, err
	}
	_, err = s.stream.CreateStream(ctx, jetstream.StreamConfig{Name: "bench", Subjects: []string{"bench"}, Retention: jetstream.WorkQueuePolicy})
	return s, err
}

func (s *jetStreamSubject) enqueue(ctx context.Context, _ int64, body []byte) error {
	_, err := s.stream.Publish(ctx, "bench", body)
	return err
}

func (s *jetStreamSubject) enqueueMany(ctx context.Context, _ int64, bodies [][]byte) error {
	waits := make([]jetstream.PubAckFuture, len(bodies))
	for i, b := range bodies {
		var err error
		if waits[i], err = s.stream.PublishAsync("bench", b); err != nil {
			return err
		}
	}
	for _, w := range waits {
		select {
		case <-w.Ok():
		case err := <-w.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (s *jetStreamSubject) consume(ctx context.Context, came func(i int64)) error {
	c, err := s.stream.CreateOrUpdateConsumer(ctx, "bench", jetstream.ConsumerConfig{Durable: "work", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1000})
	if err != nil {
		return err
	}
	const workers = 64
	failed := make(chan error, workers)
	got := make(chan jetstream.Msg, workers)
	running, err := c.Consume(func(m jetstream.Msg) {
		select {
		case got <- m:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return err
	}
	defer running.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	for range workers {
		all.Go(func() {
			for {
				select {
				case m := <-got:
					came(number(m.Data()))
					if err := m.DoubleAck(context.WithoutCancel(ctx)); err != nil { // as durable as the rest
						failed <- err
						return
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (s *jetStreamSubject) close() error {
	s.conn.Close()
	return s.stop()
}
