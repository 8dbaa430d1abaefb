//go:build race

package simulation

// Under the race detector an idle hour of the server costs seven times as much: some seeds look for races, and `make test` runs the others without it.
const inTest = 2
