// Package leak tells tests of goroutines that were left behind and can never end.
package leak

import (
	"bytes"
	"fmt"
	"os"
	"runtime/pprof"
	"testing"
)

// Run runs a package's tests for its TestMain and gives the code to exit with: 1 if a goroutine is left that can never end.
func Run(m *testing.M) int {
	code := m.Run()
	var text bytes.Buffer
	p := pprof.Lookup("goroutineleak")
	if err := p.WriteTo(&text, 1); err != nil || p.Count() > 0 {
		fmt.Fprintln(os.Stderr, err, text.String())
		code = 1
	}
	return code
}
