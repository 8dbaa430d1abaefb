//go:build race

package sqlite

import (
	"database/sql/driver"
	"errors"

	"github.com/mattn/go-sqlite3"
)

// The pure-Go driver is instrumented too under -race, and many times slower; so tests for races open the same file
// through the C library.
func sqlDriver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// codeOf gives SQLite's primary result code of err; 0 if it is none of SQLite's.
func codeOf(err error) int {
	if e, ok := errors.AsType[sqlite3.Error](err); ok {
		return int(e.Code) & 0xff
	}
	return 0
}
