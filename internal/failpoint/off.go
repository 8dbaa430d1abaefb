//go:build !(failpoints && linux)

package failpoint

import "time"

// On says that this program has fail points.
const On = false

// At is an instant at which the process may be stopped. It reports whether it was.
func At(string, ...string) bool { return false }

// Clock is no time at all.
func Clock() time.Duration { return 0 }

// Callers names nothing here.
func Callers() []string { return nil }
