package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/pprof/profile"

	"github.com/onceward/onceward/internal/cost"
)

// made is what the processor time of a benchmark's process is made of.
type made struct {
	Of     string             `json:"of"`
	Shares map[string]float64 `json:"shares"`
	Others float64            `json:"others_share"`
}

// madeOf is in order: the first that a sample's stack passes through has it.
var madeOf = []struct{ name, marks string }{
	{"collecting garbage", "runtime.gcBgMarkWorker runtime.bgsweep runtime.gcAssistAlloc runtime.bgscavenge"},
	{"SQLite", "modernc.org/sqlite"},
	{"the driver of PostgreSQL", "github.com/jackc/pgx github.com/jackc/puddle"},
	{"signing and hashing", "crypto/hmac crypto/sha256 crypto/internal/fips140/sha256 crypto/internal/fips140/hmac"},
	{"reading and writing JSON", "encoding/json github.com/gowebpki/jcs onceward/internal/canon onceward/api.decode"},
	{"the store's own Go", "onceward/store onceward/internal/batch onceward/queue onceward/ledger"},
	{"sending: HTTP out", "onceward/webhook onceward/worker"},
	{"a call: routing, checking, answering", "onceward/api"},
	{"the server's HTTP", "net/http.(*conn) net/http.(*Server) net/http.(*connReader)"},
	{"connections out, the benchmark's own too", "net/http.(*persistConn) net/http.(*Transport) net/http.(*Client) onceward/internal/child"},
	{"the benchmark", "onceward/bench"},
	{"the runtime: scheduling, timers, polling", "runtime."},
}

func madeFor() (out []string) {
	for _, bench := range []string{"Publish", "Deliver"} {
		for _, store := range []string{"sqlite", "postgres"} {
			out = append(out, bench+"/"+store)
		}
	}
	return out
}

// lookInto profiles a benchmark of the whole program in one process.
func lookInto(ctx context.Context, s settings, what string) (m made, err error) {
	bench, store, _ := strings.Cut(what, "/")
	if store == "postgres" {
		if err := startCluster(ctx); err != nil {
			return m, err
		}
	}
	bin, err := build("..", ".", "test", "-c")
	if err != nil {
		return m, err
	}
	dir, err := folder()
	if err != nil {
		return m, err
	}
	file := filepath.Join(dir, "cpu")
	cmd := exec.CommandContext(ctx, bin, "-test.run=^$", "-test.bench=^Benchmark"+bench+"$/^"+store+"$", fmt.Sprintf("-test.benchtime=%dx", s.Cycles), "-test.cpuprofile="+file)
	cmd.Dir, cmd.SysProcAttr = "..", &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var words text
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Start(); err != nil {
		return m, err
	}
	t, err := cost.Of(map[string]int{"benchmark": cmd.Process.Pid})
	if err != nil {
		return m, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		return m, fmt.Errorf("%w: %s", err, words)
	}
	u, err := t.Since()
	if err != nil {
		return m, err
	}
	f, err := os.Open(file)
	if err != nil {
		return m, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return m, err
	}
	return made{Of: what, Shares: sharesOf(p), Others: short(u.Others)}, nil
}

// profile takes those that are not there yet.
func (r *results) profile(ctx context.Context, s settings) error {
	for _, what := range madeFor() {
		if slices.ContainsFunc(r.profiles, func(m made) bool { return m.Of == what }) {
			continue
		}
		m, err := lookInto(ctx, s, what)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return err
		}
		if err := r.profiled(m); err != nil {
			return err
		}
	}
	return nil
}

// sharesOf says whose the samples are.
func sharesOf(p *profile.Profile) map[string]float64 {
	sums, all := map[string]float64{}, 0.0
	for _, s := range p.Sample {
		n := float64(s.Value[len(s.Value)-1])
		sums[whose(s)] += n
		all += n
	}
	for name := range sums {
		sums[name] = short(sums[name] / all)
	}
	return sums
}

func whose(s *profile.Sample) string {
	var stack []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				stack = append(stack, line.Function.Name)
			}
		}
	}
	for _, part := range madeOf {
		for _, mark := range strings.Fields(part.marks) {
			if slices.ContainsFunc(stack, func(call string) bool {
				return strings.HasPrefix(call, mark) || strings.HasPrefix(call, "github.com/onceward/"+mark)
			}) {
				return part.name
			}
		}
	}
	return "the rest"
}

// made is the table of it.
func (r *results) made() table {
	t := table{head: append([]string{"share of the process"}, madeFor()...)}
	for _, name := range append(partNames(), "the rest") {
		cells := []string{name}
		for _, what := range madeFor() {
			i := slices.IndexFunc(r.profiles, func(m made) bool { return m.Of == what })
			if i < 0 || r.profiles[i].Shares[name] == 0 {
				cells = append(cells, "–")
				continue
			}
			cells = append(cells, fmt.Sprintf("%.0f %%", 100*r.profiles[i].Shares[name]))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

func partNames() (out []string) {
	for _, p := range madeOf {
		out = append(out, p.name)
	}
	return out
}
