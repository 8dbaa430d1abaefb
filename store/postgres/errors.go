package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/fault"
)

// again reports whether a transaction that ended in err certainly left nothing and may do better when run again.
func again(err error) bool {
	if errors.Is(err, errAgain) || pgconn.SafeToRetry(err) {
		return true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", // serialisation failure, deadlock
			"25P03",          // we were frozen inside it, until the database gave it up
			"0A000", "26000": // a plan or a prepared statement that a migration or a pooler made stale
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*commitError](err); ok {
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return false // the server is away: the caller is told, and when to try again
	}
	return lost(err)
}

// againAlone is again for a statement that is a transaction by itself: a connection lost while it ran may have lost only its answer.
func againAlone(err error) bool {
	return again(err) && (pgconn.SafeToRetry(err) || !lost(err))
}

// lost reports whether err is that of a connection.
func lost(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	return refused || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, puddle.ErrClosedPool) || pgconn.Timeout(err)
}

// away reports whether err says that the store cannot be used now: whoever waits may find it back.
func away(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code[:2] {
		case "08", // connection
			"40", // rolled back, more often than we were ready to try
			"53", // no space, no memory, too many connections
			"57", // shutting down, starting, cancelled
			"58": // the disk
			return true
		}
		return e.Code == "25006" /* read only */ || e.Code == "25P03" /* again and again */ || e.Code == "55P03" /* a lock */
	}
	return lost(err) || errors.Is(err, errAgain) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, batch.ErrFull) || errors.Is(err, batch.ErrClosed)
}

// fault gives err as the domains expect it: their own errors and the caller's end as they are, a store that is away
// as Unavailable, anything else as it is, which is an internal error.
func (db *DB) fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return err
	}
	if !away(err) {
		return err
	}
	msg := "the database cannot be used at the moment"
	if _, ok := errors.AsType[*commitError](err); ok {
		msg = "the database went away during a commit: whether it took place is not known"
	}
	return &fault.Error{Code: fault.Unavailable, Message: msg, Hint: "send the same request again, under the same key", RetryAfter: time.Second, Err: err}
}

// lockTimeout reports whether a statement failed since it waited as long for a lock as it may.
func lockTimeout(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "55P03"
}

// refused reports whether the database refused a statement for what it says or does, and so undid its transaction.
func refused(err error) bool {
	_, ok := errors.AsType[*pgconn.PgError](err)
	return ok && !away(err)
}

// badItem reports whether a batch may have failed by one item's fault: a value that the database refuses.
func badItem(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code[:2] == "22" || e.Code[:2] == "23")
}

// clean makes s a text that the database takes: valid UTF-8 without the zero character.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
