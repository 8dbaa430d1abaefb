package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// figure is what one case showed of one peer in one round.
type figure struct {
	Peer    string             `json:"peer"`
	Case    string             `json:"case"`
	Round   int                `json:"round"`
	Jobs    int64              `json:"jobs"`
	Rate    float64            `json:"per_second"`
	CPU     float64            `json:"cpu_s_10k"`
	Parts   map[string]float64 `json:"of_it_cpu_s_10k,omitempty"`
	Written *float64           `json:"written_bytes_per_job,omitempty"`
	Memory  *float64           `json:"memory_mib,omitempty"`
	P50     float64            `json:"p50_ms,omitempty"`
	P99     float64            `json:"p99_ms,omitempty"`
	P999    float64            `json:"p999_ms,omitempty"`
	Others  float64            `json:"others_share"`
}

// line is one of a results file: the run it is of, a peer that was left out, what a cost is made of, or a figure.
type line struct {
	Run    *about `json:"run,omitempty"`
	Absent string `json:"absent,omitempty"`
	Made   *made  `json:"made,omitempty"`
	*figure
}

// results is what was measured, in a file that only grows.
type results struct {
	run      about
	figures  []figure // those of machines that were not idle too
	absent   []string
	profiles []made
	file     *os.File // nil: stderr
}

// openResults reads what there is. Without a path nothing is kept.
func openResults(path string) (*results, error) {
	r := &results{}
	if path == "" {
		return r, nil
	}
	if err := r.read(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	var err error
	r.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return r, err
}

func (r *results) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		l := line{figure: &figure{}}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		switch {
		case l.Run != nil:
			r.run = *l.Run
		case l.Made != nil:
			r.profiles = append(r.profiles, *l.Made)
		case l.Absent != "":
			r.absent = append(r.absent, l.Absent)
		default:
			r.figures = append(r.figures, *l.figure)
		}
	}
	return lines.Err()
}

// begin says what the figures are of. Those of another commit or of other settings belong in another file.
func (r *results) begin(now about) error {
	if r.run.Commit != "" {
		if r.run.Commit != now.Commit || r.run.Settings != now.Settings {
			return fmt.Errorf("the results file is of commit %s with %+v; this is %s with %+v: name another by -o", r.run.Commit, r.run.Settings, now.Commit, now.Settings)
		}
		return nil
	}
	r.run = now
	return r.write(line{Run: &now})
}

func (r *results) add(f figure) error {
	r.figures = append(r.figures, f)
	return r.write(line{figure: &f})
}

func (r *results) profiled(m made) error {
	r.profiles = append(r.profiles, m)
	return r.write(line{Made: &m})
}

func (r *results) leaveOut(peer string) error {
	if slices.Contains(r.absent, peer) {
		return nil
	}
	r.absent = append(r.absent, peer)
	return r.write(line{Absent: peer})
}

func (r *results) write(l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	to := r.file
	if to == nil {
		to = os.Stderr
	}
	_, err = to.Write(append(b, '\n'))
	return err
}

func (r *results) close() {
	if r.file != nil {
		r.file.Close()
	}
}

// has says whether a case of a peer has all its figures of a round.
func (r *results) has(peer string, c kase, round int) bool {
	for _, what := range c.shows {
		if _, ok := r.by(peer, what)[round]; !ok {
			return false
		}
	}
	return true
}

// by gives the figures that count, by their rounds.
func (r *results) by(peer, what string) map[int]figure {
	out := map[int]figure{}
	for _, f := range r.figures {
		if f.Peer == peer && f.Case == what && f.Others <= r.run.Settings.Quiet {
			out[f.Round] = f
		}
	}
	return out
}

// spread is what the rounds showed.
type spread struct {
	median, least, most float64
	rounds              int
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	v := slices.Sorted(slices.Values(values))
	return spread{(v[len(v)/2] + v[(len(v)-1)/2]) / 2, v[0], v[len(v)-1], len(v)}
}

// spread is of one column over the rounds that count.
func (r *results) spread(peer, what string, column func(figure) float64) spread {
	var v []float64
	for _, f := range r.by(peer, what) {
		v = append(v, column(f))
	}
	return spreadOf(v)
}

// shown are who has figures of a case, in the order of peers().
func (r *results) shown(what string) (names []string) {
	has := map[string]bool{}
	for _, f := range r.figures {
		if f.Case == what {
			has[f.Peer] = true
		}
	}
	for _, p := range peers() {
		names = append(names, p.name)
		if store, ok := strings.CutPrefix(p.name, inProcess); ok {
			names = append(names, bares+store)
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return !has[n] })
}

// short is a number with four digits that count.
func short(x float64) float64 {
	s, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return s
}

func rate(f figure) float64 { return f.Rate }
func cpu(f figure) float64  { return f.CPU }
func p50(f figure) float64  { return f.P50 }
func p99(f figure) float64  { return f.P99 }
func p999(f figure) float64 { return f.P999 }

func written(f figure) float64 {
	if f.Written == nil {
		return 0
	}
	return *f.Written
}

func memory(f figure) float64 {
	if f.Memory == nil {
		return 0
	}
	return *f.Memory
}
