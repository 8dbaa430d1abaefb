package wire

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"

	"github.com/onceward/onceward/internal/pgtest"
)

// ends runs the program until it ends by itself: its exit code and all that it wrote.
func ends(t *testing.T, env []string, args ...string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), env...)
	b, _ := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Errorf("onceward %s does not end:\n%s", strings.Join(args, " "), b)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	key := "ONCEWARD_API_KEY=" + apiKey
	db := "sqlite:" + filepath.Join(t.TempDir(), "o.db")
	for _, c := range []struct {
		name string
		env  []string
		args []string
		code int
	}{
		{"an unknown flag", nil, []string{"serve", "--colour"}, 2},
		{"an unknown command", nil, []string{"serv"}, 2},
		{"a store of no kind", []string{key}, []string{"serve", "--store", "mysql://x"}, 2},
		{"a short key", []string{"ONCEWARD_API_KEY=short"}, []string{"serve", "--store", db}, 2},
		{"a key with a line's end", []string{"ONCEWARD_API_KEY=0123456789abcdef\n"}, []string{"serve", "--store", db}, 2},
		{"a long key", []string{"ONCEWARD_API_KEY=" + strings.Repeat("k", 256)}, []string{"serve", "--store", db}, 2},
		{"a folder that is not there", []string{key}, []string{"serve", "--listen", "127.0.0.1:0", "--store", "sqlite:/nonexistent/x/o.db"}, 1},
		{"a database that is not there", []string{key, "ONCEWARD_SECRETS_KEY=" + strings.Repeat("5a", 32)}, []string{"serve", "--listen", "127.0.0.1:0", "--store", "postgres://nobody@127.0.0.1:1/none"}, 1},
		{"PostgreSQL without a secrets key", []string{key}, []string{"serve", "--listen", "127.0.0.1:0", "--store", "postgres://nobody@127.0.0.1:1/none"}, -1},
		{"a secrets key of another length", []string{key, "ONCEWARD_SECRETS_KEY=abcd"}, []string{"serve", "--listen", "127.0.0.1:0", "--store", db}, 2},
		{"a secrets key file that is not there", []string{key}, []string{"serve", "--listen", "127.0.0.1:0", "--store", db, "--secrets-key-file", "/nonexistent/x/key"}, -1},
		{"an address in use", []string{key}, []string{"serve", "--listen", taken.Addr().String(), "--store", db}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, out := ends(t, c.env, c.args...)
			if code == 0 || c.code > 0 && code != c.code {
				t.Errorf("the exit code is %d, want %d:\n%s", code, c.code, out)
			}
			if strings.TrimSpace(out) == "" || strings.Contains(out, "goroutine ") || strings.Contains(out, apiKey) {
				t.Errorf("it says no sentence, or too much:\n%s", out)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	code, out := ends(t, nil, "serve", "--help")
	for _, want := range []string{"--listen", "127.0.0.1:6623", "ONCEWARD_LISTEN", "--store", "sqlite:onceward.db", "ONCEWARD_STORE", "--allow-private-networks", "ONCEWARD_ALLOW_PRIVATE_NETWORKS", "--secrets-key-file", "ONCEWARD_SECRETS_KEY", "ONCEWARD_API_KEY"} {
		if !strings.Contains(out, want) {
			t.Errorf("serve --help does not name %s", want)
		}
	}
	if code != 0 {
		t.Errorf("--help exits %d", code)
	}
}

// One process owns a SQLite file, a kill frees it, and what was answered is there.
func TestSQLiteFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "o.db")
	store := "sqlite:" + path
	s := start(t, store)
	s.queue(t, "kept", nil)
	id := s.publish(t, "kept", 1, nil)["message_id"]
	code, out := ends(t, []string{"ONCEWARD_API_KEY=" + apiKey}, "serve", "--listen", "127.0.0.1:0", "--store", store)
	if code != 1 || strings.TrimSpace(out) == "" {
		t.Errorf("a second process on the file exits %d:\n%s", code, out)
	}
	s.cmd.Process.Kill()
	<-s.done
	s = start(t, store)
	if m := s.one(t, "kept", nil); m["message_id"] != id {
		t.Errorf("after a kill: %v", m)
	}
	s.stop(t, 25*time.Second)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 9999"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	code, out = ends(t, []string{"ONCEWARD_API_KEY=" + apiKey}, "serve", "--listen", "127.0.0.1:0", "--store", store)
	if code != 1 || !strings.Contains(out, "newer") {
		t.Errorf("a newer store: exit %d\n%s", code, out)
	}
}

func TestNewerPostgreSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	s := start(t, url)
	s.stop(t, 25*time.Second)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "INSERT INTO migrations (version, name) VALUES (9999, 'later')"); err != nil {
		t.Fatal(err)
	}
	conn.Close(t.Context())
	code, out := ends(t, []string{"ONCEWARD_API_KEY=" + apiKey, "ONCEWARD_SECRETS_KEY=" + strings.Repeat("5a", 32)}, "serve", "--listen", "127.0.0.1:0", "--store", url)
	if code != 1 || !strings.Contains(out, "newer") {
		t.Errorf("a newer store: exit %d\n%s", code, out)
	}
}

