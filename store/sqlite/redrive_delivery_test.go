package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"

	"github.com/onceward/onceward/idempotency"
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

// A redrive under a request key is counted beside the writer too, which others' dead letters would else hold up: the writer never reads one, and
// publishes while the readers are busy. A replay is answered without a look.
func TestRedriveUnderAKeyIsCountedBesideTheWriter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.change("INSERT INTO projects (id, name, created_at) VALUES (77, 'other', 0)")
	for _, project := range []int64{1, 77} {
		if _, err := r.CreateQueue(t.Context(), queue.Spec{Project: project, Name: "jobs"}); err != nil {
			t.Fatal(err)
		}
	}
	r.endpoint()
	r.send(r.names(40)...) // of another project
	r.endpoint(func(e *webhook.Endpoint) { e.Project = 77 })
	hash := sha256.Sum256([]byte("mine"))
	sent, err := r.Send(t.Context(), webhook.NewEvent{Project: 77, EventID: "mine", Type: "a", Payload: []byte("{}"), Hash: hash[:]})
	r.ok(err)
	r.ok(sent[0].Err)
	r.settle(ledger.Permanent, r.take(100)...)
	r.want("dead", r.count("SELECT count(*) FROM messages WHERE dead_at IS NOT NULL"), 41)

	for name, c := range map[string]struct {
		begin func(ctx context.Context) (queue.Redrive, error)
		total int64
		looks []string // that the writer must not have
	}{
		"deliveries": {func(ctx context.Context) (queue.Redrive, error) {
			return r.RedriveDeliveries(ctx, webhook.RedriveCall{Project: 77, States: []webhook.State{webhook.Failed}, Canary: true, Who: "anna"})
		}, 1, []string{"redrive_letters"}},
		"a queue, dry": {func(ctx context.Context) (queue.Redrive, error) {
			return r.StartRedrive(ctx, queue.RedriveCall{Project: 77, Queue: "jobs", DryRun: true, Who: "anna"})
		}, 0, []string{"dead_claims", "dead_last"}},
	} {
		request := idempotency.Request{Project: 77, Scope: "POST /" + name, Key: "k", Hash: hash[:]}
		var held []*session
		for range readers {
			held = append(held, <-r.reading)
		}
		ran, done := make(chan error, 2), make(chan error, 1)
		var rd queue.Redrive
		go func() {
			_, _, err := r.Once(context.Background(), request, func(ctx context.Context) (answer []byte, err error) {
				rd, err = c.begin(ctx)
				ran <- err
				return []byte(`1`), err
			})
			done <- err
		}()
		if err := <-ran; err != errLookAhead {
			t.Errorf("%s: within the writer the effect ended with %v, want %v", name, err, errLookAhead)
		}
		if p, err := r.Publish(t.Context(), queue.Publish{Project: 1, Queue: "jobs", Body: []byte("1")}); err != nil || p[0].Err != nil {
			t.Errorf("%s: publish meanwhile: %v, %v", name, p, err)
		}
		for _, s := range held {
			r.reading <- s
		}
		r.ok(<-done)
		r.want(name+": counted", rd.Total, c.total)
		for _, look := range c.looks {
			if r.writer.stmts[look] != nil {
				t.Errorf("%s: the writer has read dead letters, by %s", name, look)
			}
		}
		held = held[:0]
		for range readers {
			held = append(held, <-r.reading)
		}
		answer, replay, err := r.Once(t.Context(), request, nil)
		if err != nil || !replay || !slices.Equal(answer, []byte(`1`)) {
			t.Errorf("%s: again: %s, replay %v, %v", name, answer, replay, err)
		}
		for _, s := range held {
			r.reading <- s
		}
	}
	// What the look refuses is the effect's answer.
	request := idempotency.Request{Project: 77, Scope: "POST /none", Key: "k", Hash: hash[:]}
	_, _, err = r.Once(t.Context(), request, func(ctx context.Context) ([]byte, error) {
		_, err := r.StartRedrive(ctx, queue.RedriveCall{Project: 77, Queue: "none", DryRun: true})
		return nil, err
	})
	if !errors.Is(err, queue.ErrQueueNotFound) {
		t.Errorf("of a queue that is not there: %v", err)
	}
}
