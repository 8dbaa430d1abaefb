package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/webhook"
)

var (
	sqlSendEvents  = stmt("send_events")
	sqlSendKnown   = stmt("send_known")
	sqlSendKnownID = stmt("send_known_id")
	sendDeliverSQL = stmt("send_deliver")
	sqlSendDrop    = stmt("send_drop")
)

// Send stores events with their deliveries: see [webhook.Deliveries].
func (db *DB) Send(ctx context.Context, events ...webhook.NewEvent) ([]webhook.Sent, error) {
	var res []batch.Result[webhook.Sent]
	var err error
	if db.carried(ctx) != nil {
		res, err = db.commitSends(ctx, events)
	} else {
		res, err = db.lanes.send.Do(ctx, events...)
	}
	if err != nil {
		return nil, fmt.Errorf("send events: %w", db.fault(ctx, err))
	}
	out := make([]webhook.Sent, len(res))
	for i, r := range res {
		if out[i] = r.Value; r.Err != nil {
			out[i] = webhook.Sent{EventID: events[i].EventID, Err: db.fault(ctx, r.Err)}
		}
	}
	db.sendHeld(ctx, events, out)
	return out, nil
}

// commitSends is the lane's commit. Events that share an id or a request key go in one transaction after the other, so
// that the later finds what the earlier left.
func (db *DB) commitSends(ctx context.Context, events []webhook.NewEvent) ([]batch.Result[webhook.Sent], error) {
	defer db.observe("send", len(events), time.Now())
	out := make([]batch.Result[webhook.Sent], len(events))
	for n, round := range sendRounds(events) {
		s := &sending{items: make([]*webhook.NewEvent, len(round)), waits: db.laneWaits(ctx)}
		for i, at := range round {
			s.items[i] = &events[at]
		}
		alone := db.carried(ctx) == nil
		var err error
		for try := 1; ; try++ {
			s.mayRide = alone && try == 1
			err = db.inWith(ctx, s.begin, func(ctx context.Context, tx *txn) error { return s.run(ctx, tx, db, alone) })
			if s.land(db.hub) && refused(err) { // it may be the fault of what rode on it
				continue
			}
			if !alone || !lockTimeout(err) || try == maxTries || pause(ctx, try) != nil {
				break
			}
		}
		if err != nil && n == 0 {
			return nil, err
		}
		for i, at := range round {
			if out[at].Err = err; err == nil {
				out[at].Value = s.out[i]
			}
		}
	}
	return out, nil
}

// sendRounds parts events into lists in which no id and no request key stands twice.
func sendRounds(events []webhook.NewEvent) (rounds [][]int) {
	type name struct {
		project    int64
		scope, key string
	}
	seen := map[name]int{}
	for i := range events {
		e := &events[i]
		names := []name{{e.Project, "", e.EventID}}
		if e.Request != nil {
			names = append(names, name{e.Request.Project, "\x00" + e.Request.Scope, e.Request.Key})
		}
		round := 0
		for _, n := range names {
			round = max(round, seen[n])
		}
		for _, n := range names {
			seen[n] = round + 1
		}
		if round == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[round] = append(rounds[round], i)
	}
	return rounds
}

// sending is one transaction's events.
type sending struct {
	items   []*webhook.NewEvent
	waits   string // for locks, of a lane
	out     []webhook.Sent
	open    []bool  // not answered yet
	keyed   []bool  // holds its request key
	rows    []int64 // of the events stored by this transaction
	found   *endpoints
	began   time.Time // by our clock, before the transaction
	mayRide bool
	ride    *sendRide // of a worker that waits, if one does
	left    bool      // some are to be taken
	fanout  struct {
		events, endpoints []int64
		hashes            [][]byte
	}
}

// begin adds to b what stores the events, unless there are request keys to take first.
func (s *sending) begin(b *pgx.Batch) {
	n := len(s.items)
	s.out, s.open, s.keyed, s.rows = make([]webhook.Sent, n), make([]bool, n), make([]bool, n), make([]int64, n)
	s.fanout.events, s.fanout.endpoints, s.fanout.hashes = nil, nil, nil
	s.began, s.left = time.Now(), false
	for i := range s.open {
		s.open[i] = true
	}
	if !s.anyKey() {
		s.queueEvents(b)
	}
}

func (s *sending) run(ctx context.Context, tx *txn, db *DB, alone bool) error {
	if s.anyKey() {
		if err := s.takeKeys(ctx, tx); err != nil {
			return err
		}
		b := &pgx.Batch{}
		s.queueEvents(b)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
	}
	if err := s.answerKnown(ctx, tx); err != nil {
		return err
	}
	s.address(*s.found)
	tx.flushCommits = tx.flushCommits || alone
	return s.deliver(ctx, tx, db)
}

func (s *sending) anyKey() bool {
	return slices.ContainsFunc(s.items, func(e *webhook.NewEvent) bool { return e.Request != nil })
}

