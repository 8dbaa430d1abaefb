package client

import (
	"context"
	plain "encoding/json"
	"encoding/json/jsontext"
	"time"
)

// The states of a message.
const (
	Available    = "available"
	Delayed      = "delayed"
	InFlight     = "in_flight"
	DeadLettered = "dead_lettered"
)

// Message is a message, received or looked at. A zero time or an empty text is none.
type Message struct {
	ID             string            `json:"message_id"`
	Queue          string            `json:"queue"`
	Payload        jsontext.Value    `json:"payload"` // the bytes that were published
	Headers        map[string]string `json:"headers"`
	Priority       int               `json:"priority"`
	Group          string            `json:"message_group_id"`
	Status         string            `json:"status"`
	DeliveryCount  int               `json:"delivery_count"` // receives that ended with nothing recorded, this one included
	PublishedAt    time.Time         `json:"published_at"`
	OriginAt       time.Time         `json:"origin_at"` // when the work began
	DeadLetteredAt time.Time         `json:"dead_lettered_at"`
	SourceQueue    string            `json:"source_queue"` // of a dead letter
	LastError      string            `json:"last_error"`
	VisibleAt      time.Time         `json:"visible_at"`     // of one looked at
	Receipt        string            `json:"receipt_handle"` // of one received: what acks, nacks, releases and extends it
	VisibleUntil   time.Time         `json:"visible_until"`  // of one received: the lease's end, by the server's clock
}

// Decode unmarshals the payload, as encoding/json does.
func (m *Message) Decode(to any) error { return plain.Unmarshal(m.Payload, to) }

// NewMessage is a message to publish.
type NewMessage struct {
	// Payload is any JSON of at most 262,144 bytes: what encoding/json makes of the value, or a json.RawMessage, byte for byte.
	Payload  any               `json:"-"`
	Key      string            `json:"-"`                         // publish key: the same again is the same message; made for the call if there is none
	Delay    time.Duration     `json:"delay_seconds,omitzero"`    // at most 7 days
	Priority int               `json:"priority,omitzero"`         // 0 to 9, 9 first
	Headers  map[string]string `json:"headers,omitzero"`          // at most 20, 8 KiB
	Group    string            `json:"message_group_id,omitzero"` // 1 to 128 printable ASCII: groups take turns; of a fifo queue required
	OriginAt time.Time         `json:"origin_at,omitzero"`        // when the work began (now)
}

// Published is the answer to a publish.
type Published struct {
	MessageID   string    `json:"message_id"`
	Queue       string    `json:"queue"`
	Status      string    `json:"status"`
	PublishedAt time.Time `json:"published_at"`
	VisibleAt   time.Time `json:"visible_at"`
	Replayed    bool      `json:"idempotent_replay"` // the key was known: the first answer again, and no new message
	CostUSD     float64   `json:"-"`                 // of a batch it is the batch's, not here
}

// Publish puts a message into a queue; when it returns the message is on the server's disk.
func (c *Client) Publish(ctx context.Context, queue string, m NewMessage) (*Published, error) {
	payload, err := payloadOf(m.Payload)
	if err != nil {
		return nil, err
	}
	body, err := with(struct {
		Queue string `json:"queue"`
		NewMessage
	}{queue, m}, payload)
	if err != nil {
		return nil, err
	}
	out := new(Published)
	meta, err := c.keyed(ctx, "/v1/queue/publish", m.Key, body, out)
	out.Replayed, out.CostUSD = meta.Replayed, meta.CostUSD
	return some(out, err)
}

// PublishBatch publishes at most 1000 messages, 16 MiB in all, and answers for each, in order. What is wrong with one does not touch the others.
func (c *Client) PublishBatch(ctx context.Context, queue string, messages []NewMessage) ([]Result[Published], error) {
	items := make([]jsontext.Value, len(messages))
	for i, m := range messages {
		payload, err := payloadOf(m.Payload)
		if err != nil {
			return nil, &Error{Call: "POST /v1/queue/publish_batch", Message: "message " + number(i), Err: err}
		}
		if items[i], err = with(struct {
			Key string `json:"idempotency_key,omitzero"`
			NewMessage
		}{c.key(m.Key), m}, payload); err != nil {
			return nil, err
		}
	}
	return many[Published](ctx, c, "/v1/queue/publish_batch", queue, "messages", items)
}

// Receive says what to consume.
type Receive struct {
	Max        int           `json:"max_messages,omitzero"`       // 1 to 1000 (1); it ends early at 8 MiB
	Visibility time.Duration `json:"visibility_timeout,omitzero"` // the lease, 1 s to 12 h (the queue's)
	Wait       time.Duration `json:"wait_seconds,omitzero"`       // for something to come, at most 20 s (0)
}

// Consume receives messages under a lease. None is no error.
func (c *Client) Consume(ctx context.Context, queue string, r Receive) ([]*Message, error) {
	var out struct {
		Items []*Message `json:"items"`
	}
	_, err := c.Call(ctx, Request{Method: "POST", Path: "/v1/queue/consume", Body: struct {
		Queue string `json:"queue"`
		Receive
	}{queue, r}, Wait: r.Wait}, &out)
	return out.Items, err
}
