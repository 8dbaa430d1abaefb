package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var (
	redriveDeliveryCountSQL  = stmt("redrive_delivery_count")
	redriveDeliveryInsertSQL = stmt("redrive_delivery_insert")
	redrivePartsInsertSQL    = stmt("redrive_parts_insert")
	redrivePartsListSQL      = stmt("redrive_parts_list")
)

// RedriveDeliveries begins to send dead deliveries again, or only counts them: see [webhook.Deliveries].
func (db *DB) RedriveDeliveries(ctx context.Context, c webhook.RedriveCall) (out queue.Redrive, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		if c.EndpointID != 0 {
			if _, err := oneEndpoint(ctx, tx, getEndpointSQL, c.Project, c.EndpointID); err != nil {
				return err
			}
		}
		out = queue.Redrive{Project: c.Project, Rate: c.Rate, DryRun: c.DryRun, State: queue.Running}
		f := c.Filter()
		parts, would, err := tx.redriveParts(ctx, &c, &f)
		if err != nil {
			return err
		}
		for _, p := range parts {
			out.Total += p.Total
		}
		if c.DryRun {
			out.State, out.Left = queue.Completed, would
		}
		if out.Filter, err = json.Marshal(f); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, redriveDeliveryInsertSQL, c.Project, string(out.Filter), c.Rate, c.Canary, c.DryRun, string(out.State), out.Total, out.Left, clean(c.Who),
			queue.NewPace(tx.now, c.Rate).Used).Scan(&out.ID, &out.CreatedAt, &out.FinishedAt)
		if err != nil || c.DryRun || len(parts) == 0 {
			return err
		}
		_, err = tx.Exec(ctx, redrivePartsInsertSQL, out.ID, column(parts, func(p webhook.RedrivePart) int64 { return p.EndpointID }), string(parts[0].State),
			column(parts, func(p webhook.RedrivePart) int64 { return p.Total }))
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
			return webhook.RedriveRunning()
		}
		return err
	})
	return out, wrap("redrive deliveries", "", err)
}

// redriveParts gives a part for each endpoint that has dead letters which match, by endpoint, and how many of all it would leave for
// what is known now. Up to which they are it keeps in f.
func (tx *txn) redriveParts(ctx context.Context, c *webhook.RedriveCall, f *webhook.RedriveFilter) (parts []webhook.RedrivePart, would int64, err error) {
	states := column(f.States, func(s webhook.State) string { return string(s) })
	rows, err := tx.Query(ctx, redriveDeliveryCountSQL, c.Project, f.EndpointID, f.Tenant, states, f.From, f.To, f.Max)
	if err != nil {
		return nil, 0, err
	}
	var id, n, last int64
	var claim ledger.Claim
	news := webhook.PartNews{Canaries: c.Canary}
	_, err = pgx.ForEachRow(rows, []any{&id, &news.Gone, &news.Disabled, (*string)(&claim.State), (*string)(&claim.Policy), &n, &last}, func() error {
		if len(parts) == 0 || parts[len(parts)-1].EndpointID != id {
			parts = append(parts, webhook.NewPart(id, 0, c.Canary))
		}
		parts[len(parts)-1].Total += n
		would += news.WouldLeave(claim, n)
		f.Through = max(f.Through, last)
		return nil
	})
	return parts, would, err
}

// RedriveParts lists a redrive's endpoints.
func (db *DB) RedriveParts(ctx context.Context, project, id int64, p queue.Page) (out []webhook.RedrivePart, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		if _, err := redriveByID(ctx, db.conn(ctx), project, id); err != nil {
			return err
		}
		rows, err := db.conn(ctx).Query(ctx, redrivePartsListSQL, id, before(p), pageSize(p))
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (v webhook.RedrivePart, err error) {
			return v, r.Scan(&v.EndpointID, (*string)(&v.State), &v.CanaryID, &v.Total, &v.Moved, &v.Left)
		})
		return err
	})
	return out, wrap("redrive parts", "", err)
}
