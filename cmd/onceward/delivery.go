package main

import (
	"context"
	"net/url"
	"slices"
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

// Ids as examples show them.
const (
	exampleDelivery = "dlv_0000000001bwD3SgvuRu0BGm"
	exampleEndpoint = "ep_0000000001vGh0XkTSdkEzpB"
	exampleRedrive  = "rdv_0000000001W9ZqkfCfNpqUtd"
	exampleMessage  = "qmsg_0000000001kQYnOW2SEJtPLe"
	exampleProject  = "prj_00000000029Cq0GQ4nnWPC9y"
	exampleReceipt  = "rct_0000000001000000000126JzKBTLLHlGZ"
)

type deliveryListCmd struct {
	lister
	State      string `enum:",pending,sending,retrying,delivered,failed,stuck,cancelled" default:"" help:"pending, sending, retrying, delivered, failed, stuck or cancelled."`
	EndpointID string `name:"endpoint-id" help:"Of this endpoint alone."`
	EventType  string `help:"Of this event type alone."`
	EventID    string `name:"event-id" help:"Of this event alone."`
	Tenant     string `help:"Of this tenant alone."`
	Subject    string `help:"About this subject alone."`
	From       string `help:"Made at or after, RFC 3339."`
	To         string `help:"Made before, RFC 3339."`
}

func (deliveryListCmd) Help() string {
	return examples("delivery list --watch", "delivery list --state failed --tenant acme", "delivery list --event-id evt_7 -q")
}

func (c *deliveryListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, query(deliveriesPath, "state", c.State, "endpoint_id", c.EndpointID, "event_type", c.EventType, "event_id", c.EventID,
		"tenant", c.Tenant, "subject", c.Subject, "from", c.From, "to", c.To),
		"delivery_id", "state", "event_id", "event_type", "next_attempt_at", "delivered_at", "endpoint_id")
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
	return showDelivery(&c.printer, out, o)
}

func showDelivery(p *printer, out output, o object) error {
	if err := p.fields(out, o, "delivery_id", "event_id", "event_type", "endpoint_id", "state"); err != nil || p.JSON {
		return err
	}
	return p.below(out, o, "attempts", "attempt", "cause", "started_at", "outcome", "class", "status_code=STATUS", "latency_ms", "error", "next_attempt_at")
}

type deliveryGetCmd struct {
	looker
	ID string `arg:"" help:"Delivery id, dlv_…"`
}

func (deliveryGetCmd) Help() string {
	return examples("delivery get "+exampleDelivery, "delivery get "+exampleDelivery+" --watch")
}

// Run shows a delivery; a watch ends when the delivery is at rest.
func (c *deliveryGetCmd) Run(ctx context.Context, out output) error {
	return c.look(ctx, out, func(out output) (bool, error) {
		var o object
		if _, err := c.call(ctx, "GET", deliveriesPath+"/"+url.PathEscape(c.ID), nil, &o); err != nil {
			return false, err
		}
		moving := slices.Contains([]string{"pending", "sending", "retrying"}, line(o["state"]))
		return !moving, showDelivery(&c.printer, out, o)
	})
}

type deliveryResendCmd struct {
	deliveryOne
	keyed
	Reason string `help:"Why, for the record."`
	NewKey bool   `help:"Under a new delivery key: the receiver will take it for another."`
}

func (deliveryResendCmd) Help() string {
	return examples("delivery resend " + exampleDelivery + " --reason 'the customer lost it'")
}

func (c *deliveryResendCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "POST", "resend", c.into(object{"reason": c.Reason, "new_key": c.NewKey}))
}

type deliveryResolveCmd struct {
	deliveryOne
	As   string `arg:"" enum:"delivered,retry,failed" help:"delivered, retry or failed."`
	Note string `help:"Why, for the record."`
}

func (deliveryResolveCmd) Help() string {
	return examples("delivery resolve "+exampleDelivery+" delivered --note 'the customer has it'", "delivery resolve "+exampleDelivery+" retry")
}

func (c *deliveryResolveCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "POST", "resolve", object{"as": c.As, "note": c.Note})
}

type deliveryCancelCmd struct {
	deliveryOne
	Reason string `help:"Why, for the record."`
}

func (deliveryCancelCmd) Help() string {
	return examples("delivery cancel " + exampleDelivery + " --reason 'sent by mistake'")
}

func (c *deliveryCancelCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "POST", "cancel", object{"reason": c.Reason})
}

type deliveryRedriveCmd struct {
	remote
	keyed
	waiter
	EndpointID *string  `name:"endpoint-id" help:"Of this endpoint alone."`
	Tenant     *string  `help:"Of this tenant alone."`
	State      []string `enum:"failed,stuck" help:"failed, stuck: failed unless told."`
	From       *string  `help:"Made at or after, RFC 3339."`
	To         *string  `help:"Made before, RFC 3339."`
	Max        *int64   `help:"Most to send."`
	Rate       *float64 `help:"Most a second."`
	DryRun     bool     `help:"Only count."`
	Canary     *bool    `negatable:"" help:"One goes first for each endpoint; if it is refused the others are left (yes)."`
}

func (deliveryRedriveCmd) Help() string {
	return examples("delivery redrive --endpoint-id "+exampleEndpoint+" --dry-run", "delivery redrive --tenant acme --rate 50 --wait")
}

func (c *deliveryRedriveCmd) Run(ctx context.Context, out output) error {
	body := c.into(object{"dry_run": c.DryRun})
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
	return c.start(ctx, out, &c.remote, "/v1/webhooks/redrive", body)
}
