package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/onceward/onceward/internal/cost"
)

// nodeFolder has the queues for Node.js.
const nodeFolder = "node"

// nodeReady installs what they need, once.
func nodeReady() error {
	if _, err := exec.LookPath("npm"); err != nil {
		return fmt.Errorf("%w: %w", errAbsent, err)
	}
	if _, err := os.Stat(filepath.Join(nodeFolder, "node_modules")); err == nil {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = nodeFolder
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: npm ci: %w: %s", errAbsent, err, text)
	}
	return nil
}

// measureNode has a process of Node.js make a case.
func measureNode(ctx context.Context, s settings, p peer, what string) (f figure, err error) {
	if err := nodeReady(); err != nil {
		return f, err
	}
	url, roots, end, err := p.ground(ctx)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, end()) }()
	how, err := json.Marshal(map[string]any{
		"jobs": s.jobs, "callers": s.callers, "batch": s.batch, "size": s.size, "rate": s.rate, "span": s.span.Seconds(),
	})
	if err != nil {
		return f, err
	}
	cmd := exec.CommandContext(ctx, "node", "peer.mjs", p.name, url, what, string(how))
	cmd.Dir, cmd.Stderr = nodeFolder, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return f, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return f, err
	}
	if err := cmd.Start(); err != nil {
		return f, err
	}
	defer func() {
		in.Close()
		err = errors.Join(err, cmd.Wait())
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "ready" {
		return f, fmt.Errorf("it is not ready: %q", lines.Text())
	}
	m, err := cost.Of(append(roots, cmd.Process.Pid)...)
	if err != nil {
		return f, err
	}
	began := time.Now()
	if _, err := in.Write([]byte("go\n")); err != nil {
		return f, err
	}
	var got struct {
		N              int
		P50, P99, P999 float64
	}
	if !lines.Scan() {
		return f, errors.New("it ended without an answer")
	}
	span := time.Since(began)
	cpu, others, err := m.Since()
	if err == nil {
		err = json.Unmarshal(lines.Bytes(), &got)
	}
	if err != nil {
		return f, err
	}
	return figure{
		Peer: p.name, Case: what, Rate: float64(got.N) / span.Seconds(), CPU: cpu.Seconds() * 10_000 / float64(got.N),
		P50: got.P50, P99: got.P99, P999: got.P999, Others: others,
	}, nil
}

// onPostgres is the ground of a queue in a database.
func onPostgres(ctx context.Context) (url string, roots []int, end func() error, err error) {
	url, end, err = database(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	return url, []int{grounds.cluster.Pid()}, end, nil
}

// onRedis is the ground of a queue in Redis, each write of which is on disk before its answer.
func onRedis(ctx context.Context) (url string, roots []int, end func() error, err error) {
	b, port, err := startRedis(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	return "redis://127.0.0.1:" + strconv.Itoa(port), b.roots(), b.stop, nil
}
