package client

import (
	"context"
	"encoding/json/jsontext"
	"iter"
	"time"
)

// NewEvent is something that happened, for whoever subscribed to it.
type NewEvent struct {
	Type string `json:"event_type"` // 1 to 128 of A-Za-z0-9._-
	// Payload is any JSON of at most 1 MiB: what encoding/json makes of the value, or a json.RawMessage, byte for byte. It is what the receiver gets.
	Payload   any      `json:"-"`
	ID        string   `json:"event_id,omitzero"`     // 1 to 255 of A-Za-z0-9_-: the same again is the same event; made if there is none
	Tenant    string   `json:"tenant,omitzero"`       // only its endpoints get it
	Subject   string   `json:"subject,omitzero"`      // whose data it is; at most 255 bytes
	Endpoints []string `json:"endpoint_ids,omitzero"` // 1 to 1000, subscribed or not (every subscriber)
	Key       string   `json:"-"`                     // idempotency key; made if there is neither that nor an ID
}

// Sent is the answer to an event: what it made for whom.
type Sent struct {
	EventID    string   `json:"event_id"`
	Deliveries []SentTo `json:"deliveries"`
	Replayed   bool     `json:"-"` // it was known: the first answer again, and nothing new
}

// SentTo is an event on its way to one endpoint.
type SentTo struct {
	DeliveryID string `json:"delivery_id"`
	EndpointID string `json:"endpoint_id"`
	State      string `json:"state"`
}

// SendEvent hands an event over; when it returns the event and its deliveries are on the server's disk.
func (c *Client) SendEvent(ctx context.Context, e NewEvent) (*Sent, error) {
	payload, err := payloadOf(e.Payload)
	if err != nil {
		return nil, err
	}
	body, err := with(e, payload)
	if err != nil {
		return nil, err
	}
	key := e.Key
	if e.ID == "" {
		key = c.key(key)
	}
	out := new(Sent)
	meta, err := c.Call(ctx, Request{Method: "POST", Path: "/v1/webhooks/events", Body: body, Key: key}, out)
	out.Replayed = meta.Replayed
	return some(out, err)
}

// Event is an event as it is kept.
type Event struct {
	ID         string         `json:"event_id"`
	Type       string         `json:"event_type"`
	Tenant     string         `json:"tenant"`
	Subject    string         `json:"subject"`
	CreatedAt  time.Time      `json:"created_at"`
	Payload    jsontext.Value `json:"payload"`    // of a single one
	Deliveries []SentTo       `json:"deliveries"` // of a single one
}

// Filter picks events and deliveries; the zero value picks all.
type Filter struct {
	State      string // of deliveries alone
	EndpointID string // of deliveries alone
	EventType  string
	EventID    string
	Tenant     string
	Subject    string
	From, To   time.Time // made at or after, and before
}

func (f Filter) query(more ...string) []string {
	return append(more, "event_type", f.EventType, "event_id", f.EventID, "tenant", f.Tenant, "subject", f.Subject, "from", moment(f.From), "to", moment(f.To))
}

// Events lists events, the newest first.
func (c *Client) Events(ctx context.Context, f Filter) iter.Seq2[Event, error] {
	return list[Event](ctx, c, "/v1/webhooks/events", f.query("state", f.State, "endpoint_id", f.EndpointID)...)
}

// Event gives an event by its id, with its payload and its deliveries.
func (c *Client) Event(ctx context.Context, id string) (*Event, error) {
	out := new(Event)
	return some(out, c.get(ctx, under("/v1/webhooks/events", id), out))
}
