package sqlite

import (
	"context"
	"math"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/queue"
)

var _ account.Store = (*DB)(nil)

// bills are what a publish costs each project, written once at its end.
type bills map[int64]*bill

type bill struct {
	account.Balance // as it is with what the bill has
	messages        int64
	cost            account.USD
}

// add puts a message that was stored on the bill; nil is that of what is free.
func (b *bill) add(price account.USD) {
	if b != nil {
		b.messages++
		b.cost += price
		b.Spent += price
	}
}

// afford gives the bill of a message's project, or refuses it; nil for what is free.
func (t *tx) afford(p *queue.Publish, of bills) (*bill, error) {
	if p.Price == 0 {
		return nil, nil
	}
	b := of[p.Project]
	if b == nil {
		balance, err := t.balance(p.Project)
		if err != nil {
			return nil, err
		}
		b = &bill{Balance: balance}
		of[p.Project] = b
	}
	if !b.Affords(p.Price) {
		return nil, account.Insufficient(p.Price)
	}
	return b, nil
}

// charge writes the bills.
func (t *tx) charge(of bills) error {
	for project, b := range of {
		if b.messages == 0 {
			continue
		}
		if _, err := t.exec("credit_spend", int64(b.cost), project); err != nil {
			return err
		}
		if _, err := t.exec("usage_add", project, account.DayOf(t.now), b.messages, int64(b.cost)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) balance(project int64) (b account.Balance, err error) {
	var limit *int64
	ok, err := found(t.row("credit", project).Scan(&b.Spent, &limit))
	if err == nil && !ok {
		err = access.NoProject()
	}
	if limit != nil {
		b.Limit = new(account.USD(*limit))
	}
	return b, err
}

// Balance gives what a project has spent and may.
func (db *DB) Balance(ctx context.Context, project int64) (b account.Balance, err error) {
	err = db.read(ctx, "balance", func(t *tx) (err error) {
		b, err = t.balance(project)
		return err
	})
	return b, err
}

// Usage lists the days on which a project was charged.
func (db *DB) Usage(ctx context.Context, project, before int64, limit int) (days []account.Day, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	err = db.read(ctx, "usage", func(t *tx) error {
		return t.each("usage", func(s scanner) error {
			var day int64
			var d account.Day
			err := s.Scan(&day, &d.Messages, &d.Cost)
			d.Date = account.DateOf(day)
			days = append(days, d)
			return err
		}, project, before, limit)
	})
	return days, err
}
