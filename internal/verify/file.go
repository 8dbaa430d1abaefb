package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"
)

// file is a SQLite file in a folder of its own.
type file struct {
	dir  string
	conn *sql.DB
}

func newFile() (ground, error) {
	dir, err := hostTemp()
	if err != nil {
		return nil, err
	}
	f := &file{dir: dir}
	if f.conn, err = sql.Open("sqlite", "file:"+f.path()+"?_pragma=busy_timeout(10000)"); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	f.conn.SetMaxOpenConns(2)
	return f, nil
}

func (f *file) path() string      { return filepath.Join(f.dir, "onceward.db") }
func (f *file) name() string      { return "sqlite" }
func (f *file) url(string) string { return "sqlite:" + f.path() }
func (f *file) shared() bool      { return false }
func (f *file) db() *sql.DB       { return f.conn }

// hold takes SQLite's write lock.
func (f *file) hold(ctx context.Context) (func() error, error) {
	c, err := f.conn.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(fmt.Errorf("hold the store: %w", err), c.Close())
	}
	return func() error {
		_, err := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, c.Close())
	}, nil
}

func (f *file) lapse(ctx context.Context, claim bool) error {
	past := time.Now().Add(-time.Millisecond).UnixMicro()
	_, err := f.conn.ExecContext(ctx, "UPDATE messages SET vis = ? WHERE leased AND lease_no = 1", past)
	if err == nil && claim {
		_, err = f.conn.ExecContext(ctx, "UPDATE claims SET lease_until = ? WHERE state = 'started' AND fence = 1", past)
	}
	return err
}

func (f *file) drop(keep bool) error {
	err := f.conn.Close()
	if keep {
		fmt.Fprintln(os.Stderr, "kept:", f.dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}
