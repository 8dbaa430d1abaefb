package client

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"iter"
	"time"
)

// Endpoint is where a customer gets webhooks.
type Endpoint struct {
	ID             string            `json:"endpoint_id"`
	URL            string            `json:"url"`
	Tenant         string            `json:"tenant"`
	EventTypes     []string          `json:"event_types"`
	Description    string            `json:"description"`
	Headers        map[string]string `json:"headers"`
	Timeout        time.Duration     `json:"timeout_seconds"`
	Ladder         []time.Duration   `json:"retry_ladder"`
	Retry4xx       bool              `json:"retry_4xx"`
	Policy         string            `json:"policy"`
	Window         time.Duration     `json:"receiver_window_seconds"` // 0: for ever
	MaxInFlight    int               `json:"max_in_flight"`
	Rate           float64           `json:"rate_per_second"` // 0: none
	Disabled       bool              `json:"disabled"`
	DisabledReason string            `json:"disabled_reason"`
	CreatedAt      time.Time         `json:"created_at"`
	UpdatedAt      time.Time         `json:"updated_at"`
	Secret         string            `json:"secret"` // shown by CreateEndpoint and RotateSecret alone, once
}

// The policies of an endpoint and of a ledger's key.
const (
	Idempotent = "idempotent" // the receiver knows our key: what may have happened is tried again under it
	Once       = "once"       // it does not: never a second try after one whose outcome is unknown
)

// EndpointSettings are what may be said of an endpoint. A field of the zero value is not said: of a new one it is then its default, and a change
// leaves it.
type EndpointSettings struct {
	URL         string            `json:"url,omitzero"`                     // at most 2048 bytes of ASCII
	EventTypes  []string          `json:"event_types,omitzero"`             // 1 to 100 exact names or prefix.* (all)
	Description *string           `json:"description,omitzero"`             // at most 1024 bytes
	Headers     map[string]string `json:"headers,omitzero"`                 // sent with each POST; at most 20, 8 KiB
	Timeout     time.Duration     `json:"timeout_seconds,omitzero"`         // of an attempt, 1 to 30 s (15 s)
	Ladder      []time.Duration   `json:"retry_ladder,omitzero"`            // at most 20 rungs of 1 s to 7 days; of length 0, not nil: a single attempt
	Retry4xx    *bool             `json:"retry_4xx,omitzero"`               // (true)
	Policy      string            `json:"policy,omitzero"`                  // [Idempotent] (default) or [Once]
	Window      time.Duration     `json:"receiver_window_seconds,omitzero"` // how long the receiver remembers our key (for ever)
	MaxInFlight int               `json:"max_in_flight,omitzero"`           // 1 to 1000 (10)
	Rate        float64           `json:"rate_per_second,omitzero"`         // at most 100,000 (none)
}

// NewEndpoint is an endpoint to make.
type NewEndpoint struct {
	EndpointSettings
	Tenant string `json:"tenant,omitzero"` // your customer, 1 to 128 of A-Za-z0-9._-
	Secret string `json:"secret,omitzero"` // whsec_ and the base64 of 24 to 64 bytes; made if there is none
	Key    string `json:"-"`               // idempotency key; made if there is none
}

// EndpointChange is what an update changes.
type EndpointChange struct {
	EndpointSettings
	WindowForever bool `json:"-"` // takes Window away
	RateNone      bool `json:"-"` // takes Rate away
}

// CreateEndpoint makes an endpoint; its Secret is shown this once. Where Key and Secret are not given the secret is made here, so that it is not lost with an answer; with a
// Key of yours and no Secret, an answer that is a replay has none: rotate it.
func (c *Client) CreateEndpoint(ctx context.Context, e NewEndpoint) (*Endpoint, error) {
	if e.Key == "" && e.Secret == "" {
		e.Secret = newSecret()
	}
	return c.showing(ctx, "/v1/webhooks/endpoints", e.Key, e.Secret, e)
}

