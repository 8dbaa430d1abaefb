//go:build unix && !linux

package pgtest

// Memory is no folder: see [Options].
func Memory() string { return "" }
