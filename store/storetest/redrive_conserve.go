package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// conserveTests let chance act on dead letters while redrives move them, and look at all of them after each act.
var conserveTests = []named{
	{"I12: whatever happens to a queue and its dead letters meanwhile, a redrive loses and doubles none", conserveMessages},
	{"I12: whatever happens to deliveries and endpoints meanwhile, a redrive loses and doubles none", conserveDeliveries},
	{"a queue's redrive keeps to its rate over restarts", redriveRateRestarts},
	{"redrives that run side by side share what is moved at a time", redrivesShare},
	{"what a redrive leaves costs it none of its rate", redriveLeftIsFree},
}

const (
	conserveRuns = 6
	conserveActs = 40
)

// chance is a run of acts drawn from a seed, which a failure prints with what was done.
type chance struct {
	*rig
	*rand.Rand
	seed uint64
	done []string
}

func (c *chance) did(format string, args ...any) {
	c.done = append(c.done, fmt.Sprintf(format, args...))
}

func (c *chance) lost(format string, args ...any) {
	c.Helper()
	c.Fatalf("seed %d: %s\nafter %s", c.seed, fmt.Sprintf(format, args...), strings.Join(c.done, "; "))
}

// one draws an item.
func one[T any](c *chance, items []T) T { return items[c.IntN(len(items))] }

func redriveRateRestarts(r *rig) {
	const rate = 8.0
	r.queue("jobs")
	r.killMany("jobs", 10)
	begin := r.now()
	rd := r.start(queue.RedriveCall{Queue: "jobs", Rate: rate})
	r.eventually("the redrive's end", func() bool {
		r.reopen()
		r.step(1)
		rd = r.seen(rd)
		if most := 1 + rate*(r.now().Sub(begin).Seconds()+0.01); float64(rd.Moved) > most {
			r.Fatalf("%d were moved in %v at %v a second", rd.Moved, r.now().Sub(begin), rate)
		}
		return rd.State != queue.Running
	})
	want(r, "moved", rd.Moved, 10)
}

func redrivesShare(r *rig) {
	var all []queue.Redrive
	for _, name := range []string{"a", "b", "c"} {
		r.queue(name)
		r.killMany(name, map[string]int{"a": 30, "b": 2, "c": 30}[name])
		all = append(all, r.start(queue.RedriveCall{Queue: name}))
	}
	n, _, err := r.StepRedrives(r.ctx, 30)
	r.ok(err)
	want(r, "moved", n, 30)
	want(r, "of the first", r.seen(all[0]).Moved, 10)
	want(r, "of the few", r.seen(all[1]).Moved, 2)
	want(r, "of the last, which has what was not used", r.seen(all[2]).Moved, 18)
	for _, rd := range all {
		r.finish(rd)
	}
}

func redriveLeftIsFree(r *rig) {
	r.queue("jobs")
	r.publish(bodies("jobs", 12)...)
	for i := range 12 {
		_, a := r.work("k"+itoa(int64(i)), once)
		r.begin(a, time.Minute)
		r.say(settling(a, ledger.Ambiguous), ledger.Stuck)
	}
	r.killMany("jobs", 1)
	rd := r.start(queue.RedriveCall{Queue: "jobs", Rate: 0.01})
	dry := r.start(queue.RedriveCall{Queue: "jobs", DryRun: true})
	want(r, "a dry run's left", dry.Left, 12)
	want(r, "what it would move", dry.Remaining(), 1)
	rd = r.finish(rd)
	want(r, "moved", rd.Moved, 1)
	want(r, "left", rd.Left, 12)
}

// where says of each message of the store where it is: its queue, and where it came from if it is dead.
func (r *rig) where() map[int64]string {
	r.Helper()
	out := map[int64]string{}
	rows, err := r.in.DB.QueryContext(r.ctx, "SELECT m.id, q.name, coalesce(s.name, '') FROM messages m JOIN queues q ON q.id = m.queue LEFT JOIN queues s ON s.id = m.source_queue")
	r.ok(err)
	defer rows.Close()
	for rows.Next() {
		var id int64
		var at, from string
		r.ok(rows.Scan(&id, &at, &from))
		if from != "" {
			at = "dead of " + from
		}
		out[id] = at
	}
	r.ok(rows.Err())
	return out
}

