package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward/webhook"
)

// A list with a filter looks at most at so many rows, then says where to go on.
const (
	scanRows = 5000
	scanStep = 500 // at most at a time
)

// Event gives an event with its payload and its deliveries.
func (db *DB) Event(ctx context.Context, project int64, eventID string) (e webhook.Event, err error) {
	err = db.read(ctx, "event", func(t *tx) error {
		e.Project = project
		r := t.row("event_get", project, eventID)
		ok, err := found(r.Scan(&e.ID, &e.EventID, &e.Type, toText(&e.Tenant), toText(&e.Subject), &e.Payload, toTime(&e.CreatedAt)))
		if err == nil && !ok {
			err = notFound("there is no event %q", eventID)
		}
		if err != nil {
			return err
		}
		return t.each("delivery_of_event", func(r scanner) error {
			v, err := loadView(r)
			e.Deliveries = append(e.Deliveries, v)
			return err
		}, e.ID)
	})
	if err != nil {
		return webhook.Event{}, err
	}
	return e, nil
}

// Events lists events without payload, newest first.
func (db *DB) Events(ctx context.Context, f webhook.Filter) (out []webhook.Event, next int64, err error) {
	err = db.read(ctx, "events", func(t *tx) error {
		out, next, err = scan(f, func(e webhook.Event) (int64, time.Time) { return e.ID, e.CreatedAt },
			func(e webhook.Event) bool {
				return (f.EventID == "" || e.EventID == f.EventID) && (f.EventType == "" || e.Type == f.EventType) &&
					(f.Tenant == "" || e.Tenant == f.Tenant) && (f.Subject == "" || e.Subject == f.Subject)
			},
			func(before int64, limit int) (page []webhook.Event, err error) {
				err = t.each("event_list", func(r scanner) error {
					e := webhook.Event{Project: f.Project}
					err := r.Scan(&e.ID, &e.EventID, &e.Type, toText(&e.Tenant), toText(&e.Subject), toTime(&e.CreatedAt))
					page = append(page, e)
					return err
				}, f.Project, before, limit)
				return page, err
			})
		return err
	})
	return out, next, err
}

// scan reads a list backwards by pages of read until a page of items matches, the list ends, or enough rows were looked at.
// next is 0 at the list's end.
func scan[T any](f webhook.Filter, id func(T) (int64, time.Time), match func(T) bool, read func(before int64, limit int) ([]T, error)) (out []T, next int64, err error) {
	limit := pageSize(f.Page)
	last, step := before(f.After), limit+1
	for seen := 0; seen < scanRows; step = scanStep {
		page, err := read(last, step)
		if err != nil {
			return nil, 0, err
		}
		for _, item := range page {
			n, made := id(item)
			if !f.From.IsZero() && made.Before(f.From.Add(-time.Hour)) {
				return out, 0, nil // ids grow with time, give or take what a clock was set back
			}
			if (f.From.IsZero() || !made.Before(f.From)) && (f.To.IsZero() || made.Before(f.To)) && match(item) {
				if len(out) == limit {
					return out, last, nil
				}
				out = append(out, item)
			}
			last = n
		}
		if len(page) < step {
			return out, 0, nil
		}
		seen += len(page)
	}
	return out, last, nil
}
