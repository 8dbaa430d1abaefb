package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/ledger"
)

// amqp is what of AMQP 0.9.1 (RabbitMQ) a consumer needs: a delivery is acked or rejected. A rejected one goes to the queue's dead-letter exchange.
type amqp struct{ deliveries chan amqpDelivery }

type amqpDelivery struct {
	Tag       uint64
	MessageID string
	Body      []byte
}

func (amqp) Ack(tag uint64) error { fmt.Println(tag, "acked"); return nil }

func (amqp) Reject(tag uint64, requeue bool) error {
	fmt.Println(tag, "rejected, requeue", requeue)
	return nil
}

// PublishDelayed publishes to a queue without consumers whose messages expire into the one they came from: AMQP's way to wait.
func (amqp) PublishDelayed(_ context.Context, d amqpDelivery, wait time.Duration) error {
	fmt.Println(d.Tag, "published again in", wait.Round(time.Second))
	return nil
}

// A consumer of AMQP, whose effect cannot be told from a repetition: a mail. AMQP requeues at once, so what is to wait is published to a queue that delays, and
// acked only then: a crash between the two makes a duplicate, which the ledger sees.
func ExampleLedger_Handle_amqp() {
	ctx, l, end := exampleLedger("mail")
	defer end()
	channel := amqp{make(chan amqpDelivery, 9)}
	for tag, id := range []string{"welcome-anna", "welcome-anna", "welcome-bert", "welcome-bert", "welcome-carl"} {
		channel.deliveries <- amqpDelivery{Tag: uint64(tag + 1), MessageID: id}
	}
	close(channel.deliveries)

	send := func(_ context.Context, t ledger.Try) ([]byte, error) {
		switch t.Key {
		case "welcome-bert": // the server hung up after DATA: nobody knows
			return nil, errors.New("connection reset")
		case "welcome-carl":
			return nil, ledger.NotDone(errors.New("450 mailbox busy"))
		}
		fmt.Println("mail", t.Key)
		return nil, nil
	}
	for m := range channel.deliveries {
		d := l.Handle(ctx, ledger.Work{Key: m.MessageID, Policy: ledger.Once}, send)
		switch d.Action {
		case ledger.Ack:
			channel.Ack(m.Tag)
		case ledger.Release:
			if channel.PublishDelayed(ctx, m, d.Wait) == nil {
				channel.Ack(m.Tag)
			}
		case ledger.DeadLetter:
			fmt.Println(d.Reason)
			channel.Reject(m.Tag, false)
		case ledger.Leave:
			channel.Reject(m.Tag, true)
		}
	}
	// Output:
	// mail welcome-anna
	// 1 acked
	// 2 acked
	// key "welcome-bert" of scope "mail": nobody can know whether it happened; a person has to resolve it: connection reset
	// 3 rejected, requeue false
	// key "welcome-bert" of scope "mail": nobody can know whether it happened; a person has to resolve it: connection reset
	// 4 rejected, requeue false
	// 5 published again in 1s
	// 5 acked
}
