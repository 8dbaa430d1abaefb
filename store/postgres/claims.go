package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var (
	lockClaimsOfSQL = stmt("lock_claims_of")
	freeClaimsOfSQL = stmt("lock_claims_of_free")
	saveClaimsSQL   = stmt("save_claims")
	saveSendsSQL    = strings.Replace(saveClaimsSQL, "worker_claims", "delivery_claims", 1)
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
	kind  string
	fresh bool // not stored yet
}

// claimScan reads rows of lock_claims_of.sql's columns. Where they go is said once for all rows.
type claimScan struct {
	claim        claim
	hash         []byte
	window, keep float64 // in seconds
	to           []any
}

// newClaimScan begins; what follows those columns goes into more.
func newClaimScan(more ...any) *claimScan {
	s := &claimScan{}
	c := &s.claim
	s.to = append([]any{
		&c.ID, &c.kind, &c.Project, &c.Scope, &c.Key, &s.hash, &c.WorkHash, (*string)(&c.Policy), (*string)(&c.State), &c.Fence, &c.Begun, &c.Attempt,
		&c.Tries, &c.MaxTries, &c.Ambiguous, &c.GrantID, &c.Owner, &c.LeaseUntil, &c.NextAt, &c.FinishedAt, &c.FirstAt, &s.window, &s.keep,
		&c.OriginAt, &c.CreatedAt, &c.MessageID, &c.Lease, &c.Result, &c.LastError,
	}, more...)
	return s
}

func (s *claimScan) next(rows pgx.Rows) (*claim, error) {
	if err := rows.Scan(s.to...); err != nil {
		return nil, err
	}
	c := s.claim
	copy(c.Hash[:], s.hash)
	c.Window, c.Keep = duration(s.window), duration(s.keep)
	return &c, nil
}

// scanClaim reads one row.
func scanClaim(rows pgx.Rows, more ...any) (*claim, error) { return newClaimScan(more...).next(rows) }

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
	s := newClaimScan()
	for rows.Next() {
		c, err := s.next(rows)
		if err != nil {
			return nil, err
		}
		out[c.ID] = c
	}
	return out, rows.Err()
}

// heldClaims gives those claims of messages that are there and that this transaction does not have: somebody else has locked them.
func (tx *txn) heldClaims(ctx context.Context, rows map[int64]*queue.Row, locked map[int64]*claim) ([]int64, error) {
	var unlocked []int64
	for _, r := range rows {
		if r.ClaimID != 0 && locked[r.ClaimID] == nil {
			unlocked = append(unlocked, r.ClaimID)
		}
	}
	if len(unlocked) == 0 {
		return nil, nil
	}
	return tx.ids(ctx, claimsThereSQL, unlocked)
}

// queueLockClaimsOf adds lockClaimsOf to b, or one of its kind; what it reads goes into out.
func queueLockClaimsOf(b *pgx.Batch, sql string, messages []int64, out map[int64]*claim) {
	b.Queue(sql, messages).Query(func(rows pgx.Rows) error {
		s := newClaimScan()
		for rows.Next() {
			c, err := s.next(rows)
			if err != nil {
				return err
			}
			out[c.ID] = c
		}
		return rows.Err()
	})
}

// queueInsertClaims adds the storing of workers' claims that are fresh to b.
func queueInsertClaims(b *pgx.Batch, claims []*claim) {
	if len(claims) > 0 {
		b.Queue(insertClaimsSQL,
			column(claims, func(c *claim) int64 { return c.ID }),
			alike(claims, func(c *claim) int64 { return c.Project }),
			alike(claims, func(c *claim) string { return c.Scope }),
			column(claims, func(c *claim) string { return c.Key }),
			column(claims, func(c *claim) []byte { return c.Hash[:] }),
			column(claims, func(c *claim) []byte { return c.WorkHash }),
			alike(claims, func(c *claim) string { return string(c.Policy) }),
			alike(claims, func(c *claim) string { return string(c.State) }),
			alike(claims, func(c *claim) int64 { return c.Fence }),
			alike(claims, func(c *claim) int64 { return c.Begun }),
			alike(claims, func(c *claim) int32 { return int32(c.Attempt) }),
			alike(claims, func(c *claim) int32 { return int32(c.Tries) }),
			alike(claims, func(c *claim) int32 { return int32(c.MaxTries) }),
			alike(claims, func(c *claim) string { return c.GrantID }),
			alike(claims, func(c *claim) string { return c.Owner }),
			alike(claims, func(c *claim) time.Time { return c.LeaseUntil }),
			alike(claims, func(c *claim) time.Time { return c.FinishedAt }),
			alike(claims, func(c *claim) time.Time { return c.FirstAt }),
			alike(claims, func(c *claim) float64 { return seconds(c.Window) }),
			alike(claims, func(c *claim) time.Time { return c.OriginAt }),
			alike(claims, func(c *claim) int64 { return c.MessageID }),
			alike(claims, func(c *claim) int32 { return int32(c.Lease) }),
			alike(claims, func(c *claim) string { return c.LastError }),
			alike(claims, func(c *claim) float64 { return seconds(c.Keep) }))
	}
}

// queueSaveClaims adds the writing of claims of one part of the ledger to b. The transaction has them locked.
func queueSaveClaims(b *pgx.Batch, sql string, claims []*claim) {
	if len(claims) > 0 {
		b.Queue(sql,
			column(claims, func(c *claim) int64 { return c.ID }),
			column(claims, func(c *claim) []byte { return c.WorkHash }),
			alike(claims, func(c *claim) string { return string(c.State) }),
			alike(claims, func(c *claim) int64 { return c.Fence }),
			alike(claims, func(c *claim) int64 { return c.Begun }),
			alike(claims, func(c *claim) int32 { return int32(c.Attempt) }),
			alike(claims, func(c *claim) int32 { return int32(c.Tries) }),
			alike(claims, func(c *claim) int32 { return int32(c.MaxTries) }),
			alike(claims, func(c *claim) bool { return c.Ambiguous }),
			alike(claims, func(c *claim) string { return clean(c.GrantID) }),
			alike(claims, func(c *claim) string { return clean(c.Owner) }),
			alike(claims, func(c *claim) time.Time { return c.LeaseUntil }),
			alike(claims, func(c *claim) time.Time { return c.NextAt }),
			alike(claims, func(c *claim) time.Time { return c.FinishedAt }),
			alike(claims, func(c *claim) time.Time { return c.FirstAt }),
			alike(claims, func(c *claim) float64 { return seconds(c.Window) }),
			alike(claims, func(c *claim) int64 { return c.MessageID }),
			alike(claims, func(c *claim) int32 { return int32(c.Lease) }),
			column(claims, func(c *claim) []byte { return c.Result }),
			alike(claims, func(c *claim) string { return clean(c.LastError) }))
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
			alike(notes, func(n note) string { return n.what }),
			alike(notes, func(n note) int64 { return n.fence }),
			alike(notes, func(n note) string { return clean(n.who) }),
			alike(notes, func(n note) string { return clean(n.detail) }))
	}
}
