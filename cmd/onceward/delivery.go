package main

import (
	"context"
	"net/url"
)

type deliveryCmd struct {
	List    deliveryListCmd    `cmd:"" help:"List deliveries, the newest first."`
	Get     deliveryGetCmd     `cmd:"" help:"Show one with the history of its attempts."`
	Resend  deliveryResendCmd  `cmd:"" help:"Send it again, even if it was delivered."`
	Resolve deliveryResolveCmd `cmd:"" help:"Say what came of a stuck one."`
	Cancel  deliveryCancelCmd  `cmd:"" help:"End one that is pending or retrying."`
	Redrive deliveryRedriveCmd `cmd:"" help:"Send dead ones again, in the background."`
}

const deliveriesPath = "/v1/webhooks/deliveries"

type deliveryListCmd struct {
	lister
	State      string `help:"pending, sending, retrying, delivered, failed, stuck or cancelled."`
	EndpointID string `name:"endpoint-id" help:"Of this endpoint alone."`
	EventType  string `help:"Of this event type alone."`
	EventID    string `name:"event-id" help:"Of this event alone."`
	Tenant     string `help:"Of this tenant alone."`
	Subject    string `help:"About this subject alone."`
	From       string `help:"Made at or after, RFC 3339."`
	To         string `help:"Made before, RFC 3339."`
}

func (c *deliveryListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, query(deliveriesPath, "state", c.State, "endpoint_id", c.EndpointID, "event_type", c.EventType, "event_id", c.EventID,
		"tenant", c.Tenant, "subject", c.Subject, "from", c.From, "to", c.To),
		"delivery_id", "event_id", "event_type", "endpoint_id", "state", "next_attempt_at", "delivered_at")
}

// deliveryOne names a delivery.
type deliveryOne struct {
	remote
	ID string `arg:"" help:"Delivery id, dlv_…"`
}

func (c *deliveryOne) act(ctx context.Context, out output, method, verb string, body any) error {
	path := deliveriesPath + "/" + url.PathEscape(c.ID)
	if verb != "" {
		path += "/" + verb
	}
	var o object
	if _, err := c.call(ctx, method, path, body, &o); err != nil {
		return err
	}
	if err := c.fields(out, o, "delivery_id", "event_id", "event_type", "endpoint_id", "state"); err != nil || c.JSON {
		return err
	}
	return c.below(out, o, "attempts", "attempt", "cause", "started_at", "outcome", "class", "status_code", "latency_ms", "error", "next_attempt_at")
}

type deliveryGetCmd struct{ deliveryOne }

func (c *deliveryGetCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "GET", "", nil)
}

type deliveryResendCmd struct {
	deliveryOne
	Reason string `help:"Why, for the record."`
	NewKey bool   `help:"Under a new delivery key: the receiver will take it for another."`
}

func (c *deliveryResendCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "POST", "resend", object{"reason": c.Reason, "new_key": c.NewKey})
}

type deliveryResolveCmd struct {
	deliveryOne
	As   string `arg:"" enum:"delivered,retry,failed" help:"delivered, retry or failed."`
	Note string `help:"Why, for the record."`
}

func (c *deliveryResolveCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "POST", "resolve", object{"as": c.As, "note": c.Note})
}

type deliveryCancelCmd struct {
	deliveryOne
	Reason string `help:"Why, for the record."`
}

func (c *deliveryCancelCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "POST", "cancel", object{"reason": c.Reason})
}

type deliveryRedriveCmd struct {
	remote
	EndpointID *string  `name:"endpoint-id" help:"Of this endpoint alone."`
	Tenant     *string  `help:"Of this tenant alone."`
	State      []string `help:"failed (the default), stuck."`
	From       *string  `help:"Made at or after, RFC 3339."`
	To         *string  `help:"Made before, RFC 3339."`
	Max        *int64   `help:"Most to send."`
	Rate       *float64 `help:"Most a second."`
	DryRun     bool     `help:"Only count."`
	Canary     *bool    `negatable:"" help:"One goes first for each endpoint; if it is refused the others are left (yes)."`
}

func (c *deliveryRedriveCmd) Run(ctx context.Context, out output) error {
	body := object{"dry_run": c.DryRun}
	with(body, "endpoint_id", c.EndpointID)
	with(body, "tenant", c.Tenant)
	with(body, "from", c.From)
	with(body, "to", c.To)
	with(body, "max", c.Max)
	with(body, "rate_per_second", c.Rate)
	with(body, "canary", c.Canary)
	if c.State != nil {
		body["states"] = c.State
	}
	var o object
	if _, err := c.call(ctx, "POST", "/v1/webhooks/redrive", body, &o); err != nil {
		return err
	}
	return c.fields(out, o, "redrive_id", "state", "total", "moved", "left")
}
