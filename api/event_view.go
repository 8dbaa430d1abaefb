package api

import (
	"bytes"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/webhook"
)

// sentView is the answer to an event: what it made for whom.
type sentView struct {
	EventID    string       `json:"event_id"`
	Deliveries []sentToView `json:"deliveries"`
}

type sentToView struct {
	ID         string `json:"delivery_id"`
	EndpointID string `json:"endpoint_id"`
	State      string `json:"state"`
}

func (c *call) viewSent(s *webhook.Sent) sentView {
	return sentView{s.EventID, views(s.Deliveries, func(d webhook.SentTo) sentToView {
		return c.viewSentTo(d.ID, d.EndpointID, webhook.Pending) // as the first answer said
	})}
}

func (c *call) viewSentTo(id, endpoint int64, state webhook.State) sentToView {
	return sentToView{c.IDs.Encode(ids.Delivery, c.project, id), c.IDs.Encode(ids.Endpoint, c.project, endpoint), string(state)}
}

type eventView struct {
	EventID   string  `json:"event_id"`
	Type      string  `json:"event_type"`
	Tenant    *string `json:"tenant"`
	Subject   *string `json:"subject"`
	CreatedAt stamp   `json:"created_at"`
}

func viewEvent(e webhook.Event) eventView {
	return eventView{e.EventID, e.Type, text(e.Tenant), text(e.Subject), stamp(e.CreatedAt)}
}

// singleEvent is an event with its payload's own bytes and its deliveries.
type singleEvent struct {
	c *call
	e webhook.Event
}

func (s singleEvent) writeJSON(buf *bytes.Buffer) {
	buf.WriteString(`{"event_id":`)
	writeString(buf, s.e.EventID)
	buf.WriteString(`,"event_type":`)
	writeString(buf, s.e.Type)
	buf.WriteString(`,"tenant":`)
	writeOptional(buf, s.e.Tenant)
	buf.WriteString(`,"subject":`)
	writeOptional(buf, s.e.Subject)
	buf.WriteString(`,"created_at":`)
	writeTime(buf, s.e.CreatedAt)
	buf.WriteString(`,"payload":`)
	buf.Write(s.e.Payload)
	buf.WriteString(`,"deliveries":[`)
	for i, d := range s.e.Deliveries {
		if i > 0 {
			buf.WriteByte(',')
		}
		v := s.c.viewSentTo(d.ID, d.EndpointID, d.State)
		buf.WriteString(`{"delivery_id":"` + v.ID + `","endpoint_id":"` + v.EndpointID + `","state":"` + v.State + `"}`)
	}
	buf.WriteString(`]}`)
}
