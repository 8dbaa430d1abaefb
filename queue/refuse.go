package queue

import (
	"bytes"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

// What stores refuse, said here once so that it reads the same whichever store says it.

// NoQueue says that a queue is not there: [ErrQueueNotFound].
func NoQueue(name string) error {
	return fault.New(fault.QueueNotFound, "there is no queue %s", fault.Quote(name)).WithHint("POST /v1/queue/create makes one")
}

// NoMessage says that a queue has no such message: [ErrMessageNotFound].
func NoMessage(queue string) error {
	return fault.New(fault.MessageNotFound, "queue %q has no such message: it was acked, has expired, or was purged", queue)
}

// NeedsReceipt refuses an act by a message's id in a queue that requires receipts.
func NeedsReceipt(queue string) error {
	return fault.Invalid("/receipt_handle", "queue %q requires a receipt_handle: a message id cannot tell an old worker from a new one", queue)
}

// Again refuses the publish where its key is known from a message whose request had another hash; nil if it is the same publish again.
func (p *Publish) Again(hash []byte) error {
	if bytes.Equal(hash, p.Hash) {
		return nil
	}
	return fault.New(fault.IdempotencyKeyReused, "the idempotency key %q was used in queue %q for another message", p.Key, p.Queue).
		WithHint("a key stands for one message: make a new key for a new one, or send the first one again")
}

// Fits refuses the publish where its delay would outlast a queue's retention.
func (p *Publish) Fits(retention time.Duration) error {
	if p.Delay < retention {
		return nil
	}
	return fault.Invalid("/delay_seconds", "delay_seconds is %v; it must be below the retention of queue %q, which is %v", p.Delay.Seconds(), p.Queue, retention.Seconds())
}

// Again refuses the making of a queue that is there as q with other settings; nil if it has all that s names.
func (s Spec) Again(q Queue) error {
	if s.Same(q) {
		return nil
	}
	return fault.New(fault.QueueExists, "queue %q exists with other settings", s.Name).WithHint("POST /v1/queue/update/%s changes them", s.Name)
}

// MayTake refuses q as the dead-letter queue of another: it must be one already, or not be there.
func (q Queue) MayTake() error {
	if q.IsDLQ {
		return nil
	}
	return fault.Invalid("/dlq", "queue %q has a dead-letter queue of its own, so it cannot be one", q.Name)
}

// MayHave refuses a dead-letter queue for q where q is one itself.
func (q Queue) MayHave(dlq string) error {
	if !q.IsDLQ || dlq == q.DLQ {
		return nil
	}
	return fault.Invalid("/dlq", "queue %q is a dead-letter queue, so it cannot have one", q.Name)
}

// RedriveRunning refuses a second redrive of a queue: [ErrConflict].
func RedriveRunning(queue string) error {
	return fault.New(fault.Conflict, "a redrive of queue %q is running", queue).WithHint("wait for its end, or cancel it")
}

// NoRedrive says that a redrive is not there: [ErrNotFound].
func NoRedrive() error { return fault.New(fault.NotFound, "there is no such redrive") }
