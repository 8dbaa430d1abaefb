package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/onceward/onceward/internal/pgtest"
)

// database is a PostgreSQL database made for one run.
type database struct {
	at     *url.URL
	conn   *sql.DB
	dropIt func(ctx context.Context) error
}

func newDatabase(ctx context.Context, admin string) (ground, error) {
	address, drop, err := pgtest.Scratch(ctx, admin, "onceward_verify_")
	if err != nil {
		return nil, err
	}
	d := &database{dropIt: drop}
	if d.at, err = url.Parse(address); err == nil {
		d.conn, err = sql.Open("pgx", address)
	}
	if err != nil {
		return nil, errors.Join(err, drop(ctx))
	}
	d.conn.SetMaxOpenConns(3)
	return d, nil
}

func (d *database) name() string { return "postgres" }
func (d *database) shared() bool { return true }
func (d *database) db() *sql.DB  { return d.conn }

// url limits each server to few connections, since many run side by side, and names them, so that one's can be found.
func (d *database) url(server string) string {
	u := *d.at
	q := u.Query()
	q.Set("pool_max_conns", "6")
	q.Set("application_name", server)
	u.RawQuery = q.Encode()
	return u.String()
}

// hold locks every claim.
func (d *database) hold(ctx context.Context) (func() error, error) {
	tx, err := d.conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, fmt.Errorf("hold the store: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "SELECT id FROM claims ORDER BY id FOR UPDATE"); err != nil {
		return nil, errors.Join(fmt.Errorf("hold the store: %w", err), tx.Rollback())
	}
	return tx.Rollback, nil
}

// waiting reports whether a server waits for what is held; cut ends those connections of it.
func (d *database) waiting(ctx context.Context, server string, cut bool) (n int, err error) {
	what := "count(*)"
	if cut {
		what = "count(*) FILTER (WHERE pg_terminate_backend(pid))"
	}
	err = d.conn.QueryRowContext(ctx, "SELECT "+what+" FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", server).Scan(&n)
	return n, err
}

// inTransaction reports whether a server has a transaction open that waits for its next word.
func (d *database) inTransaction(ctx context.Context, server string) (yes bool, err error) {
	err = d.conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()"+
		" AND state = 'idle in transaction')", server).Scan(&yes)
	return yes, err
}

func (d *database) lapse(ctx context.Context, claim bool) error {
	_, err := d.conn.ExecContext(ctx, "UPDATE messages SET vis = now() - interval '1 ms' WHERE leased AND lease_no = 1")
	if err == nil && claim {
		_, err = d.conn.ExecContext(ctx, "UPDATE claims SET lease_until = now() - interval '1 ms' WHERE state = 'started' AND fence = 1")
	}
	return err
}

func (d *database) drop(keep bool) error {
	err := d.conn.Close()
	if keep {
		fmt.Fprintln(os.Stderr, "kept:", strings.TrimPrefix(d.at.Path, "/"))
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return errors.Join(err, d.dropIt(ctx))
}
