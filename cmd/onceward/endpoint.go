package main

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

type endpointCmd struct {
	Create  endpointCreateCmd  `cmd:"" help:"Make an endpoint. Its signing secret is printed once."`
	List    endpointListCmd    `cmd:"" help:"List endpoints, the newest first."`
	Get     endpointGetCmd     `cmd:"" help:"Show one."`
	Update  endpointUpdateCmd  `cmd:"" help:"Change settings."`
	Delete  endpointDeleteCmd  `cmd:"" help:"Remove one and cancel what waits for it."`
	Enable  endpointEnableCmd  `cmd:"" help:"Send again what waited while it was disabled."`
	Disable endpointDisableCmd `cmd:"" help:"Keep what comes for it waiting."`
	Rotate  endpointRotateCmd  `cmd:"" help:"Give it a new secret; the old one signs too for a while."`
	Test    endpointTestCmd    `cmd:"" help:"Send it a test event."`
}

const endpointsPath = "/v1/webhooks/endpoints"

// endpointSettings are what create and update have in common.
type endpointSettings struct {
	EventType   []string          `help:"Event types it wants: exact names, prefix.*, or * (the default)."`
	Description *string           `help:"For people."`
	Header      map[string]string `help:"Further headers to send: --header=name=value."`
	Timeout     *time.Duration    `help:"Of an attempt, 1s to 30s (15s)."`
	Ladder      []time.Duration   `help:"Waits between tries: 30s,2m,10m,1h,6h,24h unless told."`
	Retry4xx    *bool             `name:"retry-4xx" negatable:"" help:"Try again after a 4xx (yes)."`
	Policy      *string           `enum:"idempotent,once" help:"idempotent (the receiver knows our key) or once (it does not)."`
	Window      *time.Duration    `help:"How long the receiver remembers our key (for ever)."`
	MaxInFlight *int              `help:"Most attempts at a time (10)."`
}

func (s *endpointSettings) body(o object) object {
	if s.EventType != nil {
		o["event_types"] = s.EventType
	}
	if s.Header != nil {
		o["headers"] = s.Header
	}
	if s.Ladder != nil {
		rungs := make([]float64, len(s.Ladder))
		for i, d := range s.Ladder {
			rungs[i] = d.Seconds()
		}
		o["retry_ladder"] = rungs
	}
	with(o, "description", s.Description)
	with(o, "timeout_seconds", seconds(s.Timeout))
	with(o, "retry_4xx", s.Retry4xx)
	with(o, "policy", s.Policy)
	with(o, "receiver_window_seconds", seconds(s.Window))
	with(o, "max_in_flight", s.MaxInFlight)
	return o
}

type endpointCreateCmd struct {
	remote
	keyed
	endpointSettings
	Target string  `arg:"" help:"URL to send to."`
	Tenant *string `help:"The customer it belongs to."`
	Secret *string `help:"Signing secret, whsec_… (else made)."`
}

func (endpointCreateCmd) Help() string {
	return examples("endpoint create https://example.com/hook", "endpoint create https://example.com/hook --tenant acme --event-type 'ticket.*' --ladder 30s,5m,1h")
}

func (c *endpointCreateCmd) Run(ctx context.Context, out output) error {
	body := c.body(c.into(object{"url": c.Target}))
	with(body, "tenant", c.Tenant)
	with(body, "secret", c.Secret)
	var o object
	if _, err := c.call(ctx, "POST", endpointsPath, body, &o); err != nil {
		return err
	}
	return c.fields(out, o, "endpoint_id", "url", "secret")
}

type endpointListCmd struct {
	lister
	Tenant string `help:"Of this tenant alone."`
}

func (endpointListCmd) Help() string {
	return examples("endpoint list", "endpoint list --tenant acme -q")
}

func (c *endpointListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, query(endpointsPath, "tenant", c.Tenant), "endpoint_id", "url", "disabled", "tenant", "event_types", "policy", "created_at")
}

// endpointOne names an endpoint.
type endpointOne struct {
	remote
	ID string `arg:"" help:"Endpoint id, ep_…"`
}

func (c *endpointOne) act(ctx context.Context, out output, method, verb string, body any) error {
	path := endpointsPath + "/" + url.PathEscape(c.ID)
	if verb != "" {
		path += "/" + verb
	}
	var o object
	if _, err := c.call(ctx, method, path, body, &o); err != nil {
		return err
	}
	return c.fields(out, o, "endpoint_id", "url", "secret")
}

type endpointGetCmd struct {
	looker
	ID string `arg:"" help:"Endpoint id, ep_…"`
}

func (endpointGetCmd) Help() string { return examples("endpoint get " + exampleEndpoint) }

func (c *endpointGetCmd) Run(ctx context.Context, out output) error {
	return c.look(ctx, out, func(out output) (bool, error) {
		var o object
		if _, err := c.call(ctx, "GET", endpointsPath+"/"+url.PathEscape(c.ID), nil, &o); err != nil {
			return false, err
		}
		return false, c.fields(out, o, "endpoint_id", "url")
	})
}

type endpointUpdateCmd struct {
	endpointOne
	endpointSettings
	Target *string `name:"target" help:"URL to send to."`
}

func (endpointUpdateCmd) Help() string {
	return examples("endpoint update " + exampleEndpoint + " --timeout 5s --max-in-flight 20")
}

func (c *endpointUpdateCmd) Run(ctx context.Context, out output) error {
	body := c.body(object{})
	with(body, "url", c.Target)
	if len(body) == 0 {
		return usage("endpoint update: name a setting to change")
	}
	return c.act(ctx, out, "PATCH", "", body)
}

type endpointDeleteCmd struct{ endpointOne }

func (endpointDeleteCmd) Help() string {
	return examples("endpoint delete " + exampleEndpoint)
}

func (c *endpointDeleteCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "DELETE", "", nil)
}

type endpointEnableCmd struct{ endpointOne }

func (endpointEnableCmd) Help() string {
	return examples("endpoint enable " + exampleEndpoint)
}

func (c *endpointEnableCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "POST", "enable", object{})
}

type endpointDisableCmd struct{ endpointOne }

func (endpointDisableCmd) Help() string {
	return examples("endpoint disable " + exampleEndpoint)
}

func (c *endpointDisableCmd) Run(ctx context.Context, out output) error {
	return c.act(ctx, out, "POST", "disable", object{})
}

type endpointRotateCmd struct {
	endpointOne
	keyed
	Secret *string        `help:"The new secret, whsec_… (else made)."`
	Grace  *time.Duration `help:"How long the old one signs too (24h)."`
}

func (endpointRotateCmd) Help() string {
	return examples("endpoint rotate "+exampleEndpoint, "endpoint rotate "+exampleEndpoint+" --grace 0s")
}

func (c *endpointRotateCmd) Run(ctx context.Context, out output) error {
	body := c.into(object{})
	with(body, "secret", c.Secret)
	with(body, "grace_seconds", seconds(c.Grace))
	return c.act(ctx, out, "POST", "rotate_secret", body)
}

type endpointTestCmd struct {
	endpointOne
	keyed
}

func (endpointTestCmd) Help() string {
	return examples("endpoint test " + exampleEndpoint)
}

func (c *endpointTestCmd) Run(ctx context.Context, out output) error {
	var o object
	if _, err := c.call(ctx, "POST", endpointsPath+"/"+url.PathEscape(c.ID)+"/test", c.into(object{}), &o); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(out, o)
	}
	_, err := fmt.Fprintf(out, "sent %s; onceward delivery list --event-id %s shows what came of it\n", line(o["event_id"]), line(o["event_id"]))
	return err
}
