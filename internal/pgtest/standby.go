//go:build unix

package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
)

// Standby makes a server that follows c, and waits until it answers. It is known to c as standby; set synchronous_standby_names=standby and c's commits
// wait for it.
func (c *Cluster) Standby(ctx context.Context) (*Cluster, error) {
	s := &Cluster{opts: c.opts, bin: c.bin}
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	from := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres application_name=standby", c.port)
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "pg_basebackup"), "-D", filepath.Join(s.dir, "data"), "-d", from, "-R", "-X", "stream", "-c", "fast", "--no-sync")
	cmd.Dir, cmd.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(s.dir)
		return nil, fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	if err := s.Up(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Promote makes a standby a server of its own, and waits until it takes writes.
func (c *Cluster) Promote(ctx context.Context) error {
	return execOn(ctx, c.URL("postgres"), "SELECT pg_promote()")
}

// Dump gives a database as SQL that makes it anew, which a driver understands too.
func (c *Cluster) Dump(ctx context.Context, database string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "pg_dump"), "--inserts", "--no-owner", "--no-privileges", "-d", c.URL(database))
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("pg_dump: %w", err)
	}
	return psqlOnly.ReplaceAll(b, nil), nil
}

// psqlOnly are the lines of a dump that are for psql.
var psqlOnly = regexp.MustCompile(`(?m)^\\.*\n`)
