//go:build linux

package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Signal sends a signal to the server and to each of its processes: SIGKILL is the machine's end, SIGSTOP freezes it. The server goes first, so that
// it makes no process anew.
func (c *Cluster) Signal(sig syscall.Signal) error {
	pid := c.Pid()
	if pid == 0 {
		return fmt.Errorf("signal %v: the server is down", sig)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return fmt.Errorf("signal %v to the server: %w", sig, err)
	}
	if sig == syscall.SIGKILL {
		<-c.exited
	}
	for {
		l := c.Backends()
		for _, b := range l {
			syscall.Kill(b, sig) // one that has just ended is no error
		}
		if sig != syscall.SIGKILL || len(l) == 0 {
			return nil
		}
		time.Sleep(time.Millisecond) // until the last is gone: a server beside it would not start
	}
}

// Backends are the server's processes but itself. Once the server is killed they are nobody's children: they are known by the folder that they work in.
func (c *Cluster) Backends() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, p := range all {
		if at, err := os.Readlink(p); err != nil || at != filepath.Join(c.dir, "data") {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(p, "/")[2]); err == nil && pid != c.Pid() {
			pids = append(pids, pid)
		}
	}
	return pids
}