// showing makes a call that shows a secret. A replay does not, so the one that was given stands in.
func (c *Client) showing(ctx context.Context, path, key, secret string, body any) (*Endpoint, error) {
	out := new(Endpoint)
	_, err := c.keyed(ctx, path, key, body, out)
	if out.Secret == "" {
		out.Secret = secret
	}
	return some(out, err)
}

func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return "whsec_" + base64.StdEncoding.EncodeToString(b)
}

// Endpoints lists the endpoints, of one tenant or, for "", all; the newest first.
func (c *Client) Endpoints(ctx context.Context, tenant string) iter.Seq2[Endpoint, error] {
	return list[Endpoint](ctx, c, "/v1/webhooks/endpoints", "tenant", tenant)
}

// Endpoint gives an endpoint by its id.
func (c *Client) Endpoint(ctx context.Context, id string) (*Endpoint, error) {
	out := new(Endpoint)
	return some(out, c.get(ctx, under("/v1/webhooks/endpoints", id), out))
}

// UpdateEndpoint changes an endpoint. Policy, Ladder and Window concern deliveries made afterwards; the rest every attempt.
func (c *Client) UpdateEndpoint(ctx context.Context, id string, e EndpointChange) (*Endpoint, error) {
	var none []member
	if e.WindowForever {
		none = append(none, member{"receiver_window_seconds", []byte("null")})
	}
	if e.RateNone {
		none = append(none, member{"rate_per_second", []byte("null")})
	}
	body, err := with(e, none...)
	if err != nil {
		return nil, err
	}
	out := new(Endpoint)
	_, err = c.Call(ctx, Request{Method: "PATCH", Path: under("/v1/webhooks/endpoints", id), Body: body}, out)
	return some(out, err)
}

// DeleteEndpoint deletes an endpoint and cancels what waits for it. One that is gone already is [NotFound].
func (c *Client) DeleteEndpoint(ctx context.Context, id string) error {
	_, err := c.Call(ctx, Request{Method: "DELETE", Path: under("/v1/webhooks/endpoints", id)}, nil)
	return err
}

// EnableEndpoint sends what waits for an endpoint again.
func (c *Client) EnableEndpoint(ctx context.Context, id string) (*Endpoint, error) {
	out := new(Endpoint)
	return some(out, c.post(ctx, under("/v1/webhooks/endpoints", id)+"/enable", nil, out))
}

// DisableEndpoint makes an endpoint's deliveries wait.
func (c *Client) DisableEndpoint(ctx context.Context, id string) (*Endpoint, error) {
	out := new(Endpoint)
	return some(out, c.post(ctx, under("/v1/webhooks/endpoints", id)+"/disable", nil, out))
}

// Rotation is a new secret for an endpoint.
type Rotation struct {
	Secret string         `json:"secret,omitzero"`        // made if there is none
	Grace  *time.Duration `json:"grace_seconds,omitzero"` // while both signatures are sent, at most 30 days (24 h)
	Key    string         `json:"-"`                      // idempotency key; made if there is none
}

// RotateSecret gives an endpoint a new secret, which is shown this once; of Key and Secret it is as with [Client.CreateEndpoint].
func (c *Client) RotateSecret(ctx context.Context, id string, r Rotation) (*Endpoint, error) {
	if r.Key == "" && r.Secret == "" {
		r.Secret = newSecret()
	}
	return c.showing(ctx, under("/v1/webhooks/endpoints", id)+"/rotate_secret", r.Key, r.Secret, r)
}

// TestEndpoint sends an event of type webhook.test to one endpoint, subscribed or not. key is an idempotency key; made if there is none.
func (c *Client) TestEndpoint(ctx context.Context, id, key string) (*Sent, error) {
	out := new(Sent)
	meta, err := c.keyed(ctx, under("/v1/webhooks/endpoints", id)+"/test", key, nil, out)
	out.Replayed = meta.Replayed
	return some(out, err)
}
