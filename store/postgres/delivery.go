package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

var (
	getDeliverySQL           = stmt("delivery_get")
	listDeliveriesSQL        = stmt("delivery_list")
	listDeliveriesByEndpoint = stmt("delivery_list_endpoint")
	listDeliveriesByEvent    = stmt("delivery_list_event")
)

// deliveryRow is a delivery as stored, with what its newest send's claim says.
type deliveryRow struct {
	webhook.Delivery
	event, claim int64
	sends, base  int
	cause        string
	cancelled    bool
}

// scanDelivery reads delivery_get.sql's columns, and what follows them into more.
func scanDelivery(r pgx.Row, more ...any) (*deliveryRow, error) {
	d := &deliveryRow{}
	var c ledger.Claim
	err := r.Scan(append([]any{
		&d.ID, &d.Project, &d.event, &d.EndpointID, &d.claim, &d.sends, &d.KeySend, &d.cause, &d.base, &d.CreatedAt, &d.cancelled,
		&d.EventID, &d.EventType, &d.Tenant, &d.Subject,
		(*string)(&c.Policy), (*string)(&c.State), &c.Attempt, &c.NextAt, &c.FinishedAt, &c.LastError, &c.CreatedAt,
	}, more...)...)
	if err != nil {
		return nil, err
	}
	d.Stand(&c, d.base, d.cancelled)
	return d, nil
}

// Delivery finds one of a project, with its attempts.
func (db *DB) Delivery(ctx context.Context, project, id int64) (webhook.Delivery, error) {
	d, err := readDelivery(ctx, db.conn(ctx), project, id)
	if err == nil {
		err = withAttempts(ctx, db.conn(ctx), []*webhook.Delivery{&d.Delivery})
	}
	if err != nil {
		return webhook.Delivery{}, fmt.Errorf("read delivery: %w", db.fault(ctx, err))
	}
	return d.Delivery, nil
}

func readDelivery(ctx context.Context, q querier, project, id int64) (*deliveryRow, error) {
	d, err := scanDelivery(q.QueryRow(ctx, getDeliverySQL, project, id))
	if err == pgx.ErrNoRows {
		err = webhook.NoDelivery()
	}
	return d, err
}

// Deliveries lists a project's, newest first, with their attempts.
func (db *DB) Deliveries(ctx context.Context, f webhook.Filter) ([]webhook.Delivery, int64, error) {
	sql, more := listDeliveriesSQL, []any(nil)
	switch {
	case f.EventID != "":
		sql, more = listDeliveriesByEvent, []any{f.EndpointID}
	case f.EndpointID != 0:
		sql, more = listDeliveriesByEndpoint, []any{f.EndpointID}
	}
	q := db.conn(ctx)
	out, next, err := look(ctx, q, f, sql, more, func(rows pgx.Rows) (webhook.Delivery, time.Time, bool, error) {
		wanted := false
		d, err := scanDelivery(rows, &wanted)
		if err != nil {
			return webhook.Delivery{}, time.Time{}, false, err
		}
		return d.Delivery, d.CreatedAt, wanted && (f.State == "" || d.State == f.State), nil
	}, func(d webhook.Delivery) int64 { return d.ID })
	if err == nil {
		of := make([]*webhook.Delivery, len(out))
		for i := range out {
			of[i] = &out[i]
		}
		err = withAttempts(ctx, q, of)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list deliveries: %w", db.fault(ctx, err))
	}
	return out, next, nil
}

func withAttempts(ctx context.Context, q querier, ds []*webhook.Delivery) error {
	attempts, err := attemptsOf(ctx, q, column(ds, func(d *webhook.Delivery) int64 { return d.ID }))
	for _, d := range ds {
		d.Attempts = attempts[d.ID]
	}
	return err
}

const (
	lookRows  = 1000 // at a time
	lookTimes = 5
)

// look goes through a list backwards, a bounded look at a time, until it has what f asks for or has looked at enough.
func look[T any](ctx context.Context, q querier, f webhook.Filter, sql string, more []any,
	scan func(pgx.Rows) (T, time.Time, bool, error), id func(T) int64,
) (out []T, next int64, err error) {
	limit, at := pageSize(f.Page), before(f.Page)
	n := min(limit+1, lookRows) // enough where all are asked for
	for range lookTimes {
		rows, err := q.Query(ctx, sql, append([]any{at, n, f.Project, f.Tenant, f.EventType, f.EventID, f.Subject, f.From, f.To}, more...)...)
		if err != nil {
			return nil, 0, err
		}
		seen, over := 0, false
		for rows.Next() {
			row, made, wanted, err := scan(rows)
			if err != nil {
				rows.Close()
				return nil, 0, err
			}
			seen++
			if wanted && len(out) == limit {
				rows.Close()
				return out, at, nil // there is more
			}
			at = id(row)
			if wanted {
				out = append(out, row)
			}
			if over = made.Before(f.From.Add(-time.Hour)); over {
				break // ids follow the clock closely: what is older is not asked for
			}
		}
		rows.Close()
		if err := rows.Err(); err != nil {
			return nil, 0, err
		}
		if over || seen < n {
			return out, 0, nil
		}
		n = lookRows
	}
	return out, at, nil
}
