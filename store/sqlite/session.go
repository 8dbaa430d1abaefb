package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Each file of sql/ is one statement, named as the file.
//
//go:embed sql/*.sql
var sqlFiles embed.FS

var statements = loadStatements()

func loadStatements() map[string]string {
	files, err := fs.Glob(sqlFiles, "sql/*.sql")
	if err != nil {
		panic(err)
	}
	m := make(map[string]string, len(files))
	for _, f := range files {
		b, err := sqlFiles.ReadFile(f)
		if err != nil {
			panic(err)
		}
		m[strings.TrimSuffix(path.Base(f), ".sql")] = string(b)
	}
	return m
}

// writerPragmas: auto_vacuum comes before the first table, else only a full VACUUM could turn it on. A small cache is
// the cheaper one at depth: each commit walks it.
var writerPragmas = []string{
	"PRAGMA auto_vacuum = incremental", "PRAGMA journal_mode = wal", "PRAGMA synchronous = full", "PRAGMA busy_timeout = 5000",
	"PRAGMA temp_store = memory", "PRAGMA cache_size = -8192", "PRAGMA journal_size_limit = 67108864", "PRAGMA foreign_keys = on",
}

var readerPragmas = []string{
	"PRAGMA busy_timeout = 5000", "PRAGMA temp_store = memory", "PRAGMA cache_size = -4096", "PRAGMA query_only = on",
}

// connector opens connections to one file, whatever characters its name has.
type connector struct{ path string }

func (c connector) Driver() driver.Driver { return sqlDriver() }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	return sqlDriver().Open("file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(c.path))
}

// session is one connection with its prepared statements. It is used by one goroutine at a time. No context reaches
// its statements: one that can end costs a goroutine for each.
type session struct {
	conn    *sql.Conn
	wrote   int // calls of exec
	stmts   map[string]*sql.Stmt
	decoded map[string]any // see the function
}

func (db *DB) session(ctx context.Context, pragmas []string) (*session, error) {
	c, err := db.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{conn: c, stmts: map[string]*sql.Stmt{}, decoded: map[string]any{}}
	for _, p := range pragmas {
		if err := s.run(p); err != nil {
			s.close()
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	return s, nil
}

// close ends the connection itself, so that none with other pragmas stays in the pool.
func (s *session) close() error {
	if s.lost() { // its statements went with it; the driver does not bear that they are closed again
		return nil
	}
	for _, st := range s.stmts {
		st.Close()
	}
	s.conn.Raw(func(any) error { return driver.ErrBadConn })
	if err := s.conn.Close(); err != nil && err != sql.ErrConnDone {
		return err
	}
	return nil
}

// lost reports whether the connection is gone.
func (s *session) lost() bool { return s.conn.Raw(func(any) error { return nil }) != nil }

// run executes text that is not kept prepared. Rows it answers are read to their end: some pragmas work by that.
func (s *session) run(text string) error {
	rows, err := s.conn.QueryContext(context.Background(), text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

func (s *session) stmt(name string) (*sql.Stmt, error) {
	if st, ok := s.stmts[name]; ok {
		return st, nil
	}
	text, ok := statements[name]
	if !ok {
		text = name // a statement given by its text
	}
	st, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, fmt.Errorf("statement %s: %w", name, err)
	}
	s.stmts[name] = st
	return st, nil
}

// exec runs the statement of the file sql/<name>.sql and answers how many rows it changed.
func (s *session) exec(name string, args ...any) (int64, error) {
	st, err := s.stmt(name)
	if err != nil {
		return 0, err
	}
	s.wrote++
	r, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, fmt.Errorf("statement %s: %w", name, err)
	}
	return r.RowsAffected()
}

// scanner is a row to be scanned.
type scanner interface{ Scan(to ...any) error }

type noRow struct{ err error }

func (r noRow) Scan(...any) error { return r.err }

// row answers the statement's only row; its Scan gives sql.ErrNoRows where there is none.
func (s *session) row(name string, args ...any) scanner {
	st, err := s.stmt(name)
	if err != nil {
		return noRow{err}
	}
	return st.QueryRowContext(context.Background(), args...)
}

// errEnough is f's answer to each where it wants no more rows.
var errEnough = errors.New("enough rows")

// each calls f for every row. The rows are read while f runs: f must not write to what the statement reads.
func (s *session) each(name string, f func(scanner) error, args ...any) error {
	st, err := s.stmt(name)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(context.Background(), args...)
	if err != nil {
		return fmt.Errorf("statement %s: %w", name, err)
	}
	return drain(rows, f)
}

// eachText is each for a statement made at run time, which is not kept.
func (s *session) eachText(text string, f func(scanner) error, args ...any) error {
	rows, err := s.conn.QueryContext(context.Background(), text, args...)
	if err != nil {
		return err
	}
	return drain(rows, f)
}

func drain(rows *sql.Rows, f func(scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err == errEnough {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}

// ids gives the first column of every row.
func (s *session) ids(name string, args ...any) ([]int64, error) {
	var out []int64
	err := s.each(name, func(r scanner) error {
		var id int64
		err := r.Scan(&id)
		out = append(out, id)
		return err
	}, args...)
	return out, err
}

// script executes text of several statements.
func (s *session) script(text string) error {
	_, err := s.conn.ExecContext(context.Background(), text)
	return err
}
