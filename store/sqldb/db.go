package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
)

var (
	_ ledger.TxStore[*sql.Tx] = (*DB[*sql.Tx])(nil)
	_ ledger.TxStore[pgx.Tx]  = (*DB[pgx.Tx])(nil)
)

// DB is the ledger in a database of yours. T is the database's transaction. It is safe for use by many goroutines, and starts none that
// outlives a call. Make one for each pool.
type DB[T any] struct {
	engine engine[T]
	sql    statements

	claims *batch.Batcher[ledger.Call, ledger.Answer]
	beats  *batch.Batcher[ledger.Beat, ledger.Applied]
	words  *batch.Batcher[ledger.Word, ledger.Applied]
}

// Postgres keeps the ledger in a PostgreSQL database that database/sql has open, by any driver.
func Postgres(db *sql.DB) *DB[*sql.Tx] {
	return newDB[*sql.Tx](&sqlEngine{db: db}, postgresSQL)
}

// SQLite keeps the ledger in a SQLite database that database/sql has open. Its DSN should set a busy_timeout, so that a writer waits for
// another: "file:app.db?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" with modernc.org/sqlite,
// "file:app.db?_busy_timeout=10000&_journal_mode=WAL" with mattn/go-sqlite3.
func SQLite(db *sql.DB) *DB[*sql.Tx] {
	return newDB[*sql.Tx](&sqlEngine{db: db, turn: make(chan struct{}, 1)}, sqliteSQL)
}

// Pgx keeps the ledger in a PostgreSQL database by a pgx pool.
func Pgx(pool *pgxpool.Pool) *DB[pgx.Tx] {
	return newDB[pgx.Tx](pgxEngine{pool}, postgresSQL)
}

func newDB[T any](e engine[T], s statements) *DB[T] {
	d := &DB[T]{engine: e, sql: s}
	d.claims = batch.New(batch.Config[ledger.Call, ledger.Answer]{
		Commit: busyIfLocked(commit(d, d.claim)), Split: mayBeOne, Size: func(c ledger.Call) int { return 256 + len(c.Key) },
	})
	d.beats = batch.New(batch.Config[ledger.Beat, ledger.Applied]{Commit: commit(d, d.begin), Split: mayBeOne})
	d.words = batch.New(batch.Config[ledger.Word, ledger.Applied]{
		Commit: commit(d, d.settle), Split: mayBeOne, Size: func(w ledger.Word) int { return 256 + len(w.Error) + 2*len(w.Result) },
	})
	return d
}

// Close waits until what was accepted is committed, and refuses what comes later. The database stays open: it is yours.
func (d *DB[T]) Close() error {
	d.claims.Close()
	d.beats.Close()
	d.words.Close()
	return nil
}

// Install makes the ledger's tables where they are not there yet. It may be called at every start, by many processes at once.
func (d *DB[T]) Install(ctx context.Context) error {
	err := d.repeat(ctx, false, func(ctx context.Context, _ T) error {
		t := d.carried(ctx)
		if d.sql.installing != "" {
			if _, err := t.exec(ctx, d.sql.installing); err != nil {
				return err
			}
		}
		return d.run(ctx, t, d.sql.schema)
	})
	if err != nil {
		return fmt.Errorf("make the ledger's tables: %w", err)
	}
	return nil
}

// PostgresSchema is the DDL of the ledger's tables on PostgreSQL, for a migration of yours. It may be run again.
func PostgresSchema() string { return postgresSQL.schema }

// SQLiteSchema is the DDL of the ledger's tables on SQLite, for a migration of yours. It may be run again.
func SQLiteSchema() string { return sqliteSQL.schema }

// statements are a dialect's, by the names of their files.
type statements struct {
	schema, insert, lock, find, notes, save, note, trim, reap, forget, renew string

	installing string // before the schema: one process at a time
	write      string // at a transaction's start, for a database that refuses to let a reader become a writer
	clock      bool   // the time is the process's, and a parameter
}

//go:embed sql
var files embed.FS

var (
	postgresSQL = load("postgres", statements{installing: "SELECT pg_advisory_xact_lock(7016996765293437281)"})
	sqliteSQL   = load("sqlite", statements{clock: true, write: "DELETE FROM onceward_claims WHERE false"})
)

func load(dialect string, s statements) statements {
	read := func(name string) string {
		b, err := files.ReadFile(path.Join("sql", dialect, name+".sql"))
		if err != nil {
			return "" // a dialect that needs no such statement
		}
		return string(b)
	}
	columns := strings.NewReplacer("{{columns}}", strings.TrimSpace(read("columns")))
	for name, to := range map[string]*string{
		"schema": &s.schema, "insert": &s.insert, "lock": &s.lock, "find": &s.find, "notes": &s.notes, "save": &s.save, "note": &s.note,
		"trim": &s.trim, "reap": &s.reap, "forget": &s.forget, "renew": &s.renew,
	} {
		*to = columns.Replace(read(name))
	}
	return s
}
