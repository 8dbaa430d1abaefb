// Package child runs the program's server as a process of its own, to be killed, frozen and measured from outside.
package child

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is a running process of the program.
type Server struct {
	Name    string // for errors
	URL     string // where it answers
	Process *os.Process

	words *tail
	ended chan struct{}
	err   error // of Wait; after ended
}

// stopTime is how long a server may take to end after SIGTERM: what the program promises.
const stopTime = 25 * time.Second

// Start runs the program's server on a store, private networks allowed, and waits until it says where it listens. env are variables
// beside those of this process, of which none of the program's own goes along.
func Start(ctx context.Context, program, name, store string, env ...string) (*Server, error) {
	cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--store", store, "--allow-private-networks")
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ONCEWARD_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	Apart(cmd)
	s := &Server{Name: name, words: &tail{}, ended: make(chan struct{})}
	cmd.Env, cmd.Stderr = append(cmd.Env, env...), s.words
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = in
	err = cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("start a server: %w", err)
	}
	s.Process = cmd.Process
	go func() {
		s.err = cmd.Wait()
		close(s.ended)
	}()
	at := make(chan string, 1)
	go func() {
		defer out.Close()
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, rest, ok := strings.Cut(lines.Text(), "listening on "); ok {
				a, _, _ := strings.Cut(rest, ",")
				at <- a
			}
		}
		io.Copy(io.Discard, out)
	}()
	select {
	case s.URL = <-at:
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("server %s ended at its start (%v): %s", name, s.err, s.words)
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
	s.Kill()
	return nil, fmt.Errorf("server %s did not say where it listens: %s", name, s.words)
}

// Kill is SIGKILL, and waits until the process is gone.
func (s *Server) Kill() {
	s.Process.Kill()
	<-s.ended
}

// Stop is SIGTERM. It is an error if the process does not end well within the time that it promises.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop server %s: %w", s.Name, err)
	}
	select {
	case <-s.ended:
	case <-time.After(stopTime):
		s.Kill()
		return fmt.Errorf("server %s did not end within %v of SIGTERM: %s", s.Name, stopTime, s.words)
	case <-ctx.Done():
		s.Kill()
		return context.Cause(ctx)
	}
	if s.err != nil {
		return fmt.Errorf("server %s did not stop well: %w: %s", s.Name, s.err, s.words)
	}
	return nil
}

// Words gives the end of what it logged.
func (s *Server) Words() string { return s.words.String() }

// tail keeps the last of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > 2*tailSize {
		t.b = append(t.b[:0], t.b[len(t.b)-tailSize:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.b))
}
