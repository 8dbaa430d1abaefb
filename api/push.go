package api

import (
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

type subscribeRequest struct {
	keyed
	URL         *string `json:"url"`
	Secret      *string `json:"secret"`
	Timeout     seconds `json:"timeout_seconds"`
	MaxInFlight *whole  `json:"max_in_flight"`
}

type subscribedView struct {
	ID     string  `json:"id"`
	Secret *string `json:"secret,omitzero"` // that was made, this once
}

type subscriptionView struct {
	ID          string  `json:"id"`
	URL         string  `json:"url"`
	Timeout     float64 `json:"timeout_seconds"`
	MaxInFlight int     `json:"max_in_flight"`
	CreatedAt   stamp   `json:"created_at"`
}

func (c *call) subscribe() (any, error) {
	var r subscribeRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	spec := webhook.SubscriptionSpec{Project: c.project, Queue: name, URL: or(r.URL, ""), Secret: r.Secret, Timeout: r.Timeout.ptr()}
	if r.MaxInFlight != nil {
		spec.MaxInFlight = new(int(r.MaxInFlight.n))
	}
	if err := r.Timeout.in("/timeout_seconds", time.Second, webhook.MaxTimeout); err != nil {
		return nil, err
	}
	if err := wholeIn("/max_in_flight", r.MaxInFlight, 1, webhook.MaxInFlight); err != nil {
		return nil, err
	}
	made, secret, err := spec.New(c.Rules)
	if err != nil {
		return nil, err
	}
	s, fresh, err := c.Store.Subscribe(c.ctx, made, func(s *webhook.Subscription) {
		spec.Apply(s)
		if spec.Secret != nil {
			s.Sealed = made.Sealed
		}
	})
	if err != nil {
		return nil, err
	}
	v := subscribedView{ID: c.IDs.Encode(ids.Push, c.project, s.ID)}
	if fresh && spec.Secret == nil {
		v.Secret = &secret
	}
	return v, nil
}

func (c *call) subscriptions() (any, error) {
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	rows, err := c.Store.Subscriptions(c.ctx, c.project, name, queue.Page{After: p.After, Limit: p.Limit + 1})
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, p.Limit, func(s webhook.Subscription) int64 { return s.ID })
	return list[subscriptionView]{views(rows, func(s webhook.Subscription) subscriptionView {
		return subscriptionView{c.IDs.Encode(ids.Push, c.project, s.ID), s.URL, s.Timeout.Seconds(), s.MaxInFlight, stamp(s.CreatedAt)}
	}), c.query.next(next)}, nil
}

func (c *call) unsubscribe() (any, error) {
	name, err := c.pathQueue()
	if err != nil {
		return nil, err
	}
	if _, err := c.Store.Queue(c.ctx, c.project, name); err != nil {
		return nil, err
	}
	id, err := c.pathID(ids.Push)
	if err != nil {
		return nil, err
	}
	return deleted{true}, c.Store.Unsubscribe(c.ctx, c.project, name, id)
}
