//go:build !race

package sqlite

import (
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
)

// fdatasync is as durable as fsync for a file whose size and content are all that matters, and cheaper.
func init() { sqlite.Fdatasync(true) }

func sqlDriver() driver.Driver { return &sqlite.Driver{} }

// codeOf gives SQLite's primary result code of err; 0 if it is none of SQLite's.
func codeOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}
