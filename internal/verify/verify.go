// Package verify kills and freezes servers where they can die and counts what a receiver saw: `onceward verify`.
//
// Each case is run on a store of its own with real processes of this same program, SIGKILL and SIGSTOP, many times side by side, at
// a random instant of its window. The servers are the product's own, with nothing built in for this: the receiver lives in this
// process and can hold an answer or a connection, the store is looked at and held from outside, so that the kill
// falls where it is meant to. What counts is what the receiver saw and what stands in the database afterwards, read
// from outside; no server's own log is believed.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/failpoint"
)

// Config says what to run. Program is required.
type Config struct {
	Program  string // the binary whose server is run and killed
	SQLite   bool   // run on SQLite, in files of their own
	Postgres string // run on databases of their own made beside the one of this URL; empty: not
	Times    int    // runs of each case (20)
	Lanes    int    // runs at a time (6)
	Only     string // the case of this name alone; empty: all
	Seed     uint64 // of the instants; 0: by chance
	Progress io.Writer
	Keep     bool // leave the files of runs that went wrong
}

// Row is what came of one case on one store.
type Row struct {
	Case       string   `json:"case"`
	Store      string   `json:"store"`
	Times      int      `json:"times"`
	Requests   int      `json:"requests"`   // that the receiver read; of a published message: what a consumer received
	Effects    int      `json:"effects"`    // that it made of them, one for each new key
	Repeated   int      `json:"repeated"`   // requests under a key it had read before, allowed by the case
	Lost       int      `json:"lost"`       // runs whose event, delivery, message or effect is missing
	Doubled    int      `json:"doubled"`    // runs with more than the case allows
	Unfinished int      `json:"unfinished"` // runs that did not come to rest
	Failed     int      `json:"failed"`     // runs that could not be carried out
	Seconds    float64  `json:"seconds"`
	Expected   string   `json:"expected,omitzero"` // of a cell of the matrix
	Seen       string   `json:"seen,omitzero"`     // what came of its runs, each different end once
	Reasons    []string `json:"reasons"`           // of what is not right, each with its run
}

// OK reports whether nothing was lost, doubled or left unfinished, and each run was carried out.
func (r Row) OK() bool { return r.Lost+r.Doubled+r.Unfinished+r.Failed == 0 }

func (r Row) state() string {
	if r.OK() {
		return "ok"
	}
	return "NOT OK"
}

// Report is the whole.
type Report struct {
	OK   bool   `json:"ok"`
	Seed uint64 `json:"seed"`
	Rows []Row  `json:"rows"`
}

// Run runs every case on every store asked for. Its error says what kept it from running; what was found is in the Report.
func Run(ctx context.Context, c Config) (Report, error) {
	if c.Times <= 0 {
		c.Times = 20
	}
	if c.Lanes <= 0 {
		c.Lanes = 6
	}
	c.Seed = c.seed()
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	report := Report{OK: true, Seed: c.Seed, Rows: []Row{}}
	grounds := map[string]func() (ground, error){}
	if c.SQLite {
		grounds["sqlite"] = newFile
	}
	if c.Postgres != "" {
		grounds["postgres"] = func() (ground, error) { return newDatabase(ctx, c.Postgres) }
	}
	if len(grounds) == 0 {
		return report, errors.New("verify: no store to run on")
	}
	if !Known(c.Only) {
		return report, fmt.Errorf("verify: there is no case %q; there are %q", c.Only, Cases())
	}
	all := c.series(grounds)
	c.play(ctx, all)
	if err := ctx.Err(); err != nil {
		return report, err
	}
	for _, s := range all {
		row := s.row()
		report.Rows = append(report.Rows, row)
		report.OK = report.OK && row.OK()
	}
	return report, nil
}

// A run of fewer than full times each takes a part of the matrix alone, by its seed.
const full, part = 10, 10

// series gives what there is to play on each store.
func (c Config) series(grounds map[string]func() (ground, error)) (all []*series) {
	for i, k := range everyCase() {
		if c.Only != "" && !strings.HasPrefix(k.name, c.Only) || k.cell != nil && c.Only == "" && c.Times < full && i%part != int(c.Seed%part) {
			continue
		}
		for _, store := range []string{"sqlite", "postgres"} {
			if g := grounds[store]; g != nil && k.cell.on(store) {
				all = append(all, &series{kase: k, store: store, newGround: g, verdicts: make([]verdict, c.times(k))})
			}
		}
	}
	return all
}

func (c Config) seed() uint64 {
	if c.Seed == 0 {
		return rand.Uint64()
	}
	return c.Seed
}

// Todo gives how many rows a Report will have.
func Todo(c Config) int {
	grounds := map[string]func() (ground, error){}
	if c.SQLite {
		grounds["sqlite"] = newFile
	}
	if c.Postgres != "" {
		grounds["postgres"] = newFile // only counted
	}
	c.Seed = c.seed()
	return len(c.series(grounds))
}

