//go:build !race

package idempotency_test

import _ "modernc.org/sqlite"

const driver = "sqlite"

func dsn(path string) string {
	return "file:" + path + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"
}
