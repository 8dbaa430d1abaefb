package api

import (
	"bytes"
	"encoding/json/jsontext"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
)

// publishItem is a message to publish, alone or in a batch.
type publishItem struct {
	keyed
	Payload  jsontext.Value `json:"payload"`
	Body     jsontext.Value `json:"body"`
	Delay    seconds        `json:"delay_seconds"`
	Priority *whole         `json:"priority"`
	Headers  stringMap      `json:"headers"`
	Group    *string        `json:"message_group_id"`
	OriginAt moment         `json:"origin_at"`
}

var bodyForPayload = map[string]string{"/payload": "/body"}

// message gives what the item says, without its key. The fields of its errors are the item's own.
func (it *publishItem) message(project int64, name string) (queue.Publish, error) {
	p := queue.Publish{Project: project, Queue: name, Body: it.Payload, Delay: it.Delay.d, Headers: it.Headers.plain(), Group: or(it.Group, ""), OriginAt: it.OriginAt.Time}
	if it.Body != nil {
		if it.Payload != nil && !sameJSON(it.Payload, it.Body) {
			return p, fault.Invalid("/body", "body and payload, two names of one field, differ").WithHint("send one of them")
		}
		p.Body = it.Body
	}
	if p.Body == nil {
		return p, fault.Invalid("/payload", "payload is required: any JSON")
	}
	if err := it.Delay.in("/delay_seconds", 0, queue.MaxDelay); err != nil {
		return p, err
	}
	if err := wholeIn("/priority", it.Priority, 0, queue.MaxPriority); err != nil {
		return p, err
	}
	p.Priority = int(or(it.Priority, whole{}).n)
	if it.Group != nil && *it.Group == "" {
		return p, fault.Invalid("/message_group_id", "message_group_id is empty; it must be 1 to %d printable ASCII characters", queue.MaxGroupID).WithHint("leave it out for a message of no group")
	}
	err := p.Check()
	if it.Payload == nil {
		err = at(err, "", bodyForPayload)
	}
	return p, err
}

func sameJSON(a, b jsontext.Value) bool {
	x, err := canon.Append(nil, a)
	if err != nil {
		return false
	}
	y, err := canon.Append(nil, b)
	return err == nil && bytes.Equal(x, y)
}

type publishRequest struct {
	Queue *string `json:"queue"`
	publishItem
}

func (c *call) publish() (any, error) {
	var r publishRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	name, err := bodyQueue(r.Queue)
	if err != nil {
		return nil, err
	}
	p, err := r.message(c.project, name)
	if err != nil {
		return nil, err
	}
	p.Price = c.PublishPrice
	key, err := c.idempotencyKey(r.Key)
	if err != nil {
		return nil, err
	}
	if err := p.SetKey(key); err != nil {
		return nil, err
	}
	out, err := c.Store.Publish(c.ctx, p)
	if err != nil {
		return nil, err
	}
	if out[0].Err != nil {
		return nil, c.explainCredit(out[0].Err)
	}
	c.replay, c.cost = out[0].Replay, out[0].Cost
	return published{c, &p, &out[0]}, nil
}

// bodyQueue gives the queue that a body names. What cannot be a queue's name names none, the server's own least of all.
func bodyQueue(name *string) (string, error) {
	switch {
	case name == nil || *name == "":
		return "", fault.Invalid("/queue", "queue is required: the name of a queue")
	case queue.CheckName("", *name) != nil:
		return "", queue.NoQueue(*name)
	}
	return *name, nil
}

// published is the answer to a publish.
type published struct {
	c   *call
	p   *queue.Publish
	out *queue.Published
}

func (p published) writeJSON(buf *bytes.Buffer) {
	p.writeOpen(buf)
	buf.WriteByte('}')
}

func (p published) writeOpen(buf *bytes.Buffer) {
	status := queue.Available
	if p.out.VisibleAt.After(p.out.PublishedAt) {
		status = queue.Delayed
	}
	buf.WriteString(`{"message_id":"`)
	buf.WriteString(p.c.IDs.Encode(ids.Message, p.c.project, p.out.ID))
	buf.WriteString(`","queue":`)
	writeString(buf, p.p.Queue)
	buf.WriteString(`,"payload":`)
	buf.Write(p.p.Body)
	buf.WriteString(`,"status":"`)
	buf.WriteString(string(status))
	buf.WriteString(`","delivery_count":0,"published_at":`)
	writeTime(buf, p.out.PublishedAt)
	buf.WriteString(`,"visible_at":`)
	writeTime(buf, p.out.VisibleAt)
}
