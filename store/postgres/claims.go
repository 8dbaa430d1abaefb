package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
)

var (
	lockClaimsOfSQL = stmt("lock_claims_of")
	saveClaimsSQL   = stmt("save_claims")
	noteClaimsSQL   = stmt("note_claims")
)

// The two parts of the ledger: claims of deliveries, and keys of workers.
const (
	ofDelivery = "d"
	ofWorker   = "w"
)

// claim is a claim and its part of the ledger.
type claim struct {
	ledger.Claim
	kind string
}

// scanClaim reads a row of lock_claims_of.sql's columns, and what follows them into more.
func scanClaim(rows pgx.Rows, more ...any) (*claim, error) {
	c, hash, window := &claim{}, []byte(nil), 0.0
	err := rows.Scan(append([]any{
		&c.ID, &c.kind, &c.Project, &c.Scope, &c.Key, &hash, &c.WorkHash, (*string)(&c.Policy), (*string)(&c.State), &c.Fence, &c.Begun, &c.Attempt,
		&c.Tries, &c.MaxTries, &c.Ambiguous, &c.GrantID, &c.Owner, &c.LeaseUntil, &c.NextAt, &c.FinishedAt, &c.FirstAt, &window,
		&c.OriginAt, &c.CreatedAt, &c.MessageID, &c.Lease, &c.Result, &c.LastError,
	}, more...)...)
	if err != nil {
		return nil, err
	}
	copy(c.Hash[:], hash)
	c.Window = duration(window)
	return c, nil
}

// lockClaimsOf locks the claims that messages carry, and reads them by the claims' ids. It comes before the
// messages are locked: one of them may have been linked to a claim in between, for which changes.closeKey asks again.
func (tx *txn) lockClaimsOf(ctx context.Context, messages []int64) (map[int64]*claim, error) {
	return tx.readClaims(ctx, lockClaimsOfSQL, messages)
}

func (tx *txn) readClaims(ctx context.Context, sql string, ids []int64) (map[int64]*claim, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, sql, ids)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int64]*claim{}
	for rows.Next() {
		c, err := scanClaim(rows)
		if err != nil {
			return nil, err
		}
		out[c.ID] = c
	}
	return out, rows.Err()
}

// queueLockClaimsOf adds lockClaimsOf to b; what it reads goes into out.
func queueLockClaimsOf(b *pgx.Batch, messages []int64, out map[int64]*claim) {
	b.Queue(lockClaimsOfSQL, messages).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			c, err := scanClaim(rows)
			if err != nil {
				return err
			}
			out[c.ID] = c
		}
		return rows.Err()
	})
}

// queueSaveClaims adds the writing of claims to b. The transaction has them locked.
func queueSaveClaims(b *pgx.Batch, claims []*claim) {
	if len(claims) > 0 {
		b.Queue(saveClaimsSQL,
			column(claims, func(c *claim) int64 { return c.ID }),
			column(claims, func(c *claim) string { return c.kind }),
			column(claims, func(c *claim) []byte { return c.WorkHash }),
			column(claims, func(c *claim) string { return string(c.State) }),
			column(claims, func(c *claim) int64 { return c.Fence }),
			column(claims, func(c *claim) int64 { return c.Begun }),
			column(claims, func(c *claim) int32 { return int32(c.Attempt) }),
			column(claims, func(c *claim) int32 { return int32(c.Tries) }),
			column(claims, func(c *claim) int32 { return int32(c.MaxTries) }),
			column(claims, func(c *claim) bool { return c.Ambiguous }),
			column(claims, func(c *claim) string { return clean(c.GrantID) }),
			column(claims, func(c *claim) string { return clean(c.Owner) }),
			column(claims, func(c *claim) time.Time { return c.LeaseUntil }),
			column(claims, func(c *claim) time.Time { return c.NextAt }),
			column(claims, func(c *claim) time.Time { return c.FinishedAt }),
			column(claims, func(c *claim) time.Time { return c.FirstAt }),
			column(claims, func(c *claim) float64 { return seconds(c.Window) }),
			column(claims, func(c *claim) int64 { return c.MessageID }),
			column(claims, func(c *claim) int32 { return int32(c.Lease) }),
			column(claims, func(c *claim) []byte { return c.Result }),
			column(claims, func(c *claim) string { return clean(c.LastError) }))
	}
}

// note is a line of a claim's history.
type note struct {
	claim  int64
	what   string
	fence  int64
	who    string
	detail string
}

func queueNotes(b *pgx.Batch, notes []note) {
	if len(notes) > 0 {
		b.Queue(noteClaimsSQL,
			column(notes, func(n note) int64 { return n.claim }),
			column(notes, func(n note) string { return n.what }),
			column(notes, func(n note) int64 { return n.fence }),
			column(notes, func(n note) string { return clean(n.who) }),
			column(notes, func(n note) string { return clean(n.detail) }))
	}
}
