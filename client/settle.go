package client

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Nack says how a message is given up.
type Nack struct {
	Delay      *time.Duration `json:"delay_seconds,omitzero"` // before it comes again, at most 7 days; nil: 2^(delivery_count-1) s, at most 5 min
	DeadLetter bool           `json:"-"`                      // never again: into the dead-letter queue now
	Error      string         `json:"error,omitzero"`         // why; its first 4,096 bytes are kept
}

// Settled is what an act on a received message did. Only the newest receipt acts; an older one changes nothing and is told so.
type Settled struct {
	Applied      bool
	Reason       string    // where it was not: "lease_lost", or "not_in_flight" of a message's id whose message nobody has
	Status       string    // of nack and release: where the message is now
	VisibleAt    time.Time // of nack and release: when it can be received again
	VisibleUntil time.Time // of extend: the lease's new end, by the server's clock
}

// UnmarshalJSON reads what the four acts answer, each under a name of its own.
func (s *Settled) UnmarshalJSON(b []byte) error {
	var a struct {
		Acked        bool      `json:"acked"`
		Nacked       bool      `json:"nacked"`
		Released     bool      `json:"released"`
		Extended     bool      `json:"extended"`
		Reason       string    `json:"reason"`
		Status       string    `json:"status"`
		VisibleAt    time.Time `json:"visible_at"`
		VisibleUntil time.Time `json:"visible_until"`
	}
	err := json.Unmarshal(b, &a)
	*s = Settled{a.Acked || a.Nacked || a.Released || a.Extended, a.Reason, a.Status, a.VisibleAt, a.VisibleUntil}
	return err
}

// target names a message by its receipt or, as the contract allows, by its id in the receipt's place.
type target struct {
	Queue   string `json:"queue,omitzero"`
	Receipt string `json:"receipt_handle"`
}

type nackBody struct {
	target
	Requeue bool `json:"requeue"`
	Nack
}

type releaseBody struct {
	target
	Delay time.Duration `json:"delay_seconds"`
}

type extendBody struct {
	target
	Visibility time.Duration `json:"visibility_timeout"`
}

// Ack says that a message's work is done: it is gone. receipt is the message's Receipt; its ID stands for the newest receipt, whoever has it. A message that
// is gone already is [MessageNotFound], which a worker whose first answer was lost treats as done.
func (c *Client) Ack(ctx context.Context, queue, receipt string) (*Settled, error) {
	return c.settle(ctx, "ack", target{queue, receipt})
}

// Nack gives a message up: it comes again, or is dead-lettered after its queue's most receives.
func (c *Client) Nack(ctx context.Context, queue, receipt string, n Nack) (*Settled, error) {
	return c.settle(ctx, "nack", nackBody{target{queue, receipt}, !n.DeadLetter, n})
}

// Release gives a message back as if it had not been received: its delivery count goes back too. delay is at most 7 days.
func (c *Client) Release(ctx context.Context, queue, receipt string, delay time.Duration) (*Settled, error) {
	return c.settle(ctx, "release", releaseBody{target{queue, receipt}, delay})
}

// Extend makes a lease end visibility from now, at most 12 h after the receive. 0 ends it now.
func (c *Client) Extend(ctx context.Context, queue, receipt string, visibility time.Duration) (*Settled, error) {
	return c.settle(ctx, "extend", extendBody{target{queue, receipt}, visibility})
}

func (c *Client) settle(ctx context.Context, verb string, body any) (*Settled, error) {
	out := new(Settled)
	return some(out, c.post(ctx, "/v1/queue/"+verb, body, out))
}

// Result is what became of one item of a batch: its value, or its own error.
type Result[T any] struct {
	Value T
	Err   error // an [*Error]
}

// AckBatch acks at most 1000 messages of a queue, and answers for each, in order.
func (c *Client) AckBatch(ctx context.Context, queue string, receipts []string) ([]Result[Settled], error) {
	return settleBatch(ctx, c, "ack", queue, receipts, func(t target) any { return t })
}

// NackBatch nacks at most 1000 messages of a queue in one way, and answers for each, in order.
func (c *Client) NackBatch(ctx context.Context, queue string, receipts []string, n Nack) ([]Result[Settled], error) {
	return settleBatch(ctx, c, "nack", queue, receipts, func(t target) any { return nackBody{t, !n.DeadLetter, n} })
}

// ReleaseBatch gives at most 1000 messages of a queue back, and answers for each, in order.
func (c *Client) ReleaseBatch(ctx context.Context, queue string, receipts []string, delay time.Duration) ([]Result[Settled], error) {
	return settleBatch(ctx, c, "release", queue, receipts, func(t target) any { return releaseBody{t, delay} })
}

// ExtendBatch extends the leases of at most 1000 messages of a queue, and answers for each, in order.
func (c *Client) ExtendBatch(ctx context.Context, queue string, receipts []string, visibility time.Duration) ([]Result[Settled], error) {
	return settleBatch(ctx, c, "extend", queue, receipts, func(t target) any { return extendBody{t, visibility} })
}

func settleBatch(ctx context.Context, c *Client, verb, queue string, receipts []string, item func(target) any) ([]Result[Settled], error) {
	items := make([]any, len(receipts))
	for i, r := range receipts {
		items[i] = item(target{Receipt: r})
	}
	return many[Settled](ctx, c, "/v1/queue/"+verb+"_batch", queue, "items", items)
}

// many makes a call of many items and reads each one's answer or error.
func many[T, I any](ctx context.Context, c *Client, path, queue, name string, items []I) ([]Result[T], error) {
	list, err := manyOf(items)
	if err != nil {
		return nil, err
	}
	body, err := with(struct {
		Queue string `json:"queue"`
	}{queue}, member{name, list})
	if err != nil {
		return nil, err
	}
	var out struct {
		Items []jsontext.Value `json:"items"`
	}
	if err := c.post(ctx, path, body, &out); err != nil {
		return nil, err
	}
	if len(out.Items) != len(items) {
		return nil, fmt.Errorf("POST %s: %d items were sent and %d answered: this is not a server that this client knows", path, len(items), len(out.Items))
	}
	results := make([]Result[T], len(items))
	for i, raw := range out.Items {
		var bad struct {
			Error *refusal `json:"error"`
		}
		if err := errors.Join(json.Unmarshal(raw, &bad), json.Unmarshal(raw, &results[i].Value, wire)); err != nil {
			return nil, fmt.Errorf("POST %s: item %d of the answer is not what this client knows: %w", path, i, err)
		}
		if bad.Error != nil {
			results[i].Err = bad.Error.asError()
		}
	}
	return results, nil
}

// manyOf writes a list, an item that is JSON already as it is.
func manyOf[I any](items []I) ([]byte, error) {
	b := []byte{'['}
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		raw, err := encode(it)
		if err != nil {
			return nil, err
		}
		b = append(b, raw...)
	}
	return append(b, ']'), nil
}

func number(i int) string { return strconv.Itoa(i) }
