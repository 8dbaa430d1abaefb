package client

import (
	"context"
	"iter"
	"time"
)

// Project is a world of its own: no key of another reads, changes or can tell anything of it.
type Project struct {
	ID        string    `json:"project_id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`

	CreditLimit *float64 `json:"credit_limit_usd"` // in US dollars; nil: none
}

// NewProject is a project to make.
type NewProject struct {
	Name string `json:"name"` // 1 to 128 of A-Za-z0-9._-
	Key  string `json:"-"`    // idempotency key; made if there is none

	CreditLimit *float64 `json:"credit_limit_usd,omitzero"` // the most that it may be charged for what it publishes, in US dollars (none)
}

// CreateProject makes a project; of a name that is taken: [Conflict].
func (c *Client) CreateProject(ctx context.Context, p NewProject) (*Project, error) {
	out := new(Project)
	_, err := c.keyed(ctx, "/v1/projects", p.Key, p, out)
	return some(out, err)
}

// Projects lists the projects, the newest first.
func (c *Client) Projects(ctx context.Context) iter.Seq2[Project, error] {
	return list[Project](ctx, c, "/v1/projects")
}

// LimitProject gives a project another credit limit, in US dollars, or, for nil, none.
func (c *Client) LimitProject(ctx context.Context, id string, limit *float64) (*Project, error) {
	out := new(Project)
	body := struct {
		Limit *float64 `json:"credit_limit_usd"`
	}{limit}
	_, err := c.Call(ctx, Request{Method: "PATCH", Path: under("/v1/projects", id), Body: body}, out)
	return some(out, err)
}

// Balance is what the caller's project has spent, in US dollars.
type Balance struct {
	Left  *float64 `json:"balance_usd"` // nil: there is no limit
	Spent float64  `json:"spent_usd"`
	Limit *float64 `json:"credit_limit_usd"`
}

// Balance shows what was spent and what may be.
func (c *Client) Balance(ctx context.Context) (*Balance, error) {
	out := new(Balance)
	_, err := c.Call(ctx, Request{Method: "GET", Path: "/v1/account/balance"}, out)
	return some(out, err)
}

// UsageDay is what was charged on a day.
type UsageDay struct {
	Day      string  `json:"day"` // in UTC, like 2026-07-26
	Messages int64   `json:"messages"`
	Cost     float64 `json:"cost_usd"`
}

// Usage lists the days on which the caller's project was charged, the newest first.
func (c *Client) Usage(ctx context.Context) iter.Seq2[UsageDay, error] {
	return list[UsageDay](ctx, c, "/v1/account/usage")
}

// APIKey is a key to call the server with.
type APIKey struct {
	ID        string    `json:"key_id"`
	ProjectID string    `json:"project_id"`
	Name      string    `json:"name"`
	Scopes    []string  `json:"scopes"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	RevokedAt time.Time `json:"revoked_at"`
	Secret    string    `json:"key"` // shown by CreateAPIKey alone, once
}

// NewAPIKey is a key to make.
type NewAPIKey struct {
	Scopes    []string  `json:"scopes"`              // at least one of publish, consume, webhooks, read, admin, root
	Name      string    `json:"name,omitzero"`       // at most 128 bytes
	ExpiresAt time.Time `json:"expires_at,omitzero"` // (never)
	ProjectID string    `json:"project_id,omitzero"` // (that of the key that calls)
	Key       string    `json:"-"`                   // idempotency key; made if there is none
}

// CreateAPIKey makes a key; its Secret is shown this once. Should the answer have been lost and the call been sent again, Secret is "": revoke the key and make
// another.
func (c *Client) CreateAPIKey(ctx context.Context, k NewAPIKey) (*APIKey, error) {
	out := new(APIKey)
	_, err := c.keyed(ctx, "/v1/keys", k.Key, k, out)
	return some(out, err)
}

// APIKeys lists the keys of a project or, for "", of the caller's own; the newest first.
func (c *Client) APIKeys(ctx context.Context, projectID string) iter.Seq2[APIKey, error] {
	return list[APIKey](ctx, c, "/v1/keys", "project_id", projectID)
}

// RevokeAPIKey ends a key for good; it may act for a second more.
func (c *Client) RevokeAPIKey(ctx context.Context, id string) error {
	_, err := c.Call(ctx, Request{Method: "DELETE", Path: under("/v1/keys", id)}, nil)
	return err
}

// Healthy asks whether the program runs; nil: it does. It wants no key, and is asked once.
func (c *Client) Healthy(ctx context.Context) error { return c.asked(ctx, "/healthz") }

// Ready asks whether the server can serve: not while its store is away or it is stopping. It wants no key, and is asked once.
func (c *Client) Ready(ctx context.Context) error { return c.asked(ctx, "/readyz") }

func (c *Client) asked(ctx context.Context, path string) error {
	once := *c
	once.MaxTries = 1
	return once.get(ctx, path, nil)
}
