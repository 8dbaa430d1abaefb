package bench

import (
	"testing"
	"time"

	"github.com/onceward/onceward/internal/cost"
)

// usage is the processor time that this process and a PostgreSQL cluster have used so far. Client, server and
// receiver are all in this process.
func usage(b *testing.B, postmaster int) time.Duration {
	d, err := cost.Self()
	if err == nil && postmaster != 0 {
		var database time.Duration
		database, err = cost.Tree(postmaster)
		d += database
	}
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// usageOf is the processor time of another process so far.
func usageOf(b *testing.B, pid int) time.Duration {
	d, err := cost.Tree(pid)
	if err != nil {
		b.Fatal(err)
	}
	return d
}
