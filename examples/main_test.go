package examples

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/internal/pgtest"
)

const apiKey = "examples-test-key-0123456789"

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "onceward-examples"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// built has the Go programs, each under the name of its folder, and the server.
var built = sync.OnceValues(func() (string, error) {
	for name, of := range map[string]string{"onceward": "cmd/onceward", "api": "examples/go/api", "worker": "examples/go/worker", "receiver": "examples/go/receiver"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(scratch, name), "github.com/onceward/onceward/"+of).CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", of, err, out)
		}
	}
	return scratch, nil
})

// node has the Node programs with what they need.
var node = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("the examples in Node need %s (18 or newer), and there is none. On Debian or Ubuntu: apt-get install -y nodejs npm", tool)
		}
	}
	dir := filepath.Join(scratch, "node")
	if err := os.CopyFS(dir, os.DirFS("node")); err != nil {
		return "", err
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci in examples/node: %w\n%s", err, out)
	}
	return dir, nil
})

// python is the interpreter.
var python = sync.OnceValues(func() (string, error) {
	path, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("the example in Python needs python3 (3.9 or newer), and there is none. On Debian or Ubuntu: apt-get install -y python3")
	}
	return path, nil
})

// command is the program of a language.
func command(t testing.TB, language, program string) *exec.Cmd {
	t.Helper()
	fail := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	switch language {
	case "go":
		dir, err := built()
		fail(err)
		return exec.Command(filepath.Join(dir, program))
	case "node":
		dir, err := node()
		fail(err)
		cmd := exec.Command("node", program+".mjs")
		cmd.Dir = dir
		return cmd
	default:
		path, err := python()
		fail(err)
		return exec.Command(path, filepath.Join("python", program+".py"))
	}
}

// onBoth runs a test with a server on each store.
func onBoth(t *testing.T, test func(t *testing.T, s *child.Server, c *client.Client)) {
	t.Parallel()
	for name, store := range map[string]func() string{
		"sqlite":   func() string { return "sqlite:" + filepath.Join(t.TempDir(), "onceward.db") },
		"postgres": func() string { return pgtest.Database(t) + "&pool_max_conns=6" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := built()
			if err != nil {
				t.Fatal(err)
			}
			s, err := child.Start(t.Context(), filepath.Join(dir, "onceward"), name, store(), "ONCEWARD_API_KEY="+apiKey, "ONCEWARD_SECRETS_KEY="+strings.Repeat("5a", 32))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Kill)
			c, err := client.New(client.Config{URL: s.URL, APIKey: apiKey})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.HTTP.CloseIdleConnections)
			test(t, s, c)
		})
	}
}

// running is an example at work.
type running struct {
	url   string // where it listens, if it does
	cmd   *exec.Cmd
	lines chan string // what it says afterwards
	ended chan struct{}
}

// start starts an example and waits until it says that it listens or works.
func start(t testing.TB, cmd *exec.Cmd, env ...string) *running {
	t.Helper()
	cmd.Env = append(os.Environ(), append([]string{"LISTEN=127.0.0.1:0", "ONCEWARD_API_KEY=" + apiKey}, env...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{cmd: cmd, lines: make(chan string, 10_000), ended: make(chan struct{})}
	t.Cleanup(r.kill)
	go func() {
		defer close(r.ended)
		defer close(r.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			r.lines <- s.Text()
		}
		cmd.Wait()
	}()
	r.url, _ = strings.CutPrefix(r.says(t, ""), "listening on ")
	return r
}

// says waits for a line that begins so.
func (r *running) says(t testing.TB, prefix string) string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, ok := <-r.lines:
			if !ok {
				t.Fatalf("%v ended before it said %q", r.cmd.Args, prefix)
			}
			if strings.HasPrefix(line, prefix) {
				return line
			}
		case <-late:
			t.Fatalf("%v did not say %q within a minute", r.cmd.Args, prefix)
		}
	}
}

// term is SIGTERM; the program must end well.
func (r *running) term(t testing.TB) {
	t.Helper()
	r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.ended:
		if code := r.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("%v ended with %d", r.cmd.Args, code)
		}
	case <-time.After(30 * time.Second):
		t.Errorf("%v still runs 30 s after SIGTERM", r.cmd.Args)
	}
}

func (r *running) kill() {
	r.cmd.Process.Signal(syscall.SIGKILL)
	<-r.ended
}

// rows asks an application's database for a number.
func rows(t testing.TB, url, query string, args ...any) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// until waits for what goes on in other processes.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come within a minute: %s", what)
		}
	}
}
