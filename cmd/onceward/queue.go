package main

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

type queueCmd struct {
	Create  queueCreateCmd  `cmd:"" help:"Make a queue and its dead-letter queue."`
	List    queueListCmd    `cmd:"" help:"List queues, the newest first."`
	Get     queueGetCmd     `cmd:"" help:"Show one."`
	Delete  queueDeleteCmd  `cmd:"" help:"Remove one."`
	Stats   queueStatsCmd   `cmd:"" help:"Count its messages."`
	Publish queuePublishCmd `cmd:"" help:"Publish a message."`
	Consume queueConsumeCmd `cmd:"" help:"Receive messages under a lease."`
	Ack     queueAckCmd     `cmd:"" help:"End a message: its work is done."`
	Nack    queueNackCmd    `cmd:"" help:"Give a message back as failed, or dead-letter it."`
	Release queueReleaseCmd `cmd:"" help:"Give a message back, the receive not counted."`
	Extend  queueExtendCmd  `cmd:"" help:"Make a lease longer."`

	Messages queueMessagesCmd `cmd:"" help:"Look at messages without a lease."`
	Dead     queueDeadCmd     `cmd:"" help:"Look at the dead letters that came from a queue."`
	Redrive  queueRedriveCmd  `cmd:"" help:"Move dead letters back, in the background."`
	Pause    queuePauseCmd    `cmd:"" help:"Hand out nothing; publishing goes on."`
	Resume   queueResumeCmd   `cmd:"" help:"End a pause."`
	Purge    queuePurgeCmd    `cmd:"" help:"Delete the messages for good, those in flight too."`
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

type queueCreateCmd struct {
	queueOne
	DLQ            *string        `name:"dlq" help:"Its dead-letter queue (NAME-dlq)."`
	MaxReceives    *int           `help:"Receives before it is dead-lettered (3)."`
	Visibility     *time.Duration `help:"Default lease (5m)."`
	RetentionDays  *float64       `help:"Days a message is kept (30)."`
	DedupWindow    *time.Duration `help:"How long publish keys are remembered (24h)."`
	RequireReceipt *bool          `negatable:"" help:"Refuse acts by message id alone (no)."`
}

func (c *queueCreateCmd) Run(ctx context.Context, out output) error {
	body := object{"name": c.Name}
	with(body, "dlq", c.DLQ)
	with(body, "max_receive_count", c.MaxReceives)
	with(body, "visibility_timeout_default", seconds(c.Visibility))
	with(body, "message_retention_days", c.RetentionDays)
	with(body, "dedup_window_seconds", seconds(c.DedupWindow))
	with(body, "require_receipt", c.RequireReceipt)
	return c.do(ctx, out, "POST", queuePath+"create", body, "name")
}

type queueListCmd struct{ lister }

func (c *queueListCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, queuePath+"list", "name", "dlq", "max_receive_count", "visibility_timeout_default", "paused", "created_at")
}

type queueGetCmd struct{ queueOne }

func (c *queueGetCmd) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, "GET", queuePath+"get/"+url.PathEscape(c.Name), nil, "name")
}

type queueDeleteCmd struct {
	queueOne
	Force bool `help:"Even if it is not empty."`
}

func (c *queueDeleteCmd) Run(ctx context.Context, out output) error {
	path := queuePath + "delete/" + url.PathEscape(c.Name)
	if c.Force {
		path += "?force=true"
	}
	return c.do(ctx, out, "DELETE", path, nil)
}

type queueStatsCmd struct{ queueOne }

func (c *queueStatsCmd) Run(ctx context.Context, out output) error {
	return c.do(ctx, out, "GET", queuePath+"stats/"+url.PathEscape(c.Name), nil, "queue", "message_count", "available_count", "in_flight_count", "delayed_count", "dlq_count")
}

type queuePublishCmd struct {
	queueOne
	Payload  string         `arg:"" help:"Any JSON; - reads standard input."`
	Key      *string        `help:"Publish key: the same again is the same message."`
	Delay    *time.Duration `help:"Before it can be received."`
	Priority *int           `help:"0 to 9, 9 first."`
	Group    *string        `help:"Groups take turns."`
}

func (c *queuePublishCmd) Run(ctx context.Context, out output) error {
	payload, err := readJSON(c.Payload)
	if err != nil {
		return err
	}
	body := object{"queue": c.Name, "payload": payload}
	with(body, "idempotency_key", c.Key)
	with(body, "delay_seconds", seconds(c.Delay))
	with(body, "priority", c.Priority)
	with(body, "message_group_id", c.Group)
	var o object
	replay, err := c.call(ctx, "POST", queuePath+"publish", body, &o)
	if err != nil {
		return err
	}
	if c.JSON {
		o["idempotent_replay"] = replay
		return printJSON(out, o)
	}
	if replay {
		_, err = fmt.Fprintf(out, "message %s was known: this is the first answer again\n", cell(o["message_id"]))
	} else {
		_, err = fmt.Fprintf(out, "message %s\n", cell(o["message_id"]))
	}
	return err
}

type queueConsumeCmd struct {
	queueOne
	Max        int            `default:"1" help:"Most messages."`
	Visibility *time.Duration `help:"Of the lease (the queue's default)."`
	Wait       time.Duration  `help:"For a message to come, at most 20s."`
}

func (c *queueConsumeCmd) Run(ctx context.Context, out output) error {
	body := object{"queue": c.Name, "max_messages": c.Max, "wait_seconds": c.Wait.Seconds()}
	with(body, "visibility_timeout", seconds(c.Visibility))
	var got list
	if _, err := c.call(ctx, "POST", queuePath+"consume", body, &got); err != nil {
		return err
	}
	return c.rows(out, got.Items, "message_id", "receipt_handle", "delivery_count", "visible_until", "payload")
}
