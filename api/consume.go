package api

import (
	"bytes"
	"context"
	"time"

	"github.com/onceward/onceward/queue"
)

type consumeRequest struct {
	keyed
	Queue      *string `json:"queue"`
	Max        *whole  `json:"max_messages"`
	Visibility seconds `json:"visibility_timeout"`
	Wait       seconds `json:"wait_seconds"`
}

// consume hands out messages, waiting for some if the call asks for that.
func (c *call) consume() (any, error) {
	var r consumeRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	name, err := bodyQueue(r.Queue)
	if err != nil {
		return nil, err
	}
	if err := wholeIn("/max_messages", r.Max, 1, queue.MaxBatch); err != nil {
		return nil, err
	}
	if err := r.Visibility.in("/visibility_timeout", time.Second, queue.MaxVisibility); err != nil {
		return nil, err
	}
	if err := r.Wait.in("/wait_seconds", 0, queue.MaxWait); err != nil {
		return nil, err
	}
	m, err := c.receive(queue.Receive{Project: c.project, Queue: name, Max: int(or(r.Max, whole{n: 1}).n), Visibility: r.Visibility.d}, r.Wait.d)
	if err != nil {
		return nil, err
	}
	if len(m) > 0 {
		c.lost = func() { c.giveBack(name, m) }
	}
	return consumed{c, m}, nil
}

// Between two looks that a wake-up was for nothing for: a paused queue has messages, and many waiters wake for one.
const (
	firstPause = time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// receive looks until there is something, the time is over, the client is gone or the server stops.
func (c *call) receive(r queue.Receive, wait time.Duration) ([]queue.Message, error) {
	if c.stopped.Err() != nil {
		return nil, nil // what is handed out now would only be given back
	}
	r.Waits = wait > 0
	m, err := c.Store.Receive(c.ctx, r)
	if wait == 0 || len(m) > 0 || err != nil {
		return m, err
	}
	ctx, cancel := context.WithTimeout(c.ctx, wait)
	defer cancel()
	defer context.AfterFunc(c.stopped, cancel)()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		slept := time.Now()
		if m := c.Store.WaitMessages(ctx, r); len(m) > 0 {
			err := c.identify()
			if err != nil {
				c.giveBack(r.Queue, m)
				m = nil
			}
			return m, err
		}
		if c.ctx.Err() != nil || c.stopped.Err() != nil {
			return nil, nil
		}
		if err := c.identify(); err != nil {
			return nil, err
		}
		// At the end of the time too: what came in its last moment is not left for the next call.
		r.Waits = ctx.Err() == nil
		if m, err := c.Store.Receive(c.ctx, r); len(m) > 0 || err != nil || !r.Waits {
			return m, err
		}
		if time.Since(slept) > lastPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// giveBack releases what was received for a client that is gone, the counts with it. What cannot be released waits for its lease.
func (c *call) giveBack(name string, m []queue.Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), 5*time.Second)
	defer cancel()
	items := make([]queue.Settle, len(m))
	for i := range m {
		items[i] = queue.Settle{Verb: queue.Release, Project: c.project, Queue: name, ID: m[i].ID, Lease: m[i].Lease}
	}
	if _, err := c.Store.Settle(ctx, items...); err != nil {
		c.Logger.WarnContext(ctx, "messages wait for their lease's end: their client went away and they could not be released",
			"queue", name, "messages", len(m), "request_id", c.id, "error", err)
	}
}

// consumed is the answer to a consume.
type consumed struct {
	c *call
	m []queue.Message
}

func (l consumed) writeJSON(buf *bytes.Buffer) {
	name := "items"
	if l.c.bare {
		name = "messages"
	}
	buf.WriteString(`{"` + name + `":[`)
	for i := range l.m {
		if i > 0 {
			buf.WriteByte(',')
		}
		m := &l.m[i]
		l.c.writeMessage(buf, m, queue.InFlight)
		buf.WriteString(`,"receipt_handle":"`)
		buf.WriteString(l.c.IDs.Receipt(l.c.project, m.Queue, m.ID, m.Lease))
		buf.WriteString(`","visible_until":`)
		writeTime(buf, m.VisibleAt)
		buf.WriteByte('}')
	}
	buf.WriteString(`],"next_cursor":null}`)
}
