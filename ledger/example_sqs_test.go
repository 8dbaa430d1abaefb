package ledger_test

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward/ledger"
)

// sqs is what of Amazon SQS (or of any queue with a visibility time-out) a consumer needs.
type sqs struct{ waiting []sqsMessage }

type sqsMessage struct {
	Receipt, Body string
	SentAt        time.Time
}

func (q *sqs) ReceiveMessage(context.Context) (m sqsMessage, ok bool) {
	if len(q.waiting) == 0 {
		return m, false
	}
	m, q.waiting = q.waiting[0], q.waiting[1:]
	return m, true
}

func (q *sqs) DeleteMessage(_ context.Context, receipt string) { fmt.Println(receipt, "deleted") }

func (q *sqs) ChangeMessageVisibility(_ context.Context, receipt string, d time.Duration) error {
	fmt.Println(receipt, "hidden for", d.Round(time.Second))
	return nil
}

func (q *sqs) SendDeadLetter(_ context.Context, m sqsMessage, reason string) {
	fmt.Println(m.Receipt, "put aside:", reason)
}

// A consumer of an SQS-like queue. The message's body names the work; what the queue hands over twice is done once. A message that is not to
// be touched is just left: its visibility ends by itself.
func ExampleLedger_Handle_sqs() {
	ctx, l, end := exampleLedger("charge")
	defer end()
	queue := &sqs{waiting: []sqsMessage{
		{"receipt-1", "order-1", time.Now()}, {"receipt-2", "order-2", time.Now()}, {"receipt-3", "order-1", time.Now()}, {"receipt-4", "order-3", time.Now()},
	}}

	charge := func(_ context.Context, t ledger.Try) ([]byte, error) {
		switch t.Key {
		case "order-2": // the payment's API says no, and always will
			return nil, ledger.Refused(fmt.Errorf("card expired"))
		case "order-3": // it is not reached: nothing can have happened
			return nil, ledger.NotDone(fmt.Errorf("connection refused"))
		}
		fmt.Println("charge", t.Key) // with "Idempotency-Key: " + t.OpID
		return []byte("receipt of " + t.Key), nil
	}
	for {
		m, ok := queue.ReceiveMessage(ctx)
		if !ok {
			break
		}
		d := l.Handle(ctx, ledger.Work{
			Key: m.Body, OriginAt: m.SentAt,
			Extend: func(ctx context.Context, d time.Duration) error {
				return queue.ChangeMessageVisibility(ctx, m.Receipt, d)
			},
		}, charge)
		switch d.Action {
		case ledger.Ack:
			queue.DeleteMessage(ctx, m.Receipt)
		case ledger.Release:
			queue.ChangeMessageVisibility(ctx, m.Receipt, d.Wait)
		case ledger.DeadLetter:
			queue.SendDeadLetter(ctx, m, d.Reason)
			queue.DeleteMessage(ctx, m.Receipt)
		case ledger.Leave:
		}
	}
	// Output:
	// charge order-1
	// receipt-1 deleted
	// receipt-2 put aside: key "order-2" of scope "charge": it failed, and is not tried again: card expired
	// receipt-2 deleted
	// receipt-3 deleted
	// receipt-4 hidden for 1s
}
