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
	redrivePartsStepSQL = stmt("redrive_parts_step")
	redrivePartsSaveSQL = stmt("redrive_parts_save")
	redriveLettersSQL   = stmt("redrive_letters")
)

const partsAtOnce = 200 // of those that can move, and of those whose canary is out

// redrivePart is one endpoint's part of a redrive.
type redrivePart struct {
	webhook.RedrivePart
	was     webhook.RedrivePart
	last    int64 // the dead letter looked at last
	lastWas int64
	letters []deadLetter // the next ones
	whole   bool         // there are no others behind
}

// deadLetter is one that a redrive may concern.
type deadLetter struct {
	message, claim, delivery int64
	wanted                   bool
}

// stepDeliveryRedrive moves at most limit deliveries of a running redrive, whose row the transaction has locked, and changes
// its numbers, which the caller saves. over: no part is left that goes on; idle: nothing is to be done before a canary is heard of.
func (db *DB) stepDeliveryRedrive(ctx context.Context, tx *txn, r *redriveRow, limit int) (over, idle bool, err error) {
	var f webhook.RedriveFilter
	if err := json.Unmarshal(r.Filter, &f); err != nil {
		return false, false, err
	}
	parts, err := tx.loadParts(ctx, r)
	if err != nil {
		return false, false, err
	}
	budget := limit
	for _, p := range parts {
		if err := p.look(ctx, tx, r, &f, &budget); err != nil {
			return false, false, err
		}
	}
	if err := db.moveLetters(ctx, tx, r, &f, parts, limit); err != nil {
		return false, false, err
	}
	over, idle, err = tx.saveParts(ctx, r, parts)
	return over && len(parts) < partsAtOnce, idle, err
}

// loadParts reads parts that go on, and tells each how its endpoint and its canary are.
func (tx *txn) loadParts(ctx context.Context, r *redriveRow) (parts []*redrivePart, err error) {
	rows, err := tx.Query(ctx, redrivePartsStepSQL, r.ID, partsAtOnce)
	if err != nil {
		return nil, err
	}
	var p redrivePart
	news := webhook.PartNews{Canaries: r.canary}
	_, err = pgx.ForEachRow(rows, []any{
		&p.EndpointID, (*string)(&p.State), &p.CanaryID, &p.Total, &p.Moved, &p.Left, &p.last, &news.Gone, &news.Disabled, (*string)(&news.Claim),
		&news.Tries, &news.Cancelled,
	}, func() error {
		c := p
		c.was, c.lastWas = c.RedrivePart, c.last
		c.Hear(news)
		parts = append(parts, &c)
		return nil
	})
	return parts, err
}

// look reads the letters of a part that may go now.
func (p *redrivePart) look(ctx context.Context, tx *txn, r *redriveRow, f *webhook.RedriveFilter, budget *int) error {
	if p.State.Over() || p.State == webhook.PartCanary || *budget <= 0 {
		return nil
	}
	n := min(*budget, lettersAtOnce)
	if p.State == webhook.PartWaiting {
		n = 1
	}
	*budget -= n
	look := max(n, lettersBeside)
	rows, err := tx.Query(ctx, redriveLettersSQL, p.EndpointID, p.last, r.CreatedAt, f.Through, look)
	if err != nil {
		return err
	}
	var l deadLetter
	var state, tenant string
	var madeAt time.Time
	_, err = pgx.ForEachRow(rows, []any{&l.message, &l.claim, &l.delivery, &state, &madeAt, &tenant}, func() error {
		l.wanted = l.delivery != 0 && state != "" && f.Has(ledger.State(state), madeAt, tenant)
		p.letters = append(p.letters, l)
		return nil
	})
	p.whole = len(p.letters) < look
	return err
}

// moveLetters sends at most limit of the letters looked at back, their keys reopened with them.
func (db *DB) moveLetters(ctx context.Context, tx *txn, r *redriveRow, f *webhook.RedriveFilter, parts []*redrivePart, limit int) error {
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
		if p.letters == nil && !p.whole {
			continue // not looked at
		}
		all := true
		for _, l := range p.letters {
			if p.spent(f) {
				break
			}
			if limit == 0 || p.State == webhook.PartCanary {
				all = false
				break
			}
			p.last = l.message
			m := rows[l.message]
			if !l.wanted || m == nil || m.DeadAt.IsZero() || m.ClaimID != l.claim || locked[l.claim] == nil {
				continue // not its business, or somebody took it meanwhile
			}
			if !ch.reopenKey(m, r.who, "redrive") {
				p.Leave()
				continue
			}
			if err := ch.message(m, 0, m.Redrive(tx.now)); err != nil {
				return err
			}
			cause := webhook.ByRedrive
			if p.State == webhook.PartWaiting {
				cause = webhook.ByCanary
			}
			p.Move(l.delivery)
			limit--
			moved, causes = append(moved, l.claim), append(causes, string(cause))
		}
		if p.State != webhook.PartCanary && (p.spent(f) || all && p.whole) {
			p.End(webhook.PartEnded)
		}
	}
	if len(moved) > 0 {
		ch.write(deliveryCauseSQL, moved, causes)
	}
	return ch.flush(ctx, db.hub)
}

// spent reports whether a part has had all that a max lets it have.
func (p *redrivePart) spent(f *webhook.RedriveFilter) bool {
	return f.Max > 0 && p.Moved+p.Left == p.Total
}

// saveParts writes where the parts are, and adds to the redrive's numbers what theirs grew by.
func (tx *txn) saveParts(ctx context.Context, r *redriveRow, parts []*redrivePart) (over, idle bool, err error) {
	over = true
	var changed []*redrivePart
	for _, p := range parts {
		over = over && p.State.Over()
		if p.RedrivePart == p.was && p.last == p.lastWas {
			continue
		}
		changed = append(changed, p)
		r.Total, r.Moved, r.Left = r.Total+p.Total-p.was.Total, r.Moved+p.Moved-p.was.Moved, r.Left+p.Left-p.was.Left
	}
	if len(changed) == 0 {
		return over, true, nil
	}
	_, err = tx.Exec(ctx, redrivePartsSaveSQL, r.ID,
		column(changed, func(p *redrivePart) int64 { return p.EndpointID }),
		column(changed, func(p *redrivePart) string { return string(p.State) }),
		column(changed, func(p *redrivePart) int64 { return p.CanaryID }),
		column(changed, func(p *redrivePart) int64 { return p.Total }),
		column(changed, func(p *redrivePart) int64 { return p.Moved }),
		column(changed, func(p *redrivePart) int64 { return p.Left }),
		column(changed, func(p *redrivePart) int64 { return p.last }))
	return over, false, err
}
