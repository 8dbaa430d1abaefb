package sqlite

import (
	"context"
	"slices"
	"time"
	"uuid"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var _ webhook.Sender = (*DB)(nil)

const (
	takeBytes  = 16 << 20         // of one take's payloads; one always goes
	failedWait = 30 * time.Second // of an endpoint whose rows cannot be read
	takeGroups = 100              // visited at a time, at most
	takeShare  = 4                // of a visit at least, if there are so many: a visit costs about as much as two deliveries
	takeIdle   = 10               // rounds in which nothing was due: of endpoints whose deliveries went another way
	takeLapses = 1000             // leases over that are ended before a take
)

// TakeDeliveries receives and claims deliveries, endpoints taking turns.
func (db *DB) TakeDeliveries(ctx context.Context, a webhook.Take) (webhook.Taken, error) {
	out, err := db.takeDeliveries(ctx, a, false)
	if fault.CodeOf(err) == fault.Internal {
		out, err = db.takeDeliveries(ctx, a, true) // a row that cannot be read is to cost its endpoint alone
	}
	return out, err
}

func (db *DB) takeDeliveries(ctx context.Context, a webhook.Take, careful bool) (webhook.Taken, error) {
	var out webhook.Taken
	if a.Each <= 0 {
		a.Each = unlimited
	}
	err := db.writeHot(ctx, "take_deliveries", 1, 0, func(t *tx) error {
		out = webhook.Taken{Verdicts: map[ledger.Verdict]int{}}
		if _, err := t.lapse(deliveriesQueue, takeLapses); err != nil {
			return err
		}
		k := &taking{tx: t, Take: a, grant: uuid.New().String(), out: &out, left: a.Max, careful: careful}
		for idle := 0; k.left > 0 && k.bytes < takeBytes && idle < takeIdle; {
			took, more, err := k.round()
			if err != nil {
				return err
			}
			if idle++; took > 0 {
				idle = 0
			} else if !more {
				break
			}
		}
		return nil
	})
	if err != nil {
		return webhook.Taken{}, err
	}
	return out, nil
}

// taking is one TakeDeliveries under way.
type taking struct {
	*tx
	webhook.Take
	grant   string
	out     *webhook.Taken
	left    int  // how many more to look at
	bytes   int  // of payloads
	careful bool // groups are visited one by one, and a visit that fails is undone

	granted  alike[grantedClaim] // not yet written
	received alike[receivedMessage]
}

// round visits groups that have their turn, each once. It answers how many messages it looked at, and whether more groups
// may have their turn.
func (k *taking) round() (took int, more bool, err error) {
	turn, limit := k.turn(), min(k.left+8, takeGroups)
	var groups []visited
	err = k.each("take_groups", func(r scanner) error {
		var v visited
		err := loadGroup(r, &v.group)
		groups = append(groups, v)
		return err
	}, k.Each, at(turn), limit)
	if err != nil || len(groups) == 0 {
		return 0, false, err
	}
	share, together := max(takeShare, (k.left+len(groups)-1)/len(groups)), len(groups)
	if k.careful {
		together = 1
	}
	for some := range slices.Chunk(groups, together) {
		if k.left == 0 || k.bytes >= takeBytes {
			break
		}
		n, err := k.attend(some, share, turn)
		if err != nil {
			return 0, false, err
		}
		took += n
	}
	return took, len(groups) == limit, nil
}

// attend visits groups. In a careful take that is one: if it fails it waits a while, and the others go on.
func (k *taking) attend(groups []visited, share int, turn time.Time) (n int, err error) {
	if !k.careful {
		return k.visit(groups, share, turn)
	}
	jobs, left, bytes := k.out.Jobs, k.left, k.bytes
	err = k.nest(func(*tx) (err error) {
		n, err = k.visit(groups, share, turn)
		return err
	})
	if err == nil || k.undone {
		return n, err
	}
	k.out.Jobs, k.left, k.bytes = jobs, left, bytes
	k.granted, k.received = alike[grantedClaim]{}, alike[receivedMessage]{}
	k.db.options.Logger.Error("an endpoint's deliveries could not be taken", "endpoint", groups[0].ID, "error", err)
	return 0, k.parkGroup(groups[0].ID, k.now.Add(failedWait))
}

// visited is a group at its turn.
type visited struct {
	group
	endpoint webhook.Endpoint // ID 0: it is deleted, or not needed
	due      []int64          // the messages to look at
	next     time.Time        // when the first after them is due; zero if there is none
}

// dueDelivery is a message with what it carries.
type dueDelivery struct {
	message  queue.Row
	claim    ledger.Claim
	delivery delivery
	event    webhook.Event
}

// visit looks at no more of each endpoint's deliveries than share and its free slots, and sends their groups to the tail.
func (k *taking) visit(groups []visited, share int, turn time.Time) (looked int, err error) {
	if groups, err = k.find(groups, share); err != nil {
		return 0, err
	}
	got, full, err := k.deliveries(groups)
	if err != nil {
		return 0, err
	}
	for i := range groups {
		n, err := k.hand(&groups[i], got, full, turn)
		if err != nil {
			return 0, err
		}
		looked += n
	}
	k.left -= looked
	return looked, k.save()
}

// find gives the groups as far as there is something left to take, with what each has due.
func (k *taking) find(groups []visited, share int) ([]visited, error) {
	left, byID, ids := k.left, map[int64]*visited{}, []int64(nil)
	for i := range groups {
		if left == 0 {
			groups = groups[:i]
			break
		}
		v := &groups[i]
		most := min(share, v.free(), k.Each-v.InFlight, left)
		err := k.each("take_messages", func(r scanner) error {
			var id int64
			var due time.Time
			if err := r.Scan(&id, toTime(&due)); err != nil {
				return err
			}
			if len(v.due) == most || due.After(k.now) {
				v.next = due
				return errEnough
			}
			v.due = append(v.due, id)
			return nil
		}, v.ID, most+1)
		if err != nil {
			return nil, err
		}
		if len(v.due) > 0 {
			left, byID[v.ID], ids = left-len(v.due), v, append(ids, v.ID)
		}
	}
	if len(ids) == 0 {
		return groups, nil
	}
	return groups, k.each("take_endpoints", func(r scanner) error {
		e, err := k.readEndpoint(r)
		if err == nil {
			byID[e.ID].endpoint = e
		}
		return err
	}, idList(ids))
}

// deliveries reads what the groups have due, all at once. full: what is not there is beyond the bytes of a take.
func (k *taking) deliveries(groups []visited) (out map[int64]*dueDelivery, full bool, err error) {
	var ids []int64
	for i := range groups {
		ids = append(ids, groups[i].due...)
	}
	if len(ids) == 0 {
		return nil, false, nil
	}
	out, bytes := make(map[int64]*dueDelivery, len(ids)), k.bytes
	err = k.each("take_deliveries", func(r scanner) error {
		if full = bytes >= takeBytes; full {
			return errEnough
		}
		l := &dueDelivery{}
		m, c, d, e := &l.message, &l.claim, &l.delivery, &l.event
		if err := r.Scan(
			&m.ID, &m.GroupID, &m.Receives, &m.MaxReceives, &m.Lease, &m.Open, toTime(&m.VisibleAt), toTime(&m.PublishedAt), toTime(&m.OriginAt), toTime(&m.ReceivedAt),
			toTime(&m.ExpiresAt), toSpan(&m.Retention), &m.ClaimID, toText(&m.LastError),
			&c.Project, scanPolicy(&c.Policy), &c.State, &c.Fence, &c.Begun, &c.Attempt, &c.Tries, &c.MaxTries, &c.Ambiguous, toText(&c.GrantID), toText(&c.Owner),
			toTime(&c.LeaseUntil), toTime(&c.NextAt), toTime(&c.FirstAt), toSpan(&c.Window), toTime(&c.OriginAt), toInt(&c.MessageID), &c.Lease, toText(&c.LastError),
			&d.ID, &d.KeySend, &d.Cause, &d.Ladder, &e.EventID, &e.Type, &e.Payload); err != nil {
			return err
		}
		m.Project, m.QueueID, c.ID, c.Scope = c.Project, deliveriesQueue, m.ClaimID, webhook.Scope
		out[m.ID] = l
		bytes += len(e.Payload)
		return nil
	}, idList(ids))
	return out, full, err
}

// hand hands out what a group has due, and sends it to the tail.
func (k *taking) hand(v *visited, got map[int64]*dueDelivery, full bool, turn time.Time) (looked int, err error) {
	if len(v.due) > 0 && v.endpoint.ID == 0 {
		return 0, k.parkGroup(v.ID, time.Time{})
	}
	granted := 0
	for _, id := range v.due {
		l := got[id]
		if l == nil && full {
			break
		}
		looked++
		if l == nil { // nothing knows it any more
			if err := k.forget(id); err != nil {
				return 0, err
			}
			continue
		}
		job, err := k.take(l, v.Hold+k.Slack)
		if err != nil {
			return 0, err
		}
		if job != nil {
			granted++
			job.Endpoint = v.endpoint
			k.out.Jobs = append(k.out.Jobs, *job)
		}
	}
	if granted < len(v.due) {
		if looked == 0 {
			return 0, nil // there was no room for any: it keeps its turn
		}
		if err := k.save(); err != nil {
			return 0, err
		}
		if v.next, err = k.head(v.ID); err != nil { // some may still wait
			return 0, err
		}
	}
	if !v.next.IsZero() && v.next.Before(turn) {
		v.next = turn
	}
	_, err = k.exec("group_visited", granted, at(v.next), v.ID)
	return looked, err
}

// forget deletes a message that carries nothing.
func (k *taking) forget(id int64) error {
	m, ok, err := k.messageByID(id)
	if err != nil || !ok {
		return err
	}
	return k.deleteMessage(&m)
}

// take claims what a message carries. If that is granted the message is received under the same lease; if not it is
// settled: it cannot be in anybody's hands.
func (k *taking) take(l *dueDelivery, lease time.Duration) (*webhook.Job, error) {
	m, c, d, e := &l.message, &l.claim, &l.delivery, &l.event
	was, held := *m, *c
	r := c.Grant(k.now, ledger.Grant{GrantID: k.grant, Owner: k.Owner, Lease: lease})
	k.out.Verdicts[r.Verdict]++
	if r.Lapsed {
		var next time.Time
		if r.Verdict == ledger.Granted {
			next = k.now
		}
		if err := k.logged(k.addDeath(d, &held, m.ReceivedAt, next), d.ID); err != nil {
			return nil, err
		}
	}
	if r.Verdict == ledger.Granted {
		m.Receive(k.now, lease)
		c.MessageID, c.Lease = m.ID, m.Lease
	}
	if r.Changed && (r.Verdict != ledger.Granted || held.MessageID != m.ID) {
		if err := k.saveClaim(c); err != nil {
			return nil, err
		}
	}
	switch r.Verdict {
	case ledger.Granted:
		if held.MessageID == m.ID {
			k.granted.add(c.ID, grantOf(c, &held))
		}
		rungs, err := k.ladder(d.Ladder)
		if err != nil {
			return nil, err
		}
		k.count(&was, -1)
		k.count(m, 1)
		k.received.add(m.ID, receivedMessage{m.Receives, m.Lease, m.VisibleAt.UnixMicro()})
		k.bytes += len(e.Payload)
		k.db.granted[c.ID] = *c
		return &webhook.Job{
			ClaimID: c.ID, Fence: c.Fence, Attempt: c.Attempt, Tries: c.Tries, Policy: c.Policy, Project: c.Project,
			MessageID: m.ID, Lease: m.Lease, LeaseFor: lease, TakenAt: m.ReceivedAt,
			DeliveryID: d.ID, Cause: causeOf(d, c), KeySend: d.KeySend, Ladder: rungs,
			EventID: e.EventID, EventType: e.Type, Payload: e.Payload,
		}, nil
	case ledger.WasDone:
		return nil, k.deleteMessage(&was)
	case ledger.Busy:
		m.VisibleAt = k.now.Add(r.Wait)
		return nil, k.saveMessage(&was, m)
	}
	return nil, k.applyChange(&was, m, m.DeadLetter(k.now, deliveryDLQ, c.LastError))
}

// waitAtMost is how long a wait lasts if nothing happens.
const waitAtMost = 30 * time.Second

// WaitDeliveries returns when there may be something to take, with nothing taken.
func (db *DB) WaitDeliveries(ctx context.Context, _ webhook.Take) (none webhook.Taken) {
	news := db.hub.listen(deliveriesQueue)
	wait := waitAtMost
	err := db.read(ctx, "wait_for_deliveries", func(t *tx) error {
		var due time.Time
		if err := t.row("take_due").Scan(toTime(&due)); err != nil {
			return err
		}
		if !due.IsZero() {
			wait = min(wait, due.Sub(t.now))
		}
		return nil
	})
	if err != nil {
		wait = retryAfter
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-ctx.Done():
	}
	return none
}
