package main

import (
	"context"
	"net/url"
	"time"
)

type queueCmd struct {
	Create queueCreateCmd `cmd:"" help:"Make a queue and its dead-letter queue."`
	Update queueUpdateCmd `cmd:"" help:"Change settings, for what is published from then on."`
	List   queueListCmd   `cmd:"" help:"List queues, the newest first."`
	Get    queueGetCmd    `cmd:"" help:"Show one."`
	Delete queueDeleteCmd `cmd:"" help:"Remove one."`
	Stats  queueStatsCmd  `cmd:"" help:"Count messages, of some queues or of all."`
	Pause  queuePauseCmd  `cmd:"" help:"Hand out nothing; publishing goes on."`
	Resume queueResumeCmd `cmd:"" help:"End a pause."`
	Purge  queuePurgeCmd  `cmd:"" help:"Delete the messages for good, those in flight too."`

	Publish      queuePublishCmd      `cmd:"" help:"Publish a message."`
	PublishBatch queuePublishBatchCmd `cmd:"" help:"Publish many: a line, a message."`
	Consume      queueConsumeCmd      `cmd:"" help:"Receive messages under a lease."`
	Ack          queueAckCmd          `cmd:"" help:"End messages: their work is done."`
	Nack         queueNackCmd         `cmd:"" help:"Give messages back as failed, or dead-letter them."`
	Release      queueReleaseCmd      `cmd:"" help:"Give messages back, the receive not counted."`
	Extend       queueExtendCmd       `cmd:"" help:"Make leases longer, or end them."`

	Messages queueMessagesCmd `cmd:"" help:"Look at messages without a lease."`
	Dead     queueDeadCmd     `cmd:"" help:"Look at the dead letters that came from a queue."`
	Redrive  queueRedriveCmd  `cmd:"" help:"Move dead letters back, in the background."`

	Subscribe     queueSubscribeCmd     `cmd:"" help:"Have the messages sent to a URL. A secret that is made is printed once."`
	Subscriptions queueSubscriptionsCmd `cmd:"" help:"List where the messages are sent, the newest first."`
	Unsubscribe   queueUnsubscribeCmd   `cmd:"" help:"Send no more messages to a URL."`
}

const queuePath = "/v1/queue/"

// queueOne names a queue.
type queueOne struct {
	remote
	Name string `arg:"" help:"The queue's name."`
}

// do makes a call about the queue and prints its answer.
func (c *queueOne) do(ctx context.Context, out output, method, path string, body any, first ...string) error {
	var o object
	if _, err := c.call(ctx, method, path, body, &o); err != nil {
		return err
	}
	return c.fields(out, o, first...)
}

// queueSettings are what create and update have in common.
type queueSettings struct {
	DLQ            *string        `name:"dlq" help:"Its dead-letter queue (NAME-dlq)."`
	MaxReceives    *int           `help:"Receives before a message is dead-lettered (3)."`
	Visibility     *time.Duration `help:"Default lease (5m)."`
	RetentionDays  *float64       `help:"Days a message is kept (30)."`
	DedupWindow    *time.Duration `help:"How long publish keys are remembered (24h)."`
	ContentDedup   *bool          `negatable:"" help:"A publish without a key has its payload for one (no)."`
	RequireReceipt *bool          `negatable:"" help:"Refuse acts by message id alone (no)."`
}

func (s *queueSettings) body(o object) object {
	with(o, "dlq", s.DLQ)
	with(o, "max_receive_count", s.MaxReceives)
	with(o, "visibility_timeout_default", seconds(s.Visibility))
	with(o, "message_retention_days", s.RetentionDays)
	with(o, "dedup_window_seconds", seconds(s.DedupWindow))
	with(o, "content_dedup", s.ContentDedup)
	with(o, "require_receipt", s.RequireReceipt)
	return o
}

type queueCreateCmd struct {
	queueOne
	keyed
	Type *string `enum:"standard,fifo" help:"standard or fifo: in order within a group, one in flight of each (standard)."`
	queueSettings
}

func (queueCreateCmd) Help() string {
	return examples("queue create jobs", "queue create mails --max-receives 10 --visibility 2m --dlq dead",
		"queue create orders --type fifo --content-dedup")
}

func (c *queueCreateCmd) Run(ctx context.Context, out output) error {
	body := c.body(c.into(object{"name": c.Name}))
	with(body, "type", c.Type)
	return c.do(ctx, out, "POST", queuePath+"create", body, "name", "type")
}

type queueUpdateCmd struct {
	queueOne
	queueSettings
}

