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
	Status string `help:"available, delayed or in_flight."`
}

func (c *queueMessagesCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, query(queuePath+"messages/"+url.PathEscape(c.Name), "status", c.Status),
		"message_id", "status", "delivery_count", "priority", "published_at", "visible_at", "payload")
}

type queueDeadCmd struct{ listerOf }

func (c *queueDeadCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, queuePath+"dlq/list/"+url.PathEscape(c.Name), "message_id", "dead_lettered_at", "delivery_count", "last_error", "payload")
}

type queueRedriveCmd struct {
	queueOne
	Max       *int64   `help:"Most to move."`
	MessageID []string `name:"message-id" help:"These alone."`
	Rate      *float64 `help:"Most a second."`
	DryRun    bool     `help:"Only count."`
}

func (c *queueRedriveCmd) Run(ctx context.Context, out output) error {
	body := object{"dry_run": c.DryRun}
	with(body, "max_messages", c.Max)
	with(body, "rate_per_second", c.Rate)
	if c.MessageID != nil {
		body["message_ids"] = c.MessageID
	}
	return c.do(ctx, out, "POST", queuePath+"dlq/redrive/"+url.PathEscape(c.Name), body, "redrive_id", "state", "total", "moved", "left")
}

type queuePauseCmd struct{ queueOne }

func (c *queuePauseCmd) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, "POST", queuePath+"pause/"+url.PathEscape(c.Name), object{}, "name", "paused")
}

type queueResumeCmd struct{ queueOne }

func (c *queueResumeCmd) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, "POST", queuePath+"resume/"+url.PathEscape(c.Name), object{}, "name", "paused")
}

type queuePurgeCmd struct {
	queueOne
	Yes bool `help:"Do it: messages are lost."`
}

func (c *queuePurgeCmd) Run(ctx context.Context, out output) error {
	if !c.Yes {
		return usage("queue purge deletes all that is in %q for good, what is in flight too; say --yes to mean it", c.Name)
	}
	return c.do(ctx, out, "POST", queuePath+"purge/"+url.PathEscape(c.Name), object{"confirm": c.Name})
}
