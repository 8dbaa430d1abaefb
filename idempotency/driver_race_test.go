//go:build race

package idempotency_test

import _ "github.com/mattn/go-sqlite3"

const driver = "sqlite3"

func dsn(path string) string { return "file:" + path + "?_busy_timeout=10000&_journal_mode=WAL" }
