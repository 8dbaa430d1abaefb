package sqlite

import (
	"context"
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
	err := db.write(ctx, "take_deliveries", 0, func(t *tx) error {
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
	careful bool // each visit stands alone: one that fails is undone
}

// round visits groups that have their turn, each once. It answers how many messages it looked at, and whether more groups
// may have their turn.
func (k *taking) round() (took int, more bool, err error) {
	turn, limit := k.turn(), min(k.left+8, takeGroups)
	var groups []group
	err = k.each("take_groups", func(r scanner) error {
		var g group
		err := loadGroup(r, &g)
		groups = append(groups, g)
		return err
	}, k.Each, at(turn), limit)
	if err != nil || len(groups) == 0 {
		return 0, false, err
	}
	share := max(takeShare, (k.left+len(groups)-1)/len(groups))
	for i := range groups {
		if k.left == 0 || k.bytes >= takeBytes {
			break
		}
		n, err := k.attend(&groups[i], min(share, k.left), turn)
		if err != nil {
			return 0, false, err
		}
		took += n
	}
	return took, len(groups) == limit, nil
}

// attend visits a group. If that fails in a careful take the group waits a while, and the others go on.
func (k *taking) attend(g *group, share int, turn time.Time) (n int, err error) {
	if !k.careful {
		return k.visit(g, share, turn)
	}
	jobs, left, bytes := k.out.Jobs, k.left, k.bytes
	err = k.nest(func(*tx) (err error) {
		n, err = k.visit(g, share, turn)
		return err
	})
	if err == nil || k.undone {
		return n, err
	}
	k.out.Jobs, k.left, k.bytes = jobs, left, bytes
	k.db.options.Logger.Error("an endpoint's deliveries could not be taken", "endpoint", g.ID, "error", err)
	return 0, k.parkGroup(g.ID, k.now.Add(failedWait))
}

// visit looks at no more of an endpoint's deliveries than share and its free slots, and sends its group to the tail.
func (k *taking) visit(g *group, share int, turn time.Time) (int, error) {
	want := min(share, g.free(), k.Each-g.InFlight)
	var due []queue.Row
	err := k.each("take_messages", func(r scanner) error {
		var m queue.Row
		err := loadMessage(r, &m)
		due = append(due, m)
		return err
	}, g.ID, at(k.now), want)
	if err != nil {
		return 0, err
	}
	var e webhook.Endpoint
	if len(due) > 0 {
		var ok bool
		if e, ok, err = k.endpoint(g.ID); err != nil {
			return 0, err
		} else if !ok {
			return 0, k.parkGroup(g.ID, time.Time{})
		}
	}
	granted, looked := 0, 0
	for i := range due {
		if k.bytes >= takeBytes {
			break
		}
		job, err := k.take(&due[i], g.Hold+k.Slack)
		if err != nil {
			return 0, err
		}
		looked++
		if job != nil {
			granted++
			job.Endpoint = e
			k.out.Jobs = append(k.out.Jobs, *job)
		}
	}
	k.left -= looked
	next, err := k.head(g.ID)
	if err == nil && !next.IsZero() && next.Before(turn) {
		next = turn
	}
	if err == nil {
		_, err = k.exec("group_visited", granted, at(next), g.ID)
	}
	return looked, err
}

// take claims what a message carries. If that is granted the message is received under the same lease; if not it is
// settled: it cannot be in anybody's hands.
func (k *taking) take(m *queue.Row, lease time.Duration) (*webhook.Job, error) {
	was := *m
	var c ledger.Claim
	var d delivery
	j := &webhook.Job{}
	ok, err := found(loadClaim(tail{k.row("take_claim", m.ClaimID), []any{&d.ID, &d.KeySend, &d.Cause, &d.Ladder, &j.EventID, &j.EventType, &j.Payload}}, &c))
	if err != nil {
		return nil, err
	}
	if !ok { // nothing knows it any more
		return nil, k.deleteMessage(m.ID)
	}
	held := c
	r := c.Grant(k.now, ledger.Grant{GrantID: k.grant, Owner: k.Owner, Lease: lease})
	k.out.Verdicts[r.Verdict]++
	if r.Lapsed {
		var next time.Time
		if r.Verdict == ledger.Granted {
			next = k.now
		}
		if err := k.logged(k.addDeath(&d, &held, m.ReceivedAt, next), d.ID); err != nil {
			return nil, err
		}
	}
	if r.Verdict == ledger.Granted {
		m.Receive(k.now, lease)
		c.MessageID, c.Lease = m.ID, m.Lease
	}
	if r.Changed {
		if err := k.saveClaim(&c); err != nil {
			return nil, err
		}
	}
	switch r.Verdict {
	case ledger.Granted:
		j.ClaimID, j.Fence, j.Attempt, j.Tries, j.Policy, j.Project = c.ID, c.Fence, c.Attempt, c.Tries, c.Policy, c.Project
		j.MessageID, j.Lease, j.LeaseFor, j.TakenAt = m.ID, m.Lease, lease, m.ReceivedAt
		j.DeliveryID, j.Cause, j.KeySend = d.ID, causeOf(&d, &c), d.KeySend
		if j.Ladder, err = ladder(d.Ladder); err != nil {
			return nil, err
		}
		k.bytes += len(j.Payload)
		return j, k.saveMessage(&was, m)
	case ledger.WasDone:
		return nil, k.deleteMessage(m.ID)
	case ledger.Busy:
		m.VisibleAt = k.now.Add(r.Wait)
		return nil, k.saveMessage(&was, m)
	}
	return nil, k.applyChange(&was, m, m.DeadLetter(k.now, deliveryDLQ, c.LastError))
}

// tail scans a row whose last columns go into more.
type tail struct {
	scanner
	more []any
}

func (r tail) Scan(to ...any) error { return r.scanner.Scan(append(to, r.more...)...) }

// waitAtMost is how long a wait lasts if nothing happens.
const waitAtMost = 30 * time.Second

// WaitDeliveries returns when there may be something to take.
func (db *DB) WaitDeliveries(ctx context.Context) {
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
}
