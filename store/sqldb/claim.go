package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
)

// keptNotes is how much of a claim's history is shown, and about how much is kept.
const keptNotes = 50

// Claim asks for keys: see [ledger.Store]. Messages are not known here: a call's MessageID and Lease are ignored. A key that somebody's open
// transaction has locked is Busy, save in a transaction that ctx carries, which waits.
func (d *DB[T]) Claim(ctx context.Context, calls ...ledger.Call) ([]ledger.Answer, error) {
	out, err := through(ctx, d, d.claims, d.claim, calls)
	if err != nil {
		return nil, fmt.Errorf("claim keys: %w", err)
	}
	return out, nil
}

type claimCommit = func(context.Context, []ledger.Call) ([]batch.Result[ledger.Answer], error)

// busyIfLocked answers Busy to a call whose key is locked, once it is alone in its transaction.
func busyIfLocked(commit claimCommit) claimCommit {
	return func(ctx context.Context, calls []ledger.Call) ([]batch.Result[ledger.Answer], error) {
		out, err := commit(ctx, calls)
		if len(calls) == 1 && lockTimeout(err) {
			busy := ledger.Answer{Ruling: ledger.Ruling{Verdict: ledger.Busy, Wait: time.Second}, Claim: newClaim(&calls[0])}
			return []batch.Result[ledger.Answer]{{Value: busy}}, nil
		}
		return out, err
	}
}

func newClaim(call *ledger.Call) ledger.Claim {
	return ledger.Claim{
		Project: call.Project, Scope: call.Scope, Key: call.Key, Hash: ledger.Hash(call.Project, call.Scope, call.Key), WorkHash: call.WorkHash,
		Policy: call.Policy, State: ledger.New, MaxTries: max(1, call.MaxTries), Window: call.Window, Keep: call.Keep, OriginAt: call.OriginAt,
	}
}

func (d *DB[T]) claim(ctx context.Context, t *txn, calls []ledger.Call) ([]ledger.Answer, error) {
	keys, err := d.make(ctx, t, calls)
	if err != nil {
		return nil, err
	}
	ch := changes{}
	granted := map[int64]bool{}
	out := make([]ledger.Answer, len(calls))
	for i := range calls {
		call := &calls[i]
		c := keys[ledger.Hash(call.Project, call.Scope, call.Key)]
		g := call.Grant
		g.GrantID, g.Owner = clean(g.GrantID), clean(g.Owner)
		was := *c
		r := c.Grant(t.now, g)
		if r.Repeated && granted[c.ID] {
			r = ledger.Ruling{Verdict: ledger.Busy, Wait: c.LeaseUntil.Sub(t.now)} // one of this batch has it
		}
		if r.Verdict == ledger.Granted && r.Changed {
			granted[c.ID] = true
			if c.Fence%keptNotes == 0 {
				ch.trim = append(ch.trim, c.ID)
			}
		}
		if r.Changed {
			ch.save(c, c.GrantNotes(&was, r)...)
		}
		out[i] = ledger.Answer{Ruling: r, Claim: *c}
		out[i].Claim.Scope, out[i].Claim.Key = call.Scope, call.Key
	}
	return out, d.write(ctx, t, &ch)
}

// make makes the claims of keys that are new, the first call for each saying how, and locks them all. What is known but was to be
// forgotten is new.
func (d *DB[T]) make(ctx context.Context, t *txn, calls []ledger.Call) (keyed, error) {
	first := map[[32]byte]*ledger.Call{}
	for i := range calls {
		h := ledger.Hash(calls[i].Project, calls[i].Scope, calls[i].Key)
		if first[h] == nil {
			first[h] = &calls[i]
		}
	}
	keys, err := d.makeOf(ctx, t, first)
	if err != nil {
		return nil, err
	}
	anew, ids := map[[32]byte]*ledger.Call{}, []int64(nil)
	for h, c := range keys {
		if c.Forgotten(t.now) {
			anew[h], ids = first[h], append(ids, c.ID)
		}
	}
	if len(ids) > 0 {
		if err := d.run(ctx, t, d.sql.renew, text(ids)); err != nil {
			return nil, err
		}
		made, err := d.makeOf(ctx, t, anew)
		if err != nil {
			return nil, err
		}
		for h, c := range made {
			keys[h] = c
		}
	}
	return keys, nil
}

func (d *DB[T]) makeOf(ctx context.Context, t *txn, first map[[32]byte]*ledger.Call) (keyed, error) {
	rows, hashes := make([]row, 0, len(first)), make([][32]byte, 0, len(first))
	for h, call := range first {
		c := newClaim(call)
		rows, hashes = append(rows, rowOf(&c)), append(hashes, h)
	}
	at := any(t.waits())
	if d.sql.clock {
		t.now = now()
		at = t.now.UnixMicro()
	}
	if err := d.run(ctx, t, d.sql.insert, text(rows), at); err != nil {
		return nil, err
	}
	keys, err := d.lock(ctx, t, hashes)
	if err == nil && len(keys) < len(first) {
		err = errAgain // forgotten in this moment
	}
	return keys, err
}

// keyed are claims by the hashes of their keys.
type keyed = map[[32]byte]*ledger.Claim

// lock locks the claims of keys, by their ids, and gives those that are there.
func (d *DB[T]) lock(ctx context.Context, t *txn, hashes [][32]byte) (keyed, error) {
	texts := make([]blob, len(hashes))
	for i := range hashes {
		texts[i] = hashes[i][:]
	}
	args := []any{text(texts), t.waits()}
	if d.sql.clock {
		t.now, args = now(), args[:1]
	}
	keys := keyed{}
	return keys, t.query(ctx, func(scan func(...any) error) error {
		c, at, err := scanClaim(scan)
		if err != nil {
			return err
		}
		keys[c.Hash] = c
		if !d.sql.clock {
			t.now = at
		}
		return nil
	}, d.sql.lock, args...)
}

// now is the clock of a database that has none of its own, cut to what is stored.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
