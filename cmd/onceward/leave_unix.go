//go:build unix

package main

import (
	"net"
	"os"
	"syscall"
)

// closeListener closes l, and gives the connections that it had and nobody had accepted.
func closeListener(l net.Listener) (late []net.Conn, err error) {
	var fds []int
	control(l, func(fd int) {
		for {
			syscall.ForkLock.RLock()
			c, _, err := syscall.Accept(fd)
			if err == nil {
				syscall.CloseOnExec(c)
			}
			syscall.ForkLock.RUnlock()
			switch err {
			case nil:
				fds = append(fds, c)
			case syscall.EINTR, syscall.ECONNABORTED:
			default: // there is none; the next would be lost, so none may come until l is closed, which takes a while
				syscall.Shutdown(fd, syscall.SHUT_RD)
				return
			}
		}
	})
	err = l.Close()
	for _, fd := range fds {
		f := os.NewFile(uintptr(fd), "connection")
		if c, err := net.FileConn(f); err == nil {
			late = append(late, c)
		}
		f.Close()
	}
	return late, err
}

// quiet reports whether nothing that c received waits to be read.
func quiet(c net.Conn) bool {
	n := 0
	control(c, func(fd int) {
		n, _, _ = syscall.Recvfrom(fd, make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return n <= 0
}

func control(of any, do func(fd int)) {
	if c, ok := of.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { do(int(fd)) })
		}
	}
}
