package main

import (
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
	Type           string   `arg:"" help:"Event type, such as ticket.resolved."`
	Payload        string   `arg:"" optional:"" default:"{}" help:"Any JSON; - reads standard input."`
	ID             *string  `name:"id" help:"Event id: the same again is the same event (else made)."`
	Tenant         *string  `help:"The customer it is for."`
	Subject        *string  `help:"Whose data it is."`
	Endpoint       []string `help:"To these endpoints alone, subscribed or not."`
	IdempotencyKey *string  `help:"Key of this request."`
}

func (c *eventSendCmd) Run(ctx context.Context, out output) error {
	payload, err := readJSON(c.Payload)
	if err != nil {
		return err
	}
	body := object{"event_type": c.Type, "payload": payload}
	with(body, "event_id", c.ID)
	with(body, "tenant", c.Tenant)
	with(body, "subject", c.Subject)
	with(body, "idempotency_key", c.IdempotencyKey)
	if c.Endpoint != nil {
		body["endpoint_ids"] = c.Endpoint
	}
	var o struct {
		EventID    string   `json:"event_id"`
		Deliveries []object `json:"deliveries"`
	}
	replay, err := c.call(ctx, "POST", eventsPath, body, &o)
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
	v := jsontext.Value(b)
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

func (c *eventListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, query(eventsPath, "tenant", c.Tenant, "event_type", c.EventType, "subject", c.Subject),
		"event_id", "event_type", "tenant", "subject", "created_at")
}

type eventGetCmd struct {
	remote
	ID string `arg:"" help:"Event id."`
}

func (c *eventGetCmd) Run(ctx context.Context, out output) error {
	var o object
	if _, err := c.call(ctx, "GET", eventsPath+"/"+url.PathEscape(c.ID), nil, &o); err != nil {
		return err
	}
	if err := c.fields(out, o, "event_id", "event_type", "tenant", "subject", "created_at"); err != nil || c.JSON {
		return err
	}
	return c.below(out, o, "deliveries", "delivery_id", "endpoint_id", "state")
}

// below prints a list that stands inside an object.
func (r *remote) below(out output, o object, name string, columns ...string) error {
	l, _ := o[name].([]any)
	items := make([]object, 0, len(l))
	for _, e := range l {
		if m, ok := e.(object); ok {
			items = append(items, m)
		}
	}
	fmt.Fprintf(out, "\n%s\n", name)
	return r.rows(out, items, columns...)
}
