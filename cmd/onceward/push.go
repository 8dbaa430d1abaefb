package main

import (
	"context"
	"net/url"
	"time"
)

type queueSubscribeCmd struct {
	queueOne
	URL         string         `arg:"" help:"Where the messages go: https://…"`
	Secret      *string        `help:"The signing secret: whsec_ and base64; one is made unless told."`
	Timeout     *time.Duration `help:"Of an attempt, 1s to 30s (15s)."`
	MaxInFlight *int           `help:"Most messages at a time (10)."`
}

func (queueSubscribeCmd) Help() string {
	return examples("queue subscribe jobs https://example.com/work", "queue subscribe jobs https://example.com/work --timeout 5s --max-in-flight 20")
}

func (c *queueSubscribeCmd) Run(ctx context.Context, out output) error {
	body := object{"url": c.URL}
	with(body, "secret", c.Secret)
	with(body, "timeout_seconds", seconds(c.Timeout))
	with(body, "max_in_flight", c.MaxInFlight)
	return c.do(ctx, out, "POST", queuePath+"push_subscribe/"+url.PathEscape(c.Name), body, "id")
}

type queueSubscriptionsCmd struct {
	lister
	Name string `arg:"" help:"The queue's name."`
}

func (queueSubscriptionsCmd) Help() string { return examples("queue subscriptions jobs") }

func (c *queueSubscriptionsCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, queuePath+"push_list/"+url.PathEscape(c.Name), "id", "url", "timeout_seconds=TIMEOUT S", "max_in_flight=MAX IN FLIGHT", "created_at")
}

type queueUnsubscribeCmd struct {
	queueOne
	ID string `arg:"" help:"The subscription's id."`
}

func (queueUnsubscribeCmd) Help() string {
	return examples("queue unsubscribe jobs psh_00000000012cV4Kx9bRtQm7L")
}

func (c *queueUnsubscribeCmd) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, "DELETE", queuePath+"push_unsubscribe/"+url.PathEscape(c.Name)+"/"+url.PathEscape(c.ID), nil)
}
