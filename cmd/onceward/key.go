package main

import (
	"context"
	"net/url"
	"time"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make a key with scopes. Its secret is shown this once."`
	List   keyListCmd   `cmd:"" help:"List keys, the newest first, those that have ended too."`
	Revoke keyRevokeCmd `cmd:"" help:"End a key for good: within a second, on every server."`
}

const keysPath = "/v1/keys"

type keyCreateCmd struct {
	remote
	keyed
	Scope   []string `required:"" help:"What it may do: publish, consume, webhooks, read, admin (all of its project), root (projects, and the keys of any)."`
	Name    *string  `help:"What it is for."`
	Expires *expiry  `help:"When it ends: a time like 2030-01-31T00:00:00Z, or how long from now, like 720h (never)."`
	Project *string  `help:"Of this project, prj_… (that of your key)."`
}

func (keyCreateCmd) Help() string {
	return examples("key create --scope publish --name shop", "key create --scope consume,read --expires 720h --json",
		"key create --scope admin --project "+exampleProject+" --name 'team 7'")
}

func (c *keyCreateCmd) Run(ctx context.Context, out output) error {
	body := c.into(object{"scopes": c.Scope})
	with(body, "name", c.Name)
	with(body, "project_id", c.Project)
	if c.Expires != nil {
		body["expires_at"] = c.Expires.at
	}
	var o object
	if _, err := c.call(ctx, "POST", keysPath, body, &o); err != nil {
		return err
	}
	return c.fields(out, o, "key", "key_id", "name", "scopes", "expires_at")
}

// expiry is a time, or a span from now.
type expiry struct{ at time.Time }

// UnmarshalText reads either.
func (e *expiry) UnmarshalText(b []byte) error {
	if d, err := time.ParseDuration(string(b)); err == nil {
		e.at = time.Now().Add(d).UTC()
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return usage("%q is neither a time like 2030-01-31T00:00:00Z nor a span like 720h", b)
	}
	e.at = at
	return nil
}

type keyListCmd struct {
	lister
	Project string `help:"Of this project, prj_… (that of your key)."`
}

func (keyListCmd) Help() string { return examples("key list", "key list --project "+exampleProject) }

func (c *keyListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, query(keysPath, "project_id", c.Project), "key_id", "name", "scopes", "created_at", "expires_at", "revoked_at")
}

type keyRevokeCmd struct {
	remote
	ID string `arg:"" help:"Key id, key_…"`
}

func (keyRevokeCmd) Help() string { return examples("key revoke key_0000000001mM2xNcJq7bTz0d") }

func (c *keyRevokeCmd) Run(ctx context.Context, out output) error {
	var o object
	if _, err := c.call(ctx, "DELETE", keysPath+"/"+url.PathEscape(c.ID), nil, &o); err != nil {
		return err
	}
	return c.fields(out, o)
}
