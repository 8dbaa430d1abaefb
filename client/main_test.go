package client_test

import (
	"os"
	"testing"

	"github.com/onceward/onceward/internal/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }
