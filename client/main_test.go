package client_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/onceward/onceward/internal/leak"
)

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "onceward-client"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := leak.Run(m)
	os.RemoveAll(scratch)
	os.Exit(code)
}
