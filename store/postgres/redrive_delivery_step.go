package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

var (
	redrivePartsSQL       = stmt("redrive_parts")
	redrivePartLettersSQL = stmt("redrive_part_letters")
	redrivePartsSaveSQL   = stmt("redrive_parts_save")
	redrivePartsDropSQL   = stmt("redrive_parts_drop")
)

const (
	partsAtOnce   = 1000
	canaryLook    = 20                     // letters among which a part's canary is looked for at a time
	canaryPoll    = 100 * time.Millisecond // how soon a canary's outcome is looked for again
	lettersAtOnce = 500
)

// redrivePart is one endpoint's part of a redrive.
type redrivePart struct {
	endpoint  int64
	state     string
	canary    int64 // the delivery that went first; 0: none yet
	last      int64 // the dead letter looked at last
	there     bool  // its endpoint is
	claim     ledger.State
	tries     int
	cancelled bool

	letters []deadLetter // the next ones
	whole   bool         // there are no others behind
	changed bool
	over    bool
}

type deadLetter struct {
	message, claim, delivery int64
	wanted                   bool
}

// stepDeliveryRedrive takes at most limit deliveries of a running redrive, whose row the transaction has locked, and changes
// r.moved and r.left, which the caller saves. done: nothing is left to look at.
func (db *DB) stepDeliveryRedrive(ctx context.Context, tx *txn, r *redriveRow, limit int) (done bool, again time.Duration, err error) {
	var f deliveryFilter
	if err := json.Unmarshal(r.filter, &f); err != nil {
		return false, 0, err
	}
	limit = int(min(int64(limit), r.total-r.moved-r.left))
	if limit <= 0 {
		return true, 0, nil
	}
	parts, err := tx.loadParts(ctx, r.id)
	if err != nil {
		return false, 0, err
	}
	budget := limit
	for _, p := range parts {
		if err := p.look(ctx, tx, r, &f, &budget); err != nil {
			return false, 0, err
		}
	}
	before := r.moved + r.left
	if err := db.moveLetters(ctx, tx, r, parts, limit); err != nil {
		return false, 0, err
	}
	left, err := tx.saveParts(ctx, r.id, parts)
	if err != nil {
		return false, 0, err
	}
	if r.moved+r.left == before {
		again = canaryPoll
	}
	return left == 0 && len(parts) < partsAtOnce || r.moved+r.left >= r.total, again, nil
}

func (tx *txn) loadParts(ctx context.Context, redrive int64) (parts []*redrivePart, err error) {
	rows, err := tx.Query(ctx, redrivePartsSQL, redrive, partsAtOnce)
	if err != nil {
		return nil, err
	}
	var p redrivePart
	_, err = pgx.ForEachRow(rows, []any{&p.endpoint, &p.state, &p.canary, &p.last, &p.there, (*string)(&p.claim), &p.tries, &p.cancelled}, func() error {
		c := p
		parts = append(parts, &c)
		return nil
	})
	return parts, err
}

// look hears how a part's canary fares, and reads the letters that may go now.
func (p *redrivePart) look(ctx context.Context, tx *txn, r *redriveRow, f *deliveryFilter, budget *int) error {
	if !p.there {
		p.over = true // its endpoint was deleted: what is dead stays
		return nil
	}
	n := min(*budget, lettersAtOnce)
	if p.state == partWaiting && p.canary != 0 {
		switch p.fares() {
		case ledger.Done:
			p.state, p.changed = partOpen, true
		case ledger.Failed:
			p.over = true
			return nil
		default:
			return nil
		}
	} else if p.state == partWaiting {
		n = min(n, 1)
	}
	if n <= 0 {
		return nil
	}
	*budget -= n
	looked := max(n, canaryLook)
	rows, err := tx.Query(ctx, redrivePartLettersSQL, p.endpoint, p.last, r.createdAt, looked, f.Tenant, f.states(), f.From, f.To, f.Through)
	if err != nil {
		return err
	}
	var l deadLetter
	_, err = pgx.ForEachRow(rows, []any{&l.message, &l.claim, &l.delivery, &l.wanted}, func() error {
		p.letters = append(p.letters, l)
		return nil
	})
	p.whole = len(p.letters) < looked
	return err
}

// fares judges a canary: done, failed, or neither yet. Whatever was tried and was not delivered is a refusal.
func (p *redrivePart) fares() ledger.State {
	switch {
	case p.cancelled || p.claim == "":
		return ledger.Failed
	case p.claim == ledger.Done:
		return ledger.Done
	case p.claim == ledger.Failed, p.claim == ledger.Stuck, p.claim == ledger.Retry && p.tries > 0:
		return ledger.Failed
	}
	return ledger.Started
}

// moveLetters sends at most limit of the letters looked at back, their keys reopened with them.
func (db *DB) moveLetters(ctx context.Context, tx *txn, r *redriveRow, parts []*redrivePart, limit int) error {
	var claims, messages []int64
	for _, p := range parts {
		for _, l := range p.letters {
			if l.wanted {
				claims, messages = append(claims, l.claim), append(messages, l.message)
			}
		}
	}
	locked, err := tx.readClaims(ctx, lockDeliveryClaimsSQL, claims)
	if err != nil {
		return err
	}
	rows, err := tx.lockMessages(ctx, messages)
	if err != nil {
		return err
	}
	ch := newChanges(tx, locked)
	var moved []int64
	var causes []string
	for _, p := range parts {
		for i, l := range p.letters {
			if limit == 0 {
				p.whole = false
				break
			}
			p.last, p.changed = l.message, true
			m := rows[l.message]
			if !l.wanted || m == nil || m.DeadAt.IsZero() || m.ClaimID != l.claim || locked[l.claim] == nil {
				continue // not its business, or somebody took it meanwhile
			}
			limit--
			if !ch.reopenKey(l.claim, r.who, "redrive") {
				r.left++
				continue
			}
			if err := ch.message(m, 0, m.Redrive(tx.now)); err != nil {
				return err
			}
			r.moved++
			cause := webhook.ByRedrive
			if p.state == partWaiting {
				cause, p.canary = webhook.ByCanary, l.delivery
			}
			moved, causes = append(moved, l.claim), append(causes, string(cause))
			if p.state == partWaiting {
				p.whole = p.whole && i == len(p.letters)-1
				break
			}
		}
		p.over = p.over || p.whole && (p.state == partOpen || p.canary == 0)
	}
	if len(moved) > 0 {
		ch.write(deliveryCauseSQL, moved, causes)
	}
	return ch.flush(ctx, db.hub)
}

// saveParts writes where the parts are, and answers how many are not over.
func (tx *txn) saveParts(ctx context.Context, redrive int64, parts []*redrivePart) (left int, err error) {
	var over []int64
	var changed []*redrivePart
	for _, p := range parts {
		switch {
		case p.over:
			over = append(over, p.endpoint)
			continue
		case p.changed:
			changed = append(changed, p)
		}
		left++
	}
	b := &pgx.Batch{}
	if len(over) > 0 {
		b.Queue(redrivePartsDropSQL, redrive, over)
	}
	if len(changed) > 0 {
		b.Queue(redrivePartsSaveSQL, redrive, column(changed, func(p *redrivePart) int64 { return p.endpoint }),
			column(changed, func(p *redrivePart) string { return p.state }),
			column(changed, func(p *redrivePart) int64 { return p.canary }),
			column(changed, func(p *redrivePart) int64 { return p.last }))
	}
	if b.Len() == 0 {
		return left, nil
	}
	return left, tx.SendBatch(ctx, b).Close()
}
