// Package postgres is the store for any number of servers over one PostgreSQL. No server leads, and there is nothing
// else to run: every deadline is the database's clock, every right to act is a row lock or a unique constraint.
//
// The rules are the pure functions of packages queue and ledger. A transaction locks rows, applies a rule at the
// database's time and saves, so that SQL holds no second copy of them; receives alone are set-based, and the tests hold
// them to the same rules. Locks are taken in one order: queues, keys, claims, messages, groups, each by id. A statement
// that starts from messages (a receive, a sweep) skips what is locked and waits for nobody.
package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/failpoint"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/migrate"
	"github.com/onceward/onceward/queue"
)

// Options of a store. The zero value is ready for use.
type Options struct {
	// Logger gets what no caller can be told: a listener that lost its connection. Default: slog's.
	Logger *slog.Logger
	// Observe hears of each operation: its name, how many items it had, how long it took.
	Observe func(op string, items int, took time.Duration)
}

// DB is a store.
type DB struct {
	opts     Options
	pool     *pgxpool.Pool
	secret   []byte
	hub      *hub
	sweeps   sweepState
	groupIDs groupCache
	lows     dueMarks
	leases   leaseMark
	oldest   oldestMarks
	takes    gather
	dedups   sync.Map // queueName: had content_dedup when it was last asked for
	plains   sync.Map // namedQueue to its id: had no groups when it was last asked for
	turns    turnMarks
	ticks    groupTicks
	wakes    wakeMarks
	held     chan struct{} // a place for each call that waits for somebody's transaction
	patience time.Duration // how long a call may take: txTimeout, and longer while the schema is migrated

	publishes *batch.Batcher[queue.Publish, queue.Published]
	settles   *batch.Batcher[queue.Settle, queue.Settled]
	lanes     lanes // of events, deliveries and claims

	stop    context.CancelFunc
	running sync.WaitGroup
}

// Open connects to url, applies what migrations are missing, and starts the store's listener. A store of a newer program
// is refused with a *migrate.NewerError. Settings of the pool are given in the URL (pool_max_conns, default_query_exec_mode, …).
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Observe == nil {
		o.Observe = func(string, int, time.Duration) {}
	}
	cfg, err := poolConfig(url)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(url, "default_query_exec_mode") {
		if between, err := pooled(ctx, cfg.ConnConfig); err != nil {
			return nil, fmt.Errorf("open the store: %w", err)
		} else if between {
			cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
	}
	db := &DB{opts: o, held: make(chan struct{}, maxHeld), patience: txTimeout}
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		db.groupIDs.forget() // it may be another database by now: a standby that took over without the last commits
		db.ticks.forget()
		return afterConnect(ctx, c)
	}
	if db.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	if err := db.prepare(ctx); err != nil {
		db.pool.Close()
		return nil, fmt.Errorf("open the store: %w", err)
	}
	run, stop := context.WithCancel(context.Background())
	db.stop = stop
	db.hub = newHub(db)
	db.publishes = batch.New(batch.Config[queue.Publish, queue.Published]{
		Commit: db.commitPublishes, Split: badItem, MaxItems: queue.MaxBatch, Size: func(p queue.Publish) int { return 256 + len(p.Body) },
	})
	db.settles = batch.New(batch.Config[queue.Settle, queue.Settled]{Commit: db.commitSettles, Split: badItem, MaxItems: queue.MaxBatch})
	db.lanes.open(db)
	db.running.Go(func() { db.hub.notify(run) })
	db.running.Go(func() { db.hub.listen(run, cfg.ConnConfig) })
	return db, nil
}

// poolConfig reads url, with our defaults where it says nothing.
func poolConfig(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the store's URL cannot be read: %w", err)
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = int32(max(16, 4*runtime.GOMAXPROCS(0)))
	}
	if !strings.Contains(url, "pool_max_conn_idle_time") {
		cfg.MaxConnIdleTime = time.Minute // a server at rest keeps the few that its duties use
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "onceward"
	}
	cfg.AfterConnect = afterConnect
	if failpoint.On {
		cfg.ConnConfig.Tracer = points{}
	}
	return cfg, nil
}

// afterConnect: every statement of ours is a look-up by an index. A plan that was made while a table was empty must not
// go on to scan it when it has ten million rows, so the plans that would are not offered; then no values give a better one, and it is made once a
// connection. What a server that was frozen or cut off has locked in an open transaction must be free again before its leases are over, or nobody
// could take over from it.
func afterConnect(ctx context.Context, c *pgx.Conn) error {
	c.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
	_, err := c.Exec(ctx, "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; SET timezone = 'UTC'; "+
		"SET plan_cache_mode = force_generic_plan; SET idle_in_transaction_session_timeout = '5s'",
		pgx.QueryExecModeSimpleProtocol)
	return err
}

// pooled reports whether a pooler is between us and the database: it gives its clients a process number of its own making. One that pools transactions
// gives each of ours another connection of the database, and what was prepared on one is not there on the next.
func pooled(ctx context.Context, cfg *pgx.ConnConfig) (bool, error) {
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	var pid uint32
	err = c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	return pid != c.PgConn().PID(), err
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrateTime is how long a migration may take: an index of many millions of messages takes minutes.
const migrateTime = time.Hour

// migrateLock is the advisory lock under which one server migrates while the others wait.
const migrateLock = 0x6f6e6365 // "once"

// prepare applies what migrations are missing and reads the secret.
func (db *DB) prepare(ctx context.Context) error {
	all, err := migrate.Load(migrations, "migrations")
	if err != nil {
		return err
	}
	db.patience = migrateTime
	defer func() { db.patience = txTimeout }()
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrateLock); err != nil {
			return err
		}
		if err := tx.makeSchema(ctx); err != nil {
			return err
		}
		applied := 0
		_, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS migrations (version int PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())")
		if err == nil {
			err = tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&applied)
		}
		if err != nil {
			return err
		}
		pending, err := migrate.Pending(all, applied)
		if err != nil {
			return err
		}
		for _, m := range pending {
			if _, err := tx.Exec(ctx, m.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("migration %04d %s: %w", m.Version, m.Name, err)
			}
			if _, err := tx.Exec(ctx, "INSERT INTO migrations (version, name) VALUES ($1, $2)", m.Version, m.Name); err != nil {
				return err
			}
		}
		secret := make([]byte, 32)
		rand.Read(secret)
		if _, err := tx.Exec(ctx, "INSERT INTO meta (name, value) VALUES ('secret', $1) ON CONFLICT DO NOTHING", secret); err != nil {
			return err
		}
		if err := tx.keepFunctions(ctx); err != nil {
			return err
		}
		return tx.QueryRow(ctx, "SELECT value FROM meta WHERE name = 'secret'").Scan(&db.secret)
	})
	return err
}

// Secret is the store's own, 32 bytes made at its first start.
func (db *DB) Secret() []byte { return db.secret }

// Ping answers nil if the database can be reached and written to. Inside a transaction it asks the transaction's connection.
func (db *DB) Ping(ctx context.Context) error {
	var standby bool
	if err := db.conn(ctx).QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby); err != nil {
		return db.fault(ctx, err)
	}
	if standby {
		return &fault.Error{Code: fault.Unavailable, Message: "the database is a standby: it cannot be written to", RetryAfter: 5 * time.Second}
	}
	return nil
}

// Close finishes what was accepted, then lets go of the database.
func (db *DB) Close() error {
	db.publishes.Close()
	db.settles.Close()
	db.lanes.close()
	db.hub.close()
	db.stop()
	db.running.Wait()
	db.pool.Close()
	return nil
}
