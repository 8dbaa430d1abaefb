package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/webhook"
)

var (
	getEventSQL        = stmt("event_get")
	listEventsSQL      = stmt("event_list")
	eventDeliveriesSQL = stmt("delivery_event")
)

// Event finds one of a project by its event_id, with its payload and its deliveries.
func (db *DB) Event(ctx context.Context, project int64, eventID string) (webhook.Event, error) {
	e, err := readEvent(ctx, db.conn(ctx), project, eventID)
	if err != nil {
		return webhook.Event{}, fmt.Errorf("read event: %w", db.fault(ctx, err))
	}
	return e, nil
}

func readEvent(ctx context.Context, q querier, project int64, eventID string) (e webhook.Event, err error) {
	err = q.QueryRow(ctx, getEventSQL, project, eventID).
		Scan(&e.ID, &e.Project, &e.EventID, &e.Type, &e.Tenant, &e.Subject, &e.CreatedAt, &e.Payload)
	if errors.Is(err, pgx.ErrNoRows) {
		err = webhook.NoEvent(eventID)
	}
	if err != nil {
		return e, err
	}
	rows, err := q.Query(ctx, eventDeliveriesSQL, e.ID)
	if err != nil {
		return e, err
	}
	e.Deliveries, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (webhook.Delivery, error) {
		d, err := scanDelivery(r)
		if err != nil {
			return webhook.Delivery{}, err
		}
		return d.Delivery, nil
	})
	return e, err
}

// Events lists a project's, newest first, without payloads.
func (db *DB) Events(ctx context.Context, f webhook.Filter) ([]webhook.Event, int64, error) {
	out, next, err := look(ctx, db.conn(ctx), f, listEventsSQL, nil, func(rows pgx.Rows) (e webhook.Event, made time.Time, wanted bool, err error) {
		err = rows.Scan(&e.ID, &e.Project, &e.EventID, &e.Type, &e.Tenant, &e.Subject, &e.CreatedAt, &wanted)
		return e, e.CreatedAt, wanted, err
	}, func(e webhook.Event) int64 { return e.ID })
	if err != nil {
		return nil, 0, fmt.Errorf("list events: %w", db.fault(ctx, err))
	}
	return out, next, nil
}
