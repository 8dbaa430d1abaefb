package storetest

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// letters is the run over endpoints, some of which are disabled and deleted.
type letters struct {
	*chance
	endpoints []int64
	off       map[int64]bool
	sent      map[int64]int64 // deliveries, and where they go
	redrives  map[int64]queue.Redrive
	parts     map[int64]map[int64]webhook.RedrivePart // by redrive and endpoint, as they were seen last
	there     map[int64]map[int64]bool                // by redrive: the deliveries that were dead at its start and have not gone since
	events    int
}

// place is where a delivery's newest send is.
type place struct {
	state      ledger.State
	cancelled  bool
	live, dead int
}

func conserveDeliveries(r *rig) {
	for seed := range uint64(conserveRuns) {
		l := &letters{
			chance: &chance{rig: r, Rand: rand.New(rand.NewPCG(seed, 34)), seed: seed}, off: map[int64]bool{}, sent: map[int64]int64{},
			redrives: map[int64]queue.Redrive{}, parts: map[int64]map[int64]webhook.RedrivePart{},
			there: map[int64]map[int64]bool{},
		}
		l.join()
		l.join()
		for range conserveActs {
			l.act()
		}
		l.rest()
	}
}

// join makes an endpoint whose deliveries have one try.
func (l *letters) join() {
	l.Helper()
	e := l.endpoint(noSubscriber, rungs(0), func(e *webhook.Endpoint) {
		e.Policy = one(l.chance, []ledger.Policy{ledger.Idempotent, ledger.Once})
	})
	l.endpoints = append(l.endpoints, e.ID)
	l.did("endpoint %d, %s", e.ID, e.Policy)
}

func (l *letters) act() {
	l.Helper()
	before, stepped := l.places(), false
	switch l.IntN(16) {
	case 0, 1, 2:
		l.events++
		id := "evt" + itoa(int64(l.seed)) + "-" + itoa(int64(l.events))
		for _, d := range l.send(l.event(id, func(n *webhook.NewEvent) { n.Endpoints = l.endpoints })).Deliveries {
			l.sent[d.ID] = d.EndpointID
		}
		l.did("event %s", id)
	case 3, 4, 5:
		l.deliver(one(l.chance, []ledger.Kind{ledger.Succeeded, ledger.Permanent, ledger.Ambiguous}))
	case 6, 7, 8:
		l.begin()
	case 9, 10, 11:
		limit := 1 + l.IntN(6)
		_, _, err := l.StepRedrives(l.ctx, limit)
		l.ok(err)
		l.did("step %d", limit)
		stepped = true
	case 12:
		l.person()
	case 13:
		id := one(l.chance, l.endpoints)
		l.off[id] = !l.off[id]
		l.update(id, func(e *webhook.Endpoint) { e.Disabled = l.off[id] })
		l.did("endpoint %d disabled %v", id, l.off[id])
	case 14:
		if l.IntN(4) == 0 {
			id := one(l.chance, l.endpoints)
			l.ok(l.DeleteEndpoint(l.ctx, 1, id))
			l.endpoints = slices.DeleteFunc(l.endpoints, func(e int64) bool { return e == id })
			l.did("endpoint %d deleted", id)
			l.join()
		}
	case 15:
		if len(l.redrives) > 0 && l.IntN(2) == 0 {
			for id := range l.redrives {
				_, err := l.CancelRedrive(l.ctx, 1, id)
				l.ok(err)
				l.did("cancel of %d", id)
				break
			}
		} else if l.IntN(3) == 0 {
			l.reopen()
			l.did("restart")
		}
	}
	l.look(before, stepped)
}

// deliver takes what there is and says the same of all.
func (l *letters) deliver(k ledger.Kind) {
	l.Helper()
	jobs := l.take(1 + l.IntN(8))
	for i := range jobs {
		l.beginJob(&jobs[i])
		_, err := l.SettleDeliveries(l.ctx, outcome(&jobs[i], k))
		l.ok(err)
	}
	l.did("%d come to %s", len(jobs), k)
}

