// Depth measures what must not grow: what a call touches and costs with ten million messages waiting or ten million attempts kept, behind somebody's open
// transaction, at a second in which a million fall due, beside endpoints that hang, over several servers, and at rest. Each figure is a line of JSON.
//
//	go run ./bench/depth backlog                  # one case, on both stores, at its full size
//	go run ./bench/depth -store sqlite -rows 100000 backlog kept
//
// Rows are filled in by SQL, in the state that the program would have left, and checked by its own counts. Payloads of what is filled in have 256 bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// kase is a measurement.
type kase struct {
	name, about string
	rows        int  // that are filled in, where -rows does not say; 0: none
	postgres    bool // on PostgreSQL alone
	run         func(r *run, ctx context.Context, store string) error
}

var cases = []kase{
	{"backlog", "publish, receive, claim and settle in a queue of so many waiting messages", 10_000_000, false, (*run).backlog},
	{"front", "the same behind so many delayed and so many leased messages of the highest priority", 1_000_000, false, (*run).front},
	{"kept", "send, take, settle and list with so many attempts, deliveries and claims kept", 10_000_000, false, (*run).kept},
	{"held", "500 messages a second while somebody holds a transaction open", 0, true, (*run).held},
	{"due", "500 messages a second while so many others fall due in one second", 1_000_000, false, (*run).due},
	{"endpoints", "events for 10,000 endpoints of which every 20th hangs, while so many deliveries wait for a disabled one", 1_000_000, false, (*run).manyEndpoints},
	{"fanout", "one event for 1,000 endpoints, against a bare insert of the same rows", 0, false, (*run).fanout},
	{"servers", "one, two and four servers on one database", 0, true, (*run).servers},
	{"idle", "a server that has nothing to do, and its start", 0, false, (*run).idle},
}

// run is what was asked for.
type run struct {
	rows      int           // of the case
	cycles    int           // whose processor time is measured
	span      time.Duration // of a measured stretch; 0: the case's own
	hold      time.Duration // of the open transaction
	endpoints int
	dir       string // for files
	program   string
	durable   bool
	tell      func(figure)
	ground    *cluster
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := start(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "depth:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("depth", flag.ContinueOnError)
	store := f.String("store", "both", "sqlite, postgres or both")
	rows := f.Int("rows", 0, "rows to fill in, in place of the case's own number")
	r := &run{tell: printer(out)}
	f.IntVar(&r.cycles, "cycles", 80, "cycles of batches whose processor time is measured")
	f.DurationVar(&r.span, "for", 0, "how long a measured stretch goes on, in place of the case's own")
	f.DurationVar(&r.hold, "hold", time.Minute, "how long the case held keeps its transaction open")
	f.IntVar(&r.endpoints, "endpoints", 10_000, "endpoints of the case endpoints")
	f.BoolVar(&r.durable, "fsync", true, "PostgreSQL waits for its disk, as it should where anything is timed")
	f.StringVar(&r.program, "program", "", "the program to measure; without it one is built")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "depth [flags] case…")
		for _, k := range cases {
			fmt.Fprintf(f.Output(), "  %-10s %s\n", k.name, k.about)
		}
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		f.Usage()
		return errors.New("no case is named")
	}
	for _, name := range f.Args() {
		if !slices.ContainsFunc(cases, func(k kase) bool { return k.name == name }) {
			return fmt.Errorf("there is no case %q", name)
		}
	}
	if r.dir, err = os.MkdirTemp("", "onceward-depth-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, k := range cases {
		if !slices.Contains(f.Args(), k.name) {
			continue
		}
		if r.rows = k.rows; *rows > 0 && k.rows > 0 {
			r.rows = *rows
		}
		for _, s := range []string{"sqlite", "postgres"} {
			if *store != "both" && *store != s || k.postgres && s == "sqlite" {
				continue
			}
			if err := r.one(ctx, k, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// one runs a case on a store.
func (r *run) one(ctx context.Context, k kase, store string) error {
	tell := r.tell
	defer func() { r.tell = tell }()
	r.tell = func(f figure) {
		f.Case, f.Store = k.name, store
		if f.Rows == 0 {
			f.Rows = r.rows
		}
		tell(f)
	}
	began := time.Now()
	defer func() { note("%s on %s took %v", k.name, store, time.Since(began).Round(time.Millisecond)) }()
	if err := k.run(r, ctx, store); err != nil {
		return fmt.Errorf("%s on %s: %w", k.name, store, err)
	}
	return nil
}

func (r *run) close() (err error) {
	if r.ground != nil {
		err = r.ground.Close()
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

// stretch is how long to measure.
func (r *run) stretch(own time.Duration) time.Duration {
	if r.span > 0 {
		return r.span
	}
	return own
}

// build gives the program, built as releases are.
func (r *run) build(ctx context.Context) (string, error) {
	if r.program != "" {
		return r.program, nil
	}
	at := filepath.Join(r.dir, "onceward")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", at, "github.com/onceward/onceward/cmd/onceward")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	r.program = at
	return at, nil
}
