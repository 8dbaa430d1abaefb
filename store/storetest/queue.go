package storetest

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"

	"github.com/onceward/onceward/queue"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// queue makes a queue.
func (r *rig) queue(name string, with ...func(*queue.Spec)) queue.Queue {
	r.Helper()
	s := queue.Spec{Project: r.project, Name: name}
	for _, w := range with {
		w(&s)
	}
	q, err := r.CreateQueue(r.ctx, s)
	r.ok(err)
	return q
}

func maxReceives(n int) func(*queue.Spec) { return func(s *queue.Spec) { s.MaxReceives = &n } }
func dlq(name string) func(*queue.Spec)   { return func(s *queue.Spec) { s.DLQ = &name } }

// body gives n different bodies.
func bodies(name string, n int) []queue.Publish {
	out := make([]queue.Publish, n)
	for i := range out {
		out[i] = queue.Publish{Queue: name, Body: fmt.Appendf(nil, `{"n":%d}`, i)}
	}
	return out
}

// publish publishes to the rig's project and gives the ids.
func (r *rig) publish(items ...queue.Publish) (ids []int64) {
	r.Helper()
	for _, p := range r.tryPublish(items...) {
		r.ok(p.Err)
		ids = append(ids, p.ID)
	}
	return ids
}

func (r *rig) tryPublish(items ...queue.Publish) []queue.Published {
	r.Helper()
	for i := range items {
		p := &items[i]
		if p.Project == 0 {
			p.Project = r.project
		}
		if p.Body == nil {
			p.Body = []byte(`{}`)
		}
		if p.Key != "" && p.Hash == nil {
			h := sha256.Sum256(p.Body)
			p.Hash = h[:]
		}
	}
	out, err := r.Publish(r.ctx, items...)
	r.ok(err)
	if len(out) != len(items) {
		r.Fatalf("%d answers to %d items", len(out), len(items))
	}
	return out
}

// receive receives at most n.
func (r *rig) receive(name string, n int, visibility time.Duration) []queue.Message {
	r.Helper()
	m, err := r.Receive(r.ctx, queue.Receive{Project: r.project, Queue: name, Max: n, Visibility: visibility})
	r.ok(err)
	return m
}

// one receives exactly one.
func (r *rig) one(name string, visibility time.Duration) queue.Message {
	r.Helper()
	m := r.receive(name, 1, visibility)
	if len(m) != 1 {
		r.Fatalf("received %d of %q, want 1", len(m), name)
	}
	return m[0]
}

// none sees that there is nothing to receive.
func (r *rig) none(name string) {
	r.Helper()
	if m := r.receive(name, 10, time.Minute); len(m) > 0 {
		r.Errorf("received %v of %q, want nothing", ids(m), name)
	}
}

// soon receives exactly one as soon as there is one.
func (r *rig) soon(name string, visibility time.Duration) (m queue.Message) {
	r.Helper()
	r.eventually("a message of "+name, func() bool {
		l := r.receive(name, 1, visibility)
		if len(l) == 1 {
			m = l[0]
		}
		return len(l) == 1
	})
	return m
}

func ids(m []queue.Message) (ids []int64) {
	for _, m := range m {
		ids = append(ids, m.ID)
	}
	return ids
}

// act makes a receipt's act of a received message.
func act(v queue.Verb, m queue.Message) queue.Settle {
	return queue.Settle{Verb: v, Project: m.Project, Queue: m.Queue, ID: m.ID, Lease: m.Lease}
}

// settle applies one act.
func (r *rig) settle(s queue.Settle) queue.Settled {
	r.Helper()
	out := r.settleAll(s)
	return out[0]
}

func (r *rig) settleAll(s ...queue.Settle) []queue.Settled {
	r.Helper()
	out, err := r.Settle(r.ctx, s...)
	r.ok(err)
	if len(out) != len(s) {
		r.Fatalf("%d answers to %d acts", len(out), len(s))
	}
	return out
}

// applied applies one act that must apply.
func (r *rig) applied(s queue.Settle) queue.Settled {
	r.Helper()
	out := r.settle(s)
	if out.Err != nil || !out.Applied {
		r.Fatalf("%s of %d by lease %d: not applied (%q, %v)", s.Verb, s.ID, s.Lease, out.Reason, out.Err)
	}
	return out
}

// refused sees that an act changes nothing and says why.
func (r *rig) refused(s queue.Settle, reason string) {
	r.Helper()
	out := r.settle(s)
	if out.Err != nil || out.Applied || out.Reason != reason {
		r.Errorf("%s of %d by lease %d: applied %v, reason %q, %v; want reason %q", s.Verb, s.ID, s.Lease, out.Applied, out.Reason, out.Err, reason)
	}
}

// row looks at one message without touching it.
func (r *rig) row(name string, id int64) queue.Message {
	r.Helper()
	for after := int64(0); ; {
		l, next, err := r.Messages(r.ctx, r.project, name, "", queue.Page{After: after, Limit: 500})
		r.ok(err)
		for _, m := range l {
			if m.ID == id {
				return m
			}
		}
		if after = next; next == 0 {
			r.Fatalf("message %d is not in %q", id, name)
		}
	}
}

// status is a message's, by the database's clock.
func (r *rig) status(name string, id int64) queue.Status {
	r.Helper()
	m := r.row(name, id)
	return m.Status(r.now())
}

// sweep sweeps until there is nothing to do.
func (r *rig) sweep() {
	r.Helper()
	for {
		n, err := r.Sweep(r.ctx, 100)
		r.ok(err)
		if n == 0 {
			return
		}
	}
}
