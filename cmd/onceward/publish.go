package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// messageSettings are what a message has beside its payload.
type messageSettings struct {
	Delay    *time.Duration    `help:"Before it can be received."`
	Priority *int              `help:"0 to 9, 9 first."`
	Group    *string           `help:"Groups take turns."`
	Header   map[string]string `help:"Headers of the message: --header=name=value."`
	OriginAt *string           `help:"When the work began, RFC 3339 (now)."`
}

func (s *messageSettings) body(o object) object {
	with(o, "delay_seconds", seconds(s.Delay))
	with(o, "priority", s.Priority)
	with(o, "message_group_id", s.Group)
	with(o, "origin_at", s.OriginAt)
	if s.Header != nil {
		o["headers"] = s.Header
	}
	return o
}

type queuePublishCmd struct {
	queueOne
	messageSettings
	Payload string  `arg:"" help:"Any JSON, published byte for byte; - reads standard input."`
	Key     *string `aliases:"idempotency-key" help:"Publish key: the same again is the same message."`
}

func (queuePublishCmd) Help() string {
	return examples(`queue publish jobs '{"n": 1}' --key job-1`, "queue publish jobs - --delay 10m <job.json")
}

func (c *queuePublishCmd) Run(ctx context.Context, out output) error {
	payload, err := readJSON(c.Payload)
	if err != nil {
		return err
	}
	body := c.body(object{"queue": c.Name})
	with(body, "idempotency_key", c.Key)
	raw, err := withPayload(body, payload)
	if err != nil {
		return err
	}
	var o object
	replay, err := c.call(ctx, "POST", queuePath+"publish", raw, &o)
	if err != nil {
		return err
	}
	if c.JSON {
		o["idempotent_replay"] = replay
		return printJSON(out, o)
	}
	if replay {
		_, err = fmt.Fprintf(out, "message %s was known: this is the first answer again\n", line(o["message_id"]))
	} else {
		_, err = fmt.Fprintf(out, "message %s\n", line(o["message_id"]))
	}
	return err
}

type queuePublishBatchCmd struct {
	queueOne
	messageSettings
	File     string `arg:"" optional:"" default:"-" help:"File of JSON lines; - is standard input."`
	Key      string `aliases:"idempotency-key" help:"Begins each publish key, which ends in the line's number: to run the same file again repeats nothing."`
	Messages bool   `help:"A line is a whole message (payload, idempotency_key, delay_seconds, …), not its payload."`
}

func (queuePublishBatchCmd) Help() string {
	return examples("queue publish-batch jobs jobs.jsonl --key monday", `queue publish-batch jobs - --messages <messages.jsonl`) +
		"\n\nLines go out in order, up to 500 at a time. An item that is refused does not touch the others: its line is named, and the command exits 1."
}

const (
	batchLines = 500
	batchBytes = 8 << 20
	lineBytes  = 4 << 20
)

// batchDone is what came of a batch.
type batchDone struct {
	Published int              `json:"published"`
	Known     int              `json:"known"` // replays
	Refused   []object         `json:"refused"`
	Items     []jsontext.Value `json:"-"`
}

func (c *queuePublishBatchCmd) Run(ctx context.Context, out output) error {
	extra := c.body(object{})
	if c.Messages && (c.Key != "" || len(extra) > 0) {
		return usage("with --messages each line says its own key, delay, priority, group and headers")
	}
	in := io.Reader(os.Stdin)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		in = f
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineBytes)
	done := batchDone{Refused: []object{}}
	var at atomic.Int64
	p := startProgress(func(time.Duration, int) string { return fmt.Sprintf("%d lines answered", at.Load()) })
	n, err := c.publish(ctx, lines, extra, &done, &at)
	p.stop()
	if err != nil {
		again := "those may be published or not"
		if c.Key != "" {
			again = "to run the same file with the same --key again repeats nothing"
		}
		return fmt.Errorf("lines up to %d were answered, later ones not: %s: %w", n, again, err)
	}
	for _, o := range done.Refused {
		e, _ := o["error"].(object)
		fmt.Fprintf(os.Stderr, "line %s: %s (%s)\n", line(o["line"]), line(e["message"]), line(e["code"]))
	}
	if c.JSON {
		err = printJSON(out, done)
	} else {
		_, err = fmt.Fprintf(out, "%d published, %d known before, %d refused\n", done.Published, done.Known, len(done.Refused))
	}
	if err == nil && len(done.Refused) > 0 {
		err = fmt.Errorf("%d of %d messages were refused", len(done.Refused), n)
	}
	return err
}

// publish sends all lines and gives the number of the last that was answered.
func (c *queuePublishBatchCmd) publish(ctx context.Context, lines *bufio.Scanner, extra object, done *batchDone, at *atomic.Int64) (int, error) {
	var items [][]byte
	var numbers []int
	size, n := 0, 0
	flush := func() error {
		if len(items) == 0 {
			return nil
		}
		if err := c.send(ctx, items, numbers, done); err != nil {
			return err
		}
		at.Store(int64(n))
		items, numbers, size = nil, nil, 0
		return nil
	}
	for lines.Scan() {
		n++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if !jsontext.Value(text).IsValid() {
			return int(at.Load()), fmt.Errorf("line %d is not JSON: %.80s", n, text)
		}
		item := bytes.Clone(text)
		if !c.Messages {
			if c.Key != "" {
				extra["idempotency_key"] = c.Key + ":" + strconv.Itoa(n)
			}
			var err error
			if item, err = withPayload(extra, text); err != nil {
				return int(at.Load()), err
			}
		}
		items, numbers, size = append(items, item), append(numbers, n), size+len(item)
		if len(items) == batchLines || size >= batchBytes {
			if err := flush(); err != nil {
				return int(at.Load()), err
			}
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("line %d is longer than %d bytes", n+1, lineBytes)
		}
		return int(at.Load()), err
	}
	return n, flush()
}

// send makes one call and counts what came of its items.
func (c *queuePublishBatchCmd) send(ctx context.Context, items [][]byte, numbers []int, done *batchDone) error {
	name, err := json.Marshal(c.Name)
	if err != nil {
		return err
	}
	body := append(append([]byte(`{"queue":`), name...), `,"messages":[`...)
	body = append(append(body, bytes.Join(items, []byte(","))...), "]}"...)
	var got list
	if _, err := c.call(ctx, "POST", queuePath+"publish_batch", jsontext.Value(body), &got); err != nil {
		return err
	}
	if len(got.Items) != len(items) {
		return fmt.Errorf("%d messages were sent and %d answered: this is not a server that the command knows", len(items), len(got.Items))
	}
	for i, o := range got.Items {
		switch {
		case o["error"] != nil:
			done.Refused = append(done.Refused, object{"line": numbers[i], "error": o["error"]})
		case o["idempotent_replay"] == true:
			done.Known++
		default:
			done.Published++
		}
	}
	return nil
}
