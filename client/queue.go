package client

import (
	"context"
	"iter"
	"time"
)

// Queue is a queue's settings.
type Queue struct {
	Name           string        `json:"name"`
	Type           string        `json:"type"` // "standard" or "fifo"
	DLQ            string        `json:"dlq"`  // its dead-letter queue; "" of one that is one
	IsDLQ          bool          `json:"is_dlq"`
	MaxReceives    int           `json:"max_receive_count"` // 0 of a dead-letter queue, which dead-letters nothing
	Visibility     time.Duration `json:"visibility_timeout_default"`
	RetentionDays  float64       `json:"message_retention_days"`
	DedupWindow    time.Duration `json:"dedup_window_seconds"`
	ContentDedup   bool          `json:"content_dedup"`
	RequireReceipt bool          `json:"require_receipt"`
	Paused         bool          `json:"paused"`
	CreatedAt      time.Time     `json:"created_at"`
}

// QueueSettings are what may be said of a queue. A field of the zero value is not said: of a new queue it is then its default, and an
// update leaves it.
type QueueSettings struct {
	DLQ            string        `json:"dlq,omitzero"`                        // name-dlq
	MaxReceives    int           `json:"max_receive_count,omitzero"`          // 1 to 1000 (3)
	Visibility     time.Duration `json:"visibility_timeout_default,omitzero"` // 1 s to 12 h (5 min)
	RetentionDays  float64       `json:"message_retention_days,omitzero"`     // 1 to 30 (30)
	DedupWindow    time.Duration `json:"dedup_window_seconds,omitzero"`       // 1 min to 45 days (24 h)
	ContentDedup   *bool         `json:"content_dedup,omitzero"`              // without a key, the payload is the key (false)
	RequireReceipt *bool         `json:"require_receipt,omitzero"`            // a message's id alone does not act (false)
}

// NewQueue is a queue to make.
type NewQueue struct {
	Name string `json:"name"`          // 1 to 76 of A-Za-z0-9._-, not beginning with _ or .
	Type string `json:"type,omitzero"` // "standard" (default) or "fifo"
	QueueSettings
	Key string `json:"-"` // idempotency key; made if there is none
}

// CreateQueue makes a queue, and its dead-letter queue. One that is there already with the settings named is the answer; with others: [QueueExists].
func (c *Client) CreateQueue(ctx context.Context, q NewQueue) (*Queue, error) {
	out := new(Queue)
	_, err := c.keyed(ctx, "/v1/queue/create", q.Key, q, out)
	return some(out, err)
}

// UpdateQueue changes settings of a queue. They concern messages published afterwards.
func (c *Client) UpdateQueue(ctx context.Context, name string, s QueueSettings) (*Queue, error) {
	out := new(Queue)
	return some(out, c.post(ctx, under("/v1/queue/update", name), s, out))
}

// Queues lists the queues, the newest first.
func (c *Client) Queues(ctx context.Context) iter.Seq2[Queue, error] {
	return list[Queue](ctx, c, "/v1/queue/list")
}

// Queue gives a queue's settings; [QueueNotFound] where there is none of that name.
func (c *Client) Queue(ctx context.Context, name string) (*Queue, error) {
	out := new(Queue)
	return some(out, c.get(ctx, under("/v1/queue/get", name), out))
}

// DeleteQueue deletes a queue. With messages in it: [QueueNotEmpty] unless forced. Its dead-letter queue and what is in that stay.
func (c *Client) DeleteQueue(ctx context.Context, name string, force bool) error {
	_, err := c.Call(ctx, Request{Method: "DELETE", Path: address(under("/v1/queue/delete", name), "force", flag(force)), Once: true}, nil)
	return err
}

// PauseQueue makes consumers of a queue get nothing; publishing goes on.
func (c *Client) PauseQueue(ctx context.Context, name string) (*Queue, error) {
	out := new(Queue)
	return some(out, c.post(ctx, under("/v1/queue/pause", name), nil, out))
}

// ResumeQueue ends a pause.
func (c *Client) ResumeQueue(ctx context.Context, name string) (*Queue, error) {
	out := new(Queue)
	return some(out, c.post(ctx, under("/v1/queue/resume", name), nil, out))
}

// PurgeQueue removes all messages of a queue for good, those in flight included, and says how many. It is not sent again where its answer is lost: it
// would remove what came meanwhile.
func (c *Client) PurgeQueue(ctx context.Context, name string) (int64, error) {
	var out struct {
		Purged int64 `json:"purged"`
	}
	_, err := c.Call(ctx, Request{Method: "POST", Path: under("/v1/queue/purge", name), Body: struct {
		Confirm string `json:"confirm"`
	}{name}, Once: true}, &out)
	return out.Purged, err
}

// QueueStats counts a queue's messages. Messages and Dead are exact to 10,000; the three states are 1 s old at most, beyond 10,000 2 s.
type QueueStats struct {
	Messages  int64         `json:"message_count"` // available, in flight and delayed; without the dead
	Available int64         `json:"available_count"`
	InFlight  int64         `json:"in_flight_count"`
	Delayed   int64         `json:"delayed_count"`
	Dead      int64         `json:"dlq_count"`                  // of the dead-letter queue, those that came from this one
	OldestAge time.Duration `json:"oldest_message_age_seconds"` // since its publish; 0 if there is none
}

// QueueStats counts a queue's messages.
func (c *Client) QueueStats(ctx context.Context, name string) (*QueueStats, error) {
	out := new(QueueStats)
	return some(out, c.get(ctx, under("/v1/queue/stats", name), out))
}

// Messages looks at a queue's messages without a lease, the oldest first. status is [Available], [Delayed], [InFlight] or "" for all.
func (c *Client) Messages(ctx context.Context, queue, status string) iter.Seq2[Message, error] {
	return list[Message](ctx, c, under("/v1/queue/messages", queue), "status", status)
}

// DeadLetters looks at the dead letters that came from a queue, the oldest first.
func (c *Client) DeadLetters(ctx context.Context, queue string) iter.Seq2[Message, error] {
	return list[Message](ctx, c, under("/v1/queue/dlq/list", queue))
}

// some is out, or nil where there is an error.
func some[T any](out *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}
