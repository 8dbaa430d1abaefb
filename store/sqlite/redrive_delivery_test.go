package sqlite

import (
	"testing"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// A redrive skips what its filter does not name, however much that is, and what it counted it moves or leaves.
func TestRedriveOfAFewAmongMany(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	once := func(e *webhook.Endpoint) { e.Policy = ledger.Once }
	a, b := r.endpoint(once), r.endpoint()
	r.send(r.names(scanStep + 50)...)
	for {
		jobs := r.take(500)
		if len(jobs) == 0 {
			break
		}
		var ptrs []*webhook.Job
		for i := range jobs {
			ptrs = append(ptrs, &jobs[i])
		}
		_, err := r.BeginDeliveries(t.Context(), ptrs)
		r.ok(err)
		ends := map[ledger.Kind][]webhook.Job{}
		for _, j := range jobs {
			kind := ledger.Permanent
			if j.Endpoint.ID == a.ID && j.EventID != "evt549" && j.EventID != "evt1" {
				kind = ledger.Ambiguous
			}
			ends[kind] = append(ends[kind], j)
		}
		for kind, jobs := range ends {
			r.settle(kind, jobs...)
		}
	}
	run := func(c webhook.RedriveCall) queue.Redrive {
		t.Helper()
		c.Project, c.Who = 1, "anna"
		rd, err := r.RedriveDeliveries(t.Context(), c)
		r.ok(err)
		for i := 0; rd.State == queue.Running && i < 1000; i++ {
			_, _, err := r.StepRedrives(t.Context(), 70)
			r.ok(err)
			rd, err = r.Redrive(t.Context(), 1, rd.ID)
			r.ok(err)
		}
		if rd.State != queue.Completed || rd.Moved+rd.Left != rd.Total {
			t.Fatalf("%+v", rd)
		}
		return rd
	}
	rd := run(webhook.RedriveCall{EndpointID: a.ID, States: []webhook.State{webhook.Failed}})
	r.want("failed of a", rd.Moved, 2)
	rd = run(webhook.RedriveCall{EndpointID: a.ID, States: []webhook.State{webhook.Stuck}, Canary: true})
	r.want("stuck of a, total", rd.Total, scanStep+48)
	r.want("stuck of a, moved", rd.Moved, 0)
	rd = run(webhook.RedriveCall{Max: 20})
	r.want("of all, at most 20", rd.Total, 20)
	r.want("b's of them", rd.Moved, r.count("SELECT count(*) FROM messages WHERE gid = ?", b.ID))
	r.want("parts that go on", r.count("SELECT count(*) FROM redrive_parts WHERE state IN ('waiting', 'canary', 'open')"), 0)
}