// queueEvents adds to b what stores the events that are new and finds the endpoints that any of them may be for.
func (s *sending) queueEvents(b *pgx.Batch) {
	var project []int64
	var id, kind []string
	var tenant, subject []*string
	var hash, payload [][]byte
	at := map[eventName]int{}
	for i, e := range s.items {
		if s.open[i] {
			at[eventName{e.Project, e.EventID}] = i
			project, id, kind = append(project, e.Project), append(id, e.EventID), append(kind, e.Type)
			tenant, subject = append(tenant, orNil(e.Tenant)), append(subject, orNil(e.Subject))
			hash, payload = append(hash, e.Hash), append(payload, e.Payload)
		}
	}
	if s.found = (&endpoints{}); len(project) == 0 {
		return
	}
	b.Queue(sqlSendEvents, project, id, kind, tenant, subject, hash, payload, s.waits).Query(func(rows pgx.Rows) error {
		var row int64
		var n eventName
		var created time.Time
		_, err := pgx.ForEachRow(rows, []any{&row, &n.project, &n.id, &created}, func() error {
			i := at[n]
			s.rows[i], s.out[i] = row, webhook.Sent{EventID: n.id, CreatedAt: created}
			return nil
		})
		return err
	})
	s.found = s.queueEndpoints(b)
}

// answerKnown answers the events whose id was there before.
func (s *sending) answerKnown(ctx context.Context, tx *txn) error {
	var project []int64
	var id []string
	for i, e := range s.items {
		if s.open[i] && s.rows[i] == 0 {
			project, id = append(project, e.Project), append(id, e.EventID)
		}
	}
	if len(project) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, sqlSendKnown, project, id)
	if err != nil {
		return err
	}
	known, err := scanKnown(rows)
	if err != nil {
		return err
	}
	byName := map[eventName]*knownEvent{}
	for _, k := range known {
		byName[k.eventName] = k
	}
	for i, e := range s.items {
		if !s.open[i] || s.rows[i] != 0 {
			continue
		}
		k := byName[eventName{e.Project, e.EventID}]
		if k == nil {
			if s.waits == "" {
				return errAgain // forgotten in this moment
			}
			s.open[i], s.out[i] = false, webhook.Sent{EventID: e.EventID, Err: errHeld}
			continue
		}
		s.open[i] = false
		if err := e.Again(k.hash); err != nil {
			s.out[i] = webhook.Sent{EventID: e.EventID, Err: err}
			continue
		}
		s.out[i], s.rows[i] = k.answer(), k.row
	}
	return nil
}

// deliver stores the deliveries of the new events, and what their request keys stand for.
func (s *sending) deliver(ctx context.Context, tx *txn, db *DB) error {
	var drop []int64
	byRow := map[int64]int{}
	for i := range s.items {
		switch {
		case s.rows[i] != 0 && s.out[i].Err != nil:
			drop = append(drop, s.rows[i])
		case s.open[i]:
			byRow[s.rows[i]] = i
		}
	}
	b := &pgx.Batch{}
	if len(drop) > 0 {
		b.Queue(sqlSendDrop, drop)
	}
	s.queueKeys(b)
	if f := &s.fanout; len(f.events) > 0 {
		groups := slices.Compact(slices.Sorted(slices.Values(f.endpoints)))
		b.Queue(lockGroupsSQL, groups, tx.ticks.of(groups)) // whoever deletes one of them has done so, or waits
		var changed []int64                                 // not those of endpoints that were deleted meanwhile
		s.board(db.hub)
		s.queueDeliver(b, tx, func(event int64, to webhook.SentTo) {
			o := &s.out[byRow[event]]
			o.Deliveries = append(o.Deliveries, to)
			changed = append(changed, to.EndpointID)
		})
		tx.afterCommit(func() {
			tx.ticks.changed(tx.now, changed...)
			if s.handOut(ctx, db, byRow); s.left {
				db.hub.wake(deliveriesQueue, 0)
			}
		})
		if s.ride != nil {
			return s.ride.send(ctx, tx, b)
		}
	}
	return tx.send(ctx, b)
}

// sendHash is the key of a delivery's send, as a statement takes it.
func sendHash(project, endpoint int64, eventID string, send int) []byte {
	h := webhook.ClaimHash(project, endpoint, eventID, send)
	return h[:]
}

type eventName struct {
	project int64
	id      string
}

// knownEvent is an event that was there before.
type knownEvent struct {
	eventName
	row        int64
	hash       []byte
	created    time.Time
	deliveries []webhook.SentTo
}

func (k *knownEvent) answer() webhook.Sent {
	return webhook.Sent{EventID: k.id, CreatedAt: k.created, Replay: true, Deliveries: k.deliveries}
}

// scanKnown reads send_known.sql: a row for each delivery, or one without.
func scanKnown(rows pgx.Rows) (known []*knownEvent, err error) {
	var k knownEvent
	var id, endpoint *int64
	_, err = pgx.ForEachRow(rows, []any{&k.row, &k.project, &k.id, &k.hash, &k.created, &id, &endpoint}, func() error {
		if n := len(known); n == 0 || known[n-1].row != k.row {
			c := k
			c.hash = bytes.Clone(k.hash)
			known = append(known, &c)
		}
		if id != nil {
			last := known[len(known)-1]
			last.deliveries = append(last.deliveries, webhook.SentTo{ID: *id, EndpointID: *endpoint})
		}
		return nil
	})
	return known, err
}

// typePatterns gives what an endpoint may name to get events of a type.
func typePatterns(eventType string) []string {
	out := []string{"*", eventType}
	for i := range len(eventType) {
		if eventType[i] == '.' {
			out = append(out, eventType[:i+1]+"*")
		}
	}
	return out
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
