package pgtest

import "syscall"

// serverAttr makes the server a group of its own, run by as, that ends with this process.
func serverAttr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