// messages is the run over two queues that share a dead-letter queue.
type messages struct {
	*chance
	home    map[int64]string // where each message was published; those that were acked are gone
	running map[string]queue.Redrive
	there   map[int64]map[int64]bool // by redrive: the dead letters of its source at its start
	moved   map[int64]map[int64]bool // by redrive: those that went since
	keys    int
}

func conserveMessages(r *rig) {
	r.queue("a", dlq("dead"))
	r.queue("b", dlq("dead"))
	for seed := range uint64(conserveRuns) {
		m := &messages{
			chance: &chance{rig: r, Rand: rand.New(rand.NewPCG(seed, 12)), seed: seed}, home: map[int64]string{},
			running: map[string]queue.Redrive{}, there: map[int64]map[int64]bool{}, moved: map[int64]map[int64]bool{},
		}
		for range conserveActs {
			m.act()
		}
		m.rest()
	}
}

func (m *messages) act() {
	m.Helper()
	source := one(m.chance, []string{"a", "b"})
	before := m.where()
	stepped := false
	switch m.IntN(11) {
	case 0, 1:
		for _, id := range m.publish(bodies(source, 1+m.IntN(5))...) {
			m.home[id] = source
		}
		m.did("publish to %s", source)
	case 2, 3:
		for _, msg := range m.receive(source, 1+m.IntN(6), time.Minute) {
			m.die(source, msg)
		}
		m.did("die in %s", source)
	case 4:
		for _, msg := range m.receive("dead", 1+m.IntN(2), time.Minute) {
			if m.IntN(2) == 0 {
				m.applied(act(queue.Ack, msg))
				delete(m.home, msg.ID)
			} // the others stay leased
		}
		m.did("consume the dead")
	case 5:
		for _, id := range m.publish(queue.Publish{Queue: "dead"}) {
			m.home[id] = "dead"
		}
		m.did("publish to the dead")
	case 6, 7:
		m.begin(source, before)
	case 8, 9:
		limit := 1 + m.IntN(6)
		_, _, err := m.StepRedrives(m.ctx, limit)
		m.ok(err)
		m.did("step %d", limit)
		stepped = true
	case 10:
		if rd, ok := m.running[source]; ok && m.IntN(2) == 0 {
			rd, err := m.CancelRedrive(m.ctx, 1, rd.ID)
			m.ok(err)
			m.did("cancel of %s", source)
			m.over(rd)
		} else if m.IntN(3) == 0 {
			m.reopen()
			m.did("restart")
		}
	}
	m.look(before, stepped)
}

// die dead-letters a received message, with a key that has ended, or without one.
func (m *messages) die(source string, msg queue.Message) {
	m.Helper()
	s := act(queue.Nack, msg)
	s.DeadLetter = true
	policy := one(m.chance, []ledger.Policy{"", "", ledger.Idempotent, ledger.Once})
	if policy == "" {
		m.applied(s)
		return
	}
	m.keys++
	c := m.call(fmt.Sprintf("k%d-%d", m.seed, m.keys), func(c *ledger.Call) { c.Policy = policy })
	c.MessageID, c.Lease = msg.ID, msg.Lease
	a := m.claimAll(c)[0]
	if a.Verdict != ledger.Granted { // it has a key of its own already
		m.applied(s)
		return
	}
	if policy == ledger.Once && m.IntN(2) == 0 {
		m.rig.begin(a, time.Minute)
		m.say(settling(a, ledger.Ambiguous), ledger.Stuck)
		return
	}
	if policy == ledger.Once {
		m.rig.begin(a, time.Minute)
	}
	m.say(settling(a, ledger.Permanent), ledger.Failed)
}

