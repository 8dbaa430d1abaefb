package main

import (
	"context"
	"net/url"
)

// listerOf lists something of one queue.
type listerOf struct {
	lister
	Name string `arg:"" help:"The queue's name."`
}

type queueMessagesCmd struct {
	listerOf
	Status string `enum:",available,delayed,in_flight" default:"" help:"available, delayed or in_flight."`
}

func (queueMessagesCmd) Help() string {
	return examples("queue messages jobs --status in_flight", "queue messages jobs --watch")
}

func (c *queueMessagesCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, query(queuePath+"messages/"+url.PathEscape(c.Name), "status", c.Status),
		"message_id", "status", "delivery_count=RECEIVES", "priority", "published_at", "visible_at", "payload")
}

type queueDeadCmd struct{ listerOf }

func (queueDeadCmd) Help() string { return examples("queue dead jobs", "queue dead jobs --json") }

func (c *queueDeadCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, queuePath+"dlq/list/"+url.PathEscape(c.Name), "message_id", "dead_lettered_at", "delivery_count=RECEIVES", "last_error", "payload")
}

type queueRedriveCmd struct {
	queueOne
	keyed
	waiter
	Max       *int64   `help:"Most to move."`
	MessageID []string `name:"message-id" help:"These alone."`
	Rate      *float64 `help:"Most a second."`
	DryRun    bool     `help:"Only count."`
}

func (queueRedriveCmd) Help() string {
	return examples("queue redrive jobs --dry-run", "queue redrive jobs --rate 100 --wait", "queue redrive jobs --message-id "+exampleMessage)
}

func (c *queueRedriveCmd) Run(ctx context.Context, out output) error {
	body := c.into(object{"dry_run": c.DryRun})
	with(body, "max_messages", c.Max)
	with(body, "rate_per_second", c.Rate)
	if c.MessageID != nil {
		body["message_ids"] = c.MessageID
	}
	return c.start(ctx, out, &c.remote, queuePath+"dlq/redrive/"+url.PathEscape(c.Name), body)
}
