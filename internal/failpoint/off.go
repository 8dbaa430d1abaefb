//go:build !(failpoints && linux)

package failpoint

// On says that this program has fail points.
const On = false

// At is an instant at which the process may be stopped. It reports whether it was.
func At(string, ...string) bool { return false }

// Callers names nothing here.
func Callers() []string { return nil }
