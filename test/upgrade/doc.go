// Package upgrade opens databases that older programs have written: of each version of the schemas one, made by a program of that time, and of each release. All in them must be
// readable and workable for the program of today.
//
// testdata has of each version the database (SQLite's file, or what pg_dump says) and what its program answered while it was written, beside the commit of that program. It has one of each thing that the program
// knew: what came with a later version is not in it. To make those of a new version, before the next migration is added, and those of a release, before it is tagged and with its tag for the number:
//
//	go build -o /path/onceward ./cmd/onceward
//	go test ./test/upgrade -run TestMake -program /path/onceward -commit $(git rev-parse --short HEAD) -version 12 -store postgres
package upgrade