func (queueUpdateCmd) Help() string {
	return examples("queue update jobs --max-receives 5 --visibility 10m", "queue update jobs --no-require-receipt")
}

func (c *queueUpdateCmd) Run(ctx context.Context, out output) error {
	body := c.body(object{})
	if len(body) == 0 {
		return usage("queue update: name a setting to change")
	}
	return c.do(ctx, out, "POST", queuePath+"update/"+url.PathEscape(c.Name), body, "name")
}

type queueListCmd struct{ lister }

func (queueListCmd) Help() string { return examples("queue list", "queue list --limit 500 -q") }

func (c *queueListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, queuePath+"list", "name", "paused", "dlq", "max_receive_count=MAX RECEIVES", "visibility_timeout_default=LEASE S", "created_at")
}

type queueGetCmd struct {
	looker
	Name string `arg:"" help:"The queue's name."`
}

func (queueGetCmd) Help() string { return examples("queue get jobs") }

func (c *queueGetCmd) Run(ctx context.Context, out output) error {
	return c.look(ctx, out, func(out output) (bool, error) {
		var o object
		if _, err := c.call(ctx, "GET", queuePath+"get/"+url.PathEscape(c.Name), nil, &o); err != nil {
			return false, err
		}
		return false, c.fields(out, o, "name")
	})
}

type queueDeleteCmd struct {
	queueOne
	Force bool `help:"Even if it is not empty: its messages are lost, those in flight too."`
}

func (queueDeleteCmd) Help() string {
	return examples("queue delete jobs", "queue delete jobs --force") +
		"\n\nIts dead-letter queue and the dead letters in it stay, and are deleted by that queue's own name. They have no source any more and cannot be " +
		"redriven, not even once the queue is made anew: redrive them first, or consume them by that name until their retention is over. A queue that takes " +
		"another's dead letters is not deleted before that one, --force or not."
}

func (c *queueDeleteCmd) Run(ctx context.Context, out output) error {
	path := queuePath + "delete/" + url.PathEscape(c.Name)
	if c.Force {
		path += "?force=true"
	}
	return c.do(ctx, out, "DELETE", path, nil)
}

type queueStatsCmd struct {
	pager
	Names []string `arg:"" optional:"" name:"name" help:"Of these queues; of all unless told."`
}

func (queueStatsCmd) Help() string {
	return examples("queue stats", "queue stats jobs", "queue stats jobs mails --watch --every 5s")
}

// Run counts one queue in lines, several in a table.
func (c *queueStatsCmd) Run(ctx context.Context, out output) error {
	const oldest = "oldest_message_age_seconds"
	return c.look(ctx, out, func(out output) (bool, error) {
		names := c.Names
		if len(names) == 0 {
			all, err := c.collect(ctx, queuePath+"list")
			if err != nil {
				return false, err
			}
			for _, q := range all {
				names = append(names, line(q["name"]))
			}
		}
		items := []object{}
		for _, name := range names {
			var o object
			if _, err := c.call(ctx, "GET", queuePath+"stats/"+url.PathEscape(name), nil, &o); err != nil {
				return false, err
			}
			items = append(items, o)
		}
		if len(c.Names) == 1 {
			return false, c.fields(out, items[0], "queue", "message_count", "available_count", "in_flight_count", "delayed_count", "dlq_count")
		}
		return false, c.rows(out, items, "queue", "message_count=MESSAGES", "available_count=AVAILABLE", "in_flight_count=IN FLIGHT", "delayed_count=DELAYED",
			"dlq_count=DEAD", oldest+"=OLDEST S")
	})
}

type queuePauseCmd struct{ queueOne }

func (queuePauseCmd) Help() string { return examples("queue pause jobs") }

func (c *queuePauseCmd) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, "POST", queuePath+"pause/"+url.PathEscape(c.Name), object{}, "name", "paused")
}

type queueResumeCmd struct{ queueOne }

func (queueResumeCmd) Help() string { return examples("queue resume jobs") }

func (c *queueResumeCmd) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, "POST", queuePath+"resume/"+url.PathEscape(c.Name), object{}, "name", "paused")
}

type queuePurgeCmd struct {
	queueOne
	Yes bool `help:"Do it: messages are lost."`
}

func (queuePurgeCmd) Help() string { return examples("queue purge jobs --yes") }

func (c *queuePurgeCmd) Run(ctx context.Context, out output) error {
	if !c.Yes {
		return usage("queue purge deletes all that is in %q for good, what is in flight too; say --yes to mean it", c.Name)
	}
	return c.do(ctx, out, "POST", queuePath+"purge/"+url.PathEscape(c.Name), object{"confirm": c.Name})
}
