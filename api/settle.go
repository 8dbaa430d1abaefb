package api

import (
	"bytes"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
)

// target names the message that an act is about.
type target struct {
	keyed
	Queue   *string `json:"queue"` // of a call; never of an item of a batch
	Receipt *string `json:"receipt_handle"`
	Message *string `json:"message_id"`
}

// act is the body of ack, nack, release or extend, or an item of their batches.
type act interface {
	of() *target
	// fill sets what the act says beside its target.
	fill(*queue.Settle) error
}

type ackItem struct{ target }

type nackItem struct {
	target
	Requeue *bool   `json:"requeue"`
	Delay   seconds `json:"delay_seconds"`
	Error   *string `json:"error"`
}

type releaseItem struct {
	target
	Delay seconds `json:"delay_seconds"`
}

type extendItem struct {
	target
	Visibility seconds `json:"visibility_timeout"`
}

func (t *target) of() *target { return t }

func (*ackItem) fill(*queue.Settle) error { return nil }

// maxErrorText is how much of a worker's word is kept: a long one is cut, since a nack must not fail for it.
const maxErrorText = 4096

func (n *nackItem) fill(s *queue.Settle) error {
	s.DeadLetter = !or(n.Requeue, true)
	s.Delay, s.HasDelay = n.Delay.d, n.Delay.given
	s.Error = clipped(n.Error)
	return n.Delay.in("/delay_seconds", 0, queue.MaxDelay)
}

// clipped gives as much of a worker's word as is kept.
func clipped(word *string) string {
	s := or(word, "")
	if len(s) > maxErrorText {
		s = strings.ToValidUTF8(s[:maxErrorText], "")
	}
	return s
}

func (r *releaseItem) fill(s *queue.Settle) error {
	s.Delay = r.Delay.d
	return r.Delay.in("/delay_seconds", 0, queue.MaxDelay)
}

func (e *extendItem) fill(s *queue.Settle) error {
	if !e.Visibility.given {
		return fault.Invalid("/visibility_timeout", "visibility_timeout is required: 0 to 43200 seconds from now")
	}
	s.Visibility = e.Visibility.d
	return e.Visibility.in("/visibility_timeout", 0, queue.MaxVisibility)
}

// actOf is a pointer to T that is an act.
type actOf[T any] interface {
	*T
	act
}

func settleOne[T any, P actOf[T]](verb queue.Verb) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var item P = new(T)
		if err := c.decode(item); err != nil {
			return nil, err
		}
		name, err := bodyQueue(item.of().Queue)
		if err != nil {
			return nil, err
		}
		s, err := c.settlement(verb, name, item)
		if err != nil {
			return nil, err
		}
		out, err := c.Store.Settle(c.ctx, s)
		if err != nil {
			return nil, err
		}
		if out[0].Err != nil {
			return nil, out[0].Err
		}
		return settled{verb, &out[0]}, nil
	}
}

// settlement gives the act on the message that its target names.
func (c *call) settlement(verb queue.Verb, name string, a act) (queue.Settle, error) {
	s := queue.Settle{Verb: verb, Project: c.project, Queue: name}
	t := a.of()
	if err := a.fill(&s); err != nil {
		return s, err
	}
	if t.Receipt == nil && t.Message == nil {
		return s, fault.Invalid("/receipt_handle", "receipt_handle is required, as consume gave it").WithHint("message_id stands for the newest receipt, whoever has it")
	}
	if t.Receipt != nil {
		if err := c.readHandle(&s, *t.Receipt); err != nil {
			return s, err
		}
	}
	if t.Message != nil {
		id, ok := c.IDs.Decode(ids.Message, c.project, *t.Message)
		if !ok {
			return s, noMessage("/message_id", *t.Message)
		}
		if t.Receipt != nil && id != s.ID {
			return s, fault.Invalid("/message_id", "message_id is %s and receipt_handle is of another message", fault.Quote(*t.Message)).WithHint("send one of them")
		}
		s.ID = id
	}
	return s, nil
}

// readHandle takes a receipt, or a message's id in its place, as some clients send it.
func (c *call) readHandle(s *queue.Settle, handle string) error {
	var ok bool
	if strings.HasPrefix(handle, string(ids.Message)) {
		if s.ID, ok = c.IDs.Decode(ids.Message, c.project, handle); !ok {
			return noMessage("/receipt_handle", handle)
		}
		return nil
	}
	var err error
	s.ID, s.Lease, err = c.receipt(s.Queue, handle)
	return err
}

// receipt reads a handle of a queue's message.
func (c *call) receipt(name, handle string) (id int64, lease int, err error) {
	id, lease, ok := c.IDs.OpenReceipt(c.project, name, handle)
	if !ok || lease == 0 {
		return 0, 0, &fault.Error{
			Code: fault.ReceiptInvalid, Field: "/receipt_handle", Message: "the receipt_handle " + fault.Quote(handle) + " is not one of this queue",
			Hint: "send it as consume gave it, with the queue that it came from",
		}
	}
	return id, lease, nil
}

func noMessage(field, id string) error {
	return &fault.Error{Code: fault.MessageNotFound, Field: field, Message: "there is no message " + fault.Quote(id) + ": it was acked, purged or expired, or never was"}
}

// settled is the answer to an act.
type settled struct {
	verb queue.Verb
	out  *queue.Settled
}

var pastTense = map[queue.Verb]string{queue.Ack: "acked", queue.Nack: "nacked", queue.Release: "released", queue.Extend: "extended"}

func (s settled) writeJSON(buf *bytes.Buffer) {
	s.writeOpen(buf)
	buf.WriteByte('}')
}

func (s settled) writeOpen(buf *bytes.Buffer) {
	buf.WriteString(`{"`)
	buf.WriteString(pastTense[s.verb])
	buf.WriteString(`":`)
	writeBool(buf, s.out.Applied)
	buf.WriteString(`,"reason":`)
	writeOptional(buf, s.out.Reason)
	at := s.out.VisibleAt
	if !s.out.Applied {
		at = time.Time{}
	}
	switch s.verb {
	case queue.Nack, queue.Release:
		buf.WriteString(`,"status":`)
		writeOptional(buf, string(s.out.Status))
		buf.WriteString(`,"visible_at":`)
		writeTime(buf, at)
	case queue.Extend:
		buf.WriteString(`,"visible_until":`)
		writeTime(buf, at)
	}
}
