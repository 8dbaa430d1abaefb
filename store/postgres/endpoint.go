package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var (
	createEndpointSQL      = stmt("endpoint_create")
	getEndpointSQL         = stmt("endpoint_get")
	lockEndpointSQL        = stmt("endpoint_lock")
	listEndpointsSQL       = stmt("endpoint_list")
	updateEndpointSQL      = stmt("endpoint_update")
	updateEndpointGroupSQL = stmt("endpoint_group")
	deleteEndpointSQL      = stmt("endpoint_delete")
	deleteEndpointGroupSQL = stmt("endpoint_delete_group")
)

var errNoEndpoint = fault.New(fault.NotFound, "there is no such endpoint")

// CreateEndpoint stores an endpoint with its group.
func (db *DB) CreateEndpoint(ctx context.Context, e webhook.Endpoint) (webhook.Endpoint, error) {
	values, err := endpointValues(e)
	if err == nil {
		err = db.in(ctx, func(ctx context.Context, tx *txn) error {
			return tx.QueryRow(ctx, createEndpointSQL, append([]any{e.Project}, values...)...).Scan(&e.ID, &e.CreatedAt, &e.UpdatedAt)
		})
	}
	if err != nil {
		return webhook.Endpoint{}, fmt.Errorf("create endpoint: %w", err)
	}
	return e, nil
}

// Endpoint finds one of a project.
func (db *DB) Endpoint(ctx context.Context, project, id int64) (webhook.Endpoint, error) {
	e, err := oneEndpoint(ctx, db.conn(ctx), getEndpointSQL, project, id)
	if err != nil {
		return e, fmt.Errorf("read endpoint: %w", db.fault(ctx, err))
	}
	return e, nil
}

// Endpoints lists a project's, newest first.
func (db *DB) Endpoints(ctx context.Context, f webhook.Filter) ([]webhook.Endpoint, error) {
	var out []webhook.Endpoint
	rows, err := db.conn(ctx).Query(ctx, listEndpointsSQL, f.Project, f.Tenant, before(f.Page), pageSize(f.Page))
	if err == nil {
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (webhook.Endpoint, error) { return scanEndpoint(r) })
	}
	if err != nil {
		return nil, fmt.Errorf("list endpoints: %w", db.fault(ctx, err))
	}
	return out, nil
}

// UpdateEndpoint changes an endpoint under its lock, and its group with it.
func (db *DB) UpdateEndpoint(ctx context.Context, project, id int64, change func(now time.Time, e *webhook.Endpoint) error) (webhook.Endpoint, error) {
	var e webhook.Endpoint
	err := db.in(ctx, func(ctx context.Context, tx *txn) (err error) {
		if e, err = oneEndpoint(ctx, tx, lockEndpointSQL, project, id); err != nil {
			return err
		}
		if err := change(tx.now, &e); err != nil {
			return err
		}
		e.ID, e.Project = id, project
		values, err := endpointValues(e)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		b.Queue(updateEndpointSQL, append([]any{id}, values...)...).QueryRow(func(r pgx.Row) error { return r.Scan(&e.UpdatedAt) })
		b.Queue(updateEndpointGroupSQL, id, e.MaxInFlight, e.Disabled, seconds(e.Timeout))
		if !e.Disabled {
			tx.afterCommit(func() { db.hub.wake(deliveriesQueue, 0) })
		}
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return webhook.Endpoint{}, fmt.Errorf("update endpoint: %w", err)
	}
	return e, nil
}

// DeleteEndpoint removes an endpoint from view. What waits for it is cancelled, here as far as that is little, else by the sweep.
func (db *DB) DeleteEndpoint(ctx context.Context, project, id int64) error {
	err := db.in(ctx, func(ctx context.Context, tx *txn) error {
		tag, err := tx.Exec(ctx, deleteEndpointSQL, project, id)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errNoEndpoint
		}
		_, err = tx.Exec(ctx, deleteEndpointGroupSQL, id)
		return err
	})
	if err == nil {
		_, err = db.cancelWaiting(ctx, id, cancelAtOnce)
	}
	if err != nil {
		return fmt.Errorf("delete endpoint: %w", err)
	}
	return nil
}

func oneEndpoint(ctx context.Context, q querier, sql string, project, id int64) (webhook.Endpoint, error) {
	e, err := scanEndpoint(q.QueryRow(ctx, sql, project, id))
	if errors.Is(err, pgx.ErrNoRows) {
		err = errNoEndpoint
	}
	return e, err
}

// storedSecret is a secret as its endpoint's row holds it.
type storedSecret struct {
	Sealed    []byte     `json:"sealed"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// scanEndpoint reads a row of endpoint_get.sql's columns, and what stands before them into first. What is no JSON of ours is an error of that row alone, which
// names the endpoint: the next can be read.
func scanEndpoint(r pgx.Row, first ...any) (webhook.Endpoint, error) {
	var e webhook.Endpoint
	var headers, sealed []byte
	var secrets []storedSecret
	var timeout, window float64
	var ladder []float64
	err := r.Scan(append(first, &e.ID, &e.Project, &e.Tenant, &e.URL, &e.EventTypes, &e.Description, &headers, &sealed, &timeout, &ladder, &e.Retry4xx,
		(*string)(&e.Policy), &window, &e.MaxInFlight, &e.Rate, &e.Disabled, &e.Reason, &e.CreatedAt, &e.UpdatedAt)...)
	if err != nil {
		return webhook.Endpoint{}, err
	}
	if err = json.Unmarshal(sealed, &secrets); err == nil && headers != nil {
		err = json.Unmarshal(headers, &e.Headers)
	}
	if err != nil {
		return webhook.Endpoint{ID: e.ID}, fmt.Errorf("endpoint %d cannot be read: %w", e.ID, err)
	}
	for _, s := range secrets {
		w := webhook.Secret{Sealed: s.Sealed}
		if s.ExpiresAt != nil {
			w.ExpiresAt = s.ExpiresAt.UTC()
		}
		e.Secrets = append(e.Secrets, w)
	}
	e.Timeout, e.Window, e.Ladder = duration(timeout), duration(window), durations(ladder)
	return e, nil
}

// endpointValues gives what endpoint_create.sql and endpoint_update.sql write from their second parameter on.
func endpointValues(e webhook.Endpoint) ([]any, error) {
	secrets := make([]storedSecret, len(e.Secrets))
	for i, s := range e.Secrets {
		if secrets[i].Sealed = s.Sealed; !s.ExpiresAt.IsZero() {
			secrets[i].ExpiresAt = &s.ExpiresAt
		}
	}
	sealed, err := json.Marshal(secrets)
	if err != nil {
		return nil, err
	}
	var headers []byte // NULL for none
	if len(e.Headers) > 0 {
		if headers, err = json.Marshal(e.Headers); err != nil {
			return nil, err
		}
	}
	types := e.EventTypes
	if types == nil {
		types = []string{}
	}
	return []any{
		e.Tenant, e.URL, types, clean(e.Description), headers, sealed, seconds(e.Timeout), inSeconds(e.Ladder), e.Retry4xx,
		string(e.Policy), seconds(e.Window), e.MaxInFlight, e.Rate, e.Disabled, clean(e.Reason),
	}, nil
}

// before gives the id before which a page of a list that goes backwards begins.
func before(p queue.Page) int64 {
	if p.After == 0 {
		return math.MaxInt64
	}
	return p.After
}
