package sqlite

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/onceward/onceward/webhook"
)

var _ webhook.Endpoints = (*DB)(nil)

// deletedStep is how many waiting deliveries the deletion of an endpoint cancels at once; the sweep cancels the rest.
const deletedStep = 500

func noEndpoint() error { return notFound("there is no such endpoint") }

// CreateEndpoint stores an endpoint and the group of its deliveries, under one id.
func (db *DB) CreateEndpoint(ctx context.Context, e webhook.Endpoint) (webhook.Endpoint, error) {
	err := db.write(ctx, "create_endpoint", 0, func(t *tx) (err error) {
		if e.ID, err = t.id(seqGroups); err != nil {
			return err
		}
		e.CreatedAt, e.UpdatedAt = t.now, t.now
		g := group{ID: e.ID, Queue: deliveriesQueue, Name: strconv.FormatInt(e.ID, 10), Slots: e.MaxInFlight, Disabled: e.Disabled, Hold: e.Timeout}
		if err := t.insertGroup(&g); err != nil {
			return err
		}
		return t.putEndpoint(e)
	})
	if err != nil {
		return webhook.Endpoint{}, err
	}
	return e, nil
}

func (t *tx) putEndpoint(e webhook.Endpoint) error {
	values, err := endpointValues(e)
	if err != nil {
		return err
	}
	_, err = t.exec("endpoint_put", values...)
	return err
}

// endpoint finds one that is not deleted: false if there is none.
func (t *tx) endpoint(id int64) (e webhook.Endpoint, ok bool, err error) {
	e, err = t.readEndpoint(t.row("endpoint_by_id", id))
	ok, err = found(err)
	return e, ok, err
}

// endpointOf finds one of a project.
func (t *tx) endpointOf(project, id int64) (webhook.Endpoint, error) {
	e, ok, err := t.endpoint(id)
	if err == nil && (!ok || e.Project != project) {
		err = noEndpoint()
	}
	return e, err
}

// Endpoint finds an endpoint of a project.
func (db *DB) Endpoint(ctx context.Context, project, id int64) (e webhook.Endpoint, err error) {
	err = db.read(ctx, "endpoint", func(t *tx) error {
		e, err = t.endpointOf(project, id)
		return err
	})
	return e, err
}

// Endpoints lists a project's endpoints, of a tenant if one is given, newest first.
func (db *DB) Endpoints(ctx context.Context, f webhook.Filter) (out []webhook.Endpoint, err error) {
	err = db.read(ctx, "endpoints", func(t *tx) error {
		return t.each("endpoint_list", func(r scanner) error {
			e, err := t.readEndpoint(r)
			out = append(out, e)
			return err
		}, f.Project, textOrNull(f.Tenant), before(f.After), pageSize(f.Page))
	})
	return out, err
}

// before gives the id before which a list that runs backwards goes on.
func before(after int64) int64 {
	if after == 0 {
		return math.MaxInt64
	}
	return after
}

// UpdateEndpoint applies change to an endpoint and keeps its group in step.
func (db *DB) UpdateEndpoint(ctx context.Context, project, id int64, change func(now time.Time, e *webhook.Endpoint) error) (e webhook.Endpoint, err error) {
	err = db.write(ctx, "update_endpoint", 0, func(t *tx) error {
		if e, err = t.endpointOf(project, id); err != nil {
			return err
		}
		was := e
		if err := change(t.now, &e); err != nil {
			return err
		}
		e.ID, e.Project, e.Tenant, e.CreatedAt, e.UpdatedAt = was.ID, was.Project, was.Tenant, was.CreatedAt, t.now
		if err := t.putEndpoint(e); err != nil {
			return err
		}
		if err := t.saveGroup(&group{ID: id, Slots: e.MaxInFlight, Disabled: e.Disabled, Hold: e.Timeout}); err != nil {
			return err
		}
		if was.Disabled && !e.Disabled || e.MaxInFlight > was.MaxInFlight {
			return t.wakeHead(id)
		}
		return nil
	})
	if err != nil {
		return webhook.Endpoint{}, err
	}
	return e, nil
}

// wakeHead lets an endpoint's group have its turn when the first of what waits is due.
func (t *tx) wakeHead(id int64) error {
	head, err := t.head(id)
	if err != nil || head.IsZero() {
		return err
	}
	return t.wakeGroup(id, deliveriesQueue, head)
}

// head gives when the first of an endpoint's waiting deliveries is due; zero if none waits.
func (t *tx) head(id int64) (head time.Time, err error) {
	_, err = found(t.row("group_head", id).Scan(toTime(&head)))
	return head, err
}

// DeleteEndpoint removes an endpoint from view and cancels what waits for it.
func (db *DB) DeleteEndpoint(ctx context.Context, project, id int64) error {
	return db.write(ctx, "delete_endpoint", 0, func(t *tx) error {
		if _, err := t.endpointOf(project, id); err != nil {
			return err
		}
		if _, err := t.exec("endpoint_delete", at(t.now), id); err != nil {
			return err
		}
		if _, err := t.exec("group_disable", id); err != nil {
			return err
		}
		_, err := t.cancelWaiting(id, deletedStep)
		return err
	})
}
