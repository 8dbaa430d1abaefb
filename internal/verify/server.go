package verify

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The lease of a delivery is its endpoint's time-out, which a case may choose, and the slack that every server of a run is told.
const (
	quick = time.Second      // the time-out of most cases: their leases run out soon
	ready = 2 * time.Second  // of those with an instant to be met while a request is out, however slow the machine
	ample = 15 * time.Second // of those that end leases themselves
	slack = time.Second

	apiKey     = "verify-verify-verify"
	secretsKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
)

// server is a real process of the program.
type server struct {
	name  string
	url   string
	cmd   *exec.Cmd
	words *tail
	ended chan struct{}
	err   error // of Wait; after ended
}

// startServer runs the program on a store and waits until it says where it listens.
func startServer(ctx context.Context, program, name, store string) (*server, error) {
	s := &server{name: name, words: &tail{}, ended: make(chan struct{})}
	s.cmd = exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--store", store, "--allow-private-networks")
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ONCEWARD_") {
			s.cmd.Env = append(s.cmd.Env, e)
		}
	}
	s.cmd.Env = append(s.cmd.Env, "ONCEWARD_API_KEY="+apiKey, "ONCEWARD_SECRETS_KEY="+secretsKey, "ONCEWARD_DELIVERY_SLACK="+slack.String())
	s.cmd.Stderr = s.words
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stdout = in
	err = s.cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("start a server: %w", err)
	}
	go func() {
		s.err = s.cmd.Wait()
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
	case s.url = <-at:
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("server %s ended at its start (%v): %s", name, s.err, s.words)
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
	s.kill()
	return nil, fmt.Errorf("server %s did not say where it listens: %s", name, s.words)
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// kill is SIGKILL, and waits until the process is gone.
func (s *server) kill() {
	s.cmd.Process.Kill()
	<-s.ended
}

// stop is SIGTERM. It is an error if the process does not end well within the time that it promises.
func (s *server) stop(ctx context.Context) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop server %s: %w", s.name, err)
	}
	select {
	case <-s.ended:
	case <-time.After(25 * time.Second):
		s.kill()
		return fmt.Errorf("server %s did not end within 25 s of SIGTERM: %s", s.name, s.words)
	case <-ctx.Done():
		s.kill()
		return context.Cause(ctx)
	}
	if s.err != nil {
		return fmt.Errorf("server %s did not stop well: %w: %s", s.name, s.err, s.words)
	}
	return nil
}

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

func (r *run) killAll() {
	for _, s := range r.servers {
		thaw(s.cmd.Process)
		s.kill()
	}
	if r.receiver != nil {
		r.receiver.close()
	}
}

// lastWords gives what the servers of a run that went wrong logged.
func (r *run) lastWords() error {
	var errs []error
	for _, s := range r.servers {
		if w := s.words.String(); w != "" {
			errs = append(errs, fmt.Errorf("server %s: %s", s.name, w))
		}
	}
	return errors.Join(errs...)
}
