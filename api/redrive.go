package api

import (
	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

type redriveView struct {
	ID         string   `json:"redrive_id"`
	Queue      *string  `json:"queue"` // null: of webhook deliveries
	State      string   `json:"state"`
	DryRun     bool     `json:"dry_run"`
	Rate       *float64 `json:"rate_per_second"`
	Total      int64    `json:"total"`
	Moved      int64    `json:"moved"`
	Left       int64    `json:"left"`
	Remaining  int64    `json:"remaining"`
	CreatedAt  stamp    `json:"created_at"`
	FinishedAt stamp    `json:"finished_at"`
}

func (c *call) viewRedrive(r queue.Redrive) redriveView {
	v := redriveView{
		ID: c.IDs.Encode(ids.Redrive, c.project, r.ID), Queue: text(r.Queue), State: string(r.State), DryRun: r.DryRun, Total: r.Total,
		Moved: r.Moved, Left: r.Left, Remaining: r.Remaining(), CreatedAt: stamp(r.CreatedAt), FinishedAt: stamp(r.FinishedAt),
	}
	if r.Rate > 0 {
		v.Rate = &r.Rate
	}
	return v
}

func (c *call) getRedrive() (any, error) {
	id, err := c.pathID(ids.Redrive)
	if err != nil {
		return nil, err
	}
	return c.showRedrive(id)
}

func (c *call) showRedrive(id int64) (any, error) {
	r, err := c.Store.Redrive(c.ctx, c.project, id)
	if err != nil {
		return nil, err
	}
	return c.viewRedrive(r), c.mayRedrive(r, access.Read)
}

type redrivePartView struct {
	EndpointID string            `json:"endpoint_id"`
	State      webhook.PartState `json:"state"`
	Canary     *string           `json:"canary_delivery_id"`
	Total      int64             `json:"total"`
	Moved      int64             `json:"moved"`
	Left       int64             `json:"left"`
}

// redriveParts lists how far a redrive is with each endpoint.
func (c *call) redriveParts() (any, error) {
	id, err := c.pathID(ids.Redrive)
	if err != nil {
		return nil, err
	}
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	r, err := c.Store.Redrive(c.ctx, c.project, id)
	if err == nil {
		err = c.mayRedrive(r, access.Read)
	}
	if err != nil {
		return nil, err
	}
	limit := p.Limit
	p.Limit++
	rows, err := c.Store.RedriveParts(c.ctx, c.project, id, p)
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, limit, func(p webhook.RedrivePart) int64 { return p.EndpointID })
	return list[redrivePartView]{views(rows, func(p webhook.RedrivePart) redrivePartView {
		v := redrivePartView{EndpointID: c.IDs.Encode(ids.Endpoint, c.project, p.EndpointID), State: p.State, Total: p.Total, Moved: p.Moved, Left: p.Left}
		if p.CanaryID != 0 {
			v.Canary = text(c.IDs.Encode(ids.Delivery, c.project, p.CanaryID))
		}
		return v
	}), c.query.next(next)}, nil
}

// mayRedrive refuses a key that may act on redrives, but not of this kind: deliveries' are for webhooks, queues' for scope.
func (c *call) mayRedrive(r queue.Redrive, scope access.Scope) error {
	if c.key.May(scope) || r.Queue == "" && c.key.May(access.Webhooks) {
		return nil
	}
	return fault.New(fault.Forbidden, "the redrive of a queue wants a key of scope %s", scope)
}

// getRedriveOf gives the newest redrive of a queue, which alone can be running; a dry run where it has had no other. What a former queue of the name had is
// not this one's.
func (c *call) getRedriveOf() (any, error) {
	if id, ok := c.IDs.Decode(ids.Redrive, c.project, c.r.PathValue("queue")); ok {
		return c.showRedrive(id)
	}
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	if !c.key.May(access.Read) {
		return nil, c.mayRedrive(queue.Redrive{Queue: name}, access.Read)
	}
	q, err := c.Store.Queue(c.ctx, c.project, name)
	if err != nil {
		return nil, err
	}
	var dry *queue.Redrive
	for p := (queue.Page{Limit: maxLimit}); ; {
		rows, err := c.Store.Redrives(c.ctx, c.project, p)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			switch r := &rows[i]; {
			case r.Queue != name || r.CreatedAt.Before(q.CreatedAt):
			case !r.DryRun:
				return c.viewRedrive(*r), nil
			case dry == nil:
				dry = r
			}
		}
		if len(rows) < p.Limit {
			break
		}
		p.After = rows[len(rows)-1].ID
	}
	if dry == nil {
		return nil, fault.New(fault.NotFound, "queue %q has had no redrive", name)
	}
	return c.viewRedrive(*dry), nil
}

func (c *call) cancelRedrive() (any, error) {
	if err := c.decodeOptional(&keyed{}); err != nil {
		return nil, err
	}
	id, err := c.pathID(ids.Redrive)
	if err != nil {
		return nil, err
	}
	r, err := c.Store.Redrive(c.ctx, c.project, id)
	if err != nil {
		return nil, err
	}
	if err := c.mayRedrive(r, access.Admin); err != nil {
		return nil, err
	}
	r, err = c.Store.CancelRedrive(c.ctx, c.project, id)
	return c.viewRedrive(r), err
}

var kindNames = map[ids.Kind]string{ids.Redrive: "redrive", ids.Endpoint: "endpoint", ids.Delivery: "delivery", ids.Push: "subscription"}

// pathID gives the row that the path's id names. An id of another project or kind names none.
func (c *call) pathID(k ids.Kind) (int64, error) {
	s := c.r.PathValue("id")
	id, ok := c.IDs.Decode(k, c.project, s)
	if !ok {
		return 0, fault.New(fault.NotFound, "there is no %s %s", kindNames[k], fault.Quote(s))
	}
	return id, nil
}
