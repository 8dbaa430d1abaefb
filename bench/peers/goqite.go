package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"maragu.dev/goqite"
	_ "modernc.org/sqlite"
)

type goqiteSubject struct {
	db *sql.DB
	q  *goqite.Queue
}

func openGoqite(ctx context.Context) (subject, error) {
	dir, err := folder()
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "goqite.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(60000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // as its documents advise
	where, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "maragu.dev/goqite").Output()
	if err != nil {
		return nil, fmt.Errorf("find goqite's schema: %w", err)
	}
	schema, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(where)), "schema_sqlite.sql"))
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, string(schema)); err != nil {
		return nil, err
	}
	return &goqiteSubject{db, goqite.New(goqite.NewOpts{DB: db, Name: "bench", Timeout: time.Minute})}, nil
}

func (g *goqiteSubject) enqueue(ctx context.Context, _ int64, body []byte) error {
	return g.q.Send(ctx, goqite.Message{Body: body})
}

func (g *goqiteSubject) enqueueMany(ctx context.Context, _ int64, bodies [][]byte) error {
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, b := range bodies {
		if err := g.q.SendTx(ctx, tx, goqite.Message{Body: b}); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (g *goqiteSubject) consume(ctx context.Context, came func(i int64)) error {
	for ctx.Err() == nil {
		m, err := g.q.ReceiveAndWait(ctx, time.Millisecond)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		came(number(m.Body))
		if err := g.q.Delete(context.WithoutCancel(ctx), m.ID); err != nil {
			return err
		}
	}
	return nil
}

func (g *goqiteSubject) roots() map[string]int { return nil }

func (g *goqiteSubject) close() error { return g.db.Close() }
