package api

import (
	"encoding/json/jsontext"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/webhook"
)

type eventRequest struct {
	keyed
	EventID   *string        `json:"event_id"`
	Type      *string        `json:"event_type"`
	Payload   jsontext.Value `json:"payload"`
	Tenant    *string        `json:"tenant"`
	Subject   *string        `json:"subject"`
	Endpoints []string       `json:"endpoint_ids"`
}

// sendEvent stores an event and what it makes for whom.
func (c *call) sendEvent() (any, error) {
	var r eventRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	ev := webhook.NewEvent{Project: c.project, EventID: or(r.EventID, ""), Type: or(r.Type, ""), Tenant: or(r.Tenant, ""), Subject: or(r.Subject, ""), Payload: r.Payload}
	if r.EventID == nil {
		ev.EventID = ids.NewEventID(time.Now())
	}
	err := notEmpty(r.Tenant)
	if err != nil {
		return nil, err
	}
	if ev.Endpoints, err = c.endpointIDs(r.Endpoints); err != nil {
		return nil, err
	}
	if err := ev.Check(); err != nil {
		return nil, err
	}
	if err := ev.SetHash(); err != nil {
		return nil, err
	}
	key, err := c.idempotencyKey(r.Key)
	if err != nil {
		return nil, err
	}
	if key != "" {
		if err := ev.SetKey(key, or(r.EventID, "")); err != nil {
			return nil, err
		}
	}
	sent, err := c.Store.Send(c.ctx, ev)
	if err != nil {
		return nil, err
	}
	if err := sent[0].Err; err != nil {
		return nil, c.inPlace(err, ev.Endpoints, r.Endpoints)
	}
	c.replay = sent[0].Replay
	return c.viewSent(&sent[0]), nil
}

// endpointIDs gives the endpoints that an event names, as a set.
func (c *call) endpointIDs(given []string) ([]int64, error) {
	if given == nil {
		return nil, nil
	}
	if len(given) == 0 {
		return nil, fault.Invalid("/endpoint_ids", "endpoint_ids is empty: the event would go to nobody").WithHint("leave it out for every subscriber")
	}
	set := make([]int64, len(given))
	for i, s := range given {
		id, ok := c.IDs.Decode(ids.Endpoint, c.project, s)
		if !ok {
			return nil, noEndpoint("/endpoint_ids/"+strconv.Itoa(i), s)
		}
		set[i] = id
	}
	slices.Sort(set)
	return slices.Compact(set), nil
}

// inPlace makes the place in a set of endpoints that an error is about that of the client's list.
func (c *call) inPlace(err error, set []int64, given []string) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	s, _ := strings.CutPrefix(e.Field, "/endpoint_ids/")
	n, bad := strconv.Atoi(s)
	if bad != nil || n >= len(set) {
		return err
	}
	d := *e
	d.Field = "/endpoint_ids/" + strconv.Itoa(slices.IndexFunc(given, func(s string) bool {
		id, _ := c.IDs.Decode(ids.Endpoint, c.project, s)
		return id == set[n]
	}))
	return &d
}

func (c *call) listEvents() (any, error) {
	f, err := c.query.filter()
	if err != nil {
		return nil, err
	}
	rows, next, err := c.Store.Events(c.ctx, f)
	if err != nil {
		return nil, err
	}
	return list[eventView]{views(rows, viewEvent), c.query.next(next)}, nil
}

func (c *call) getEvent() (any, error) {
	id := c.r.PathValue("id")
	if !webhook.IsEventID(id) {
		return nil, webhook.NoEvent(id)
	}
	e, err := c.Store.Event(c.ctx, c.project, id)
	if err != nil {
		return nil, err
	}
	return singleEvent{c, e}, nil
}
