//go:build unix && !linux

package pgtest

import "syscall"

// serverAttr makes the server a group of its own, run by as. The janitor alone ends it with this process.
func serverAttr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true}
}
