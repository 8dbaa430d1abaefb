package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var (
	sweepClaimsSQL      = stmt("sweep_claims")
	sweepEventsSQL      = stmt("sweep_events")
	forgetDeliveriesSQL = stmt("forget_deliveries")
	forgetFormerSQL     = stmt("forget_former")
	forgetDropSQL       = stmt("forget_drop")
)

const forgetPage = 2000

// forgetDeliveries deletes events all of whose deliveries ended longer ago than the ledger's memory, with all that is theirs. There is
// no index by the end, which every outcome would have to keep: the claims are looked through by id, at leisure.
func (db *DB) forgetDeliveries(ctx context.Context, limit int) (int, error) {
	return db.sweepPage(ctx, &db.sweeps.claims, limit,
		pageSweep{sql: sweepClaimsSQL, size: forgetPage, args: []any{seconds(ledger.Memory)}, rest: forgetRest, do: forget})
}

// oldEvent is an event that may be forgotten.
type oldEvent struct {
	id         int64
	deliveries []oldDelivery
}

type oldDelivery struct {
	id, claim int64
	cancelled time.Time
	former    [][]byte // hashes of its former sends
}

// forget deletes what the claims of ids are of, as far as all of it ended long ago.
func forget(ctx context.Context, tx *txn, ids []int64) (int, error) {
	former, err := tx.ids(ctx, forgetFormerSQL, ids)
	if err != nil {
		return 0, err
	}
	events, err := tx.oldEvents(ctx, ids)
	if err != nil {
		return 0, err
	}
	lock := former
	for _, e := range events {
		for _, d := range e.deliveries {
			lock = append(lock, d.claim)
		}
	}
	claims, err := tx.readClaims(ctx, lockDeliveryClaimsSQL, lock)
	if err != nil {
		return 0, err
	}
	if events, err = tx.oldEvents(ctx, ids); err != nil { // a resend that had a claim has given its delivery another one
		return 0, err
	}
	old := tx.now.Add(-ledger.Memory)
	ended := func(id int64, cancelled time.Time) bool {
		c := claims[id]
		return c != nil && (!c.FinishedAt.IsZero() && c.FinishedAt.Before(old) || c.State == ledger.Stuck && !cancelled.IsZero() && cancelled.Before(old))
	}
	var gone struct {
		events, deliveries, claims []int64
		hashes                     [][]byte
	}
	for _, id := range former {
		if ended(id, time.Time{}) {
			gone.claims = append(gone.claims, id)
		}
	}
	for _, e := range events {
		all := true
		for _, d := range e.deliveries {
			all = all && ended(d.claim, d.cancelled)
		}
		if !all {
			continue // it answers for the others until then
		}
		gone.events = append(gone.events, e.id)
		for _, d := range e.deliveries {
			gone.deliveries, gone.claims, gone.hashes = append(gone.deliveries, d.id), append(gone.claims, d.claim), append(gone.hashes, d.former...)
		}
	}
	if len(gone.claims) == 0 {
		return 0, nil
	}
	messages, err := tx.lockMessages(ctx, column(gone.claims, func(id int64) int64 { return claims[id].MessageID }))
	if err != nil {
		return 0, err
	}
	ch := newChanges(tx, claims)
	for _, m := range messages {
		if c := claims[m.ClaimID]; c != nil && c.MessageID == m.ID {
			if err := ch.message(m, m.GroupID, queue.Change{Delete: true}); err != nil {
				return 0, err
			}
		}
	}
	ch.write(forgetDropSQL, gone.events, gone.deliveries, gone.claims, gone.hashes)
	return len(gone.claims), ch.flush(ctx, nil)
}

// oldEvents reads the events of claims, with all their deliveries.
func (tx *txn) oldEvents(ctx context.Context, claims []int64) (events []*oldEvent, err error) {
	rows, err := tx.Query(ctx, forgetDeliveriesSQL, claims)
	if err != nil {
		return nil, err
	}
	var event, endpoint, project int64
	var sends int
	var d oldDelivery
	var eventID string
	_, err = pgx.ForEachRow(rows, []any{&event, &d.id, &d.claim, &endpoint, &sends, &d.cancelled, &project, &eventID}, func() error {
		if n := len(events); n == 0 || events[n-1].id != event {
			events = append(events, &oldEvent{id: event})
		}
		d.former = nil
		for send := 1; send < sends; send++ {
			d.former = append(d.former, sendHash(project, endpoint, eventID, send))
		}
		e := events[len(events)-1]
		e.deliveries = append(e.deliveries, d)
		return nil
	})
	return events, err
}

// forgetEvents deletes old events that nobody subscribed to.
func (db *DB) forgetEvents(ctx context.Context, _ int) (n int, err error) {
	db.sweeps.mu.Lock()
	defer db.sweeps.mu.Unlock()
	p := &db.sweeps.events
	last, ok := p.next()
	if !ok {
		return 0, nil
	}
	var end, looked int64
	err = db.alone(ctx, func(ctx context.Context) error {
		return db.conn(ctx).QueryRow(ctx, sweepEventsSQL, last, forgetPage, seconds(ledger.Memory)).Scan(&end, &looked, &n)
	})
	if err != nil {
		return 0, err
	}
	if p.last = end; looked < forgetPage {
		p.end(walkRest(forgetRest, time.Since(p.begun)))
	}
	return n, nil
}
