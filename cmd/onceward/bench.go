package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/load"
)

type benchCmd struct {
	printer
	Store   string        `env:"ONCEWARD_BENCH_STORE" help:"sqlite; a PostgreSQL URL that may create databases; or both, the second on a cluster of its own made from this machine's binaries. Without it both if there are any, else SQLite alone."`
	Case    []string      `help:"Only these cases, by their names above."`
	Rate    float64       `help:"Calls a second, due by the clock whatever the answers do; their latency counts from when they were due. 0: as fast as the callers go, and 500 where the case is about latency."`
	For     time.Duration `default:"10s" help:"How long a case goes on that publishes or sends."`
	Jobs    int           `default:"20000" help:"How many a case works off that stores them beforehand."`
	Callers int           `default:"64" help:"Calls under way at a time, at most."`
	Size    int           `default:"1024" help:"Bytes of a payload."`
	Batch   int           `default:"1" help:"Messages a call, of publish."`
}

func (benchCmd) Help() string {
	s := examples("bench --store sqlite --case publish", "bench --case start,post --rate 500 --for 30s") + "\n\nThe cases:"
	names, abouts := load.Cases()
	for i, n := range names {
		s += " " + n + " (" + abouts[i] + ")"
	}
	return s + ". Each has a server of its own, in a process of its own, on an empty store that is durable as always. CPU-seconds are for 10,000 jobs," +
		" over client, server, database and receiver. Where OTHERS shows over 10 %, the machine was not idle and the row says little."
}

func (c *benchCmd) Run(ctx context.Context, out output) error {
	names, _ := load.Cases()
	for _, k := range c.Case {
		if !slices.Contains(names, k) {
			return usage("--case is %q; there are %q", k, names)
		}
	}
	switch {
	case c.Callers < 1 || c.Jobs < 1 || c.For <= 0:
		return usage("--callers, --jobs and --for must be above 0")
	case c.Rate < 0 || c.Rate > 1e6:
		return usage("--rate is %v; it must be 0 to 1000000", c.Rate)
	case c.Batch < 1 || c.Batch > 1000:
		return usage("--batch is %d; it must be 1 to 1000", c.Batch)
	case c.Size < 64 || c.Size > 200_000:
		return usage("--size is %d; it must be 64 to 200000", c.Size)
	}
	if len(c.Case) > 0 {
		names = c.Case
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	config := load.Config{Program: program, Cases: names, Rate: c.Rate, For: c.For, Jobs: c.Jobs, Callers: c.Callers, Size: c.Size, Batch: c.Batch}
	var stop func()
	if config.SQLite, config.Postgres, stop, err = onStores(ctx, c.Store); err != nil {
		return err
	}
	defer stop()
	p := startProgress(func(took time.Duration, done int) string { return fmt.Sprintf("%d rows done, %v", done, took) })
	rows := []load.Row{}
	err = load.Run(ctx, config, func(r load.Row) {
		rows = append(rows, r)
		fmt.Fprintf(p, "%s on %s: %.0f a second\n", r.Case, r.Store, r.PerSecond)
	})
	p.stop()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(out, rows)
	}
	return load.Table(out, rows)
}
