package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// settings of a run. A results file is of one kind of them.
type settings struct {
	Rounds     int     `json:"rounds"`
	Jobs       int     `json:"jobs"`
	Seconds    float64 `json:"seconds"`
	Callers    int     `json:"callers"`
	Batch      int     `json:"batch"`
	Size       int     `json:"size"`
	Rate       float64 `json:"rate"`
	Span       float64 `json:"span_seconds"`
	Deliveries int     `json:"deliveries"`
	Cycles     int     `json:"cycles"`
	Quiet      float64 `json:"quiet"`
}

func main() {
	debug.SetGCPercent(400) // as the program does: callers and peers in the process would collect what is some MiB a hundred times a second
	var part func() error   // of the benchmark, in a process of its own
	if url := os.Getenv(loopTo); url != "" {
		part = func() error { return sendLoop(url, os.Args[1]) }
	} else if os.Getenv(bareServer) != "" {
		part = serveBare
	}
	if part != nil {
		if err := part(); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
			os.Exit(1)
		}
		return
	}
	var s settings
	var only, cases, out, page string
	flag.IntVar(&s.Rounds, "rounds", 5, "rounds")
	flag.IntVar(&s.Jobs, "jobs", 20_000, "messages, at most, that are stored to be worked off")
	flag.Float64Var(&s.Seconds, "seconds", 2, "how long a case goes on, at most, that is about a rate")
	flag.IntVar(&s.Callers, "callers", 64, "callers at a time")
	flag.IntVar(&s.Batch, "batch", 100, "messages a call, of the batched cases")
	flag.IntVar(&s.Size, "size", 1024, "bytes of a message")
	flag.Float64Var(&s.Rate, "rate", 500, "messages a second of the cases about latency")
	flag.Float64Var(&s.Span, "span", 4, "how many seconds those go on")
	flag.IntVar(&s.Deliveries, "deliveries", 10_000, "events that are stored to be delivered")
	flag.IntVar(&s.Cycles, "cycles", 10_000, "messages of the cycle in the process, and of a profile")
	flag.Float64Var(&s.Quiet, "quiet", 0.1, "a figure counts if others took no more than this share of the machine")
	flag.StringVar(&only, "peers", "", "these peers, by commas; all")
	flag.StringVar(&cases, "cases", "", "these cases, by commas; all")
	flag.StringVar(&out, "o", "", "the results file: what it has counts and is not measured again")
	flag.StringVar(&page, "page", "", "a page whose tables and plots are to be made from the results file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, s, split(only), split(cases), out, page)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func split(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}

// tries is how often a figure is taken on a machine that is not idle.
const tries = 3

func run(ctx context.Context, s settings, only, cases []string, out, page string) error {
	who, err := chosen(only)
	if err != nil {
		return err
	}
	kinds, err := chosenCases(cases)
	if err != nil {
		return err
	}
	if page != "" && out == "" {
		return errors.New("-page wants -o: the results that the page is made of")
	}
	r, err := openResults(out)
	if err != nil {
		return err
	}
	defer r.close()
	defer stopGrounds()
	fmt.Fprintf(os.Stderr, "about %v are left of about %v\n", left(s, who, kinds, r, 1), left(s, who, kinds, nil, 1))
	if left(s, who, kinds, r, 1) > 0 {
		now, err := describe(ctx, s)
		if err != nil {
			return err
		}
		if err := r.begin(now); err != nil {
			return err
		}
	}
	absent := map[string]bool{}
	var failed error // of single cases: the others are worth their figures
	for round := 1; round <= s.Rounds; round++ {
		for _, p := range who {
			for _, c := range kinds {
				if absent[p.name] || !slices.Contains(p.cases, c.name) || r.has(p.name, c, round) {
					continue
				}
				err := visit(ctx, s, p, c, round, r)
				switch {
				case ctx.Err() != nil:
					return fmt.Errorf("interrupted: the same command goes on from here: %w", ctx.Err())
				case errors.Is(err, errAbsent):
					fmt.Fprintf(os.Stderr, "%s is left out: %v\n", p.name, err)
					absent[p.name] = true
					if err := r.leaveOut(p.name); err != nil {
						return err
					}
				case err != nil:
					err = fmt.Errorf("%s of %s, round %d: %w", c.name, p.name, round, err)
					fmt.Fprintln(os.Stderr, err)
					failed = errors.Join(failed, err)
				}
			}
			endVisit()
		}
		fmt.Fprintf(os.Stderr, "round %d is done; about %v are left\n", round, left(s, who, kinds, r, round+1))
	}
	if s.Rounds > 0 && len(only) == 0 && len(cases) == 0 {
		failed = errors.Join(failed, r.profile(ctx, s))
	}
	if err := r.print(os.Stdout); err != nil {
		return err
	}
	if page != "" {
		failed = errors.Join(failed, writePage(page, out, r))
	}
	return failed
}

// visit takes the figures of a case, again if the machine was not idle.
func visit(ctx context.Context, s settings, p peer, c kase, round int, r *results) error {
	for try := 1; ; try++ {
		got, err := p.run(ctx, s, p, c)
		if err != nil {
			return err
		}
		idle := true
		for _, f := range got {
			f.Round = round
			idle = idle && f.Others <= s.Quiet
			if err := r.add(f); err != nil {
				return err
			}
		}
		if idle {
			return nil
		}
		fmt.Fprintf(os.Stderr, "%s of %s: others took %.0f %% of the machine; it does not count\n", c.name, p.name, 100*got[0].Others)
		if try == tries {
			return nil
		}
	}
}

// left is how long what is not done yet takes, roughly.
func left(s settings, who []peer, kinds []kase, r *results, from int) (d time.Duration) {
	for round := from; round <= s.Rounds; round++ {
		for _, p := range who {
			for _, c := range kinds {
				if slices.Contains(p.cases, c.name) && (r == nil || !r.has(p.name, c, round)) {
					d += time.Duration(c.takes(s) * float64(time.Second))
					if strings.HasPrefix(p.name, inProcess) {
						d += 3 * time.Second // a PostgreSQL of its own; the bare statements' turns
					}
				}
			}
		}
	}
	return d.Round(time.Second)
}
