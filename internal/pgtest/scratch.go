package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Scratch makes a database of its own on a server, its name beginning with prefix, and gives its URL and what drops it.
func Scratch(ctx context.Context, server, prefix string) (at string, drop func(ctx context.Context) error, err error) {
	name := prefix + random()
	if at, err = withDatabase(server, name); err == nil {
		err = create(ctx, server, name, "")
	}
	if err != nil {
		return "", nil, fmt.Errorf("make a database of its own: %w", err)
	}
	return at, func(ctx context.Context) error { return execOn(ctx, server, "DROP DATABASE "+name+" WITH (FORCE)") }, nil
}

// create makes a database. Somebody still in the template (a vacuum, a connection that is going) refuses the copy for a moment.
func create(ctx context.Context, server, name, from string) error {
	for {
		err := execOn(ctx, server, "CREATE DATABASE "+name+from)
		e, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || e.Code != "55006" {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func execOn(ctx context.Context, server, sql string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// withDatabase gives a server's URL with another database.
func withDatabase(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return "", errors.New("want a URL, postgres://user@host/database")
	}
	u.Path = "/" + name
	return u.String(), nil
}

func random() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}