// series is the runs of one case on one store.
type series struct {
	kase
	store     string
	newGround func() (ground, error)
	verdicts  []verdict

	mu          sync.Mutex
	played      int
	first, last time.Time
}

// play makes the runs of all series, in their order, c.Lanes at a time. Most of a run is waiting, so one series begins while the one before
// it ends.
func (c Config) play(ctx context.Context, all []*series) {
	type turn struct {
		s *series
		i int
	}
	next := make(chan turn)
	var lanes sync.WaitGroup
	var saying sync.Mutex
	for range c.Lanes {
		lanes.Go(func() {
			for t := range next {
				start := time.Now()
				v := c.runOnce(ctx, t.s.kase, t.i, t.s.newGround)
				if t.s.end(t.i, v, start) && ctx.Err() == nil {
					row := t.s.row()
					saying.Lock()
					fmt.Fprintf(c.Progress, "%s on %s: %s (%d runs, %.1f s)\n", row.Case, row.Store, row.state(), row.Times, row.Seconds)
					saying.Unlock()
				}
			}
		})
	}
	for _, s := range all {
		for i := range s.verdicts {
			next <- turn{s, i}
		}
	}
	close(next)
	lanes.Wait()
}

// end notes what came of a run, and reports whether it was the series' last.
func (s *series) end(i int, v verdict, start time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdicts[i] = v
	if s.first.IsZero() || start.Before(s.first) {
		s.first = start
	}
	s.last = time.Now()
	s.played++
	return s.played == len(s.verdicts)
}

// row sums the series up once it was played.
func (s *series) row() Row {
	row := Row{Case: s.name, Expected: s.cell.expected(s.store), Store: s.store, Times: len(s.verdicts), Seconds: s.last.Sub(s.first).Round(100 * time.Millisecond).Seconds(), Reasons: []string{}}
	for i, v := range s.verdicts {
		row.Requests += v.requests
		row.Effects += v.effects
		row.Repeated += v.repeated
		if v.seen != "" && !slices.Contains(strings.Split(row.Seen, "; "), v.seen) {
			row.Seen = strings.TrimPrefix(row.Seen+"; "+v.seen, "; ")
		}
		count(&row.Lost, v.lost)
		count(&row.Doubled, v.doubled)
		count(&row.Unfinished, v.unfinished)
		count(&row.Failed, v.err != nil)
		if v.err != nil {
			row.Reasons = append(row.Reasons, fmt.Sprintf("run %d could not be carried out: %v", i, v.err))
		}
		for _, w := range v.reasons {
			row.Reasons = append(row.Reasons, fmt.Sprintf("run %d: %s", i, w))
		}
		if v.more > 0 {
			row.Reasons = append(row.Reasons, fmt.Sprintf("run %d: and %d more", i, v.more))
		}
	}
	return row
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

const mostReasons = 8 // of a run

// verdict is what came of one run.
type verdict struct {
	requests, effects, repeated int
	lost, doubled, unfinished   bool
	reasons                     []string
	more                        int // that were left out
	seen                        string
	err                         error
}

func (v *verdict) note(flag *bool, format string, args ...any) {
	*flag = true
	if len(v.reasons) == mostReasons {
		v.more++
		return
	}
	v.reasons = append(v.reasons, fmt.Sprintf(format, args...))
}

func (c Config) runOnce(ctx context.Context, k kase, i int, newGround func() (ground, error)) (v verdict) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	dir, err := hostTemp()
	if err != nil {
		return verdict{err: err}
	}
	defer os.RemoveAll(dir)
	g, err := newGround()
	if err != nil {
		return verdict{err: err}
	}
	turn := i + int(c.Seed%6) // what a case does by turns, it begins anywhere with
	r := &run{config: c, ground: g, timeout: k.timeout, dir: dir, verdict: &v, n: turn, dice: rand.New(rand.NewPCG(c.Seed, uint64(i)))}
	defer func() {
		r.killAll()
		if err := g.drop(c.Keep && (v.err != nil || len(v.reasons) > 0)); err != nil && v.err == nil {
			v.err = err
		}
	}()
	if err := k.play(ctx, r); err != nil {
		v.err = errors.Join(err, r.lastWords())
	}
	return v
}

// everyCase gives the cases, and the matrix where the program has fail points.
func everyCase() []kase {
	if !failpoint.On {
		return cases
	}
	return append(slices.Clone(cases), matrix()...)
}

// times is how often a case is run. What falls on its instant for sure needs fewer runs than what finds it by chance.
func (c Config) times(k kase) int {
	if k.cell != nil {
		return (c.Times + 9) / 10
	}
	return c.Times
}

// Cases gives the names of the cases, in the order in which Run runs them.
func Cases() []string {
	all := everyCase()
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = k.name
	}
	return names
}

// Known reports whether any case's name begins so.
func Known(name string) bool {
	return slices.ContainsFunc(Cases(), func(n string) bool { return strings.HasPrefix(n, name) })
}

// sortedKeys keeps reports the same from run to run.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func hostTemp() (string, error) { return os.MkdirTemp("", "onceward-verify-") }
