//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// Apart keeps a process out of what a terminal's interrupt ends: who started it ends it.
func Apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
