package client

import (
	"context"
	"iter"
	"time"
)

// The states of a redrive.
const (
	Running   = "running"
	Completed = "completed"
	Cancelled = "cancelled"
)

// Redrive is dead letters on their way back. At any moment Total = Moved + Left + Remaining; at its end Remaining is 0. Of a dry run, which moves nothing, Left is what
// would be left and Remaining what would move.
type Redrive struct {
	ID         string    `json:"redrive_id"`
	Queue      string    `json:"queue"` // "" of webhook deliveries
	State      string    `json:"state"`
	DryRun     bool      `json:"dry_run"`
	Rate       float64   `json:"rate_per_second"` // 0: as fast as it goes
	Total      int64     `json:"total"`
	Moved      int64     `json:"moved"`
	Left       int64     `json:"left"`
	Remaining  int64     `json:"remaining"`
	CreatedAt  time.Time `json:"created_at"`
	FinishedAt time.Time `json:"finished_at"`
}

// QueueRedrive says what of a queue's dead letters goes back; the zero value: all that is there.
type QueueRedrive struct {
	Max        int64    `json:"max_messages,omitzero"`
	MessageIDs []string `json:"message_ids,omitzero"`     // at most 1000
	Rate       float64  `json:"rate_per_second,omitzero"` // at most 100,000
	DryRun     bool     `json:"dry_run,omitzero"`         // only count
	Key        string   `json:"-"`                        // idempotency key; made if there is none
}

// RedriveQueue begins to send a queue's dead letters back to it, in the background. One at a time: [Conflict].
func (c *Client) RedriveQueue(ctx context.Context, queue string, r QueueRedrive) (*Redrive, error) {
	out := new(Redrive)
	_, err := c.keyed(ctx, under("/v1/queue/dlq/redrive", queue), r.Key, r, out)
	return some(out, err)
}

// RedriveOf gives the newest redrive of a queue.
func (c *Client) RedriveOf(ctx context.Context, queue string) (*Redrive, error) {
	out := new(Redrive)
	return some(out, c.get(ctx, under("/v1/queue/dlq/redrive", queue), out))
}

// Redrive gives a redrive, of a queue or of deliveries, by its id.
func (c *Client) Redrive(ctx context.Context, id string) (*Redrive, error) {
	out := new(Redrive)
	return some(out, c.get(ctx, under("/v1/redrives", id), out))
}

// CancelRedrive stops a redrive. What has not moved stays where it is.
func (c *Client) CancelRedrive(ctx context.Context, id string) (*Redrive, error) {
	out := new(Redrive)
	return some(out, c.post(ctx, under("/v1/redrives", id)+"/cancel", nil, out))
}

// RedrivePart is how far a redrive of deliveries is with one endpoint.
type RedrivePart struct {
	EndpointID string `json:"endpoint_id"`
	State      string `json:"state"` // waiting, canary, open, ended; refused, disabled, deleted or cancelled: the others are left
	Canary     string `json:"canary_delivery_id"`
	Total      int64  `json:"total"`
	Moved      int64  `json:"moved"`
	Left       int64  `json:"left"`
}

// RedriveParts lists how far a redrive of deliveries is with each endpoint.
func (c *Client) RedriveParts(ctx context.Context, id string) iter.Seq2[RedrivePart, error] {
	return list[RedrivePart](ctx, c, under("/v1/redrives", id)+"/endpoints")
}
