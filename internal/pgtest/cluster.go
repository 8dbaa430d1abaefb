//go:build unix

// Package pgtest gives tests a PostgreSQL of their own: a throw-away cluster for the process, and in it a fresh database
// for each test, copied from a template. It works on a bare machine, as root too, and leaves nothing behind, however
// the process ends. Where it cannot work it says what to install.
//
// With ONCEWARD_TEST_POSTGRES set to a URL that may create databases, that server is used instead.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Options of a cluster.
type Options struct {
	Fsync  bool     // commits reach the disk: slower, for measuring and for crash tests
	Dir    string   // where its folder is made, for a disk of its own; a short path. Default: /tmp
	Listen string   // an address beside 127.0.0.1, whose network is trusted
	Set    []string // settings, each name=value, after ours
	Env    []string // variables of its process, beside ours
}

// Cluster is a PostgreSQL server of this process's own, on a free port of 127.0.0.1 and a unix socket.
type Cluster struct {
	opts Options
	bin  string // the folder of initdb and postgres
	dir  string // of data and socket; short, since a socket's path ends at 107 bytes
	port int
	as   *syscall.Credential // who runs it, where that is not us

	mu      sync.Mutex
	server  *exec.Cmd
	exited  chan struct{}
	janitor io.Closer
}

// Start makes a cluster and waits until it answers. It ends with the process, or with Close.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: o, bin: bin}
	if err := c.makeDir(); err != nil {
		return nil, err
	}
	if err := c.initdb(ctx); err != nil {
		os.RemoveAll(c.dir)
		return nil, err
	}
	if err := c.Up(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// URL of a database of the cluster.
func (c *Cluster) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

// Port is where it listens.
func (c *Cluster) Port() int { return c.port }

// Pid is the server's process, 0 while it is down: what it and its children use can be read from /proc.
func (c *Cluster) Pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return 0
	}
	return c.server.Process.Pid
}

// makeDir makes the cluster's folder, owned by who runs it: PostgreSQL refuses root.
func (c *Cluster) makeDir() (err error) {
	in := c.opts.Dir
	if in == "" {
		in = "/tmp"
	}
	if c.dir, err = os.MkdirTemp(in, "owpg"); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody: add one of them, or run the tests as another user")
		}
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	c.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(c.dir, uid, gid)
}

func (c *Cluster) initdb(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "initdb"), "-D", filepath.Join(c.dir, "data"), "-U", "postgres",
		"-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir, cmd.SysProcAttr = c.dir, &syscall.SysProcAttr{Credential: c.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if c.opts.Listen == "" {
		return nil
	}
	hba, err := os.OpenFile(filepath.Join(c.dir, "data", "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer hba.Close()
	_, err = io.WriteString(hba, "host all all samenet trust\n")
	return err
}

// Up starts the server, after Down too, at the same address.
func (c *Cluster) Up(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.port == 0 {
		port, err := freePort()
		if err != nil {
			return err
		}
		c.port = port
	}
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	set := []string{
		"-D", filepath.Join(c.dir, "data"), "-p", strconv.Itoa(c.port), "-k", c.dir, "-h", "127.0.0.1",
		"-c", "max_connections=400", "-c", "shared_buffers=128MB", "-c", "max_wal_size=2GB", "-c", "autovacuum_naptime=5s",
	}
	if !c.opts.Fsync {
		set = append(set, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	if c.opts.Listen != "" {
		set = append(set, "-h", "127.0.0.1,"+c.opts.Listen)
	}
	for _, s := range c.opts.Set {
		set = append(set, "-c", s)
	}
	c.server = exec.Command(filepath.Join(c.bin, "postgres"), set...)
	c.server.Env = append(os.Environ(), c.opts.Env...)
	c.server.Dir, c.server.Stdout, c.server.Stderr = c.dir, log, log
	c.server.SysProcAttr = serverAttr(c.as)
	c.exited = make(chan struct{})
	if err := startTied(c.server, c.exited); err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	if c.janitor != nil {
		c.janitor.Close()
	}
	if c.janitor, err = janitor(c.server.Process.Pid, c.dir); err != nil {
		return err
	}
	return c.await(ctx)
}

// startTied starts cmd on a thread that lives as long as cmd does: the parent's death signal follows the thread that
// started the child, not the process.
func startTied(cmd *exec.Cmd, exited chan struct{}) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(exited)
		}
	}()
	return <-started
}

// janitor removes what a cluster leaves behind once this process has ended, however it ended: it waits for the end of
// a pipe that only this process holds.
func janitor(pid int, dir string) (io.Closer, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c",
		`read -r keep && exit 0; kill -QUIT "$1" 2>/dev/null; while kill -0 "$1" 2>/dev/null; do sleep 0.05; done; rm -rf "$2"`, "sh", strconv.Itoa(pid), dir)
	cmd.Stdin, cmd.SysProcAttr = r, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	go cmd.Wait()
	return dismissal{w}, nil
}

// dismissal sends a janitor home with nothing done.
type dismissal struct{ w *os.File }

func (d dismissal) Close() error {
	io.WriteString(d.w, "keep\n")
	return d.w.Close()
}

// await returns when the server answers.
func (c *Cluster) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.exited:
			log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("postgres ended at once:\n%s", log)
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer within a minute: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Down stops the server at once, without a checkpoint; Up starts it again with what was committed.
func (c *Cluster) Down() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil || c.server.Process == nil {
		return
	}
	c.server.Process.Signal(syscall.SIGQUIT)
	<-c.exited
}

// Ended reports whether the server is not running, whoever ended it.
func (c *Cluster) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// Close stops the server and removes its folder.
func (c *Cluster) Close() error {
	c.Down()
	if c.janitor != nil {
		c.janitor.Close()
	}
	return os.RemoveAll(c.dir)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// binaries finds the folder of initdb and postgres.
func binaries() (string, error) {
	var dirs []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for i := len(debian) - 1; i >= 0; i-- { // the newest first
		dirs = append(dirs, debian[i])
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(p))
	}
	for _, d := range dirs {
		if isFile(filepath.Join(d, "initdb")) && isFile(filepath.Join(d, "postgres")) {
			return d, nil
		}
	}
	return "", errors.New("no PostgreSQL server found (looked at pg_config --bindir, /usr/lib/postgresql/*/bin and PATH). " +
		"On Debian or Ubuntu: put \"create_main_cluster = false\" in /etc/postgresql-common/createcluster.conf, then apt-get install postgresql. " +
		"Or set ONCEWARD_TEST_POSTGRES to the URL of a server where databases may be created")
}

func isFile(p string) bool {
	s, err := os.Stat(p)
	return err == nil && s.Mode().IsRegular()
}
