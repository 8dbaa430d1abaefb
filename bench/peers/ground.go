package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/pgtest"
)

// errAbsent says that the machine has not what a peer needs.
var errAbsent = errors.New("this machine lacks it")

var grounds struct {
	cluster *pgtest.Cluster
	dir     string
	kept    *broker // goes on until the visit to its peer ends
}

// endVisit stops what was kept from one case of a peer to the next.
func endVisit() {
	if grounds.kept != nil {
		grounds.kept.stop()
		grounds.kept = nil
	}
}

func stopGrounds() {
	endVisit()
	if grounds.cluster != nil {
		grounds.cluster.Close()
	}
	if grounds.dir != "" {
		os.RemoveAll(grounds.dir)
	}
	grounds.cluster, grounds.dir, built = nil, "", map[string]string{}
}

// folder makes an empty folder, that goes when all is over.
func folder() (string, error) {
	if grounds.dir == "" {
		var err error
		if grounds.dir, err = os.MkdirTemp("", "peers-"); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(grounds.dir, "")
}

// startCluster starts a PostgreSQL of its own, once.
func startCluster(ctx context.Context) (err error) {
	if grounds.cluster == nil {
		if grounds.cluster, err = pgtest.Start(ctx, pgtest.Options{Fsync: true}); err != nil {
			return fmt.Errorf("%w: %w", errAbsent, err)
		}
	}
	return nil
}

// database makes an empty database on a PostgreSQL of its own, whose commits are on disk.
func database(ctx context.Context) (url string, drop func() error, err error) {
	if err := startCluster(ctx); err != nil {
		return "", nil, err
	}
	admin, err := pgx.Connect(ctx, grounds.cluster.URL("postgres"))
	if err != nil {
		return "", nil, err
	}
	_, err = admin.Exec(ctx, "CHECKPOINT") // what the case before has left to write is not this one's
	if err = errors.Join(err, admin.Close(ctx)); err != nil {
		return "", nil, err
	}
	at, dropIt, err := pgtest.Scratch(ctx, grounds.cluster.URL("postgres"), "peers_")
	return at, func() error { return dropIt(context.WithoutCancel(ctx)) }, err
}

var built = map[string]string{}

// build makes a program from its source, once: pkg as seen from dir, by go build if nothing else is said.
func build(dir, pkg string, how ...string) (string, error) {
	if at := built[dir+" "+pkg]; at != "" {
		return at, nil
	}
	to, err := folder()
	if err != nil {
		return "", err
	}
	at := filepath.Join(to, "program")
	if len(how) == 0 {
		how = []string{"build"}
	}
	cmd := exec.Command("go", append(how, "-o", at, pkg)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", pkg, err, text)
	}
	built[dir+" "+pkg] = at
	return at, nil
}

// broker is a process that was started for one case.
type broker struct {
	cmd  *exec.Cmd
	dir  string
	port int
}

// startBroker runs a program in an empty folder until its port answers.
func startBroker(ctx context.Context, program string, env func(dir string, port int) []string, args func(dir string, port int) ([]string, error)) (b *broker, port int, err error) {
	if _, err := exec.LookPath(program); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errAbsent, err)
	}
	dir, err := folder()
	if err != nil {
		return nil, 0, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	with, err := args(dir, port)
	if err != nil {
		return nil, 0, err
	}
	b = &broker{exec.Command(program, with...), dir, port}
	b.cmd.Dir = dir
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if env != nil {
		b.cmd.Env = append(os.Environ(), env(dir, port)...)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, 0, err
	}
	defer log.Close()
	b.cmd.Stdout, b.cmd.Stderr = log, log
	if err := b.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			c.Close()
			return b, port, nil
		}
		if time.Now().After(end) || ctx.Err() != nil {
			words, _ := os.ReadFile(filepath.Join(dir, "log"))
			return nil, 0, errors.Join(fmt.Errorf("%s does not answer: %w: %s", program, err, words), b.stop())
		}
	}
}

func (b *broker) roots() map[string]int { return map[string]int{"broker": b.cmd.Process.Pid} }

// stop ends the broker, and all that it started.
func (b *broker) stop() error {
	syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
	b.cmd.Wait()
	return os.RemoveAll(b.dir)
}
