package main

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"net/url"
	"os"
)

type eventCmd struct {
	Send eventSendCmd `cmd:"" help:"Send an event to every endpoint that wants it."`
	List eventListCmd `cmd:"" help:"List events, the newest first."`
	Get  eventGetCmd  `cmd:"" help:"Show one with its deliveries."`
}

const eventsPath = "/v1/webhooks/events"

type eventSendCmd struct {
	remote
	keyed
	Type     string   `arg:"" help:"Event type, such as ticket.resolved."`
	Payload  string   `arg:"" optional:"" default:"{}" help:"Any JSON; - reads standard input."`
	ID       *string  `name:"id" help:"Event id: the same again is the same event (else made)."`
	Tenant   *string  `help:"The customer it is for."`
	Subject  *string  `help:"Whose data it is."`
	Endpoint []string `help:"To these endpoints alone, subscribed or not."`
}

func (eventSendCmd) Help() string {
	return examples(`event send ticket.resolved '{"ticket": 7}' --id evt_7`, `event send ticket.resolved - --tenant acme <ticket.json`)
}

func (c *eventSendCmd) Run(ctx context.Context, out output) error {
	payload, err := readJSON(c.Payload)
	if err != nil {
		return err
	}
	body := c.into(object{"event_type": c.Type})
	with(body, "event_id", c.ID)
	with(body, "tenant", c.Tenant)
	with(body, "subject", c.Subject)
	if c.Endpoint != nil {
		body["endpoint_ids"] = c.Endpoint
	}
	var o struct {
		EventID    string   `json:"event_id"`
		Deliveries []object `json:"deliveries"`
	}
	raw, err := withPayload(body, payload)
	if err != nil {
		return err
	}
	replay, err := c.call(ctx, "POST", eventsPath, raw, &o)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(out, object{"event_id": o.EventID, "deliveries": o.Deliveries, "idempotent_replay": replay})
	}
	switch {
	case replay:
		fmt.Fprintf(out, "event %s was known: this is the first answer again, and nothing is sent twice\n", o.EventID)
	case len(o.Deliveries) == 0:
		fmt.Fprintf(out, "event %s is kept; no endpoint wants it\n", o.EventID)
	default:
		fmt.Fprintf(out, "event %s\n", o.EventID)
	}
	if len(o.Deliveries) == 0 {
		return nil
	}
	return table(out, o.Deliveries, "delivery_id", "endpoint_id", "state")
}

// readJSON gives an argument's JSON, or standard input's.
func readJSON(arg string) (jsontext.Value, error) {
	b := []byte(arg)
	if arg == "-" {
		var err error
		if b, err = io.ReadAll(os.Stdin); err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
	}
	v := jsontext.Value(bytes.TrimSpace(b))
	if !v.IsValid() {
		return nil, usage("the payload is not JSON: %.80s", b)
	}
	return v, nil
}

type eventListCmd struct {
	lister
	Tenant    string `help:"Of this tenant alone."`
	EventType string `help:"Of this type alone."`
	Subject   string `help:"About this subject alone."`
}

func (eventListCmd) Help() string {
	return examples("event list", "event list --tenant acme --event-type ticket.resolved")
}

func (c *eventListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, query(eventsPath, "tenant", c.Tenant, "event_type", c.EventType, "subject", c.Subject),
		"event_id", "event_type", "tenant", "subject", "created_at")
}

type eventGetCmd struct {
	looker
	ID string `arg:"" help:"Event id."`
}

func (eventGetCmd) Help() string { return examples("event get evt_7", "event get evt_7 --json") }

func (c *eventGetCmd) Run(ctx context.Context, out output) error {
	return c.look(ctx, out, func(out output) (bool, error) {
		var o object
		if _, err := c.call(ctx, "GET", eventsPath+"/"+url.PathEscape(c.ID), nil, &o); err != nil {
			return false, err
		}
		if err := c.fields(out, o, "event_id", "event_type", "tenant", "subject", "created_at"); err != nil || c.JSON {
			return false, err
		}
		return false, c.below(out, o, "deliveries", "delivery_id", "state", "endpoint_id")
	})
}
