//go:build unix

package verify

import (
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// shy is an address that completes no connection until it is opened: a sender that dials it waits before its first byte.
type shy struct {
	address string
	file    *os.File
	filler  []net.Conn
}

// newShy listens with no room for connections and takes what room there is itself.
func newShy() (*shy, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("held receiver: %w", err)
	}
	unix.CloseOnExec(fd)
	s := &shy{file: os.NewFile(uintptr(fd), "held receiver")}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		s.close()
		return nil, fmt.Errorf("held receiver: %w", err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		s.close()
		return nil, fmt.Errorf("held receiver: %w", err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		s.close()
		return nil, fmt.Errorf("held receiver: %w", err)
	}
	s.address = fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
	for range 8 { // the kernel's backlog of none is one or two
		c, err := net.DialTimeout("tcp", s.address, 300*time.Millisecond)
		if err != nil {
			return s, nil
		}
		s.filler = append(s.filler, c)
	}
	s.close()
	return nil, fmt.Errorf("held receiver: the kernel goes on accepting connections")
}

// open lets connections through from now on.
func (s *shy) open() (net.Listener, error) {
	if err := unix.Listen(int(s.file.Fd()), 128); err != nil {
		return nil, err
	}
	for _, c := range s.filler {
		c.Close()
	}
	l, err := net.FileListener(s.file)
	s.file.Close()
	return l, err
}

func (s *shy) close() {
	for _, c := range s.filler {
		c.Close()
	}
	s.file.Close()
}
