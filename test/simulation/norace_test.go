//go:build !race

package simulation

// inTest is how many seeds `go test` runs.
const inTest = 100
