package api

import (
	"context"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

// queueSettings are the fields of create and update.
type queueSettings struct {
	DLQ            *string        `json:"dlq"`
	DeadLetter     *string        `json:"dead_letter_queue"`
	MaxReceives    *whole         `json:"max_receive_count"`
	MaxRetries     *whole         `json:"max_retries"`
	Visibility     seconds        `json:"visibility_timeout_default"`
	RetentionDays  optionalNumber `json:"message_retention_days"`
	DedupWindow    seconds        `json:"dedup_window_seconds"`
	ContentDedup   *bool          `json:"content_dedup"`
	RequireReceipt *bool          `json:"require_receipt"`
	EnablePriority *bool          `json:"enable_priority"` // it always is
}

// spec gives the settings, aliases resolved, with the names that the client used for the fields that have two.
func (s *queueSettings) spec(project int64, name string) (queue.Spec, map[string]string, error) {
	q := queue.Spec{Project: project, Name: name, ContentDedup: s.ContentDedup, RequireReceipt: s.RequireReceipt, Visibility: s.Visibility.ptr(), DedupWindow: s.DedupWindow.ptr()}
	names := map[string]string{}
	var err error
	if q.DLQ, err = alias("dlq", "dead_letter_queue", s.DLQ, s.DeadLetter, names); err != nil {
		return q, nil, err
	}
	max, err := alias("max_receive_count", "max_retries", s.MaxReceives, s.MaxRetries, names)
	if err != nil {
		return q, nil, err
	}
	if err := at(wholeIn("/max_receive_count", max, 1, queue.MaxMaxReceives), "", names); err != nil {
		return q, nil, err
	}
	if max != nil {
		q.MaxReceives = new(int(max.n))
	}
	if err := s.Visibility.in("/visibility_timeout_default", time.Second, queue.MaxVisibility); err != nil {
		return q, nil, err
	}
	if err := s.DedupWindow.in("/dedup_window_seconds", queue.MinDedupWindow, queue.MaxDedupWindow); err != nil {
		return q, nil, err
	}
	if d := s.RetentionDays; d.given {
		if !(d.f >= 1 && d.f <= 30) {
			return q, nil, fault.Invalid("/message_retention_days", "message_retention_days is %s; it must be 1 to 30", d.raw)
		}
		q.Retention = new(time.Duration(d.f * float64(24*time.Hour)).Round(time.Second))
	}
	return q, names, nil
}

// alias gives the one value of a field that has two names, and notes which the client used.
func alias[T comparable](name, other string, v, w *T, names map[string]string) (*T, error) {
	switch {
	case w == nil:
		return v, nil
	case v != nil && *v != *w:
		return nil, fault.Invalid("/"+other, "%s is %v and %s, another name of it, is %v", name, *v, other, *w).WithHint("send one of them")
	case v == nil:
		names["/"+name] = "/" + other
	}
	return w, nil
}

type createRequest struct {
	keyed
	Name *string `json:"name"`
	Type *string `json:"type"`
	queueSettings
}

func (c *call) createQueue() (any, error) {
	var r createRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	if r.Name == nil {
		return nil, fault.Invalid("/name", "name is required: the name of the queue to make")
	}
	spec, names, err := r.spec(c.project, *r.Name)
	if err != nil {
		return nil, err
	}
	if t := r.Type; t != nil {
		if *t != queue.Standard && *t != queue.FIFO {
			return nil, fault.Invalid("/type", "type is %s; it must be \"standard\" or \"fifo\"", fault.Quote(*t))
		}
		spec.FIFO = new(*t == queue.FIFO)
	}
	if err := spec.Check(); err != nil {
		return nil, at(err, "", names)
	}
	same := viewQueue(spec.New(time.Time{})) // with its defaults
	data, err := c.once(r.Key, same, func(ctx context.Context) (any, error) {
		q, err := c.Store.CreateQueue(ctx, spec)
		return viewQueue(q), err
	})
	return data, at(err, "", names)
}

type updateRequest struct {
	keyed
	queueSettings
}

func (c *call) updateQueue() (any, error) {
	var r updateRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	spec, names, err := r.spec(c.project, name)
	if err != nil {
		return nil, err
	}
	q, err := c.Store.UpdateQueue(c.ctx, spec)
	return viewQueue(q), at(err, "", names)
}

// pathQueue gives the queue that the path names. What cannot be a queue's name names none.
func (c *call) pathQueue() (string, error) {
	name := c.r.PathValue("queue")
	if queue.CheckName("", name) != nil {
		return "", queue.NoQueue(name)
	}
	return name, nil
}

func (c *call) getQueue() (any, error) {
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	q, err := c.Store.Queue(c.ctx, c.project, name)
	return viewQueue(q), err
}

func (c *call) listQueues() (any, error) {
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	rows, err := c.Store.Queues(c.ctx, c.project, queue.Page{After: p.After, Limit: p.Limit + 1})
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, p.Limit, func(q queue.Queue) int64 { return q.ID })
	return list[queueView]{views(rows, viewQueue), c.query.next(next)}, nil
}

func (c *call) deleteQueue() (any, error) {
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	force, err := c.query.bool("force")
	if err != nil {
		return nil, err
	}
	return deleted{true}, c.Store.DeleteQueue(c.ctx, c.project, name, force)
}

type deleted struct {
	Deleted bool `json:"deleted"`
}

func (c *call) pauseQueue() (any, error)  { return c.setPaused(true) }
func (c *call) resumeQueue() (any, error) { return c.setPaused(false) }

func (c *call) setPaused(paused bool) (any, error) {
	if err := c.decodeOptional(&keyed{}); err != nil {
		return nil, err
	}
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	q, err := c.Store.PauseQueue(c.ctx, c.project, name, paused)
	return viewQueue(q), err
}

type purgeRequest struct {
	keyed
	Confirm *string `json:"confirm"`
}

type purgedView struct {
	Purged int64 `json:"purged"`
}

func (c *call) purgeQueue() (any, error) {
	var r purgeRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	if r.Confirm == nil || *r.Confirm != name {
		return nil, fault.Invalid("/confirm", "confirm is %s; to purge the queue it must be its name, %q", fault.Quote(or(r.Confirm, "")), name).WithHint("what is purged is gone")
	}
	n, err := c.Store.PurgeQueue(c.ctx, c.project, name)
	return purgedView{n}, err
}
