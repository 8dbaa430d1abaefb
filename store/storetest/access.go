package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var accessTests = []named{
	{"a new store has no key", noKeys},
	{"the root key is found by its hash, and replaced by the next", rootKey},
	{"a key that is revoked or expired is found, and not live", deadKeys},
	{"I13: nothing of one project is seen or moved by another", projectsApart},
	{"a store that is up answers a ping", ping},
	{"a closed store says that it is away", closed},
	{"a call whose context is over does nothing", cancelled},
}

func noKeys(r *rig) {
	has, err := r.HasKeys(r.ctx)
	r.ok(err)
	want(r, "has keys", has, false)
	_, _, err = r.KeyByHash(r.ctx, access.Hash("nobody's"))
	want(r, "not found", errors.Is(err, access.ErrNotFound), true)
}

func rootKey(r *rig) {
	r.ok(r.SetRootKey(r.ctx, "environment", access.Hash("one")))
	k, live, err := r.KeyByHash(r.ctx, access.Hash("one"))
	r.ok(err)
	want(r, "live", live, true)
	want(r, "project", k.Project, access.DefaultProject)
	want(r, "name", k.Name, "environment")
	want(r, "may all", k.May(access.Root), true)
	r.ok(r.SetRootKey(r.ctx, "environment", access.Hash("one"))) // as every start does
	r.reopen()
	r.ok(r.SetRootKey(r.ctx, "environment", access.Hash("two")))
	if _, live, err := r.KeyByHash(r.ctx, access.Hash("one")); err == nil && live {
		r.Error("the replaced key is live")
	}
	_, live, err = r.KeyByHash(r.ctx, access.Hash("two"))
	r.ok(err)
	want(r, "live", live, true)
	r.ok(r.SetRootKey(r.ctx, "first start", access.Hash("three")))
	_, live, err = r.KeyByHash(r.ctx, access.Hash("two"))
	r.ok(err)
	want(r, "the other's still live", live, true)
	has, err := r.HasKeys(r.ctx)
	r.ok(err)
	want(r, "has keys", has, true)
}

func deadKeys(r *rig) {
	for what, column := range map[string]string{"revoked": "revoked_at", "expired": "expires_at"} {
		r.ok(r.SetRootKey(r.ctx, what, access.Hash(what)))
		now := "now()"
		if r.b.Dialect == SQLite {
			now = itoa(time.Now().UnixNano() / int64(r.b.Unit))
		}
		r.exec(fmt.Sprintf("UPDATE keys SET %s = %s WHERE name = '%s'", column, now, what))
		r.age("keys", column, "name = '"+what+"'", time.Minute)
		k, live, err := r.KeyByHash(r.ctx, access.Hash(what))
		r.ok(err)
		want(r, what+" is live", live, false)
		want(r, what+" by its own word", k.Live(r.now()), false)
	}
}

