package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

type rabbitSubject struct {
	*broker
	conn     *amqp.Connection
	channels chan *amqp.Channel // each with confirms, one call at a time
}

// rabbitProgram is the broker itself; what is in the path may be a script that changes the user.
const rabbitProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// startRabbit starts one for all cases of a visit: it takes seconds.
func startRabbit(ctx context.Context) (*broker, error) {
	if grounds.kept != nil {
		return grounds.kept, nil
	}
	var err error
	grounds.kept, _, err = startBroker(ctx, rabbitProgram, func(dir string, port int) []string {
		return []string{
			"HOME=" + dir, fmt.Sprintf("RABBITMQ_NODENAME=peers%d@localhost", port), "RABBITMQ_MNESIA_BASE=" + dir, "RABBITMQ_LOG_BASE=" + dir,
			"RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_CONFIG_FILE=" + filepath.Join(dir, "rabbitmq"), "RABBITMQ_ENABLED_PLUGINS=", "RABBITMQ_ENABLED_PLUGINS_FILE=/dev/null",
			fmt.Sprint("RABBITMQ_DIST_PORT=", 20_000+port%10_000),
		}
	}, func(dir string, port int) ([]string, error) {
		return nil, os.WriteFile(filepath.Join(dir, "rabbitmq.conf"), fmt.Appendf(nil, "listeners.tcp.1 = 127.0.0.1:%d\n", port), 0o600)
	})
	return grounds.kept, err
}

func openRabbit(ctx context.Context) (subject, error) {
	b, err := startRabbit(ctx)
	if err != nil {
		return nil, err
	}
	s := &rabbitSubject{broker: b, channels: make(chan *amqp.Channel, 64)}
	if s.conn, err = amqp.Dial(fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", b.port)); err != nil {
		return nil, err
	}
	for range cap(s.channels) {
		ch, err := s.conn.Channel()
		if err != nil {
			return nil, err
		}
		if err := ch.Confirm(false); err != nil {
			return nil, err
		}
		s.channels <- ch
	}
	ch := <-s.channels
	defer func() { s.channels <- ch }()
	_, err = ch.QueueDeclare("bench", true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	return s, err
}

func (s *rabbitSubject) enqueue(ctx context.Context, from int64, body []byte) error {
	return s.enqueueMany(ctx, from, [][]byte{body})
}

func (s *rabbitSubject) enqueueMany(ctx context.Context, _ int64, bodies [][]byte) error {
	ch := <-s.channels
	defer func() { s.channels <- ch }()
	waits := make([]*amqp.DeferredConfirmation, len(bodies))
	for i, b := range bodies {
		var err error
		if waits[i], err = ch.PublishWithDeferredConfirmWithContext(ctx, "", "bench", true, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: b}); err != nil {
			return err
		}
	}
	for _, w := range waits {
		if ok, err := w.WaitContext(ctx); err != nil || !ok {
			return fmt.Errorf("not confirmed: %w", err)
		}
	}
	return nil
}

func (s *rabbitSubject) consume(ctx context.Context, came func(i int64)) error {
	var all sync.WaitGroup
	errs := make(chan error, 2)
	for range 2 {
		ch, err := s.conn.Channel()
		if err != nil {
			return err
		}
		if err := ch.Qos(200, 0, false); err != nil {
			return err
		}
		from, err := ch.Consume("bench", "", false, false, false, false, nil)
		if err != nil {
			return err
		}
		all.Go(func() {
			defer ch.Close()
			for {
				select {
				case <-ctx.Done():
					return
				case m, ok := <-from:
					if !ok {
						errs <- fmt.Errorf("the consumer ended")
						return
					}
					came(number(m.Body))
					if err := m.Ack(false); err != nil {
						errs <- err
						return
					}
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func (s *rabbitSubject) close() error {
	ch := <-s.channels
	_, err := ch.QueueDelete("bench", false, false, false)
	return errors.Join(err, s.conn.Close())
}
