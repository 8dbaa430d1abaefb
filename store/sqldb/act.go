package sqldb

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/onceward/onceward/ledger"
)

// ResolveClaim applies a person's word on a key: see [ledger.Store]. No message is requeued: what is yours to hand over again comes from your
// broker.
func (d *DB[T]) ResolveClaim(ctx context.Context, r ledger.Resolution) (ledger.Resolved, error) {
	c, err := d.act(ctx, r.Project, r.Scope, r.Key, func(t *txn, c *ledger.Claim) (ledger.Note, error) {
		err := r.Apply(t.now, c)
		return ledger.Note{What: "resolved", Fence: c.Fence, Who: r.Who, Detail: ledger.Said(string(r.As), r.Note)}, err
	})
	if err != nil {
		return ledger.Resolved{}, fmt.Errorf("resolve key: %w", err)
	}
	return ledger.Resolved{Claim: c}, nil
}

// ReopenClaim is a redrive of one key: see [ledger.Store].
func (d *DB[T]) ReopenClaim(ctx context.Context, project int64, scope, key, who string) (ledger.Claim, error) {
	c, err := d.act(ctx, project, scope, key, func(t *txn, c *ledger.Claim) (ledger.Note, error) {
		err := c.Redrive(t.now)
		return ledger.Note{What: "reopened", Fence: c.Fence, Who: who}, err
	})
	if err != nil {
		return c, fmt.Errorf("reopen key: %w", err)
	}
	return c, nil
}

// act changes a key under its lock.
func (d *DB[T]) act(ctx context.Context, project int64, scope, key string, rule func(t *txn, c *ledger.Claim) (ledger.Note, error)) (out ledger.Claim, err error) {
	err = d.within(ctx, func(ctx context.Context, t *txn) error {
		h := ledger.Hash(project, scope, key)
		keys, err := d.lock(ctx, t, [][32]byte{h})
		if err != nil {
			return err
		}
		c := keys[h]
		if c == nil {
			return ledger.NoClaim(scope, key)
		}
		n, err := rule(t, c)
		if err != nil {
			return err
		}
		ch := changes{}
		ch.save(c, n)
		out = *c
		return d.write(ctx, t, &ch)
	})
	if err != nil {
		return ledger.Claim{}, err
	}
	return out, nil
}

// FindClaim gives a key's claim with its newest notes, oldest first: see [ledger.Store].
func (d *DB[T]) FindClaim(ctx context.Context, project int64, scope, key string) (ledger.Claim, []ledger.Note, error) {
	c, notes, err := d.find(ctx, ledger.Hash(project, scope, key))
	switch {
	case err != nil:
		return ledger.Claim{}, nil, fmt.Errorf("find key: %w", d.fault(ctx, err))
	case c == nil:
		return ledger.Claim{}, nil, ledger.NoClaim(scope, key)
	}
	return *c, notes, nil
}

func (d *DB[T]) find(ctx context.Context, hash [32]byte) (c *ledger.Claim, notes []ledger.Note, err error) {
	on := d.engine.pool()
	if t := d.carried(ctx); t != nil {
		on = t
	}
	err = on.query(ctx, func(scan func(...any) error) (err error) {
		c, _, err = scanClaim(scan)
		return err
	}, d.sql.find, hex.EncodeToString(hash[:]))
	if err != nil || c == nil {
		return nil, nil, err
	}
	err = on.query(ctx, func(scan func(...any) error) error {
		var n ledger.Note
		var at int64
		err := scan(&at, &n.What, &n.Fence, &n.Who, &n.Detail)
		n.At = instant(at)
		notes = append(notes, n)
		return err
	}, d.sql.notes, c.ID, keptNotes)
	slices.Reverse(notes)
	return c, notes, err
}
