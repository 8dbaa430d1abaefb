package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

var listTests = []named{
	{"deliveries are listed newest first, by every filter", deliveriesListed},
	{"events are listed newest first, by every filter", eventsListed},
	{"an event shows its deliveries", eventDeliveries},
}

func deliveriesListed(r *rig) {
	a, b := r.endpoint(tenant("a")), r.endpoint(tenant("b"))
	var all []int64
	for _, n := range []struct{ id, tenant, typ, subject string }{
		{"evt1", "a", "x.one", "s1"}, {"evt2", "a", "x.two", "s2"}, {"evt3", "b", "x.one", "s1"}, {"evt4", "b", "x.two", ""},
	} {
		s := r.send(r.event(n.id, func(e *webhook.NewEvent) { e.Tenant, e.Type, e.Subject = n.tenant, n.typ, n.subject }))
		all = append(all, s.Deliveries[0].ID)
	}
	middle := r.dlv(all[2]).CreatedAt
	for range 4 {
		j := r.job()
		if j.EventID == "evt1" {
			r.ends(outcome(j, ledger.Succeeded), ledger.Done)
		}
	}
	for what, c := range map[string]struct {
		f    webhook.Filter
		want []int64
	}{
		"all":         {webhook.Filter{}, []int64{all[3], all[2], all[1], all[0]}},
		"by tenant":   {webhook.Filter{Tenant: "a"}, []int64{all[1], all[0]}},
		"by endpoint": {webhook.Filter{EndpointID: b.ID}, []int64{all[3], all[2]}},
		"by type":     {webhook.Filter{EventType: "x.one"}, []int64{all[2], all[0]}},
		"by event":    {webhook.Filter{EventID: "evt2"}, []int64{all[1]}},
		"by subject":  {webhook.Filter{Subject: "s1"}, []int64{all[2], all[0]}},
		"by state":    {webhook.Filter{State: webhook.Delivered}, []int64{all[0]}},
		"by another":  {webhook.Filter{State: webhook.Sending, EndpointID: a.ID}, []int64{all[1]}},
		"from":        {webhook.Filter{From: middle}, []int64{all[3], all[2]}},
		"to":          {webhook.Filter{To: middle}, []int64{all[1], all[0]}},
		"of nobody":   {webhook.Filter{Tenant: "c"}, nil},
	} {
		c.f.Project, c.f.Limit = 1, 1
		var got []int64
		for {
			l, next, err := r.Deliveries(r.ctx, c.f)
			r.ok(err)
			for _, d := range l {
				got = append(got, d.ID)
				if d.State == webhook.Delivered {
					want(r, "attempts in the list", len(d.Attempts), 1)
				}
			}
			if next == 0 || len(got) > 10 {
				break
			}
			c.f.After = next
		}
		if !slices.Equal(got, c.want) {
			r.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	_, err := r.Delivery(r.ctx, 2, all[0])
	want(r, "of another project", errors.Is(err, webhook.ErrNotFound), true)
}

func eventsListed(r *rig) {
	r.endpoint(tenant("a"))
	var middle time.Time
	for i, n := range []struct{ id, tenant, typ, subject string }{
		{"evt1", "a", "x.one", "s1"}, {"evt2", "a", "x.two", "s2"}, {"evt3", "", "x.one", "s1"},
	} {
		s := r.send(r.event(n.id, func(e *webhook.NewEvent) { e.Tenant, e.Type, e.Subject = n.tenant, n.typ, n.subject }))
		if i == 1 {
			middle = s.CreatedAt
		}
	}
	for what, c := range map[string]struct {
		f    webhook.Filter
		want []string
	}{
		"all":        {webhook.Filter{}, []string{"evt3", "evt2", "evt1"}},
		"by tenant":  {webhook.Filter{Tenant: "a"}, []string{"evt2", "evt1"}},
		"by type":    {webhook.Filter{EventType: "x.one"}, []string{"evt3", "evt1"}},
		"by event":   {webhook.Filter{EventID: "evt2"}, []string{"evt2"}},
		"by subject": {webhook.Filter{Subject: "s1"}, []string{"evt3", "evt1"}},
		"from":       {webhook.Filter{From: middle}, []string{"evt3", "evt2"}},
		"to":         {webhook.Filter{To: middle}, []string{"evt1"}},
	} {
		c.f.Project, c.f.Limit = 1, 1
		var got []string
		for {
			l, next, err := r.Events(r.ctx, c.f)
			r.ok(err)
			for _, e := range l {
				got = append(got, e.EventID)
			}
			if next == 0 || len(got) > 10 {
				break
			}
			c.f.After = next
		}
		if !slices.Equal(got, c.want) {
			r.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

func eventDeliveries(r *rig) {
	a, b := r.endpoint(), r.endpoint()
	r.send(r.event("evt1", func(n *webhook.NewEvent) { n.Subject = "s" }))
	e, err := r.Event(r.ctx, 1, "evt1")
	r.ok(err)
	want(r, "event id", e.EventID, "evt1")
	want(r, "subject", e.Subject, "s")
	got := map[int64]webhook.State{}
	for _, d := range e.Deliveries {
		got[d.EndpointID] = d.State
	}
	want(r, "deliveries", len(got), 2)
	want(r, "of a", got[a.ID], webhook.Pending)
	want(r, "of b", got[b.ID], webhook.Pending)
	_, err = r.Event(r.ctx, 2, "evt1")
	want(r, "of another project", errors.Is(err, webhook.ErrNotFound), true)
}
