package client

import (
	"context"
	"iter"
	"time"
)

// The states of a delivery.
const (
	Pending   = "pending"
	Sending   = "sending"
	Retrying  = "retrying"
	Delivered = "delivered"
	Failed    = "failed" // certainly not delivered
	Stuck     = "stuck"  // nobody can know
)

// Delivery is an event on its way to one endpoint, with the history of its attempts.
type Delivery struct {
	ID            string    `json:"delivery_id"`
	EventID       string    `json:"event_id"`
	EventType     string    `json:"event_type"`
	EndpointID    string    `json:"endpoint_id"`
	Tenant        string    `json:"tenant"`
	Subject       string    `json:"subject"`
	State         string    `json:"state"` // [Pending], [Sending], [Retrying], [Delivered], [Failed], [Stuck] or [Cancelled]
	Policy        string    `json:"policy"`
	Key           string    `json:"delivery_key"` // the Idempotency-Key that the receiver gets
	CreatedAt     time.Time `json:"created_at"`
	NextAttemptAt time.Time `json:"next_attempt_at"`
	DeliveredAt   time.Time `json:"delivered_at"`
	Attempts      []Attempt `json:"attempts"`
}

// Attempt is one POST of a delivery, or one that could not be made.
type Attempt struct {
	ID            string    `json:"attempt_id"`
	Attempt       int       `json:"attempt"` // 1, 2, …: it never begins anew
	Cause         string    `json:"cause"`   // event, retry, resend, redrive or canary
	StartedAt     time.Time `json:"started_at"`
	FinishedAt    time.Time `json:"finished_at"`
	Outcome       string    `json:"outcome"` // delivered, refused, unknown or not_sent
	Class         string    `json:"class"`   // definite, permanent or ambiguous
	StatusCode    int       `json:"status_code"`
	LatencyMS     float64   `json:"latency_ms"`
	ResponseStart string    `json:"response_start"` // at most 2 KiB
	Error         string    `json:"error"`
	NextAttemptAt time.Time `json:"next_attempt_at"`
}

// Deliveries lists deliveries, the newest first.
func (c *Client) Deliveries(ctx context.Context, f Filter) iter.Seq2[Delivery, error] {
	return list[Delivery](ctx, c, "/v1/webhooks/deliveries", f.query("state", f.State, "endpoint_id", f.EndpointID)...)
}

// Delivery gives a delivery by its id.
func (c *Client) Delivery(ctx context.Context, id string) (*Delivery, error) {
	out := new(Delivery)
	return some(out, c.get(ctx, under("/v1/webhooks/deliveries", id), out))
}

// Resend is a delivery sent once more.
type Resend struct {
	Reason string `json:"reason,omitzero"`  // at most 1024 bytes, for the record
	NewKey bool   `json:"new_key,omitzero"` // under a new delivery key: the receiver takes it for another
	Key    string `json:"-"`                // idempotency key; made if there is none
}

// ResendDelivery sends a delivery again, even if it was delivered. One that is pending, being sent or retried: [Conflict].
func (c *Client) ResendDelivery(ctx context.Context, id string, r Resend) (*Delivery, error) {
	out := new(Delivery)
	_, err := c.keyed(ctx, under("/v1/webhooks/deliveries", id)+"/resend", r.Key, r, out)
	return some(out, err)
}

// ResolveDelivery says what came of a stuck delivery: as is [Delivered], [Failed] or "retry". One that is not stuck: [Conflict]. It is not sent again where its
// answer is lost: the delivery may have got stuck anew.
func (c *Client) ResolveDelivery(ctx context.Context, id, as, note string) (*Delivery, error) {
	out := new(Delivery)
	_, err := c.Call(ctx, Request{Method: "POST", Path: under("/v1/webhooks/deliveries", id) + "/resolve", Body: struct {
		As   string `json:"as"`
		Note string `json:"note,omitzero"`
	}{as, note}, Once: true}, out)
	return some(out, err)
}

// CancelDelivery ends a delivery that is pending or retrying; another: [Conflict].
func (c *Client) CancelDelivery(ctx context.Context, id, reason string) (*Delivery, error) {
	out := new(Delivery)
	return some(out, c.post(ctx, under("/v1/webhooks/deliveries", id)+"/cancel", struct {
		Reason string `json:"reason,omitzero"`
	}{reason}, out))
}

// DeliveryRedrive says which dead deliveries are sent again; the zero value: all that failed.
type DeliveryRedrive struct {
	EndpointID string    `json:"endpoint_id,omitzero"`
	Tenant     string    `json:"tenant,omitzero"`
	States     []string  `json:"states,omitzero"` // [Failed] (default), [Stuck]
	From       time.Time `json:"from,omitzero"`   // made at or after
	To         time.Time `json:"to,omitzero"`     // made before
	Max        int64     `json:"max,omitzero"`
	Rate       float64   `json:"rate_per_second,omitzero"` // at most 100,000
	DryRun     bool      `json:"dry_run,omitzero"`         // only count
	Canary     *bool     `json:"canary,omitzero"`          // one goes first for each endpoint; refused, it ends that endpoint's part (true)
	Key        string    `json:"-"`                        // idempotency key; made if there is none
}

// RedriveDeliveries begins to send dead deliveries again, in the background. Another at one of their endpoints: [Conflict].
func (c *Client) RedriveDeliveries(ctx context.Context, r DeliveryRedrive) (*Redrive, error) {
	out := new(Redrive)
	_, err := c.keyed(ctx, "/v1/webhooks/redrive", r.Key, r, out)
	return some(out, err)
}
