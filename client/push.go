package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// Subscription is where a queue's messages are sent.
type Subscription struct {
	ID          string        `json:"id"`
	URL         string        `json:"url"`
	Timeout     time.Duration `json:"timeout_seconds"`
	MaxInFlight int           `json:"max_in_flight"`
	CreatedAt   time.Time     `json:"created_at"`
}

// NewSubscription is a URL that is to have a queue's messages.
type NewSubscription struct {
	URL         string        `json:"url"`
	Secret      string        `json:"secret,omitzero"`          // whsec_ and base64 of 24 to 64 bytes; made if there is none
	Timeout     time.Duration `json:"timeout_seconds,omitzero"` // of an attempt, 1 to 30 s (15 s)
	MaxInFlight int           `json:"max_in_flight,omitzero"`   // 1 to 1000 (10)
}

// Subscribe has a queue's messages sent to a URL: 2xx acks. The same URL again gives the same id, and changes what is named. secret is the one that was made, this
// once; "" if it was given, or the subscription was there.
func (c *Client) Subscribe(ctx context.Context, queue string, s NewSubscription) (id, secret string, err error) {
	var out struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	err = c.post(ctx, under("/v1/queue/push_subscribe", queue), s, &out)
	return out.ID, out.Secret, err
}

// Subscriptions lists a queue's, the newest first.
func (c *Client) Subscriptions(ctx context.Context, queue string) iter.Seq2[Subscription, error] {
	return list[Subscription](ctx, c, under("/v1/queue/push_list", queue))
}

// Unsubscribe ends a subscription; what is being sent is finished.
func (c *Client) Unsubscribe(ctx context.Context, queue, id string) error {
	_, err := c.Call(ctx, Request{Method: "DELETE", Path: under("/v1/queue/push_unsubscribe", queue) + "/" + url.PathEscape(id), Once: true}, nil)
	return err
}
