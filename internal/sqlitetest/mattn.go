//go:build race

package sqlitetest

import _ "github.com/mattn/go-sqlite3" // the driver

// Driver is the name of the driver.
const Driver = "sqlite3"

// DSN names a file's database to the driver.
func DSN(path string) string { return "file:" + path + "?_busy_timeout=10000&_journal_mode=WAL" }
