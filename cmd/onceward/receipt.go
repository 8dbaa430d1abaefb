package main

import (
	"context"
	"fmt"
	"time"
)

type queueConsumeCmd struct {
	queueOne
	Max        int            `default:"1" help:"Most messages."`
	Visibility *time.Duration `help:"Of the lease (the queue's default)."`
	Wait       time.Duration  `help:"For a message to come, at most 20s."`
}

func (queueConsumeCmd) Help() string {
	return examples("queue consume jobs --wait 20s", "queue consume jobs --max 10 --visibility 1m --json")
}

func (c *queueConsumeCmd) Run(ctx context.Context, out output) error {
	body := object{"queue": c.Name, "max_messages": c.Max, "wait_seconds": c.Wait.Seconds()}
	with(body, "visibility_timeout", seconds(c.Visibility))
	var got list
	if _, err := c.call(ctx, "POST", queuePath+"consume", body, &got); err != nil {
		return err
	}
	return c.rows(out, got.Items, "message_id", "receipt_handle", "delivery_count=RECEIVES", "visible_until", "payload")
}

// receipts name messages by the receipt of each one's newest receive.
type receipts struct {
	queueOne
	Receipts []string `arg:"" name:"receipt" help:"Receipt handle of the newest receive (rct_…), or the message's id; several are one call."`
}

// settle acts on one message, or on many in one call. What has not been done is an error, after the answer was printed.
func (c *receipts) settle(ctx context.Context, out output, verb, applied string, body object) error {
	if len(c.Receipts) > 1 {
		return c.settleMany(ctx, out, verb, applied, body)
	}
	body["queue"], body["receipt_handle"] = c.Name, c.Receipts[0]
	var o object
	if _, err := c.call(ctx, "POST", queuePath+verb, body, &o); err != nil {
		return err
	}
	if err := c.fields(out, o, applied, "reason"); err != nil {
		return err
	}
	if o[applied] != true {
		return fmt.Errorf("queue %s changed nothing: %s", verb, line(o["reason"]))
	}
	return nil
}

func (c *receipts) settleMany(ctx context.Context, out output, verb, applied string, body object) error {
	items := make([]object, len(c.Receipts))
	for i, r := range c.Receipts {
		items[i] = object{"receipt_handle": r}
		for name, v := range body {
			items[i][name] = v
		}
	}
	var got list
	if _, err := c.call(ctx, "POST", queuePath+verb+"_batch", object{"queue": c.Name, "items": items}, &got); err != nil {
		return err
	}
	if len(got.Items) != len(items) {
		return fmt.Errorf("%d receipts were sent and %d answered: this is not a server that the command knows", len(items), len(got.Items))
	}
	undone := 0
	for i, o := range got.Items {
		o["receipt_handle"] = c.Receipts[i]
		if e, ok := o["error"].(object); ok && !c.JSON {
			o["error"] = line(e["message"]) + " (" + line(e["code"]) + ")"
		}
		if o[applied] != true {
			undone++
		}
	}
	columns := []string{"receipt_handle", applied, "reason"}
	switch verb {
	case "nack", "release":
		columns = append(columns, "status", "visible_at")
	case "extend":
		columns = append(columns, "visible_until")
	}
	if err := c.rows(out, got.Items, append(columns, "error")...); err != nil {
		return err
	}
	if undone > 0 {
		return fmt.Errorf("queue %s changed nothing for %d of %d", verb, undone, len(items))
	}
	return nil
}

type queueAckCmd struct{ receipts }

func (queueAckCmd) Help() string {
	return examples("queue ack jobs "+exampleReceipt, "queue ack jobs "+exampleReceipt+" "+exampleMessage)
}

func (c *queueAckCmd) Run(ctx context.Context, out output) error {
	return c.settle(ctx, out, "ack", "acked", object{})
}

type queueNackCmd struct {
	receipts
	Delay *time.Duration `help:"Before it comes again (grows with the receives); 0s is at once."`
	Error *string        `help:"What went wrong, kept with the message."`
	Dead  bool           `help:"Dead-letter it now."`
}

func (queueNackCmd) Help() string {
	return examples("queue nack jobs "+exampleReceipt+" --error 'the bank is closed'", "queue nack jobs "+exampleReceipt+" "+exampleMessage+" --dead")
}

func (c *queueNackCmd) Run(ctx context.Context, out output) error {
	body := object{"requeue": !c.Dead}
	with(body, "delay_seconds", seconds(c.Delay))
	with(body, "error", c.Error)
	return c.settle(ctx, out, "nack", "nacked", body)
}

type queueReleaseCmd struct {
	receipts
	Delay *time.Duration `help:"Before it comes again (at once)."`
}

func (queueReleaseCmd) Help() string {
	return examples("queue release jobs "+exampleReceipt+" --delay 30s", "queue release jobs "+exampleReceipt+" "+exampleMessage)
}

func (c *queueReleaseCmd) Run(ctx context.Context, out output) error {
	body := object{}
	with(body, "delay_seconds", seconds(c.Delay))
	return c.settle(ctx, out, "release", "released", body)
}

type queueExtendCmd struct {
	receipts
	Visibility time.Duration `required:"" help:"The lease from now; 0s ends it, and the receive counts."`
}

func (queueExtendCmd) Help() string {
	return examples("queue extend jobs "+exampleReceipt+" --visibility 5m", "queue extend jobs "+exampleReceipt+" "+exampleMessage+" --visibility 5m")
}

func (c *queueExtendCmd) Run(ctx context.Context, out output) error {
	return c.settle(ctx, out, "extend", "extended", object{"visibility_timeout": c.Visibility.Seconds()})
}
