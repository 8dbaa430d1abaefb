package main

import (
	"context"
	"time"
)

// receiptOne names a message by the receipt of its newest receive.
type receiptOne struct {
	queueOne
	Receipt string `arg:"" help:"Receipt handle of the newest receive (rct_…), or the message's id."`
}

func (c *receiptOne) settle(ctx context.Context, out output, verb string, body object) error {
	body["queue"], body["receipt_handle"] = c.Name, c.Receipt
	return c.do(ctx, out, "POST", queuePath+verb, body)
}

type queueAckCmd struct{ receiptOne }

func (c *queueAckCmd) Run(ctx context.Context, out output) error {
	return c.settle(ctx, out, "ack", object{})
}

type queueNackCmd struct {
	receiptOne
	Delay *time.Duration `help:"Before it comes again (grows with the receives); 0s is at once."`
	Error *string        `help:"What went wrong, kept with the message."`
	Dead  bool           `help:"Dead-letter it now."`
}

func (c *queueNackCmd) Run(ctx context.Context, out output) error {
	body := object{"requeue": !c.Dead}
	with(body, "delay_seconds", seconds(c.Delay))
	with(body, "error", c.Error)
	return c.settle(ctx, out, "nack", body)
}

type queueReleaseCmd struct {
	receiptOne
	Delay *time.Duration `help:"Before it comes again (at once)."`
}

func (c *queueReleaseCmd) Run(ctx context.Context, out output) error {
	body := object{}
	with(body, "delay_seconds", seconds(c.Delay))
	return c.settle(ctx, out, "release", body)
}

type queueExtendCmd struct {
	receiptOne
	Visibility time.Duration `arg:"" help:"The lease from now."`
}

func (c *queueExtendCmd) Run(ctx context.Context, out output) error {
	return c.settle(ctx, out, "extend", object{"visibility_timeout": c.Visibility.Seconds()})
}
