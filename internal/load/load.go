// Package load puts load on a server of the program and says what it cost: rates, latencies, and the processor time of every process that had a part
// in it.
//
// With a rate, calls are due by the clock, whatever the answers do, and a call's latency counts from when it was due: a server that stalls does not
// slow down who measures it (Gil Tene calls that coordinated omission). The stores are durable as always; nothing is answered before its commit.
package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/cost"
	"github.com/onceward/onceward/internal/pgtest"
)

// Config says what to load and how.
type Config struct {
	Program  string // to run the servers with
	SQLite   bool   // on files of its own
	Postgres string // the URL of a server that may create databases; "": not on PostgreSQL
	Cases    []string

	Rate    float64       // calls a second where the case takes one; 0: as fast as the callers go
	For     time.Duration // of a case that goes on
	Jobs    int           // of a case that works off what was stored beforehand
	Callers int
	Size    int // of a payload, in bytes
	Batch   int // messages a call
}

// Row is what one case showed.
type Row struct {
	Case      string     `json:"case"`
	Store     string     `json:"store"`
	Unit      string     `json:"unit"`
	Rate      float64    `json:"rate_per_second"` // asked for; 0: as fast as it goes
	Jobs      int64      `json:"jobs"`
	Failed    int64      `json:"failed"`
	Seconds   float64    `json:"seconds"`
	PerSecond float64    `json:"per_second"`
	P50       float64    `json:"p50_ms"`
	P99       float64    `json:"p99_ms"`
	P999      float64    `json:"p999_ms"`
	Most      float64    `json:"max_ms"`
	Cost      *cost.Cost `json:"cost"` // null where the system does not tell it
}

// kase is one kind of load.
type kase struct {
	name, unit string
	about      string
	run        func(l *load, ctx context.Context) error
}

func cases() []kase {
	return []kase{
		{"publish", "message", "messages, each with a key of its own", (*load).publish},
		{"work", "message", "receive and ack, of what was published beforehand", (*load).work},
		{"start", "message", "from publish to received, by one consumer that waits", (*load).start},
		{"deliver", "delivery", "the deliveries of events that were stored beforehand", (*load).deliver},
		{"post", "delivery", "from event to its POST at the receiver", (*load).post},
	}
}

// Cases gives the cases' names, and what each is.
func Cases() (names, abouts []string) {
	for _, k := range cases() {
		names, abouts = append(names, k.name), append(abouts, k.about)
	}
	return names, abouts
}

// Run runs each case on each store, each time on a server and a store of its own, and tells each row as it is there.
func Run(ctx context.Context, c Config, each func(Row)) error {
	grounds := map[string]func(ctx context.Context, c Config) (at string, drop func(context.Context) error, err error){}
	if c.SQLite {
		grounds["sqlite"] = ownFile
	}
	if c.Postgres != "" {
		grounds["postgres"] = ownDatabase
	}
	for _, k := range cases() {
		if !slices.Contains(c.Cases, k.name) {
			continue
		}
		for _, store := range []string{"sqlite", "postgres"} {
			if grounds[store] == nil {
				continue
			}
			at, drop, err := grounds[store](ctx, c)
			if err != nil {
				return err
			}
			row, err := one(ctx, c, k, at)
			if err = errors.Join(err, drop(context.WithoutCancel(ctx))); err != nil {
				return fmt.Errorf("%s on %s: %w", k.name, store, err)
			}
			row.Store = store
			each(row)
		}
	}
	return nil
}

func ownFile(context.Context, Config) (string, func(context.Context) error, error) {
	dir, err := os.MkdirTemp("", "onceward-bench-")
	return "sqlite:" + filepath.Join(dir, "onceward.db"), func(context.Context) error { return os.RemoveAll(dir) }, err
}

func ownDatabase(ctx context.Context, c Config) (string, func(context.Context) error, error) {
	return pgtest.Scratch(ctx, c.Postgres, "onceward_bench_")
}

// one runs a case on the store at an address.
func one(ctx context.Context, c Config, k kase, store string) (Row, error) {
	l, err := open(ctx, c, store)
	if err != nil {
		return Row{}, err
	}
	l.round = k.name
	if err := errors.Join(k.run(l, ctx), l.close(ctx)); err != nil {
		return Row{}, err
	}
	row := l.row
	row.Case, row.Unit = k.name, k.unit
	if row.Jobs == 0 {
		return row, fmt.Errorf("nothing was done: %w", l.failure())
	}
	row.PerSecond = float64(row.Jobs) / row.Seconds
	row.P50, row.P99, row.P999, row.Most = l.quantile(50), l.quantile(99), l.quantile(99.9), l.quantile(100)
	return row, nil
}
