// Package verify kills servers where they can die and counts what a receiver saw: `onceward verify`.
//
// Each case is run on a store of its own with real processes of this same program and SIGKILL, many times side by side, the kill at
// a random instant of its window. The receiver lives in this process; it can hold an answer or a connection, so that the kill
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
	"sync"
	"time"
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
	Requests   int      `json:"requests"`   // that the receiver read
	Effects    int      `json:"effects"`    // that it made of them, one for each new key
	Repeated   int      `json:"repeated"`   // requests under a key it had read before, allowed by the case
	Lost       int      `json:"lost"`       // runs whose event, delivery or effect is missing
	Doubled    int      `json:"doubled"`    // runs with more than the case allows
	Unfinished int      `json:"unfinished"` // runs that did not come to rest
	Failed     int      `json:"failed"`     // runs that could not be carried out
	Seconds    float64  `json:"seconds"`
	Reasons    []string `json:"reasons"` // of what is not right, each with its run
}

// OK reports whether nothing was lost, doubled or left unfinished, and each run was carried out.
func (r Row) OK() bool { return r.Lost+r.Doubled+r.Unfinished+r.Failed == 0 }

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
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	report := Report{OK: true, Seed: c.Seed, Rows: []Row{}}
	var grounds []func() (ground, error)
	if c.SQLite {
		grounds = append(grounds, newFile)
	}
	if c.Postgres != "" {
		grounds = append(grounds, func() (ground, error) { return newDatabase(ctx, c.Postgres) })
	}
	if len(grounds) == 0 {
		return report, errors.New("verify: no store to run on")
	}
	if c.Only != "" && !slices.Contains(Cases(), c.Only) {
		return report, fmt.Errorf("verify: there is no case %q; there are %q", c.Only, Cases())
	}
	for _, k := range cases {
		if c.Only != "" && c.Only != k.name {
			continue
		}
		for _, g := range grounds {
			row := c.runCase(ctx, k, g)
			if err := ctx.Err(); err != nil {
				return report, err
			}
			report.Rows = append(report.Rows, row)
			report.OK = report.OK && row.OK()
		}
	}
	return report, nil
}

// runCase runs a case c.Times times, c.Lanes at a time.
func (c Config) runCase(ctx context.Context, k kase, newGround func() (ground, error)) Row {
	start := time.Now()
	verdicts := make([]verdict, c.Times)
	var lanes sync.WaitGroup
	next := make(chan int)
	for range min(c.Lanes, c.Times) {
		lanes.Go(func() {
			for i := range next {
				verdicts[i] = c.runOnce(ctx, k, i, newGround)
			}
		})
	}
	for i := range c.Times {
		next <- i
	}
	close(next)
	lanes.Wait()

	row := Row{Case: k.name, Times: c.Times, Seconds: time.Since(start).Round(100 * time.Millisecond).Seconds(), Reasons: []string{}}
	for i, v := range verdicts {
		row.Store = v.store
		row.Requests += v.requests
		row.Effects += v.effects
		row.Repeated += v.repeated
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
	}
	state := "ok"
	if !row.OK() {
		state = "NOT OK"
	}
	fmt.Fprintf(c.Progress, "%s on %s: %s (%d runs, %.1f s)\n", k.name, row.Store, state, row.Times, row.Seconds)
	return row
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

// verdict is what came of one run.
type verdict struct {
	store                       string
	requests, effects, repeated int
	lost, doubled, unfinished   bool
	reasons                     []string
	err                         error
}

func (v *verdict) note(flag *bool, format string, args ...any) {
	*flag = true
	v.reasons = append(v.reasons, fmt.Sprintf(format, args...))
}

func (c Config) runOnce(ctx context.Context, k kase, i int, newGround func() (ground, error)) (v verdict) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	g, err := newGround()
	if err != nil {
		return verdict{err: err}
	}
	v.store = g.name()
	r := &run{config: c, ground: g, verdict: &v, n: i, dice: rand.New(rand.NewPCG(c.Seed, uint64(i)))}
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

// Cases gives the names of the cases, in the order in which Run runs them.
func Cases() []string {
	names := make([]string, len(cases))
	for i, k := range cases {
		names[i] = k.name
	}
	return names
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
