package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/fault"
)

// sqlState gives PostgreSQL's code of an error, as every driver shows it; "" if it has none.
func sqlState(err error) string {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok && len(e.SQLState()) == 5 {
		return e.SQLState()
	}
	return ""
}

// again reports whether the database undid a transaction for the sake of another.
func again(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01": // serialisation failure, deadlock
		return true
	case "":
		_, committing := errors.AsType[*commitError](err)
		return errors.Is(err, errAgain) || !committing && (pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn))
	}
	return false
}

// errAgain asks for the transaction to be run again: a key was forgotten between look and lock.
var errAgain = errors.New("a row moved between look and lock")

// lockTimeout reports whether somebody else has a row locked for longer than calls that share a transaction wait.
func lockTimeout(err error) bool { return sqlState(err) == "55P03" }

// mayBeOne reports whether a shared transaction may have failed by one item: a value that the database refuses, or a key that somebody
// else has locked.
func mayBeOne(err error) bool {
	s := sqlState(err)
	return lockTimeout(err) || strings.HasPrefix(s, "22") || strings.HasPrefix(s, "23")
}

func away(err error) bool {
	if s := sqlState(err); s != "" {
		switch s[:2] {
		case "08", "40", "53", "57", "58": // the connection, rolled back too often, no room, shutting down, the disk
			return true
		}
		return s == "25006" || s == "25P03" || lockTimeout(err)
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	for _, is := range []error{
		driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed, context.DeadlineExceeded,
		batch.ErrFull, errAgain,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return pgconn.SafeToRetry(err) || sqliteBusy(err)
}

// sqliteBusy reports whether SQLite says that another writes. The drivers have no type in common, and no dependency of ours says which is used.
func sqliteBusy(err error) bool {
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return e.Code()&0xff == 5 || e.Code()&0xff == 6
	}
	return strings.Contains(err.Error(), "database is locked") || strings.Contains(err.Error(), "database table is locked")
}

// noTables reports whether the schema was never made. SQLite has no code of its own for that.
func noTables(err error) bool {
	return sqlState(err) == "42P01" || strings.Contains(err.Error(), "no such table: onceward_")
}

// fault gives err as callers expect it: the ledger's own errors and the caller's end as they are, a database that cannot be used now as
// UNAVAILABLE, anything else as it is.
func (d *DB[T]) fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if noTables(err) {
		return fault.New(fault.Internal, "the ledger's tables are not there (call Install at the start, or run the schema in a migration)").Wrap(err)
	}
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) || !away(err) {
		return err
	}
	msg, hint := "the ledger's database cannot be used at the moment", "ask again under the same key"
	switch _, committing := errors.AsType[*commitError](err); {
	case committing && sqlState(err) == "" && !errors.Is(err, pgx.ErrTxCommitRollback) && !sqliteBusy(err):
		msg = "the ledger's database went away during a commit: whether it took place is not known"
	case lockTimeout(err):
		msg = "an open transaction has the key locked"
	case sqliteBusy(err):
		hint += "; if it happens often, set a longer busy_timeout in the database's DSN"
	}
	return &fault.Error{Code: fault.Unavailable, Message: msg, Hint: hint, RetryAfter: time.Second, Err: err}
}

// commitError is the failure of a commit.
type commitError struct{ err error }

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }
