package storetest

import (
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

func linkFifo(r *rig) {
	r.queue("jobs", fifo)
	first := r.publish(queue.Publish{Queue: "jobs", Group: "g"}, queue.Publish{Queue: "jobs", Group: "g"})[0]
	m, a := r.work("k")
	want(r, "the head", m.ID, first)
	r.begin(a, time.Minute)
	r.none("jobs")
	w := settling(a, ledger.Definite)
	w.RetryIn = time.Hour
	r.say(w, ledger.Retry)
	r.none("jobs") // it holds its group
	r.age("messages", "vis", "true", time.Hour)
	r.age("groups", "next_at", "next_at IS NOT NULL", time.Hour)
	r.age("claims", "next_at", "next_at IS NOT NULL", time.Hour)
	m, a = r.work("k")
	want(r, "the head again", m.ID, first)
	r.applied(act(queue.Extend, m)) // a time-out now
	want(r, "the heartbeat", r.begin(a, time.Minute).Applied, true)
	r.none("jobs")
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	_, a = r.work("l")
	r.say(settling(a, ledger.Permanent), ledger.Failed)
	want(r, "dead", len(r.dead("jobs")), 1)
}

func linkCrash(r *rig) {
	r.queue("jobs")
	restart := func() { // and its workers are gone for longer than their leases
		r.reopen()
		r.age("messages", "vis", "leased", time.Hour)
		r.age("claims", "lease_until", "lease_until IS NOT NULL", time.Hour)
		r.reap()
		r.sweep()
	}
	for key, c := range map[string]struct {
		policy func(*ledger.Call)
		begin  bool
	}{"claimed": {once, false}, "idempotent": {func(*ledger.Call) {}, true}} {
		r.publish(queue.Publish{Queue: "jobs"})
		m, a := r.work(key, c.policy)
		if c.begin {
			r.begin(a, time.Minute)
		}
		restart()
		again, b := r.work(key)
		want(r, key+": the same message", again.ID, m.ID)
		want(r, key+": the same work", b.Claim.OpID(), a.Claim.OpID())
		want(r, key+": fence", b.Claim.Fence, 2)
		want(r, key+": may have happened", b.Claim.Ambiguous, c.begin)
		r.unsaid(settling(a, ledger.Permanent), ledger.Fenced)
		r.begin(b, time.Minute)
		r.say(settling(b, ledger.Succeeded), ledger.Done)
		restart()
		r.none("jobs")
	}

	r.publish(queue.Publish{Queue: "jobs"})
	_, a := r.work("begun", once)
	r.begin(a, time.Minute)
	restart()
	want(r, "begun", r.find("begun").State, ledger.Stuck)
	want(r, "dead", len(r.dead("jobs")), 1)
	r.say(settling(a, ledger.Succeeded), ledger.Done) // it was not dead
	want(r, "dead", len(r.dead("jobs")), 0)

	r.publish(queue.Publish{Queue: "jobs"})
	_, a = r.work("done, and not acked")
	r.say(word(a, ledger.Succeeded), ledger.Done)
	restart()
	m := r.soon("jobs", time.Minute)
	r.ask(r.carried("done, and not acked", m), ledger.WasDone)
	r.applied(act(queue.Ack, m))
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}
