package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/verify"
)

type verifyCmd struct {
	printer
	Store string `env:"ONCEWARD_VERIFY_STORE" help:"sqlite; a PostgreSQL URL that may create databases; or both, the second on a cluster of its own made from this machine's binaries. Without it both if there are any, else SQLite alone."`
	Times int    `default:"20" help:"Runs of each case."`
	Lanes int    `default:"6" help:"Runs at a time."`
	Case  string `help:"Only the cases whose names begin so, as the table has them."`
	Seed  uint64 `help:"Of the random instants, to try the same ones again."`
	Keep  bool   `help:"Leave the stores of runs that went wrong."`

	Kills  int           `help:"Kill servers and workers at random under load instead, until so many servers are dead on each store. Interrupted, it finishes its rounds and counts them."`
	For    time.Duration `help:"The same, for so long."`
	Log    string        `placeholder:"FILE" help:"Append a line of each such round to it."`
	Commit string        `help:"What the line says is tried."`
	Code   string        `help:"What the line says of the code that decides: a hash of its trees."`
}

var errNotHeld = errors.New("verify: something was lost, doubled or left unfinished, or could not be run")

func (verifyCmd) Help() string {
	return examples("verify --store sqlite --times 5", "verify --case 'handed over twice' --keep", "verify --store sqlite --kills 100 --log kills.jsonl")
}

func (c *verifyCmd) Run(ctx context.Context, out output) error {
	if c.Times < 1 || c.Lanes < 1 {
		return usage("--times and --lanes must be at least 1")
	}
	if !verify.Known(c.Case) {
		return usage("--case is %q; there are %q", c.Case, verify.Cases())
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	config := verify.Config{Program: program, Times: c.Times, Lanes: c.Lanes, Only: c.Case, Seed: c.Seed, Keep: c.Keep}
	if c.Kills > 0 || c.For > 0 {
		return c.long(ctx, program)
	}
	var stop func()
	if config.SQLite, config.Postgres, stop, err = onStores(ctx, c.Store); err != nil {
		return err
	}
	defer stop()
	todo := verify.Todo(config)
	p := startProgress(func(took time.Duration, done int) string {
		return fmt.Sprintf("%d of %d rows done, %v", done, todo, took)
	})
	config.Progress = p
	report, err := verify.Run(ctx, config)
	p.stop()
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(out, report)
	} else {
		err = report.Table(out)
	}
	if err == nil && !report.OK {
		err = errNotHeld
	}
	return err
}

// long kills at random. A signal does not break its rounds off: they come to rest, and count.
func (c *verifyCmd) long(ctx context.Context, program string) error {
	sqlite, postgres, stop, err := onStores(context.WithoutCancel(ctx), c.Store)
	if err != nil {
		return err
	}
	defer stop()
	log := io.Discard
	if c.Log != "" {
		f, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		log = f
	}
	ok, err := verify.Long(ctx, verify.LongConfig{
		Program: program, SQLite: sqlite, Postgres: postgres, Kills: c.Kills, For: c.For, Lanes: c.Lanes, Seed: c.Seed, Commit: c.Commit, Code: c.Code,
		Log: log, Progress: os.Stderr, Keep: c.Keep,
	})
	if err == nil && !ok {
		err = errNotHeld
	}
	return err
}

// onStores reads --store of a command that makes stores of its own: sqlite; a server of PostgreSQL; both, the second on a cluster of its own; "" is
// both where there is a PostgreSQL on this machine, else SQLite.
func onStores(ctx context.Context, store string) (sqlite bool, postgres string, stop func(), err error) {
	stop = func() {}
	switch {
	case store == "" || store == "both":
		postgres, end, err := verify.OwnCluster(ctx)
		switch {
		case err == nil:
			stop = end
		case store != "":
			return false, "", stop, err
		default:
			fmt.Fprintf(os.Stderr, "only on SQLite: %v\n", err)
		}
		return true, postgres, stop, nil
	case store == "sqlite" || strings.HasPrefix(store, "sqlite:"):
		return true, "", stop, nil
	case strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://"):
		return false, store, stop, nil
	}
	return false, "", stop, usage("--store is %q; it is sqlite (in files of their own), postgres://… or both", onceward.RedactStore(store))
}
