package worker_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime/pprof"
	"testing"
)

// No goroutine is left behind that can never end.
func TestMain(m *testing.M) {
	code := m.Run()
	var text bytes.Buffer
	p := pprof.Lookup("goroutineleak")
	if err := p.WriteTo(&text, 1); err != nil || p.Count() > 0 {
		fmt.Fprintln(os.Stderr, err, text.String())
		code = 1
	}
	os.Exit(code)
}
