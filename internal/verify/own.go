package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/internal/failpoint"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store/sqldb"
	"github.com/onceward/onceward/webhook"
)

// OwnWord is the hidden command of the matrix that runs a program with a database of its own, to be killed around a commit: folder, name, what it is, its database, and
// what that needs more.
const OwnWord = "__verify-own"

// What such a program is.
const (
	ownWorker   = "worker"   // consumes; each effect is in its database, by ledger.Tx
	ownReceiver = "receiver" // of webhooks, by webhook.Receiver: address, secret
	sqlPublish  = "publish"  // publishes by an SQL function in a transaction with a row of its own, until it has committed
	sqlSend     = "send"     // the same with an event
	sqlWork     = "work"     // consumes; claim, effect and completion are one transaction, by SQL functions
)

// ownTable has what the programs do.
const ownTable = "CREATE TABLE IF NOT EXISTS verify_own (thing text NOT NULL)"

const ownTx = "own" // the transaction, at failpoint.BeforeCommit and AfterCommit

// RunOwn is the program's process. It ends with ctx.
func RunOwn(ctx context.Context, args []string) error {
	if len(args) < 4 {
		return errors.New("verify: folder, name, what it is and its database are required")
	}
	o := own{dir: args[0], name: args[1], more: args[4:]}
	what, store := args[2], args[3]
	if path, ok := strings.CutPrefix(store, "sqlite:"); ok {
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
		if err != nil {
			return err
		}
		d := sqldb.SQLite(db)
		return beOwn(ctx, o, what, d, d.Install, func(ctx context.Context, tx *sql.Tx, thing string) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO verify_own VALUES (?)", thing)
			return err
		})
	}
	pool, err := pgxpool.New(ctx, store)
	if err != nil {
		return err
	}
	switch what {
	case sqlPublish, sqlSend:
		return o.enqueue(ctx, pool, what)
	case sqlWork:
		return o.consume(ctx, func(c *client.Client, m *client.Message, name string) error {
			return o.workInSQL(ctx, pool, c, m, name)
		})
	}
	d := sqldb.Pgx(pool)
	return beOwn(ctx, o, what, d, d.Install, func(ctx context.Context, tx pgx.Tx, thing string) error {
		_, err := tx.Exec(ctx, "INSERT INTO verify_own VALUES ($1)", thing)
		return err
	})
}

type own struct {
	dir, name string
	more      []string
}

// pointed is a store with fail points at its transactions from that of the first effect on: what claim, effect and record have of their own would show.
type pointed[T any] struct {
	ledger.TxStore[T]
	worked atomic.Bool
}

func (p *pointed[T]) InTx(ctx context.Context, f func(ctx context.Context, tx T) error) error {
	err := p.TxStore.InTx(ctx, func(ctx context.Context, tx T) error {
		err := f(ctx, tx)
		if err == nil && p.worked.Load() {
			failpoint.At(failpoint.BeforeCommit, ownTx)
		}
		return err
	})
	if err == nil && p.worked.Load() {
		failpoint.At(failpoint.AfterCommit, ownTx)
	}
	return err
}

