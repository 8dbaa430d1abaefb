package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

var (
	redriveCountSQL  = stmt("redrive_count")
	redriveNamedSQL  = stmt("redrive_named")
	redriveInsertSQL = stmt("redrive_insert")
	redriveGetSQL    = stmt("redrive_get")
	redriveListSQL   = stmt("redrive_list")
	redriveCancelSQL = stmt("redrive_cancel")
)

// redriveFilter is what a redrive of a queue's dead letters concerns, as its row keeps it.
type redriveFilter struct {
	IDs []int64 `json:"message_ids,omitempty"` // sorted; these alone
	Max int64   `json:"max_messages,omitempty"`
	// Sourceless is how many there were of no source: they are left, and were counted so at the start.
	Sourceless int64 `json:"sourceless,omitempty"`
}

// StartRedrive begins to move a queue's dead letters back, or only counts them.
func (db *DB) StartRedrive(ctx context.Context, c queue.RedriveCall) (out queue.Redrive, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		q, err := tx.queue(ctx, c.Project, c.Queue)
		if err != nil {
			return err
		}
		out = queue.Redrive{Project: c.Project, Queue: q.Name, Rate: c.Rate, DryRun: c.DryRun, State: queue.Running}
		f := redriveFilter{IDs: slices.Compact(slices.Sorted(slices.Values(c.IDs))), Max: c.Max}
		if out.Total, err = tx.redriveTotal(ctx, q, &f); err != nil {
			return err
		}
		if out.Left = f.Sourceless; c.DryRun {
			out.State, out.Left = queue.Completed, 0
		}
		if out.Filter, err = json.Marshal(f); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, redriveInsertSQL, c.Project, q.ID, q.Name, string(out.Filter), c.Rate, c.DryRun, string(out.State), out.Total, out.Left, clean(c.Who)).
			Scan(&out.ID, &out.CreatedAt, &out.FinishedAt)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
			return fault.New(fault.Conflict, "a redrive of queue %q is running", c.Queue).WithHint("wait for its end, or cancel it")
		}
		return err
	})
	return out, wrap("redrive", c.Queue, err)
}

// redriveTotal counts what a redrive concerns. What was published straight into the dead-letter queue came from nowhere: it is left.
func (tx *txn) redriveTotal(ctx context.Context, q queue.Queue, f *redriveFilter) (total int64, err error) {
	dlq, err := tx.queue(ctx, q.Project, q.DLQ)
	if err != nil && !errors.Is(err, queue.ErrQueueNotFound) {
		return 0, err
	}
	if len(f.IDs) > 0 {
		total, err = tx.redriveNamed(ctx, q.ID, dlq.ID, f)
	} else {
		err = tx.QueryRow(ctx, redriveCountSQL, q.ID, dlq.ID).Scan(&total, &f.Sourceless)
		if f.Max > 0 {
			f.Sourceless = 0
		}
	}
	if f.Max > 0 {
		total = min(total, f.Max)
	}
	return total + f.Sourceless, err
}

// redriveNamed keeps of the named messages those that came from the source.
func (tx *txn) redriveNamed(ctx context.Context, source, dlq int64, f *redriveFilter) (int64, error) {
	rows, err := tx.Query(ctx, redriveNamedSQL, f.IDs, source, dlq)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var known []int64
	for rows.Next() {
		var id int64
		var sourced bool
		if err := rows.Scan(&id, &sourced); err != nil {
			return 0, err
		}
		if sourced {
			known = append(known, id)
		} else {
			f.Sourceless++
		}
	}
	if f.IDs = known; len(known) == 0 {
		f.IDs = []int64{0} // none, not all
	}
	return int64(len(known)), rows.Err()
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
		err = fault.New(fault.NotFound, "there is no such redrive")
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

// redriveRow is a redrive under way, its row locked.
type redriveRow struct {
	id, project, queue int64 // queue is the source; 1: deliveries
	filter             json.RawMessage
	rate               float64
	canary             bool
	total, moved, left int64
	lastID             int64 // the dead letter looked at last
	who                string
	createdAt          time.Time
	pacedAt            time.Time // up to when its rate is used up
}
