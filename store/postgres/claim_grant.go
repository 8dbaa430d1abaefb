package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
)

var (
	insertClaimsSQL = stmt("claim_insert")
	lockKeysSQL     = stmt("claim_lock")
	linkMessagesSQL = stmt("claim_link")
	trimNotesSQL    = stmt("claim_notes_trim")
)

// Claim asks for workers' keys: see [ledger.Store].
func (db *DB) Claim(ctx context.Context, calls ...ledger.Call) ([]ledger.Answer, error) {
	return all(ctx, db, "claim keys", db.lanes.claim, db.grantCalls, calls)
}

func (db *DB) commitClaims(ctx context.Context, calls []ledger.Call) ([]batch.Result[ledger.Answer], error) {
	return commitTx(ctx, db, calls, db.grantCalls)
}

type keyHash = [32]byte

func (db *DB) grantCalls(ctx context.Context, calls []ledger.Call) ([]ledger.Answer, error) {
	tx := db.carried(ctx)
	hashes := column(calls, func(c ledger.Call) keyHash { return ledger.Hash(c.Project, c.Scope, c.Key) })
	keys, byHash, err := tx.makeKeys(ctx, calls, hashes)
	if err != nil {
		return nil, err
	}
	g := &granting{changes: newChanges(tx, keys), granted: map[int64]bool{}}
	out := make([]ledger.Answer, len(calls))
	for i := range calls {
		c := byHash[hashes[i]]
		if c == nil {
			return nil, errAgain // forgotten in this moment
		}
		out[i] = g.rule(c, &calls[i])
	}
	if len(g.linked) > 0 {
		g.write(linkMessagesSQL,
			column(g.linked, func(c *claim) int64 { return c.MessageID }),
			column(g.linked, func(c *claim) int64 { return c.Project }),
			column(g.linked, func(c *claim) int32 { return int32(c.Lease) }),
			column(g.linked, func(c *claim) int64 { return c.ID }))
	}
	if len(g.trim) > 0 {
		g.write(trimNotesSQL, g.trim, maxNotes)
	}
	return out, g.flush(ctx, db.hub)
}

// makeKeys makes the claims of keys that are new, the first call for each saying how, and locks them all.
func (tx *txn) makeKeys(ctx context.Context, calls []ledger.Call, hashes []keyHash) (map[int64]*claim, map[keyHash]*claim, error) {
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
		column(first, func(i int) time.Time { return calls[i].OriginAt }))
	return tx.lockKeys(ctx, b, column(first, func(i int) keyHash { return hashes[i] }))
}

// lockKeys sends b, then locks the claims of keys by their ids, and gives those that are there by id and by hash.
func (tx *txn) lockKeys(ctx context.Context, b *pgx.Batch, hashes []keyHash) (map[int64]*claim, map[keyHash]*claim, error) {
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
	return keys, byHash, tx.SendBatch(ctx, b).Close()
}

// granting is one transaction's calls for keys. One key may stand in it more than once: each call finds what the former left.
type granting struct {
	*changes
	granted map[int64]bool
	linked  []*claim
	trim    []int64 // claims whose history is long
}

func (g *granting) rule(c *claim, call *ledger.Call) ledger.Answer {
	was := c.Claim
	grant := call.Grant
	grant.GrantID, grant.Owner = clean(grant.GrantID), clean(grant.Owner)
	r := c.Grant(g.tx.now, grant)
	if r.Repeated && g.granted[c.ID] {
		r = ledger.Ruling{Verdict: ledger.Busy, Wait: c.LeaseUntil.Sub(g.tx.now)} // one of this batch has it
	}
	if r.Lapsed {
		g.note(note{claim: c.ID, what: "lapsed", fence: was.Fence, who: was.Owner, detail: "in state " + string(was.State)})
	}
	switch {
	case r.Verdict == ledger.Granted && !r.Repeated:
		if call.MessageID != 0 {
			c.MessageID, c.Lease = call.MessageID, call.Lease
			g.linked = append(g.linked, c)
		}
		g.granted[c.ID] = true
		g.note(note{claim: c.ID, what: "granted", fence: c.Fence, who: c.Owner})
		if c.Fence%maxNotes == 0 {
			g.trim = append(g.trim, c.ID)
		}
	case r.Changed && c.State.Terminal():
		g.note(note{claim: c.ID, what: "closed", fence: c.Fence, detail: c.LastError})
	}
	if r.Changed {
		g.saveClaim(c)
	}
	return ledger.Answer{Ruling: r, Claim: c.Claim}
}