// person acts on a delivery.
func (l *letters) person() {
	l.Helper()
	if len(l.sent) == 0 {
		return
	}
	var ids []int64
	for id := range l.sent {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	a := l.rig.person(one(l.chance, ids))
	verb := one(l.chance, []string{"resend", "resolve", "cancel"})
	var err error
	switch verb {
	case "resend":
		_, err = l.Resend(l.ctx, a, false)
	case "resolve":
		_, err = l.Resolve(l.ctx, a, one(l.chance, []ledger.State{ledger.Done, ledger.Retry, ledger.Failed}))
	case "cancel":
		_, err = l.Cancel(l.ctx, a)
	}
	if err != nil && !errors.Is(err, webhook.ErrConflict) {
		l.lost("%s: %v", verb, err)
	}
	l.did("%s of %d: %v", verb, a.ID, err == nil)
}

// begin starts a redrive, after a dry run of the same that must say what it will do.
func (l *letters) begin() {
	l.Helper()
	c := webhook.RedriveCall{Project: 1, Who: "a person", Canary: l.IntN(2) == 0}
	if l.IntN(2) == 0 {
		c.EndpointID = one(l.chance, l.endpoints)
	}
	if l.IntN(4) == 0 {
		c.Max = int64(1 + l.IntN(5))
	}
	c.States = [][]webhook.State{{webhook.Failed}, {webhook.Stuck}, {webhook.Failed, webhook.Stuck}, nil}[l.IntN(4)]
	c.DryRun = true
	dry, err := l.RedriveDeliveries(l.ctx, c)
	l.ok(err)
	c.DryRun = false
	rd, err := l.RedriveDeliveries(l.ctx, c)
	l.did("redrive %d of endpoint %d, max %d, states %v, canary %v", rd.ID, c.EndpointID, c.Max, c.States, c.Canary)
	if errors.Is(err, webhook.ErrConflict) {
		for _, parts := range l.parts {
			for e, p := range parts {
				if !p.State.Over() && (c.EndpointID == 0 || c.EndpointID == e) {
					return
				}
			}
		}
		l.lost("a redrive was refused, and none is at its endpoints")
	}
	l.ok(err)
	if rd.Total != dry.Total {
		l.lost("a dry run counted %d, the redrive after it %d", dry.Total, rd.Total)
	}
	l.redrives[rd.ID], l.parts[rd.ID], l.there[rd.ID] = rd, map[int64]webhook.RedrivePart{}, map[int64]bool{}
	for id, p := range l.places() {
		l.there[rd.ID][id] = p.dead == 1
	}
	l.hear(rd.ID)
	if !c.Canary && l.IntN(2) == 0 { // nothing comes between: it does what the dry run said
		before := l.places()
		l.eventually("the redrive's end", func() bool { l.step(1); return l.seen(rd).State != queue.Running })
		if rd = l.seen(rd); rd.Moved != dry.Remaining() || rd.Left != dry.Left {
			l.lost("a dry run said %d would move and %d be left, and %d and %d were", dry.Remaining(), dry.Left, rd.Moved, rd.Left)
		}
		l.look(before, true)
	}
}

// places looks where every delivery is.
func (l *letters) places() map[int64]place {
	l.Helper()
	out := map[int64]place{}
	rows, err := l.in.DB.QueryContext(l.ctx, `SELECT d.id, c.state, d.cancelled_at IS NOT NULL,
		count(CASE WHEN m.dead_at IS NULL THEN m.id END), count(CASE WHEN m.dead_at IS NOT NULL THEN m.id END)
		FROM deliveries d JOIN claims c ON c.id = d.claim_id LEFT JOIN messages m ON m.claim_id = c.id GROUP BY d.id, c.state, d.cancelled_at`)
	l.ok(err)
	defer rows.Close()
	for rows.Next() {
		var id int64
		var p place
		l.ok(rows.Scan(&id, (*string)(&p.state), &p.cancelled, &p.live, &p.dead))
		out[id] = p
	}
	l.ok(rows.Err())
	return out
}

// hear looks at the parts of a redrive, and gives how many each endpoint moved since it was looked at last.
func (l *letters) hear(redrive int64) map[int64]int {
	l.Helper()
	parts, err := l.RedriveParts(l.ctx, 1, redrive, queue.Page{Limit: 500})
	l.ok(err)
	moved := map[int64]int{}
	for _, p := range parts {
		was := l.parts[redrive][p.EndpointID]
		if was.State == webhook.PartWaiting && p.State == webhook.PartCanary && p.Moved != 1 {
			l.lost("redrive %d: %d went to endpoint %d with the canary", redrive, p.Moved, p.EndpointID)
		}
		if was.State != "" && was.State.Over() && p != was {
			l.lost("redrive %d: the part of endpoint %d was over as %+v and is %+v", redrive, p.EndpointID, was, p)
		}
		moved[p.EndpointID] = int(p.Moved - was.Moved)
		l.parts[redrive][p.EndpointID] = p
	}
	return moved
}

// moved sees that a redrive had to move a delivery that left the dead: it was dead at its start, and has not gone since.
func (l *letters) moved(delivery, endpoint int64) {
	l.Helper()
	for id := range l.redrives {
		if p, ok := l.parts[id][endpoint]; ok && !p.State.Over() && l.there[id][delivery] {
			delete(l.there[id], delivery)
			return
		}
	}
	l.lost("delivery %d left the dead of endpoint %d, and no redrive had to move it", delivery, endpoint)
}

// look sees that every delivery is in one place, and that what left the dead is what the redrives say they moved.
func (l *letters) look(before map[int64]place, stepped bool) {
	l.Helper()
	now := l.places()
	went := map[int64]int{}
	for id, endpoint := range l.sent {
		p, ok := now[id]
		live, dead := 1, 0
		switch {
		case p.cancelled || p.state == ledger.Done:
			live = 0
		case p.state.Terminal():
			live, dead = 0, 1
		}
		if !ok || p.live != live || p.dead != dead {
			l.lost("delivery %d is %+v; want %d live and %d dead", id, p, live, dead)
		}
		if before[id].dead == 1 && p.live == 1 {
			if went[endpoint]++; stepped {
				l.moved(id, endpoint)
			}
		}
	}
	for id, rd := range l.redrives {
		for endpoint, n := range l.hear(id) {
			if stepped {
				went[endpoint] -= n
			} else if n != 0 {
				l.lost("redrive %d moved %d without a step", id, n)
			}
		}
		rd = l.seen(rd)
		var sum webhook.RedrivePart
		for _, p := range l.parts[id] {
			sum.Total, sum.Moved, sum.Left = sum.Total+p.Total, sum.Moved+p.Moved, sum.Left+p.Left
		}
		if rd.Total != sum.Total || rd.Moved != sum.Moved || rd.Left != sum.Left {
			l.lost("redrive %d is %+v and its parts %+v", id, rd, sum)
		}
		if rd.State != queue.Running {
			delete(l.redrives, id)
			delete(l.parts, id)
		}
	}
	for endpoint, n := range went {
		if stepped && n != 0 {
			l.lost("%d more left the dead of endpoint %d than its redrives say", n, endpoint)
		}
	}
}

// rest lets everything come to its end.
func (l *letters) rest() {
	l.Helper()
	for _, id := range l.endpoints {
		l.update(id, func(e *webhook.Endpoint) { e.Disabled = false })
	}
	l.eventually("the redrives' end", func() bool {
		before := l.places()
		l.step(1)
		l.did("step")
		l.look(before, true)
		l.deliver(ledger.Succeeded)
		return len(l.redrives) == 0
	})
	for _, id := range l.endpoints {
		l.ok(l.DeleteEndpoint(l.ctx, 1, id))
	}
	l.sweep()
}
