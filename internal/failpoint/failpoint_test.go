package failpoint_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward/internal/failpoint"
)

// The product has no fail points: neither the variables that would set one nor the places are in its binary. A program of the tag has them all, or this test
// would show nothing.
func TestTheProductHasNone(t *testing.T) {
	t.Parallel()
	if failpoint.On {
		t.Skip("these tests are built with fail points")
	}
	for _, tags := range []string{"", "failpoints"} {
		program := filepath.Join(t.TempDir(), "onceward")
		build := exec.CommandContext(t.Context(), "go", "build", "-tags", tags, "-o", program, "github.com/onceward/onceward/cmd/onceward")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build with the tags %q: %v\n%s", tags, err, out)
		}
		b, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{failpoint.AtVariable, failpoint.FileVariable, failpoint.ClockVariable, failpoint.BeforeFirstByte, failpoint.FirstByteSent, "fail point: "} {
			if has := bytes.Contains(b, []byte(word)); has != (tags != "") {
				t.Errorf("a program built with the tags %q has %q: %v", tags, word, has)
			}
		}
	}
}
