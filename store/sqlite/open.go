package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a database file as ours ("Once" in its header).
const applicationID = 0x4f6e6365

// readers is how many reads run beside the writer.
const readers = 8

// Options of a store. The zero value is ready for use.
type Options struct {
	Logger  *slog.Logger                                   // nil: slog.Default()
	Observe func(op string, items int, took time.Duration) // of each commit, by verb; nil: nobody looks. It must not block.
}

// DB is a store in one SQLite file, which one process owns. Its methods may be called from any number of goroutines.
type DB struct {
	options   Options
	path      string
	lock      *os.File
	pool      *sql.DB
	writer    *session
	lane      *batch.Batcher[*job, struct{}]
	reading   chan *session
	secret    []byte
	seqs      map[string]*sequence   // of the writer's lane alone
	turns     int64                  // the newest turn of a group; of the writer's lane alone
	granted   map[int64]ledger.Claim // deliveries' claims as they were granted, until they change; of the writer's lane alone
	swept     sweepState             // of the writer's lane alone
	hub       hub
	delivered deliverySweep // of the writer's lane alone
	closing   sync.Once
}

// Open opens the store in the file at path, made if it is not there, and brings its schema up to date. A file that
// another process has open, that is not Onceward's, or that a newer version wrote ([*migrate.NewerError]) is refused.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Observe == nil {
		o.Observe = func(string, int, time.Duration) {}
	}
	full, err := place(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	db := &DB{options: o, path: full, seqs: map[string]*sequence{}, granted: map[int64]ledger.Claim{}}
	if err := db.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), db.release())
	}
	return db, nil
}

// place finds the file itself, so that two names of it are one store.
func place(path string) (string, error) {
	if path == "" || path == ":memory:" {
		return "", errors.New("the store needs the path of a file")
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(full); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(full))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(full)), nil
}

func (db *DB) open(ctx context.Context) error {
	var err error
	// Not the database itself: closing any descriptor of that file would drop SQLite's own locks.
	if db.lock, err = os.OpenFile(db.path+".lock", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if err := lockFile(db.lock); err != nil {
		return errors.New("another process has it open: one SQLite file is for one server; stop the other, or use PostgreSQL for several")
	}
	if f, err := os.OpenFile(db.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil { // SQLite would make it readable by all
		return err
	} else if err := f.Close(); err != nil {
		return err
	}
	db.pool = sql.OpenDB(connector{db.path})
	db.pool.SetMaxOpenConns(readers + 1)
	db.pool.SetMaxIdleConns(readers + 1)
	if db.writer, err = db.session(ctx, writerPragmas); err != nil {
		return err
	}
	if err := db.migrate(); err != nil {
		return err
	}
	db.reading = make(chan *session, readers)
	for range readers {
		db.reading <- nil // opened at its first use
	}
	db.lane = batch.New(batch.Config[*job, struct{}]{Commit: db.commit, Size: func(j *job) int { return j.size + 256 }})
	if err := db.loadSequences(); err != nil {
		return err
	}
	return db.loadSecret()
}

func (db *DB) loadSecret() error {
	s := db.writer
	if _, err := s.exec("meta_add", "secret", fresh()); err != nil {
		return err
	}
	return s.row("meta_get", "secret").Scan(&db.secret)
}

func fresh() []byte {
	b := make([]byte, 32)
	rand.Read(b)
	return b
}

// Secret is the store's own, made at its first start.
func (db *DB) Secret() []byte { return db.secret }

// Ping answers nil if the store can be read and written to.
func (db *DB) Ping(ctx context.Context) error {
	return db.write(ctx, "ping", 0, func(t *tx) error {
		_, err := t.exec("meta_set", "ping", t.now.UnixMicro())
		return err
	})
}

// Close waits for what was accepted, then lets go of the file. Calls after it answer that the store is unavailable.
func (db *DB) Close() error {
	var err error
	db.closing.Do(func() {
		db.lane.Close()
		for range readers { // reads under way end first
			if s := <-db.reading; s != nil {
				err = errors.Join(err, s.close())
			}
		}
		close(db.reading)
		db.hub.wakeAll()
		err = errors.Join(err, db.release())
	})
	return err
}

// release lets go of whatever open took.
func (db *DB) release() error {
	var err error
	if db.writer != nil {
		err = db.writer.close()
	}
	if db.pool != nil {
		err = errors.Join(err, db.pool.Close())
	}
	if db.lock != nil {
		err = errors.Join(err, db.lock.Close()) // the file stays: to delete it would open a second lock beside a held one
	}
	return err
}
