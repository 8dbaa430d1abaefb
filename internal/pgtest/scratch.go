package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
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

// idle are connections to servers, of those that are not in use: to make one costs half of what a database does.
var idle = struct {
	sync.Mutex
	of map[string][]*pgx.Conn
}{of: map[string][]*pgx.Conn{}}

func execOn(ctx context.Context, server, sql string) (err error) {
	idle.Lock()
	var conn *pgx.Conn
	if at := idle.of[server]; len(at) > 0 {
		conn, idle.of[server] = at[len(at)-1], at[:len(at)-1]
	}
	idle.Unlock()
	if conn != nil && conn.Ping(ctx) != nil { // its server was down meanwhile
		conn.Close(ctx)
		conn = nil
	}
	if conn == nil {
		if conn, err = pgx.Connect(ctx, server); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, sql)
	idle.Lock()
	defer idle.Unlock()
	idle.of[server] = append(idle.of[server], conn)
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