// begin starts a redrive, after a dry run of the same that must say what it will do.
func (m *messages) begin(source string, before map[int64]string) {
	m.Helper()
	c := queue.RedriveCall{Project: 1, Queue: source, Who: "a person"}
	var dead []int64
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if before[id] == "dead of "+source {
			dead = append(dead, id)
		}
	}
	switch m.IntN(4) {
	case 0:
		c.Max = int64(1 + m.IntN(4))
	case 1:
		if len(dead) > 0 {
			c.IDs = []int64{one(m.chance, dead), one(m.chance, dead), 1 << 40}
		}
	}
	c.DryRun = true
	dry, err := m.StartRedrive(m.ctx, c)
	m.ok(err)
	c.DryRun = false
	rd, err := m.StartRedrive(m.ctx, c)
	m.did("redrive %s, max %d, ids %v: %d", source, c.Max, c.IDs, rd.ID)
	if _, busy := m.running[source]; busy {
		if !errors.Is(err, queue.ErrConflict) {
			m.lost("a second redrive of %s: %v", source, err)
		}
		return
	}
	m.ok(err)
	if rd.Total != dry.Total {
		m.lost("a dry run counted %d, the redrive after it %d", dry.Total, rd.Total)
	}
	m.running[source], m.moved[rd.ID], m.there[rd.ID] = rd, map[int64]bool{}, map[int64]bool{}
	for _, id := range dead {
		m.there[rd.ID][id] = true
	}
	if m.IntN(2) == 0 { // nothing comes between: it does what the dry run said
		rd = m.finish(rd)
		if rd.Moved != dry.Remaining() || rd.Left != dry.Left {
			m.lost("a dry run said %d would move and %d be left, and %d and %d were", dry.Remaining(), dry.Left, rd.Moved, rd.Left)
		}
		m.look(before, true)
	}
}

// over checks what a redrive that has ended says of itself.
func (m *messages) over(rd queue.Redrive) {
	m.Helper()
	delete(m.running, rd.Queue)
	if rd.Moved+rd.Left != rd.Total || int(rd.Moved) != len(m.moved[rd.ID]) {
		m.lost("redrive %d ended with %d of %d moved and %d left; %d went", rd.ID, rd.Moved, rd.Total, rd.Left, len(m.moved[rd.ID]))
	}
}

// look sees that every message is in one place, and one where the act can have put it.
func (m *messages) look(before map[int64]string, stepped bool) {
	m.Helper()
	now := m.where()
	for id, home := range m.home {
		at, ok := now[id]
		switch {
		case !ok:
			m.lost("message %d of %s is gone", id, home)
		case at != home && at != "dead of "+home:
			m.lost("message %d of %s is in %s", id, home, at)
		case stepped && at == home && before[id] != at:
			rd, ok := m.running[home]
			if !ok || !m.there[rd.ID][id] || m.moved[rd.ID][id] {
				m.lost("message %d left the dead of %s, and no redrive had to move it", id, home)
			}
			m.moved[rd.ID][id] = true
		}
	}
	if len(now) != len(m.home) {
		m.lost("%d messages are there, %d should be", len(now), len(m.home))
	}
	for _, rd := range m.running {
		rd = m.seen(rd)
		if int(rd.Moved) != len(m.moved[rd.ID]) || rd.Moved+rd.Left > rd.Total {
			m.lost("redrive %d says %d moved and %d left of %d; %d went", rd.ID, rd.Moved, rd.Left, rd.Total, len(m.moved[rd.ID]))
		}
		if rd.State != queue.Running {
			m.over(rd)
		}
	}
}

// rest lets the redrives end and takes everything away.
func (m *messages) rest() {
	m.Helper()
	for _, rd := range m.running {
		m.eventually("the redrive's end", func() bool {
			before := m.where()
			m.step(1)
			m.did("step")
			m.look(before, true)
			_, on := m.running[rd.Queue]
			return !on
		})
	}
	for _, name := range []string{"a", "b", "dead"} {
		_, err := m.PurgeQueue(m.ctx, 1, name)
		m.ok(err)
	}
}
