// Package faults starts whole servers on both stores and takes away what they stand on: the database, the disk, their
// process, their receivers. What must hold through it all: nothing that was answered 2xx is missing, and what was
// interrupted goes on by itself.
package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// long says whether the tests run at the sizes that docs/hazards.md prints.
var long = os.Getenv("ONCEWARD_TEST_LONG") != ""

// size is short, and printed where the long sizes are asked for.
func size[T any](short, printed T) T {
	if long {
		return printed
	}
	return short
}

var scratch string

func TestMain(m *testing.M) {
	if store := os.Getenv(farStore); store != "" { // a child of TestBothEndsKilled
		fmt.Fprintln(os.Stderr, beReceiver(store))
		os.Exit(1)
	}
	var err error
	if scratch, err = os.MkdirTemp("", "onceward-faults"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

var (
	program     = built("onceward", "")
	failProgram = built("onceward-failpoints", "failpoints")
)

// built builds the program, once.
func built(name, tags string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		to := filepath.Join(scratch, name)
		if out, err := exec.Command("go", "build", "-tags", tags, "-o", to, "github.com/onceward/onceward/cmd/onceward").CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the program: %w\n%s", err, out)
		}
		return to, nil
	})
}

// onBoth runs a test on each store.
func onBoth(t *testing.T, test func(t *testing.T, store string)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "onceward.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.Database(t)+"&pool_max_conns=8")
	})
}

// eventually polls until cond holds.
func eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}
