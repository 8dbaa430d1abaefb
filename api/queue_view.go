package api

import (
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

type queueView struct {
	Name           string  `json:"name"`
	Type           string  `json:"type"`
	DLQ            *string `json:"dlq"`
	IsDLQ          bool    `json:"is_dlq"`
	MaxReceives    *int    `json:"max_receive_count"`
	Visibility     float64 `json:"visibility_timeout_default"`
	RetentionDays  float64 `json:"message_retention_days"`
	DedupWindow    float64 `json:"dedup_window_seconds"`
	ContentDedup   bool    `json:"content_dedup"`
	RequireReceipt bool    `json:"require_receipt"`
	EnablePriority bool    `json:"enable_priority"`
	Paused         bool    `json:"paused"`
	CreatedAt      stamp   `json:"created_at"`
}

func viewQueue(q queue.Queue) queueView {
	v := queueView{
		Name: q.Name, Type: q.Type(), DLQ: text(q.DLQ), IsDLQ: q.IsDLQ, Visibility: q.Visibility.Seconds(),
		RetentionDays: q.Retention.Seconds() / 86400, DedupWindow: q.DedupWindow.Seconds(), ContentDedup: q.ContentDedup, RequireReceipt: q.RequireReceipt,
		EnablePriority: !q.FIFO, Paused: q.Paused, CreatedAt: stamp(q.CreatedAt),
	}
	if !q.IsDLQ { // which dead-letters nothing
		v.MaxReceives = &q.MaxReceives
	}
	return v
}

type statsView struct {
	Queue     string  `json:"queue"`
	Messages  int64   `json:"message_count"`
	Available int64   `json:"available_count"`
	InFlight  int64   `json:"in_flight_count"`
	Delayed   int64   `json:"delayed_count"`
	Dead      int64   `json:"dlq_count"`
	OldestAge float64 `json:"oldest_message_age_seconds"`
}

func (c *call) queueStats() (any, error) {
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	s, err := c.Store.QueueStats(c.ctx, c.project, name)
	return statsView{name, s.Messages, s.Available, s.InFlight, s.Delayed, s.Dead, max(0, s.OldestAge.Round(time.Microsecond).Seconds())}, err
}

// messages looks at a queue without a lease.
func (c *call) messages() (any, error) {
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	status := queue.Status(c.query.get("status"))
	switch status {
	case "", queue.Available, queue.Delayed, queue.InFlight:
	default:
		return nil, parameter("status", "status is %s; it must be available, delayed or in_flight", fault.Quote(string(status)))
	}
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	m, next, err := c.Store.Messages(c.ctx, c.project, name, status, p)
	if err != nil {
		return nil, err
	}
	return messageList{c, m, c.query.next(next), func(m *queue.Message) queue.Status { return m.Status(m.LookedAt) }}, nil
}
