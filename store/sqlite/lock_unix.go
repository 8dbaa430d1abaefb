//go:build unix

package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the file for this process alone, until it is closed or the process is gone, however it went.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
