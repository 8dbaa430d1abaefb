//go:build unix

package verify

import (
	"context"
	"os"
	"syscall"

	"github.com/onceward/onceward/internal/pgtest"
)

// freeze stops a process where it stands; thaw lets it go on.
func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// OwnCluster starts a throw-away PostgreSQL from the binaries on this machine, its commits on disk. An error says that there
// are none. ONCEWARD_TEST_POSTGRES names a server that stands in for it, as for the tests.
func OwnCluster(ctx context.Context) (url string, stop func(), err error) {
	if url := os.Getenv("ONCEWARD_TEST_POSTGRES"); url != "" {
		return url, func() {}, nil
	}
	c, err := pgtest.Start(ctx, pgtest.Options{Fsync: true})
	if err != nil {
		return "", nil, err
	}
	return c.URL("postgres"), func() { c.Close() }, nil
}
