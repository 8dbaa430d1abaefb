package postgres

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
)

var (
	publishPaidSQL = strings.ReplaceAll(publishSQL, "\n--$ ", "\n    ")
	creditLockSQL  = stmt("credit_lock")
	creditSQL      = stmt("credit")
	usageSQL       = stmt("usage")
	usageFoldSQL   = stmt("usage_fold")
	setPriceSQL    = stmt("set_price")
)

var _ account.Store = (*DB)(nil)

// publishRows sends the publish of what is to do. What has a price is charged by the same statement; before it, in the same
// round trip and transaction, the projects that have a limit are locked, so that what is left to them is exact over all servers. done ends
// it, once the rows are read, and may be called again.
func (db *DB) publishRows(ctx context.Context, p *publishing, text string, args []any, rides []*ride) (rows pgx.Rows, done func() error, err error) {
	items, todo := p.items, p.todo
	paid := slices.ContainsFunc(todo, func(i int) bool { return items[i].Price > 0 })
	if !paid && len(rides) == 0 {
		rows, err = db.conn(ctx).Query(ctx, text, args...)
		if err != nil {
			return nil, nil, err
		}
		return rows, func() error { rows.Close(); return nil }, nil
	}
	b := &pgx.Batch{}
	if paid {
		b.Queue(creditLockSQL, column(todo, func(i int) int64 { return items[i].Project }))
		b.Queue(publishPaidSQL, append(args, alike(todo, func(i int) int64 { return int64(items[i].Price) }))...)
	} else {
		b.Queue(text, args...)
	}
	db.queueRides(b, rides)
	sent := db.conn(ctx).SendBatch(ctx, b)
	if paid {
		_, err = sent.Exec()
	}
	if err == nil {
		rows, err = sent.Query()
	}
	if err != nil {
		_ = sent.Close() // it fails of the same
		return nil, nil, err
	}
	return rows, sent.Close, nil
}

// Balance gives what a project has spent and may.
func (db *DB) Balance(ctx context.Context, project int64) (b account.Balance, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		b = account.Balance{}
		err := db.conn(ctx).QueryRow(ctx, creditSQL, project).Scan(&b.Spent, &b.Limit)
		if errors.Is(err, pgx.ErrNoRows) {
			err = access.NoProject()
		}
		return err
	})
	return b, wrap("balance", "", err)
}

// Usage lists the days on which a project was charged.
func (db *DB) Usage(ctx context.Context, project, before int64, limit int) (days []account.Day, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		rows, err := db.conn(ctx).Query(ctx, usageSQL, project, before, limit)
		if err != nil {
			return err
		}
		days, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (d account.Day, err error) {
			var at time.Time
			err = r.Scan(&at, &d.Messages, &d.Cost)
			d.Date = at.UTC()
			return d, err
		})
		return err
	})
	return days, wrap("usage", "", err)
}

// SetPrice says what a message is charged that is published inside a caller's own transaction, which no server sees: from now on, for all of them.
func (db *DB) SetPrice(ctx context.Context, price account.USD) error {
	return wrap("set price", "", db.alone(ctx, func(ctx context.Context) error {
		_, err := db.conn(ctx).Exec(ctx, setPriceSQL, strconv.FormatInt(int64(price), 10))
		return err
	}))
}
