//go:build !race

package ledger_test

import _ "modernc.org/sqlite"

const sqliteDriver = "sqlite"

func dsn(path string) string {
	return "file:" + path + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"
}
