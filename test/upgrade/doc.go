// Package upgrade opens databases that older programs have written: of each version of the schemas one, made by a program of that time. All in them must be
// readable and workable for the program of today.
//
// testdata has of each version the database (SQLite's file, or what pg_dump says) and what its program answered while it was written. To make those of a
// new version, before the next migration is added:
//
//	go build -o /path/onceward ./cmd/onceward
//	go test ./test/upgrade -run TestMake -program /path/onceward -version 12 -store postgres
package upgrade
