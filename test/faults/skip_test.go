package faults

import (
	"fmt"
	"os"
	"testing"
)

// skip ends a test that this machine cannot do. `go test` says nothing of it, so the sentence goes into the file that ONCEWARD_TEST_SKIPPED names too:
// .ci/run shows it at its end.
func skip(t testing.TB, format string, args ...any) {
	t.Helper()
	why := fmt.Sprintf(format, args...)
	if name := os.Getenv("ONCEWARD_TEST_SKIPPED"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := fmt.Fprintf(f, "%s: %s\n", t.Name(), why); err != nil {
			t.Fatal(err)
		}
	}
	t.Skip(why)
}
