//go:build !race

package sqlitetest

import _ "modernc.org/sqlite" // the driver

// Driver is the name of the driver.
const Driver = "sqlite"

// DSN names a file's database to the driver.
func DSN(path string) string {
	return "file:" + path + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"
}
