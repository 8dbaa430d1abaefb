package sqldb

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// engine begins and ends transactions of a library.
type engine[T any] interface {
	begin(ctx context.Context) (T, error)
	commit(ctx context.Context, tx T) error
	rollback(ctx context.Context, tx T)
	conn(tx T) conn
	pool() conn // for what is one statement
}

// conn runs statements.
type conn interface {
	exec(ctx context.Context, query string, args ...any) (int64, error)
	query(ctx context.Context, each func(scan func(...any) error) error, query string, args ...any) error
}

// sqlEngine is database/sql's.
type sqlEngine struct {
	db   *sql.DB
	turn chan struct{} // SQLite has one writer: those of this process wait here, in turn, not in its busy handler; nil on PostgreSQL
}

func (e *sqlEngine) begin(ctx context.Context) (*sql.Tx, error) {
	if e.turn != nil {
		select {
		case e.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		e.end()
	}
	return tx, err
}

func (e *sqlEngine) end() {
	if e.turn != nil {
		<-e.turn
	}
}

func (e *sqlEngine) commit(_ context.Context, tx *sql.Tx) error {
	err := tx.Commit() // refused or not, tx is over with it: what SQLite leaves open then, its drivers roll back
	e.end()
	return err
}

func (e *sqlEngine) rollback(_ context.Context, tx *sql.Tx) {
	tx.Rollback()
	e.end()
}

func (e *sqlEngine) conn(tx *sql.Tx) conn { return sqlConn{tx} }
func (e *sqlEngine) pool() conn           { return sqlConn{e.db} }

type sqlConn struct {
	on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

func (c sqlConn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := c.on.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (c sqlConn) query(ctx context.Context, each func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := c.on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return walk(rows, each)
}

// pgxEngine is a pgx pool's.
type pgxEngine struct{ of *pgxpool.Pool }

func (e pgxEngine) begin(ctx context.Context) (pgx.Tx, error) { return e.of.Begin(ctx) }

// commitTimeout is how long a commit is waited for, after which the database is taken to be gone.
const commitTimeout = 15 * time.Second

// A commit that was sent is waited for, whoever goes away meanwhile: cut off, nobody would know what became of it.
func (e pgxEngine) commit(ctx context.Context, tx pgx.Tx) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	return tx.Commit(ctx)
}

func (e pgxEngine) rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	tx.Rollback(ctx)
}

func (e pgxEngine) conn(tx pgx.Tx) conn { return pgxConn{tx} }
func (e pgxEngine) pool() conn          { return pgxConn{e.of} }

type pgxConn struct {
	on interface {
		Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (c pgxConn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := c.on.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

func (c pgxConn) query(ctx context.Context, each func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := c.on.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return walk(rows, each)
}

// walk gives each row to each.
func walk(rows interface {
	Next() bool
	Scan(...any) error
	Err() error
}, each func(scan func(...any) error) error,
) error {
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
