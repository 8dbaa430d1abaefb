//go:build !race

package sqlite_test

const driver = "sqlite"
