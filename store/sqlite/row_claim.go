package sqlite

import (
	"database/sql"
	"fmt"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// Kinds of claims: a delivery's, made with it, and a worker's own key.
const (
	deliveryClaim = "d"
	workerClaim   = "w"
)

func fromPolicy(p ledger.Policy) string {
	if p == ledger.Once {
		return "o"
	}
	return "i"
}

func toPolicy(code string) ledger.Policy {
	if code == "o" {
		return ledger.Once
	}
	return ledger.Idempotent
}

// scanPolicy scans a stored policy.
func scanPolicy(to *ledger.Policy) sql.Scanner {
	return scanFunc(func(src any) error {
		var code string
		err := toText(&code).Scan(src)
		*to = toPolicy(code)
		return err
	})
}

// claimColumns are where the columns of claim_by_id.sql go.
func claimColumns(c *ledger.Claim) []any {
	return []any{
		&c.ID, &c.Project, toScope(&c.Scope), toText(&c.Key), toHash(&c.Hash), &c.WorkHash, scanPolicy(&c.Policy), &c.State, &c.Fence, &c.Begun,
		&c.Attempt, &c.Tries, &c.MaxTries, &c.Ambiguous, toText(&c.GrantID), toText(&c.Owner), toTime(&c.LeaseUntil), toTime(&c.NextAt),
		toTime(&c.FinishedAt), toTime(&c.FirstAt), toSpan(&c.Window), toSpan(&c.Keep), toTime(&c.OriginAt), toTime(&c.CreatedAt),
		toInt(&c.MessageID), &c.Lease, &c.Result, toText(&c.LastError),
	}
}

// toScope scans a stored scope: a delivery's claim has none.
func toScope(to *string) sql.Scanner {
	return scanFunc(func(src any) error {
		if src == nil {
			*to = webhook.Scope
			return nil
		}
		return toText(to).Scan(src)
	})
}

// toHash scans a key's hash.
func toHash(to *[32]byte) sql.Scanner {
	return scanFunc(func(src any) error {
		b, ok := src.([]byte)
		if !ok || len(b) != len(to) {
			return fmt.Errorf("a hash is stored as %T of %d bytes", src, len(b))
		}
		copy(to[:], b)
		return nil
	})
}

// claimByID finds a claim: false if there is none.
func (t *tx) claimByID(id int64) (c ledger.Claim, ok bool, err error) {
	ok, err = found(t.row("claim_by_id", id).Scan(claimColumns(&c)...))
	return c, ok, err
}

// claimByHash finds a claim by its key's hash: false if there is none.
func (t *tx) claimByHash(hash [32]byte, kind string) (c ledger.Claim, ok bool, err error) {
	ok, err = found(t.row("claim_by_hash", hash[:], kind).Scan(claimColumns(&c)...))
	return c, ok, err
}

// insertClaim stores a new claim. A delivery's keeps neither scope nor key: they are its delivery's.
func (t *tx) insertClaim(c *ledger.Claim, kind string) error {
	scope, key := any(c.Scope), any(c.Key)
	if kind == deliveryClaim {
		scope, key = nil, nil
	}
	_, err := t.exec("claim_insert", c.ID, kind, c.Project, scope, key, c.Hash[:], blobOrNull(c.WorkHash), fromPolicy(c.Policy), c.State, c.Fence, c.Begun,
		c.Attempt, c.Tries, c.MaxTries, c.Ambiguous, textOrNull(c.GrantID), textOrNull(c.Owner), at(c.LeaseUntil), at(c.NextAt),
		at(c.FinishedAt), at(c.FirstAt), secondsOrNull(c.Window), secondsOrNull(c.Keep), at(c.OriginAt), at(c.CreatedAt),
		orNull(c.MessageID), c.Lease, blobOrNull(c.Result), textOrNull(c.LastError))
	return err
}

// saveClaim stores what the rules can change of a claim.
func (t *tx) saveClaim(c *ledger.Claim) error {
	delete(t.db.granted, c.ID)
	_, err := t.exec("claim_save", blobOrNull(c.WorkHash), c.State, c.Fence, c.Begun, c.Attempt, c.Tries, c.Ambiguous,
		textOrNull(c.GrantID), textOrNull(c.Owner), at(c.LeaseUntil), at(c.NextAt), at(c.FinishedAt), at(c.FirstAt),
		orNull(c.MessageID), c.Lease, blobOrNull(c.Result), textOrNull(c.LastError), c.ID)
	return err
}

// note adds lines to a claim's history. Their time is the transaction's.
func (t *tx) note(claim int64, notes ...ledger.Note) error {
	for _, n := range notes {
		id, err := t.id(seqNotes)
		if err != nil {
			return err
		}
		if _, err = t.exec("claim_note_insert", id, claim, at(t.now), n.What, n.Fence, textOrNull(n.Who), textOrNull(n.Detail)); err != nil {
			return err
		}
	}
	return nil
}
