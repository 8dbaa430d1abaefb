package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// loadView scans a delivery as a person sees it.
func loadView(r scanner) (v webhook.Delivery, err error) {
	var d delivery
	var c ledger.Claim
	var policy string
	err = r.Scan(&d.ID, &d.Project, &d.Event, &d.Endpoint, &d.KeySend, &d.AttemptBase, toTime(&d.CreatedAt), toTime(&d.CancelledAt),
		&c.State, &c.Attempt, &policy, toTime(&c.CreatedAt), toTime(&c.NextAt), toTime(&c.FinishedAt), toText(&c.LastError), &v.EventID, &v.EventType, toText(&v.Tenant), toText(&v.Subject))
	if err != nil {
		return webhook.Delivery{}, err
	}
	v.ID, v.Project, v.EndpointID, v.KeySend, v.CreatedAt = d.ID, d.Project, d.Endpoint, d.KeySend, d.CreatedAt
	c.Policy = toPolicy(policy)
	v.Stand(&c, d.AttemptBase, !d.CancelledAt.IsZero())
	return v, nil
}

// view gives a delivery of a project with its attempts.
func (t *tx) view(project, id int64) (webhook.Delivery, error) {
	v, err := loadView(t.row("delivery_get", id, project))
	if ok, err := found(err); err != nil {
		return webhook.Delivery{}, err
	} else if !ok {
		return webhook.Delivery{}, webhook.NoDelivery()
	}
	v.Attempts, err = t.attempts(id)
	return v, err
}

// Delivery gives a delivery of a project with its attempts.
func (db *DB) Delivery(ctx context.Context, project, id int64) (v webhook.Delivery, err error) {
	err = db.read(ctx, "delivery", func(t *tx) error {
		v, err = t.view(project, id)
		return err
	})
	return v, err
}

// Deliveries lists deliveries with their attempts, newest first.
func (db *DB) Deliveries(ctx context.Context, f webhook.Filter) (out []webhook.Delivery, next int64, err error) {
	err = db.read(ctx, "deliveries", func(t *tx) error {
		list, by := "delivery_list", []any(nil)
		switch {
		case f.EventID != "":
			var event int64
			var hash []byte
			var made time.Time
			ok, err := found(t.row("event_known", f.Project, f.EventID).Scan(&event, &hash, toTime(&made)))
			if err != nil || !ok {
				return err
			}
			list, by = "delivery_list_event", []any{event}
		case f.EndpointID != 0:
			list, by = "delivery_list_endpoint", []any{f.EndpointID}
		}
		out, next, err = scan(f, func(v webhook.Delivery) (int64, time.Time) { return v.ID, v.CreatedAt },
			func(v webhook.Delivery) bool { return deliveryMatches(f, v) },
			func(before int64, limit int) (page []webhook.Delivery, err error) {
				err = t.each(list, func(r scanner) error {
					v, err := loadView(r)
					page = append(page, v)
					return err
				}, append([]any{f.Project, before, limit}, by...)...)
				return page, err
			})
		for i := range out {
			if err == nil {
				out[i].Attempts, err = t.attempts(out[i].ID)
			}
		}
		return err
	})
	return out, next, err
}

func deliveryMatches(f webhook.Filter, v webhook.Delivery) bool {
	return (f.State == "" || v.State == f.State) && (f.EndpointID == 0 || v.EndpointID == f.EndpointID) && (f.EventID == "" || v.EventID == f.EventID) &&
		(f.EventType == "" || v.EventType == f.EventType) && (f.Tenant == "" || v.Tenant == f.Tenant) && (f.Subject == "" || v.Subject == f.Subject)
}