func beOwn[T any](ctx context.Context, o own, what string, store ledger.TxStore[T], install func(context.Context) error, effect func(context.Context, T, string) error) error {
	if err := install(ctx); err != nil {
		return err
	}
	points := &pointed[T]{TxStore: store}
	do := func(ctx context.Context, tx T, thing string) error {
		defer points.worked.Store(true)
		return effect(ctx, tx, thing)
	}
	if what == ownReceiver {
		h, err := webhook.NewReceiver(webhook.ReceiverConfig[T]{
			Store: points, Secrets: o.more[1:2], Timeout: ample, Logger: slog.New(slog.DiscardHandler), // one that is woken can still commit
			Effect: func(ctx context.Context, tx T, r webhook.Received) error { return do(ctx, tx, r.EventID) },
		})
		if err != nil {
			return err
		}
		l, err := net.Listen("tcp", o.more[0])
		if err != nil {
			return err
		}
		return http.Serve(l, h)
	}
	l, err := ledger.NewLedger(ledger.Config{Store: points, Scope: "work", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return o.consume(ctx, func(c *client.Client, m *client.Message, name string) error {
		o, _ := ledger.Tx(ctx, l, ledger.Work{Key: name}, func(ctx context.Context, tx T, _ ledger.Try) ([]byte, error) { return nil, do(ctx, tx, name) })
		d := o.Disposition()
		var err error
		switch d.Action {
		case ledger.Ack:
			_, err = c.Ack(ctx, jobs, m.Receipt)
		case ledger.DeadLetter:
			_, err = c.Nack(ctx, jobs, m.Receipt, client.Nack{DeadLetter: true, Error: d.Reason})
		default:
			_, err = c.Release(ctx, jobs, m.Receipt, d.Wait)
		}
		return err
	})
}

// consume does the queue's messages, one after the other. Whatever goes wrong is left to the leases.
func (o own) consume(ctx context.Context, do func(c *client.Client, m *client.Message, name string) error) error {
	for ctx.Err() == nil {
		c, err := anyServer(o.dir)
		var got []*client.Message
		if err == nil {
			got, err = c.Consume(ctx, jobs, client.Receive{Max: 1, Visibility: workerLease, Wait: time.Second})
		}
		for _, m := range got {
			var p thing
			if err = m.Decode(&p); err == nil {
				err = do(c, m, p.Thing)
			}
		}
		if err != nil {
			pause(ctx, 50*time.Millisecond)
		}
	}
	return nil
}

// enqueue does one transaction, the same again while it cannot know whether it committed, and leaves the answer in its folder.
func (o own) enqueue(ctx context.Context, pool *pgxpool.Pool, what string) error {
	call := `SELECT onceward_publish('jobs', '{"thing": "order-1"}'::json, 'order-1')`
	if what == sqlSend {
		call = `SELECT onceward_send('order.created', '{"thing": "order-1"}'::json, event_id => 'order-1')`
	}
	for {
		var id string
		err := o.commit(ctx, pool, func(tx pgx.Tx) error {
			if err := tx.QueryRow(ctx, call).Scan(&id); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO verify_own SELECT 'order-1' WHERE NOT EXISTS (SELECT FROM verify_own)")
			return err
		})
		if err == nil {
			return os.WriteFile(filepath.Join(o.dir, o.name+".answer"), []byte(id), 0o600)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func (o own) commit(ctx context.Context, pool *pgxpool.Pool, do func(tx pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		err := do(tx)
		if err == nil {
			failpoint.At(failpoint.BeforeCommit, ownTx)
		}
		return err
	})
	if err == nil {
		failpoint.At(failpoint.AfterCommit, ownTx)
	}
	return err
}

var errNotGranted = errors.New("the key was not granted")

func (o own) workInSQL(ctx context.Context, pool *pgxpool.Pool, c *client.Client, m *client.Message, name string) error {
	var verdict string
	err := o.commit(ctx, pool, func(tx pgx.Tx) error {
		var fence *int64
		err := tx.QueryRow(ctx, "SELECT verdict, fence FROM onceward_claim('work', $1, owner => $2, lease_seconds => $3, queue => 'jobs', receipt_handle => $4)",
			name, o.name, workerLease.Seconds(), m.Receipt).Scan(&verdict, &fence)
		if err != nil {
			return err
		}
		if verdict != client.Granted {
			return errNotGranted
		}
		if _, err := tx.Exec(ctx, "INSERT INTO verify_own VALUES ($1)", name); err != nil {
			return err
		}
		var applied bool
		if err := tx.QueryRow(ctx, "SELECT applied FROM onceward_complete('work', $1, $2, settle => true)", name, fence).Scan(&applied); err != nil || applied {
			return err
		}
		return fmt.Errorf("the word under fence %d did not count", *fence)
	})
	switch verdict {
	case client.Granted:
	case client.KeyDone:
		_, err = c.Ack(ctx, jobs, m.Receipt)
	default:
		_, err = c.Release(ctx, jobs, m.Receipt, time.Second)
	}
	return err
}