// The first start makes a key and shows it once, and the secrets key lies beside the file for its owner alone.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(dir, "o.db")
	run := func() string {
		cmd := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--store", store)
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s := &server{cmd: cmd, done: make(chan struct{})}
		go func() { cmd.Wait(); close(s.done) }()
		said := func() string { b, _ := os.ReadFile(out.Name()); return string(b) }
		eventually(t, "it listens", time.Minute, func() bool { return strings.Contains(said(), "listening") })
		s.stop(t, 25*time.Second)
		return said()
	}
	first, second := run(), run()
	if !strings.Contains(first, "shown this once") || strings.Contains(second, "shown this once") {
		t.Errorf("the first start says\n%s\nand the second\n%s", first, second)
	}
	files, _ := os.ReadDir(dir)
	secret := 0
	for _, f := range files {
		if info, err := f.Info(); err == nil && strings.Contains(f.Name(), "key") {
			if secret++; info.Mode().Perm() != 0o600 {
				t.Errorf("%s has the mode %v", f.Name(), info.Mode())
			}
		}
	}
	if secret != 1 {
		t.Errorf("there are %d key files beside the store: %v", secret, files)
	}
}

// Without --allow-private-networks, neither http:// nor a private address.
func TestPublicOnly(t *testing.T) {
	t.Parallel()
	store := "sqlite:" + filepath.Join(t.TempDir(), "o.db")
	s := start(t, store, "--allow-private-networks=false")
	for _, url := range []string{"http://example.com/", "https://127.0.0.1/", "https://localhost/", "https://10.1.2.3/", "https://192.168.0.1/", "https://169.254.169.254/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://0.0.0.0/"} {
		s.post(t, endpoints, object{"url": url}).refused(t, 400, "INVALID_ARGUMENT", "/url")
	}
	e := s.endpoint(t, "https://example.com/", nil)
	s.call(t, "PATCH", endpoints+"/"+text(e["endpoint_id"]), object{"url": "http://127.0.0.1/"}).refused(t, 400, "INVALID_ARGUMENT", "/url")
	s.stop(t, 25*time.Second)
}

// SIGTERM: out within 25 s, though a receiver and a consumer hang, and nothing is lost.
func TestStop(t *testing.T) {
	t.Parallel()
	store := "sqlite:" + filepath.Join(t.TempDir(), "o.db")
	s := start(t, store)
	hang := make(chan struct{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reached := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			reached <- c
		}
	}()
	defer close(hang)
	id := s.deliver(t, fmt.Sprintf("http://%s/", l.Addr()), object{"timeout_seconds": 30}, nil)["delivery_id"]
	c := <-reached
	defer c.Close()
	s.queue(t, "stop", nil)
	waited := make(chan time.Duration, 1)
	go func() {
		began := time.Now()
		s.consume(t, "stop", object{"wait_seconds": 20})
		waited <- time.Since(began)
	}()
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	s.stop(t, 25*time.Second)
	t.Logf("it stopped in %v", time.Since(began))
	if w := <-waited; w > 5*time.Second {
		t.Errorf("the waiting consumer was answered after %v", w)
	}
	s = start(t, store)
	d := s.delivery(t, id)
	if a := attempts(d); len(a) > 0 {
		is(t, "the interrupted attempt", a[0], object{"outcome": "unknown", "class": "ambiguous"})
	}
	if d["state"] == "failed" || d["state"] == "delivered" {
		t.Errorf("the interrupted delivery is %v", d["state"])
	}
}

// The other commands are clients: exit 0, 1 failed, 2 used wrongly; --json for programs.
func TestClients(t *testing.T) {
	t.Parallel()
	s := start(t, "sqlite:"+filepath.Join(t.TempDir(), "o.db"))
	env := []string{"ONCEWARD_URL=" + s.url, "ONCEWARD_API_KEY=" + apiKey}
	for _, c := range []struct {
		args string
		env  []string
		code int
		want string
	}{
		{"queue create jobs", env, 0, "jobs"},
		{"queue create jobs --json", env, 0, `"max_receive_count"`},
		{"queue list --json", env, 0, `"items"`},
		{"queue publish jobs 1", env, 0, "qmsg_"},
		{"queue stats jobs", env, 0, "jobs"},
		{"queue get none", env, 1, "none"},
		{"queue get", env, 2, ""},
		{"queue stats jobs --colour", env, 2, ""},
		{"endpoint list --json", env, 0, `"items"`},
		{"event list", env, 0, ""},
		{"delivery list --json", env, 0, `"items"`},
		{"queue list", []string{"ONCEWARD_URL=" + s.url, "ONCEWARD_API_KEY=wrong-key-0123456789"}, 1, ""},
		{"queue list", []string{"ONCEWARD_URL=http://127.0.0.1:1", "ONCEWARD_API_KEY=" + apiKey}, 1, ""},
	} {
		code, out := ends(t, c.env, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("onceward %s exits %d, want %d and %q:\n%s", c.args, code, c.code, c.want, out)
		}
	}
}
