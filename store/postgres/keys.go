package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/queue"
)

type keyHash = [32]byte

// keyAct is one transaction's items of a verb on workers' keys. Look adds to a batch the locking of all that the items name, rule applies the rules once that
// is sent, and saves: two round trips.
type keyAct[Out any] interface {
	look(b *pgx.Batch, wait string)
	rule(ctx context.Context, tx *txn) ([]Out, error)
	passedBy(i int) bool // item i's key may be in somebody's own open transaction, and was left alone
}

// commitKeys is the commit of a lane whose items have a worker's key each. Those that are passed by get errHeld.
func commitKeys[In, Out any](ctx context.Context, db *DB, items []In, act func([]In) keyAct[Out]) ([]batch.Result[Out], error) {
	var a keyAct[Out]
	var out []Out
	for try := 1; ; try++ {
		err := db.inWith(ctx, func(b *pgx.Batch) {
			a = act(items)
			a.look(b, laneWait)
		}, func(ctx context.Context, tx *txn) (err error) {
			tx.flushCommits = true
			out, err = a.rule(ctx, tx)
			return err
		})
		if err == nil {
			break
		}
		if !lockTimeout(err) || try == maxTries || pause(ctx, try) != nil {
			return nil, err
		}
	}
	done := results(out)
	for i := range done {
		if a.passedBy(i) {
			done[i] = batch.Result[Out]{Err: errHeld}
		}
	}
	return done, nil
}

// inKeys does items in the transaction that ctx carries, and waits for whoever has their keys.
func inKeys[In, Out any](db *DB, act func([]In) keyAct[Out]) func(context.Context, []In) ([]Out, error) {
	return func(ctx context.Context, items []In) ([]Out, error) {
		tx, a, b := db.carried(ctx), act(items), &pgx.Batch{}
		a.look(b, "")
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return nil, err
		}
		return a.rule(ctx, tx)
	}
}

// keys are the keys of a transaction's items, and what is locked of them.
type keys struct {
	hashes []keyHash            // of each item
	byID   map[int64]*claim     // locked
	byHash map[keyHash]*claim   //
	held   map[keyHash]bool     // may be in somebody's own open transaction: left alone
	rows   map[int64]*queue.Row // the messages that the keys carry, locked
	unseen bool                 // they are not: some key may be in somebody's own open transaction
}

func keysOf[In any](items []In, hash func(In) keyHash) keys {
	return keys{
		hashes: column(items, hash), byID: make(map[int64]*claim, len(items)), byHash: make(map[keyHash]*claim, len(items)),
		held: map[keyHash]bool{}, rows: make(map[int64]*queue.Row, len(items)),
	}
}

func (k *keys) passedBy(i int) bool { return k.held[k.hashes[i]] }

// lock adds to b the locking of the keys that are there.
func (k *keys) lock(b *pgx.Batch, wait string) {
	b.Queue(lockKeysSQL, bytesOf(k.hashes), wait).Query(func(rows pgx.Rows) error {
		s := newClaimScan()
		for rows.Next() {
			c, err := s.next(rows)
			switch {
			case err != nil:
				return err
			case c.ID == 0:
				k.held[c.Hash] = true
			default:
				k.byID[c.ID], k.byHash[c.Hash] = c, c
			}
		}
		return rows.Err()
	})
}

// lockMessages adds to b the locking of the messages that the keys carry: that of item i in any case, or only if nobody holds its key.
func (k *keys) lockMessages(b *pgx.Batch, wait string, always []bool) {
	b.Queue(keysMessagesSQL, bytesOf(k.hashes), always, wait).Query(func(rows pgx.Rows) error {
		s := newRowScan()
		for rows.Next() {
			r, err := s.next(rows)
			if err != nil {
				return err
			}
			if r.ID == 0 {
				k.unseen = true
				continue
			}
			k.rows[r.ID] = r
		}
		return rows.Err()
	})
}

// messages gives the rows of lockMessages. Where they were left alone, they are locked now: those of the keys that are.
func (k *keys) messages(ctx context.Context, tx *txn, always []bool) (map[int64]*queue.Row, error) {
	if !k.unseen {
		return k.rows, nil
	}
	var ids []int64
	for i, h := range k.hashes {
		if c := k.byHash[h]; c != nil && c.MessageID != 0 && (always[i] || !c.State.Held()) {
			ids = append(ids, c.MessageID)
		}
	}
	return tx.lockMessages(ctx, ids)
}

func bytesOf(hashes []keyHash) [][]byte {
	out := make([][]byte, len(hashes))
	for i := range hashes {
		out[i] = hashes[i][:]
	}
	return out
}
