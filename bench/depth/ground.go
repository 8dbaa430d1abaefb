package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // for what is filled in, in race builds too

	"github.com/onceward/onceward/internal/cost"
	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
)

// cluster is a PostgreSQL of this process's own that counts the pages which statements touch.
type cluster struct{ *pgtest.Cluster }

func (r *run) cluster(ctx context.Context) (*cluster, error) {
	if r.ground != nil {
		return r.ground, nil
	}
	c, err := pgtest.Start(ctx, pgtest.Options{Fsync: r.durable})
	if err != nil {
		return nil, err
	}
	r.ground = &cluster{c}
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	for _, set := range []string{"shared_preload_libraries = 'pg_stat_statements'", "max_wal_size = '8GB'"} {
		if _, err := conn.Exec(ctx, "ALTER SYSTEM SET "+set); err != nil {
			return nil, err
		}
	}
	c.Down()
	return r.ground, c.Up(ctx)
}

// ground is a store of a case's own: its rows can be filled in while it is closed.
type ground struct {
	at         string // as the program is told it
	path       string // of the file; "" of a database
	postmaster int
	conn       *pgx.Conn // to the database
	drop       func(context.Context) error
	commits    int // of the SQLite store, so far
	db         store.Store
}

// newGround makes an empty store, and closes it.
func (r *run) newGround(ctx context.Context, kind string) (*ground, error) {
	g := &ground{}
	if kind == "sqlite" {
		dir, err := os.MkdirTemp(r.dir, "store-")
		if err != nil {
			return nil, err
		}
		g.path = filepath.Join(dir, "onceward.db")
		g.at, g.drop = "sqlite:"+g.path, func(context.Context) error { return os.RemoveAll(dir) }
	} else {
		c, err := r.cluster(ctx)
		if err != nil {
			return nil, err
		}
		if g.at, g.drop, err = pgtest.Scratch(ctx, c.URL("postgres"), "onceward_depth_"); err != nil {
			return nil, err
		}
		if g.conn, err = pgx.Connect(ctx, g.at); err != nil {
			return nil, errors.Join(err, g.drop(ctx))
		}
		g.postmaster = c.Pid()
		if _, err := g.conn.Exec(ctx, "CREATE EXTENSION pg_stat_statements"); err != nil {
			return nil, errors.Join(err, g.leave(ctx))
		}
	}
	if err := g.open(ctx); err != nil {
		return nil, errors.Join(err, g.leave(ctx))
	}
	return g, nil
}

// open opens the store in this process.
func (g *ground) open(ctx context.Context) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	if g.conn != nil {
		g.db, err = postgres.Open(ctx, g.at, postgres.Options{Logger: quiet})
	} else {
		g.db, err = sqlite.Open(ctx, g.path, sqlite.Options{Logger: quiet, Observe: func(string, int, time.Duration) { g.commits++ }})
	}
	if err != nil {
		g.db = nil
	}
	return err
}

// shut closes the store in this process.
func (g *ground) shut() (err error) {
	if g.db != nil {
		err = g.db.Close()
	}
	g.db = nil
	return err
}

// leave removes it.
func (g *ground) leave(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	err := g.shut()
	if g.conn != nil {
		err = errors.Join(err, g.conn.Close(ctx))
	}
	return errors.Join(err, g.drop(ctx))
}

// file runs f with a connection of its own to the SQLite file, as fast as it goes: the store is closed meanwhile.
func (g *ground) file(ctx context.Context, f func(tx *sql.Conn) error) error {
	if err := g.shut(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+g.path)
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, p := range []string{"synchronous = off", "cache_size = -2000000", "temp_store = memory"} {
		if _, err := c.ExecContext(ctx, "PRAGMA "+p); err != nil {
			return err
		}
	}
	if err := f(c); err != nil {
		return err
	}
	if _, err := c.ExecContext(ctx, "PRAGMA wal_checkpoint(truncate)"); err != nil {
		return err
	}
	return errors.Join(c.Close(), db.Close(), g.open(ctx))
}

// size is what the store takes on disk, in bytes.
func (g *ground) size(ctx context.Context) (n int64, err error) {
	if g.conn != nil {
		err = g.conn.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&n)
		return n, err
	}
	for _, end := range []string{"", "-wal"} {
		s, err := os.Stat(g.path + end)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, err
		}
		if err == nil {
			n += s.Size()
		}
	}
	return n, nil
}

// cpu is the processor time that this process and the database have used so far.
func (g *ground) cpu() (float64, error) {
	d, err := cost.Self()
	if err == nil && g.postmaster != 0 {
		var of time.Duration
		of, err = cost.Tree(g.postmaster)
		d += of
	}
	return d.Seconds(), err
}

// settle brings a filled store to rest: what the program and the database do in the background is done now, not beside what is measured.
func (g *ground) settle(ctx context.Context) error {
	for {
		n, err := g.db.Sweep(ctx, 10_000)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if g.conn == nil {
		return g.file(ctx, func(c *sql.Conn) error {
			_, err := c.ExecContext(ctx, countAnew)
			return err
		})
	}
	for _, s := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} {
		if _, err := g.conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// blocks is how many pages the statements of the database have touched so far, ours left out, and those of each.
func (g *ground) blocks(ctx context.Context) (sum int64, of map[string]int64, err error) {
	rows, err := g.conn.Query(ctx, `SELECT query, sum(shared_blks_hit + shared_blks_read)::bigint FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY 1`)
	if err != nil {
		return 0, nil, err
	}
	of = map[string]int64{}
	var text string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&text, &n}, func() error {
		if !strings.Contains(text, "pg_stat_statements") {
			of[text] += n
			sum += n
		}
		return nil
	})
	return sum, of, err
}

func note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...)
}
