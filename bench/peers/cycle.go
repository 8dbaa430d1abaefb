package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/onceward/onceward/internal/cost"
)

var metric = regexp.MustCompile(`([0-9.e+-]+) (per-s|of-bare|cpu-s/10k|bare-cpu-s/10k)\b`)

// onBenchmark runs bench's cycle of the store in its own process, which takes turns with the same statements through the bare driver: it shows both.
func onBenchmark(store string) func(context.Context, settings, peer, kase) ([]figure, error) {
	return func(ctx context.Context, s settings, p peer, c kase) ([]figure, error) {
		if strings.HasPrefix(store, "postgres") {
			if err := startCluster(ctx); err != nil { // its own fails where this one does
				return nil, err
			}
		}
		bin, err := build("..", ".", "test", "-c")
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, bin, "-test.run=^$", "-test.bench=^BenchmarkCycle$/^"+store+"$", fmt.Sprintf("-test.benchtime=%dx", s.Cycles))
		cmd.Dir = ".."
		var out, words text
		cmd.Stdout, cmd.Stderr = &out, &words
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		m, err := cost.Of(map[string]int{"benchmark": cmd.Process.Pid})
		if err != nil {
			return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
		}
		if err := cmd.Wait(); err != nil {
			return nil, fmt.Errorf("%w: %s %s", err, out, words)
		}
		u, err := m.Since()
		if err != nil {
			return nil, err
		}
		got := map[string]float64{}
		for _, m := range metric.FindAllStringSubmatch(string(out), -1) {
			if got[m[2]], err = strconv.ParseFloat(m[1], 64); err != nil {
				return nil, err
			}
		}
		if got["of-bare"] == 0 {
			return nil, fmt.Errorf("the benchmark says nothing of the bare statements: %s", out)
		}
		ours := figure{Peer: p.name, Case: c.name, Jobs: int64(s.Cycles), Rate: short(got["per-s"]), CPU: short(got["cpu-s/10k"]), Others: short(u.Others)}
		bare := ours
		bare.Peer, bare.Rate, bare.CPU = bares+store, short(got["per-s"]/got["of-bare"]), short(got["bare-cpu-s/10k"])
		return []figure{ours, bare}, nil
	}
}

// text is what a process says.
type text []byte

func (t *text) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	return len(b), nil
}
