package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var (
	redriveCountSQL      = stmt("redrive_count")
	redriveSourcelessSQL = stmt("redrive_sourceless")
	redriveNamedSQL      = stmt("redrive_named")
	redriveInsertSQL     = stmt("redrive_insert")
	redriveGetSQL        = stmt("redrive_get")
	redriveListSQL       = stmt("redrive_list")
	redriveCancelSQL     = stmt("redrive_cancel")
	sweepRedrivesSQL     = stmt("sweep_redrives")
)

// StartRedrive begins to move a queue's dead letters back, or only counts them.
func (db *DB) StartRedrive(ctx context.Context, c queue.RedriveCall) (out queue.Redrive, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		q, err := tx.queue(ctx, c.Project, c.Queue)
		if err != nil {
			return err
		}
		out = queue.Redrive{Project: c.Project, Queue: q.Name, Rate: c.Rate, DryRun: c.DryRun, State: queue.Running}
		f, would := c.Filter(), int64(0)
		if out.Total, would, err = tx.redriveTotal(ctx, q, &f); err != nil {
			return err
		}
		if out.Left = f.Sourceless; c.DryRun {
			out.State, out.Left = queue.Completed, f.Sourceless+would
		}
		if out.Filter, err = json.Marshal(f); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, redriveInsertSQL, c.Project, q.ID, q.Name, string(out.Filter), c.Rate, c.DryRun, string(out.State), out.Total, out.Left, clean(c.Who),
			queue.NewPace(tx.now, c.Rate).Used).Scan(&out.ID, &out.CreatedAt, &out.FinishedAt)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
			return queue.RedriveRunning(c.Queue)
		}
		return err
	})
	return out, wrap("redrive", c.Queue, err)
}

// redriveTotal counts what a redrive concerns, and what of that it would leave for its key. What was published straight into the dead-letter
// queue came from nowhere: it is left.
func (tx *txn) redriveTotal(ctx context.Context, q queue.Queue, f *queue.RedriveFilter) (total, would int64, err error) {
	dlq, err := tx.queue(ctx, q.Project, q.DLQ)
	if err != nil && !errors.Is(err, queue.ErrQueueNotFound) {
		return 0, 0, err
	}
	if len(f.IDs) > 0 {
		total, would, err = tx.redriveNamed(ctx, q.ID, dlq.ID, f)
	} else {
		total, would, err = tx.redriveAll(ctx, q.ID, f)
		if err == nil && f.Max == 0 {
			err = tx.QueryRow(ctx, redriveSourcelessSQL, dlq.ID).Scan(&f.Sourceless)
		}
	}
	return total + f.Sourceless, would, err
}

func (tx *txn) redriveAll(ctx context.Context, source int64, f *queue.RedriveFilter) (total, would int64, err error) {
	rows, err := tx.Query(ctx, redriveCountSQL, source, f.Max)
	if err != nil {
		return 0, 0, err
	}
	var state, policy string
	var n, last int64
	_, err = pgx.ForEachRow(rows, []any{&state, &policy, &n, &last}, func() error {
		total, f.Through = total+n, max(f.Through, last)
		if staysDead(state, policy) {
			would += n
		}
		return nil
	})
	return total, would, err
}

// staysDead reports whether a redrive leaves a message for its key, whose state is that under that policy: "" if it has none.
func staysDead(state, policy string) bool {
	c := ledger.Claim{State: ledger.State(state), Policy: ledger.Policy(policy)}
	return c.State.Terminal() && !c.Reopens()
}

// redriveNamed keeps of the named messages those that came from the source.
func (tx *txn) redriveNamed(ctx context.Context, source, dlq int64, f *queue.RedriveFilter) (total, would int64, err error) {
	rows, err := tx.Query(ctx, redriveNamedSQL, f.IDs, source, dlq)
	if err != nil {
		return 0, 0, err
	}
	var known []int64
	var id int64
	var sourced bool
	var state, policy string
	_, err = pgx.ForEachRow(rows, []any{&id, &sourced, &state, &policy}, func() error {
		if !sourced {
			f.Sourceless++
			return nil
		}
		if known = append(known, id); f.Max > 0 && int64(len(known)) > f.Max {
			return nil
		}
		if total++; staysDead(state, policy) {
			would++
		}
		return nil
	})
	f.Known(known)
	return total, would, err
}

// Redrive finds one.
func (db *DB) Redrive(ctx context.Context, project, id int64) (out queue.Redrive, err error) {
	err = db.alone(ctx, func(ctx context.Context) (err error) {
		out, err = redriveByID(ctx, db.conn(ctx), project, id)
		return err
	})
	return out, wrap("redrive", "", err)
}

func redriveByID(ctx context.Context, c querier, project, id int64) (queue.Redrive, error) {
	r, err := scanRedrive(c.QueryRow(ctx, redriveGetSQL, project, id))
	if errors.Is(err, pgx.ErrNoRows) {
		err = queue.NoRedrive()
	}
	return r, err
}

func scanRedrive(row pgx.Row) (r queue.Redrive, err error) {
	var filter string
	err = row.Scan(&r.ID, &r.Project, &r.Queue, &filter, &r.Rate, &r.DryRun, (*string)(&r.State), &r.Total, &r.Moved, &r.Left, &r.CreatedAt, &r.FinishedAt)
	r.Filter = json.RawMessage(filter)
	return r, err
}

// Redrives lists a project's, newest first.
func (db *DB) Redrives(ctx context.Context, project int64, p queue.Page) (out []queue.Redrive, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		rows, err := db.conn(ctx).Query(ctx, redriveListSQL, project, p.After, pageSize(p))
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (queue.Redrive, error) { return scanRedrive(r) })
		return err
	})
	return out, wrap("redrives", "", err)
}

// CancelRedrive stops one; what it had not moved is left.
func (db *DB) CancelRedrive(ctx context.Context, project, id int64) (out queue.Redrive, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) (err error) {
		if _, err := tx.Exec(ctx, redriveCancelSQL, project, id); err != nil {
			return err
		}
		out, err = redriveByID(ctx, tx, project, id)
		return err
	})
	return out, wrap("cancel redrive", "", err)
}

// sweepRedrives forgets redrives that were over long ago.
func (db *DB) sweepRedrives(ctx context.Context, limit int) (n int, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		tag, err := tx.Exec(ctx, sweepRedrivesSQL, limit, tx.now.Add(-queue.RedriveMemory))
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}

// redriveRow is a redrive under way, its row locked.
type redriveRow struct {
	queue.Redrive
	queue  int64 // the source; 1: deliveries
	canary bool
	lastID int64 // the dead letter looked at last
	who    string
	paced  time.Time // up to when its rate is used up
}
