package api

import (
	"context"
	"strconv"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
)

// deadLetters looks at the dead letters that came from a queue.
func (c *call) deadLetters() (any, error) {
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	m, next, err := c.Store.DeadLetters(c.ctx, c.project, name, p)
	if err != nil {
		return nil, err
	}
	return messageList{c, m, c.query.next(next), func(*queue.Message) queue.Status { return queue.Dead }}, nil
}

type redriveRequest struct {
	keyed
	Max    *whole         `json:"max_messages"`
	IDs    []string       `json:"message_ids"`
	Rate   optionalNumber `json:"rate_per_second"`
	DryRun bool           `json:"dry_run"`
}

// startRedrive begins to send a queue's dead letters back to it.
func (c *call) startRedrive() (any, error) {
	var r redriveRequest
	if err := c.decodeOptional(&r); err != nil {
		return nil, err
	}
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	if err := wholeIn("/max_messages", r.Max, 1, 1<<53); err != nil {
		return nil, err
	}
	if err := rateIn("/rate_per_second", r.Rate); err != nil {
		return nil, err
	}
	in := queue.RedriveCall{Project: c.project, Queue: name, Max: or(r.Max, whole{}).n, Rate: r.Rate.f, DryRun: r.DryRun, Who: c.who()}
	if in.IDs, err = c.messageIDs(r.IDs); err != nil {
		return nil, err
	}
	same := in
	same.Who = ""
	return c.once(r.Key, same, func(ctx context.Context) (any, error) {
		d, err := c.Store.StartRedrive(ctx, in)
		return c.viewRedrive(d), err
	})
}

func (c *call) messageIDs(given []string) ([]int64, error) {
	if given == nil {
		return nil, nil
	}
	if n := len(given); n == 0 || n > queue.MaxBatch {
		return nil, fault.Invalid("/message_ids", "message_ids has %d ids; it must have 1 to %d", n, queue.MaxBatch).WithHint("leave it out for all that are there")
	}
	list := make([]int64, len(given))
	for i, s := range given {
		id, ok := c.IDs.Decode(ids.Message, c.project, s)
		if !ok {
			return nil, noMessage("/message_ids/"+strconv.Itoa(i), s)
		}
		list[i] = id
	}
	return list, nil
}
