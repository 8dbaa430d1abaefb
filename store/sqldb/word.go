package sqldb

import (
	"context"
	"fmt"

	"github.com/onceward/onceward/ledger"
)

// Begin makes the line before the effect durable, or extends the holder's lease: see [ledger.Store].
func (d *DB[T]) Begin(ctx context.Context, beats ...ledger.Beat) ([]ledger.Applied, error) {
	out, err := through(ctx, d, d.beats, d.begin, beats)
	if err != nil {
		return nil, fmt.Errorf("begin keys: %w", err)
	}
	return out, nil
}

func (d *DB[T]) begin(ctx context.Context, t *txn, beats []ledger.Beat) ([]ledger.Applied, error) {
	hashes := make([][32]byte, len(beats))
	for i, b := range beats {
		hashes[i] = ledger.Hash(b.Project, b.Scope, b.Key)
	}
	return d.apply(ctx, t, hashes, func(ch *changes, c *ledger.Claim, i int) ledger.Applied {
		b, begun := &beats[i], c.Begun
		a := c.Begin(t.now, b.Fence, b.Lease)
		switch {
		case a.Reason == ledger.Fenced:
			ch.refused(c, a, b.Fence, "begin")
		case a.Applied && c.Begun != begun:
			ch.save(c, ledger.Note{What: "begun", Fence: c.Fence, Who: c.Owner})
		case a.Applied:
			ch.save(c)
		}
		return a
	})
}

// SettleClaims applies what holders say of their grants: see [ledger.Store]. Messages are not known here: a word's Settle is ignored.
func (d *DB[T]) SettleClaims(ctx context.Context, words ...ledger.Word) ([]ledger.Applied, error) {
	out, err := through(ctx, d, d.words, d.settle, words)
	if err != nil {
		return nil, fmt.Errorf("settle keys: %w", err)
	}
	return out, nil
}

func (d *DB[T]) settle(ctx context.Context, t *txn, words []ledger.Word) ([]ledger.Applied, error) {
	hashes := make([][32]byte, len(words))
	for i, w := range words {
		hashes[i] = ledger.Hash(w.Project, w.Scope, w.Key)
	}
	return d.apply(ctx, t, hashes, func(ch *changes, c *ledger.Claim, i int) ledger.Applied {
		w, again := &words[i], c.State == ledger.Done
		a := c.Settle(t.now, w.Fence, w.Kind, w.RetryIn, w.Error, w.Result)
		switch {
		case !a.Applied:
			ch.refused(c, a, w.Fence, ledger.Said(string(w.Kind), w.Error))
		case !again:
			ch.save(c, ledger.Note{What: string(w.Kind), Fence: c.Fence, Who: c.Owner, Detail: w.Error})
		}
		return a
	})
}

// apply locks keys and applies rule to each, in order: one key may stand there more than once, and each finds what the former left.
func (d *DB[T]) apply(ctx context.Context, t *txn, hashes [][32]byte, rule func(ch *changes, c *ledger.Claim, i int) ledger.Applied) ([]ledger.Applied, error) {
	keys, err := d.lock(ctx, t, hashes)
	if err != nil {
		return nil, err
	}
	ch := changes{}
	out := make([]ledger.Applied, len(hashes))
	for i, h := range hashes {
		out[i] = ledger.Applied{Reason: ledger.NoKey}
		if c := keys[h]; c != nil {
			out[i] = rule(&ch, c, i)
		}
	}
	return out, d.write(ctx, t, &ch)
}
