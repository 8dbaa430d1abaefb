package sqlite

import (
	"context"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var _ ledger.Store = (*DB)(nil)

// keptNotes is how many lines of a claim's history are shown, and about how many are kept.
const keptNotes = 50

// Claim asks for keys.
func (db *DB) Claim(ctx context.Context, calls ...ledger.Call) ([]ledger.Answer, error) {
	out := make([]ledger.Answer, len(calls))
	err := db.writeHot(ctx, "claim", 1, 256*len(calls), func(t *tx) (err error) {
		granted := map[int64]bool{}
		for i := range calls {
			if out[i], err = t.claim(&calls[i], granted); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// claim asks for one key. granted are those that this batch was granted before.
func (t *tx) claim(call *ledger.Call, granted map[int64]bool) (ledger.Answer, error) {
	hash := ledger.Hash(call.Project, call.Scope, call.Key)
	c, known, err := t.claimByHash(hash, workerClaim)
	if err != nil {
		return ledger.Answer{}, err
	}
	carrier, err := t.carrier(call)
	if err != nil {
		return ledger.Answer{}, err
	}
	if known && c.Forgotten(t.now) { // swept or not
		known = false
		if err := t.forgetKey(c.ID); err != nil {
			return ledger.Answer{}, err
		}
	}
	if !known {
		c = ledger.Claim{
			Project: call.Project, Scope: call.Scope, Key: call.Key, Hash: hash, WorkHash: call.WorkHash, Policy: call.Policy,
			State: ledger.New, MaxTries: max(1, call.MaxTries), Window: call.Window, Keep: call.Keep, OriginAt: call.OriginAt, CreatedAt: t.now,
		}
		if c.OriginAt.IsZero() && carrier != nil {
			c.OriginAt = carrier.OriginAt
		}
		if c.OriginAt.IsZero() {
			c.OriginAt = t.now
		}
		if c.ID, err = t.id(seqClaims); err != nil {
			return ledger.Answer{}, err
		}
	}
	was, grant := c, call.Grant
	if call.MessageID != 0 {
		if grant.Lost, err = carrier.MayCarry(call.Project, call.Lease, c.ID); err != nil {
			return ledger.Answer{Err: err}, nil
		}
	}
	r := c.Grant(t.now, grant)
	if r.Repeated && granted[c.ID] {
		r = ledger.Ruling{Verdict: ledger.Busy, Wait: c.LeaseUntil.Sub(t.now)} // one of this batch has it
	}
	links := carrier != nil && !grant.Lost && r.Links()
	if links {
		c.Link(r, call.MessageID, call.Lease)
	}
	granted[c.ID] = granted[c.ID] || r.Verdict == ledger.Granted
	switch {
	case !known && !r.Changed:
		return ledger.Answer{Ruling: r}, nil
	case !known:
		err = t.insertClaim(&c, workerClaim)
	case r.Changed || links:
		err = t.saveClaim(&c)
	}
	if err == nil && r.Changed {
		err = t.noteGrant(&was, &c, r)
	}
	if err == nil && links && carrier.ClaimID == 0 {
		before := *carrier
		carrier.ClaimID = c.ID
		err = t.saveMessage(&before, carrier)
	}
	return ledger.Answer{Ruling: r, Claim: c}, err
}

// noteGrant records what a call for a key changed.
func (t *tx) noteGrant(held, c *ledger.Claim, r ledger.Ruling) error {
	if err := t.note(c.ID, c.GrantNotes(held, r)...); err != nil || c.Fence%keptNotes != 0 {
		return err
	}
	return t.trimNotes(c.ID)
}

// trimNotes keeps a claim's history from growing for ever.
func (t *tx) trimNotes(claim int64) error {
	_, err := t.exec("claim_notes_trim", claim, keptNotes)
	return err
}

// carrier gives the message that is to carry a call's key; nil if it names none, or one that is not there.
func (t *tx) carrier(call *ledger.Call) (*queue.Row, error) {
	if call.MessageID == 0 {
		return nil, nil
	}
	m, ok, err := t.messageByID(call.MessageID)
	if err != nil || !ok {
		return nil, err
	}
	return &m, nil
}

// linked gives the message that carries a worker's key: false if there is none.
func (t *tx) linked(c *ledger.Claim) (m queue.Row, ok bool, err error) {
	if c.MessageID == 0 {
		return m, false, nil
	}
	m, ok, err = t.messageByID(c.MessageID)
	return m, ok && m.ClaimID == c.ID, err
}
