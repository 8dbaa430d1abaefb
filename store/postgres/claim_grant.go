package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var (
	claimIDsSQL     = stmt("claim_ids")
	insertClaimsSQL = stmt("claim_insert")
	renewClaimsSQL  = stmt("claim_renew")
	lockKeysSQL     = stmt("claim_lock")
	keysMessagesSQL = stmt("claim_messages")
	linkMessagesSQL = stmt("link_messages")
	trimNotesSQL    = stmt("claim_notes_trim")
)

// Claim asks for workers' keys: see [ledger.Store].
func (db *DB) Claim(ctx context.Context, calls ...ledger.Call) ([]ledger.Answer, error) {
	return all(ctx, db, "claim keys", db.lanes.claim, inKeys(db, db.grants), calls)
}

func (db *DB) commitClaims(ctx context.Context, calls []ledger.Call) ([]batch.Result[ledger.Answer], error) {
	return commitKeys(ctx, db, calls, db.grants)
}

func (db *DB) grants(calls []ledger.Call) keyAct[ledger.Answer] {
	return &granting{
		keys: keysOf(calls, func(c ledger.Call) keyHash { return ledger.Hash(c.Project, c.Scope, c.Key) }), hub: db.hub,
		calls: calls, carriers: make(map[int64]*queue.Row, len(calls)), granted: map[int64]bool{},
	}
}

// granting is one transaction's calls for keys. One key may stand in it more than once: each call finds what the former left.
type granting struct {
	keys
	*changes
	hub      *hub
	calls    []ledger.Call
	ids      []int64 // for keys that are new
	carriers map[int64]*queue.Row
	granted  map[int64]bool
}

func (g *granting) look(b *pgx.Batch, wait string) {
	g.lock(b, wait)
	b.Queue(claimIDsSQL, len(g.calls)).Query(func(rows pgx.Rows) (err error) {
		g.ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	var ids []int64
	for i := range g.calls {
		if g.calls[i].MessageID != 0 {
			ids = append(ids, g.calls[i].MessageID)
		}
	}
	if len(ids) > 0 {
		queueLockMessages(b, ids, g.carriers)
	}
}

func (g *granting) rule(ctx context.Context, tx *txn) ([]ledger.Answer, error) {
	g.changes = newChanges(tx, g.byID)
	out := make([]ledger.Answer, len(g.calls))
	for i := range g.calls {
		if g.passedBy(i) {
			continue
		}
		var err error
		c := g.byHash[g.hashes[i]]
		if c != nil && c.Forgotten(tx.now) { // swept or not
			if _, err := tx.Exec(ctx, renewClaimsSQL, []int64{c.ID}); err != nil {
				return nil, err
			}
			c = nil
		}
		if c == nil {
			c = g.fresh(i)
		}
		if out[i], err = g.one(c, &g.calls[i]); err != nil {
			return nil, err
		}
	}
	err := g.flush(ctx, g.hub)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" && e.TableName == "worker_claims" {
		err = errAgain // another has made it since the look
	}
	return out, err
}

// fresh makes the claim of a key that is new, as its first call says. It is stored if something comes of one of its calls.
func (g *granting) fresh(i int) *claim {
	call := &g.calls[i]
	c := &claim{kind: ofWorker, fresh: true, Claim: ledger.Claim{
		ID: g.ids[i], Project: call.Project, Scope: call.Scope, Key: call.Key, Hash: g.hashes[i], WorkHash: call.WorkHash, Policy: call.Policy, State: ledger.New,
		MaxTries: max(1, call.MaxTries), Window: call.Window, Keep: call.Keep, OriginAt: call.OriginAt.UTC().Truncate(time.Microsecond), CreatedAt: g.tx.now,
	}}
	if carrier := g.carriers[call.MessageID]; c.OriginAt.IsZero() && carrier != nil && carrier.Project == call.Project {
		c.OriginAt = carrier.OriginAt
	} else if c.OriginAt.IsZero() {
		c.OriginAt = g.tx.now
	}
	g.byID[c.ID], g.byHash[c.Hash] = c, c
	return c
}

func (g *granting) one(c *claim, call *ledger.Call) (a ledger.Answer, err error) {
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
		g.link(carrier)
	}
	if c.State == ledger.New {
		return ledger.Answer{Ruling: r}, err
	}
	return ledger.Answer{Ruling: r, Claim: c.Claim}, err
}
