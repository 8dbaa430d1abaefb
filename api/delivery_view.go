package api

import (
	"strings"
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/webhook"
)

type deliveryView struct {
	ID            string        `json:"delivery_id"`
	EventID       string        `json:"event_id"`
	EventType     string        `json:"event_type"`
	EndpointID    string        `json:"endpoint_id"`
	Tenant        *string       `json:"tenant"`
	Subject       *string       `json:"subject"`
	State         string        `json:"state"`
	Policy        string        `json:"policy"`
	Key           string        `json:"delivery_key"`
	CreatedAt     stamp         `json:"created_at"`
	NextAttemptAt stamp         `json:"next_attempt_at"`
	DeliveredAt   stamp         `json:"delivered_at"`
	Attempts      []attemptView `json:"attempts"`
}

type attemptView struct {
	ID            string   `json:"attempt_id"`
	Attempt       int      `json:"attempt"`
	Cause         string   `json:"cause"`
	StartedAt     stamp    `json:"started_at"`
	FinishedAt    stamp    `json:"finished_at"`
	Outcome       string   `json:"outcome"`
	Class         *string  `json:"class"`
	StatusCode    *int     `json:"status_code"`
	Latency       *float64 `json:"latency_ms"`
	ResponseStart *string  `json:"response_start"`
	Error         *string  `json:"error"`
	NextAttemptAt stamp    `json:"next_attempt_at"`
}

func (c *call) viewDelivery(d webhook.Delivery) deliveryView {
	endpoint := c.IDs.Encode(ids.Endpoint, c.project, d.EndpointID)
	return deliveryView{
		ID: c.IDs.Encode(ids.Delivery, c.project, d.ID), EventID: d.EventID, EventType: d.EventType, EndpointID: endpoint,
		Tenant: text(d.Tenant), Subject: text(d.Subject), State: string(d.State), Policy: string(d.Policy),
		Key: webhook.DeliveryKey(endpoint, d.EventID, d.KeySend), CreatedAt: stamp(d.CreatedAt), NextAttemptAt: stamp(d.NextAttemptAt),
		DeliveredAt: stamp(d.DeliveredAt), Attempts: views(d.Attempts, c.viewAttempt),
	}
}

func (c *call) viewAttempt(a webhook.Attempt) attemptView {
	v := attemptView{
		ID: c.IDs.Encode(ids.Attempt, c.project, a.ID), Attempt: a.Attempt, Cause: string(a.Cause), StartedAt: stamp(a.StartedAt), FinishedAt: stamp(a.FinishedAt),
		Outcome: string(a.Result), Class: text(string(a.Class)), ResponseStart: text(strings.ToValidUTF8(string(a.ResponseStart), "\ufffd")),
		Error: text(a.Error), NextAttemptAt: stamp(a.NextAttemptAt),
	}
	if a.StatusCode != 0 {
		v.StatusCode = &a.StatusCode
	}
	if a.Latency > 0 {
		v.Latency = new(float64(a.Latency.Round(time.Microsecond)) / 1e6)
	}
	return v
}
