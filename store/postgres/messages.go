package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

var (
	lockMessagesSQL     = stmt("lock_messages")
	lockMessagesFreeSQL = stmt("lock_messages_free")
	saveMessagesSQL     = stmt("save_messages")
	deleteMessagesSQL   = stmt("delete_messages")
)

// rowScan reads rows of lock_messages.sql's columns. Where they go is said once for all rows.
type rowScan struct {
	row       queue.Row
	retention float64 // in seconds
	to        []any
}

// newRowScan begins; what follows those columns goes into more.
func newRowScan(more ...any) *rowScan {
	s := &rowScan{}
	r := &s.row
	s.to = append([]any{
		&r.ID, &r.Project, &r.QueueID, &r.GroupID, &r.Priority, &r.Place, &r.Receives, &r.MaxReceives, &r.Lease, &r.Leased, &r.Open, &r.VisibleAt,
		&r.PublishedAt, &r.OriginAt, &r.ReceivedAt, &r.ExpiresAt, &s.retention, &r.ClaimID, &r.SourceQueue, &r.SourceGroup, &r.DeadAt, &r.LastError,
	}, more...)
	return s
}

func (s *rowScan) next(rows pgx.Rows) (*queue.Row, error) {
	if err := rows.Scan(s.to...); err != nil {
		return nil, err
	}
	r := s.row
	r.Retention = duration(s.retention)
	return &r, nil
}

// lockMessages locks messages by id and reads those that are there.
func (tx *txn) lockMessages(ctx context.Context, ids []int64) (map[int64]*queue.Row, error) {
	return tx.readMessages(ctx, lockMessagesSQL, ids)
}

// lockFreeMessages is lockMessages that passes by what somebody else has locked.
func (tx *txn) lockFreeMessages(ctx context.Context, ids []int64) (map[int64]*queue.Row, error) {
	return tx.readMessages(ctx, lockMessagesFreeSQL, ids)
}

func (tx *txn) readMessages(ctx context.Context, sql string, ids []int64) (map[int64]*queue.Row, error) {
	out := make(map[int64]*queue.Row, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := tx.Query(ctx, sql, ids)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	s := newRowScan()
	for rows.Next() {
		r, err := s.next(rows)
		if err != nil {
			return nil, err
		}
		out[r.ID] = r
	}
	return out, rows.Err()
}

// queueLockMessages adds lockMessages to b; what it reads goes into out.
func queueLockMessages(b *pgx.Batch, ids []int64, out map[int64]*queue.Row) {
	b.Queue(lockMessagesSQL, ids).Query(func(rows pgx.Rows) error {
		s := newRowScan()
		for rows.Next() {
			r, err := s.next(rows)
			if err != nil {
				return err
			}
			out[r.ID] = r
		}
		return rows.Err()
	})
}

// queueSaveMessages adds the writing of rows to b. The transaction has them locked.
func queueSaveMessages(b *pgx.Batch, rows []*queue.Row) {
	if len(rows) > 0 {
		b.Queue(saveMessagesSQL,
			column(rows, func(r *queue.Row) int64 { return r.ID }),
			alike(rows, func(r *queue.Row) int64 { return r.QueueID }),
			alike(rows, func(r *queue.Row) int64 { return r.GroupID }),
			alike(rows, func(r *queue.Row) int16 { return int16(r.Receives) }),
			alike(rows, func(r *queue.Row) int32 { return int32(r.Lease) }),
			alike(rows, func(r *queue.Row) bool { return r.Leased }),
			alike(rows, func(r *queue.Row) bool { return r.Open }),
			alike(rows, func(r *queue.Row) time.Time { return r.VisibleAt }),
			alike(rows, func(r *queue.Row) time.Time { return r.ReceivedAt }),
			alike(rows, func(r *queue.Row) time.Time { return r.ExpiresAt }),
			alike(rows, func(r *queue.Row) int64 { return r.ClaimID }),
			alike(rows, func(r *queue.Row) int64 { return r.SourceQueue }),
			alike(rows, func(r *queue.Row) int64 { return r.SourceGroup }),
			alike(rows, func(r *queue.Row) time.Time { return r.DeadAt }),
			alike(rows, func(r *queue.Row) string { return clean(r.LastError) }),
			alike(rows, func(r *queue.Row) time.Time { return r.OriginAt }),
			alike(rows, func(r *queue.Row) int64 { return r.Place }))
	}
}

// queueDeleteMessages adds the deletion of messages with their bodies to b. The transaction has them locked.
func queueDeleteMessages(b *pgx.Batch, ids []int64) {
	if len(ids) > 0 {
		b.Queue(deleteMessagesSQL, ids)
	}
}

// alike is column, of whose elements only the first is sent where all are equal: unnest gives NULL for the others then, and the statement takes the first.
func alike[T any, F comparable](items []T, f func(T) F) []F {
	return allAlike(column(items, f))
}

func allAlike[F comparable](all []F) []F {
	for i := range all {
		if all[i] != all[0] {
			return all
		}
	}
	return all[:min(1, len(all))]
}

// column gives one field of each item, as an array that a statement unnests.
func column[T, F any](items []T, f func(T) F) []F {
	out := make([]F, len(items))
	for i, it := range items {
		out[i] = f(it)
	}
	return out
}
