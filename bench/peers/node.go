package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// ground is what a queue for Node.js stands on.
type ground func(ctx context.Context) (url string, roots map[string]int, end func() error, err error)

// onNode has a process of Node.js make a case.
func onNode(on ground) func(context.Context, settings, peer, kase) ([]figure, error) {
	return func(ctx context.Context, s settings, p peer, c kase) (fs []figure, err error) {
		if err := nodeReady(); err != nil {
			return nil, err
		}
		url, roots, end, err := on(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, end()) }()
		how, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, "node", "peer.mjs", p.name, url, string(how))
		cmd.Dir, cmd.Stderr = nodeFolder, os.Stderr
		said, err := speak(cmd)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, said.end()) }()
		in, lines := said.in, said.lines
		if _, err := fmt.Fprintln(in, "warm "+c.name); err != nil {
			return nil, err
		}
		if !lines.Scan() {
			return nil, errors.New("it ended while it was made warm")
		}
		roots = maps.Clone(roots)
		roots["node"] = cmd.Process.Pid
		for _, what := range c.shows {
			m, err := cost.Of(roots)
			if err != nil {
				return nil, err
			}
			if _, err := fmt.Fprintln(in, what); err != nil {
				return nil, err
			}
			if !lines.Scan() {
				return nil, errors.New("it ended without an answer")
			}
			u, err := m.Since()
			if err != nil {
				return nil, err
			}
			var got struct {
				N              int64
				Seconds        float64
				P50, P99, P999 float64
			}
			if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
				return nil, fmt.Errorf("%w: %s", err, lines.Bytes())
			}
			if got.N == 0 {
				return nil, errors.New("nothing was done")
			}
			f := p.figure(what, done{jobs: got.N, span: time.Duration(got.Seconds * float64(time.Second))}, u)
			f.P50, f.P99, f.P999 = short(got.P50), short(got.P99), short(got.P999)
			fs = append(fs, f)
		}
		return fs, nil
	}
}

// onPostgres is the ground of a queue in a database.
func onPostgres(ctx context.Context) (url string, roots map[string]int, end func() error, err error) {
	url, end, err = database(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	return url, map[string]int{"database": grounds.cluster.Pid()}, end, nil
}

// onRedis is the ground of a queue in Redis, each write of which is on disk before its answer.
func onRedis(ctx context.Context) (url string, roots map[string]int, end func() error, err error) {
	b, port, err := startRedis(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	return "redis://127.0.0.1:" + strconv.Itoa(port), b.roots(), b.stop, nil
}
