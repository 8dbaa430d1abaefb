package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var (
	insertClaimsSQL = stmt("claim_insert")
	lockKeysSQL     = stmt("claim_lock")
	unmakeClaimsSQL = stmt("claim_unmake")
	trimNotesSQL    = stmt("claim_notes_trim")
)

// Claim asks for workers' keys: see [ledger.Store].
func (db *DB) Claim(ctx context.Context, calls ...ledger.Call) ([]ledger.Answer, error) {
	return all(ctx, db, "claim keys", db.lanes.claim, db.grantCalls, calls)
}

func (db *DB) commitClaims(ctx context.Context, calls []ledger.Call) ([]batch.Result[ledger.Answer], error) {
	return commitKeys(ctx, db, calls, func(c ledger.Call) keyHash { return ledger.Hash(c.Project, c.Scope, c.Key) }, db.grantCalls)
}

type keyHash = [32]byte

func (db *DB) grantCalls(ctx context.Context, calls []ledger.Call) ([]ledger.Answer, error) {
	tx := db.carried(ctx)
	hashes := column(calls, func(c ledger.Call) keyHash { return ledger.Hash(c.Project, c.Scope, c.Key) })
	carriers := map[int64]*queue.Row{}
	keys, byHash, err := tx.makeKeys(ctx, calls, hashes, carriers)
	if err != nil {
		return nil, err
	}
	g := &granting{changes: newChanges(tx, keys), carriers: carriers, granted: map[int64]bool{}}
	out := make([]ledger.Answer, len(calls))
	for i := range calls {
		c := byHash[hashes[i]]
		if c == nil {
			return nil, errAgain // forgotten in this moment
		}
		if out[i], err = g.rule(c, &calls[i]); err != nil {
			return nil, err
		}
	}
	var unmade []int64
	for id, c := range keys {
		if c.State == ledger.New { // nothing came of any of its calls
			unmade = append(unmade, id)
		}
	}
	if len(unmade) > 0 {
		g.write(unmakeClaimsSQL, unmade)
	}
	return out, g.flush(ctx, db.hub)
}

// makeKeys makes the claims of keys that are new, the first call for each saying how, and locks them all; then the messages that are to
// carry them, which go into carriers.
func (tx *txn) makeKeys(ctx context.Context, calls []ledger.Call, hashes []keyHash, carriers map[int64]*queue.Row) (map[int64]*claim, map[keyHash]*claim, error) {
	seen := map[keyHash]bool{}
	var first []int
	for i, h := range hashes {
		if !seen[h] {
			seen[h] = true
			first = append(first, i)
		}
	}
	b := &pgx.Batch{}
	b.Queue(insertClaimsSQL,
		column(first, func(i int) int64 { return calls[i].Project }),
		column(first, func(i int) string { return calls[i].Scope }),
		column(first, func(i int) string { return calls[i].Key }),
		column(first, func(i int) []byte { return hashes[i][:] }),
		column(first, func(i int) []byte { return calls[i].WorkHash }),
		column(first, func(i int) string { return string(calls[i].Policy) }),
		column(first, func(i int) int32 { return int32(max(1, calls[i].MaxTries)) }),
		column(first, func(i int) float64 { return seconds(calls[i].Window) }),
		column(first, func(i int) time.Time { return calls[i].OriginAt }),
		column(first, func(i int) int64 { return calls[i].MessageID }))
	keys, byHash := queueLockKeys(b, column(first, func(i int) keyHash { return hashes[i] }))
	var ids []int64
	for i := range calls {
		if calls[i].MessageID != 0 {
			ids = append(ids, calls[i].MessageID)
		}
	}
	if len(ids) > 0 {
		queueLockMessages(b, ids, carriers)
	}
	return keys, byHash, tx.SendBatch(ctx, b).Close()
}

// lockKeys locks the claims of keys by their ids, and gives those that are there by id and by hash.
func (tx *txn) lockKeys(ctx context.Context, hashes []keyHash) (map[int64]*claim, map[keyHash]*claim, error) {
	b := &pgx.Batch{}
	keys, byHash := queueLockKeys(b, hashes)
	return keys, byHash, tx.SendBatch(ctx, b).Close()
}

// queueLockKeys adds lockKeys to b; the maps are filled when that is sent.
func queueLockKeys(b *pgx.Batch, hashes []keyHash) (map[int64]*claim, map[keyHash]*claim) {
	keys, byHash := map[int64]*claim{}, map[keyHash]*claim{}
	b.Queue(lockKeysSQL, column(hashes, func(h keyHash) []byte { return h[:] })).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			c, err := scanClaim(rows)
			if err != nil {
				return err
			}
			keys[c.ID], byHash[c.Hash] = c, c
		}
		return rows.Err()
	})
	return keys, byHash
}

// granting is one transaction's calls for keys. One key may stand in it more than once: each call finds what the former left.
type granting struct {
	*changes
	carriers map[int64]*queue.Row
	granted  map[int64]bool
}

func (g *granting) rule(c *claim, call *ledger.Call) (a ledger.Answer, err error) {
	was := c.Claim
	grant, carrier := call.Grant, g.carriers[call.MessageID]
	if call.MessageID != 0 {
		if grant.Lost, err = carrier.MayCarry(call.Project, call.Lease, c.ID); err != nil {
			return ledger.Answer{Err: err}, nil
		}
	}
	grant.GrantID, grant.Owner = clean(grant.GrantID), clean(grant.Owner)
	r := c.Grant(g.tx.now, grant)
	if r.Repeated && g.granted[c.ID] {
		r = ledger.Ruling{Verdict: ledger.Busy, Wait: c.LeaseUntil.Sub(g.tx.now)} // one of this batch has it
	}
	g.said(c, c.GrantNotes(&was, r)...)
	if r.Verdict == ledger.Granted && r.Changed {
		g.granted[c.ID] = true
		if c.Fence%maxNotes == 0 {
			g.trim = append(g.trim, c.ID)
		}
	}
	links := carrier != nil && !grant.Lost && r.Links()
	if links {
		c.Link(r, call.MessageID, call.Lease)
	}
	if r.Changed || links {
		g.saveClaim(c)
	}
	if links && carrier.ClaimID == 0 {
		carrier.ClaimID = c.ID
		err = g.message(carrier, carrier.GroupID, queue.Change{})
	}
	if c.State == ledger.New {
		return ledger.Answer{Ruling: r}, err
	}
	return ledger.Answer{Ruling: r, Claim: c.Claim}, err
}