func projectsApart(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs", Key: "k"}, queue.Publish{Queue: "jobs", Group: "g"})
	killed := r.kill("jobs", "x")
	m := r.one("jobs", time.Minute)
	rd := r.start(queue.RedriveCall{Queue: "jobs", Rate: 0.001})
	r.ask(r.call("k"), ledger.Granted)
	e := r.endpoint()
	d := r.delivery("evt1")

	two := func(s queue.Settle) queue.Settle { s.Project = 2; return s }
	_, err := r.Queue(r.ctx, 2, "jobs")
	want(r, "queue", errors.Is(err, queue.ErrQueueNotFound), true)
	want(r, "delete", errors.Is(r.DeleteQueue(r.ctx, 2, "jobs", true), queue.ErrQueueNotFound), true)
	out, err := r.Publish(r.ctx, queue.Publish{Project: 2, Queue: "jobs", Body: []byte(`{}`), Key: "k", Hash: make([]byte, 32)})
	r.ok(err)
	want(r, "publish", errors.Is(out[0].Err, queue.ErrQueueNotFound), true)
	want(r, "settle before it has such a queue", r.settle(two(act(queue.Ack, m))).Err != nil, true)

	r.project = 2
	q := r.queue("jobs") // the same name, another queue
	want(r, "its messages", len(r.receive("jobs", 10, time.Minute)), 0)
	for _, id := range []int64{m.ID, killed} {
		s := two(act(queue.Ack, m))
		s.ID = id
		want(r, "settle", errors.Is(r.settle(s).Err, queue.ErrMessageNotFound), true)
		s.Lease = 0
		want(r, "settle by id", errors.Is(r.settle(s).Err, queue.ErrMessageNotFound), true)
	}
	want(r, "dead letters", len(r.dead("jobs")), 0)
	_, err = r.Redrive(r.ctx, 2, rd.ID)
	want(r, "redrive", errors.Is(err, queue.ErrNotFound), true)
	_, err = r.CancelRedrive(r.ctx, 2, rd.ID)
	want(r, "cancel", errors.Is(err, queue.ErrNotFound), true)
	l, err := r.Redrives(r.ctx, 2, queue.Page{Limit: 10})
	r.ok(err)
	want(r, "redrives", len(l), 0)
	want(r, "redrive of its ids", r.start(queue.RedriveCall{Queue: "jobs", IDs: []int64{killed}, DryRun: true}).Moved, 0)
	_, _, err = r.FindClaim(r.ctx, 2, scope, "k")
	want(r, "claim", errors.Is(err, ledger.ErrNotFound), true)
	_, err = r.resolve("k", ledger.Done, 0)
	want(r, "resolve", errors.Is(err, ledger.ErrNotFound), true)
	for what, err := range map[string]error{
		"resend":   second(r.Resend(r.ctx, r.person(d), false)),
		"resolve":  second(r.Resolve(r.ctx, r.person(d), ledger.Done)),
		"cancel":   second(r.Cancel(r.ctx, r.person(d))),
		"endpoint": second(r.Endpoint(r.ctx, 2, e.ID)),
		"deletion": r.DeleteEndpoint(r.ctx, 2, e.ID),
	} {
		want(r, what, errors.Is(err, webhook.ErrNotFound), true)
	}
	ds, _, err := r.Deliveries(r.ctx, webhook.Filter{Project: 2, Page: queue.Page{Limit: 10}})
	r.ok(err)
	want(r, "deliveries", len(ds), 0)
	es, _, err := r.Events(r.ctx, webhook.Filter{Project: 2, Page: queue.Page{Limit: 10}})
	r.ok(err)
	want(r, "events", len(es), 0)
	want(r, "named endpoint", fault.CodeOf(r.trySend(r.event("evt2", func(n *webhook.NewEvent) { n.Endpoints = []int64{e.ID} }))[0].Err), fault.InvalidArgument)
	s, err := r.QueueStats(r.ctx, 2, "jobs")
	r.ok(err)
	want(r, "messages", s.Messages+s.Dead, 0)
	want(r, "its own name", q.Name, "jobs")

	r.project = 1
	r.applied(act(queue.Ack, m))
	want(r, "dead letters", len(r.dead("jobs")), 1)
	want(r, "delivery", r.dlv(d).State, webhook.Pending)
}

func second[T any](_ T, err error) error { return err }

func ping(r *rig) {
	r.ok(r.Ping(r.ctx))
	r.reopen()
	r.ok(r.Ping(r.ctx))
}

func closed(r *rig) {
	r.queue("jobs")
	r.ok(r.Store.Close())
	_, err := r.Publish(r.ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`)})
	want(r, "publish", fault.CodeOf(err), fault.Unavailable)
	_, err = r.Receive(r.ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 1})
	want(r, "receive", fault.CodeOf(err), fault.Unavailable)
	want(r, "ping", fault.CodeOf(r.Ping(r.ctx)), fault.Unavailable)
	ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
	defer cancel()
	r.WaitMessages(ctx, queue.Receive{Project: 1, Queue: "jobs"}) // returns
	r.Store = r.in.Reopen(r.T)
}

func cancelled(r *rig) {
	r.queue("jobs")
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if out, err := r.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`)}); err == nil && out[0].Err == nil {
		r.Error("a publish whose context is over was answered")
	}
	_, err := r.CreateQueue(ctx, queue.Spec{Project: 1, Name: "other"})
	want(r, "create", err != nil, true)
	r.none("jobs")
}
