package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var (
	redriveDeliveryCountSQL  = stmt("redrive_delivery_count")
	redriveDeliveryInsertSQL = stmt("redrive_delivery_insert")
	redrivePartsInsertSQL    = stmt("redrive_parts_insert")
)

// deliveryFilter is what a redrive of deliveries concerns, as its row keeps it.
type deliveryFilter struct {
	EndpointID int64           `json:"endpoint_id,omitempty"`
	Tenant     string          `json:"tenant,omitempty"`
	States     []webhook.State `json:"states,omitempty"` // none: all that are dead
	From       time.Time       `json:"from,omitzero"`    // of the delivery's creation
	To         time.Time       `json:"to,omitzero"`
	Max        int64           `json:"max,omitempty"`
	Through    int64           `json:"through,omitempty"` // where there is a Max: the youngest dead letter of those, which are the oldest of all endpoints
}

func (f *deliveryFilter) states() []string {
	return column(f.States, func(s webhook.State) string { return string(s) })
}

// The states of a redrive's part. One that is over has no row.
const (
	partWaiting = "waiting" // for its canary to be sent, or for that one's outcome
	partOpen    = "open"
)

// RedriveDeliveries begins to send dead deliveries again, or only counts them: see [webhook.Deliveries].
func (db *DB) RedriveDeliveries(ctx context.Context, c webhook.RedriveCall) (out queue.Redrive, err error) {
	f := deliveryFilter{EndpointID: c.EndpointID, Tenant: c.Tenant, States: c.States, From: utc(c.From), To: utc(c.To), Max: c.Max}
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		if c.EndpointID != 0 {
			if _, err := oneEndpoint(ctx, tx, getEndpointSQL, c.Project, c.EndpointID); err != nil {
				return err
			}
		}
		out = queue.Redrive{Project: c.Project, Rate: c.Rate, DryRun: c.DryRun, State: queue.Running}
		parts, total, err := tx.redriveParts(ctx, c.Project, &f)
		if err != nil {
			return err
		}
		if out.Total = total; c.DryRun {
			out.State = queue.Completed
		}
		if out.Filter, err = json.Marshal(f); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, redriveDeliveryInsertSQL, c.Project, string(out.Filter), c.Rate, c.Canary, c.DryRun, string(out.State), out.Total, clean(c.Who)).
			Scan(&out.ID, &out.CreatedAt, &out.FinishedAt)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
			return fault.New(fault.Conflict, "a redrive of deliveries is running").WithHint("wait for its end, or cancel it")
		}
		if err != nil || c.DryRun {
			return err
		}
		state := partOpen
		if c.Canary {
			state = partWaiting
		}
		_, err = tx.Exec(ctx, redrivePartsInsertSQL, out.ID, parts, state)
		return err
	})
	return out, wrap("redrive deliveries", "", err)
}

// redriveParts gives the endpoints that have dead letters which match, and how many the redrive concerns. Up to which
// those of a max are it keeps in f.
func (tx *txn) redriveParts(ctx context.Context, project int64, f *deliveryFilter) (endpoints []int64, total int64, err error) {
	rows, err := tx.Query(ctx, redriveDeliveryCountSQL, project, f.EndpointID, f.Tenant, f.states(), f.From, f.To, f.Max)
	if err != nil {
		return nil, 0, err
	}
	var id, n, last int64
	_, err = pgx.ForEachRow(rows, []any{&id, &n, &last}, func() error {
		endpoints, total = append(endpoints, id), total+n
		if f.Max > 0 {
			f.Through = max(f.Through, last)
		}
		return nil
	})
	return endpoints, total, err
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
