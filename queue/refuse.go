package queue

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
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

// isDead refuses a dead letter as what carries a key.
func isDead() error {
	return fault.New(fault.Conflict, "the message is a dead letter: its key is closed, and is opened again when it goes back to its queue").
		WithHint("redrive it, or claim the key without queue and receipt_handle")
}

// carriesAnother refuses a second key for a message.
func carriesAnother() error {
	return fault.New(fault.Conflict, "the message carries another key: it was claimed with one before").
		WithHint("a message's work has one key: claim that one, or this one without queue and receipt_handle")
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
	if strings.HasPrefix(p.Key, contentKey) {
		return fault.New(fault.IdempotencyKeyReused, "queue %q has content_dedup and a message with this payload, whose other fields differ", p.Queue).
			WithHint("publish it with an idempotency_key of its own if it is another message, or send the first one again")
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
	return fault.New(fault.QueueExists, "queue %q exists with other settings: %s", s.Name, s.differs(q)).WithHint("POST /v1/queue/update/%s changes them", s.Name)
}

// differs names the first setting of q that is not as s names it.
func (s Spec) differs(q Queue) string {
	says := func(name string, has, named any) string { return fmt.Sprintf("its %s is %v, not %v", name, has, named) }
	switch {
	case s.FIFO != nil && *s.FIFO != q.FIFO:
		return says("type", q.Type(), Queue{FIFO: *s.FIFO}.Type())
	case s.DLQ != nil && *s.DLQ != q.DLQ:
		return says("dlq", strconv.Quote(q.DLQ), strconv.Quote(*s.DLQ))
	case s.MaxReceives != nil && *s.MaxReceives != q.MaxReceives:
		return says("max_receive_count", q.MaxReceives, *s.MaxReceives)
	case s.Visibility != nil && *s.Visibility != q.Visibility:
		return says("visibility_timeout_default", q.Visibility.Seconds(), s.Visibility.Seconds())
	case s.Retention != nil && *s.Retention != q.Retention:
		return says("message_retention_days", q.Retention.Seconds()/86400, s.Retention.Seconds()/86400)
	case s.DedupWindow != nil && *s.DedupWindow != q.DedupWindow:
		return says("dedup_window_seconds", q.DedupWindow.Seconds(), s.DedupWindow.Seconds())
	}
	if s.ContentDedup != nil && *s.ContentDedup != q.ContentDedup {
		return says("content_dedup", q.ContentDedup, *s.ContentDedup)
	}
	return says("require_receipt", q.RequireReceipt, !q.RequireReceipt)
}

// NotEmpty refuses to delete a queue that has messages.
func NotEmpty(name string) error {
	return fault.New(fault.QueueNotEmpty, "queue %q is not empty", name).WithHint("purge it, or delete it with force=true")
}

// InUse says that a queue cannot be deleted yet: a transaction that is open has published to it.
func InUse(name string) error {
	return &fault.Error{
		Code: fault.Unavailable, Message: fmt.Sprintf("queue %q cannot be deleted now: a transaction that is still open has published to it", name),
		Hint: "try again once that transaction is over", RetryAfter: time.Second,
	}
}

// Left says that a queue could not be emptied: a transaction that is open has messages of it, or their keys.
func Left(name string, messages int) error {
	return &fault.Error{
		Code: fault.Unavailable, Message: fmt.Sprintf("queue %q has %d messages left: a transaction that is still open has them, or their keys", name, messages),
		Hint: "send the same request again once that transaction is over", RetryAfter: time.Second,
	}
}

// KeyHeld says that a publish under a key cannot be answered yet: a transaction that is open has the key.
func (p *Publish) KeyHeld() error {
	return &fault.Error{
		Code: fault.Unavailable, Message: fmt.Sprintf("the idempotency key %q of queue %q is in a transaction that is still open", p.Key, p.Queue),
		Hint: "send the same request again, under the same key, once that transaction is over", RetryAfter: time.Second,
	}
}

// Takes refuses to delete a queue that takes the dead letters of another.
func Takes(name string) error {
	return fault.New(fault.Conflict, "queue %q takes the dead letters of another queue", name).WithHint("delete that one first, or give it another dlq")
}

// MayTake refuses q as the dead-letter queue of a queue of a type: it must be one already and of the same type, or not be there.
func (q Queue) MayTake(fifo bool) error {
	switch {
	case !q.IsDLQ:
		return fault.Invalid("/dlq", "queue %q has a dead-letter queue of its own, so it cannot be one", q.Name)
	case q.FIFO != fifo:
		return fault.Invalid("/dlq", "queue %q is %s, so it cannot take the dead letters of a %s queue", q.Name, q.Type(), Queue{FIFO: fifo}.Type()).
			WithHint("name another one, or none: it is then made with the queue")
	}
	return nil
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
