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
}

// NewProject is a project to make.
type NewProject struct {
	Name string `json:"name"` // 1 to 128 of A-Za-z0-9._-
	Key  string `json:"-"`    // idempotency key; made if there is none
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
