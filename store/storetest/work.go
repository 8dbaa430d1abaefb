package storetest

import (
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// workTests are about a worker's key and the message that carries it, which one transaction changes together.
var workTests = []named{
	{"I10: a word settles the message with the key", workSettles},
	{"I2: a word whose lease is lost leaves the message to who has it", workLeaseLost},
	{"I7: a fenced-out word touches no message", workFenced},
	{"a word that settles nothing leaves the message", workNoSettle},
	{"I10: the same success again, now with its message, acks it under its lease", workSettlesAgain},
	{"a heartbeat extends the lease of key and message", workHeartbeat},
	{"I6: a message dead at its last nack closes its open key", workDeadByNack},
	{"I6: a message dead by its last lease closes its open key", workDeadByLapse},
	{"I6: a key that a reaper ends takes its message along", workReaped},
	{"H-L08, I12: a redrive reopens what failed with its message", workRedrive},
	{"I12: a redrive leaves a stuck once with its message, counted", workRedriveStuckOnce},
	{"a person's retry sends the message back, done removes it, failed leaves it", workResolve},
	{"a key reopened by itself brings its message back", workReopen},
	{"I5: a late success removes the dead letter", workLate},
	{"H-L01: while another is at it a message is released until then, uncounted", workBusy},
	{"H-L03: the effect succeeded and the ack failed: the key stays done", workAckFailed},
	{"H-L06: of a batch whose leases run out the rest is given back, or extended", workBatch},
	{"H-L14: a message with other work is dead-lettered with the reason, the key as it was", workMismatch},
}

// work receives a message and claims its key.
func (r *rig) work(key string, with ...func(*ledger.Call)) (queue.Message, ledger.Answer) {
	r.Helper()
	m := r.soon("jobs", time.Minute)
	c := r.call(key, with...)
	c.MessageID, c.Lease = m.ID, m.Lease
	return m, r.ask(c, ledger.Granted)
}

// settling makes a word that settles its message too.
func settling(a ledger.Answer, k ledger.Kind) ledger.Word {
	w := word(a, k)
	w.Settle = true
	return w
}

func workSettles(r *rig) {
	r.queue("jobs", maxReceives(1))
	id := r.publish(queue.Publish{Queue: "jobs", Group: "g"})[0]
	m, a := r.work("k")
	w := settling(a, ledger.Definite)
	w.RetryIn, w.Error = time.Hour, "503"
	r.say(w, ledger.Retry)
	want(r, "count given back", r.row("jobs", id).Receives, 0)
	r.none("jobs")
	r.refused(act(queue.Ack, m), queue.LeaseLost)
	r.age("messages", "vis", "true", time.Hour)
	r.age("groups", "next_at", "next_at IS NOT NULL", time.Hour)
	r.age("claims", "next_at", "next_at IS NOT NULL", time.Hour)
	_, a = r.work("k")
	want(r, "fence", a.Claim.Fence, 2)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)

	id = r.publish(queue.Publish{Queue: "jobs"})[0]
	_, a = r.work("l")
	w = settling(a, ledger.Permanent)
	w.Error = "no such customer"
	r.say(w, ledger.Failed)
	l := r.dead("jobs")
	want(r, "dead", len(l), 1)
	want(r, "id", l[0].ID, id)
	want(r, "why", l[0].LastError, "no such customer")
}

func workLeaseLost(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("k")
	r.applied(act(queue.Extend, m)) // a time-out now
	other := r.soon("jobs", time.Minute)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "lease", r.row("jobs", m.ID).Lease, other.Lease)
	want(r, "status", r.status("jobs", m.ID), queue.InFlight)
	r.applied(act(queue.Ack, other))
}

func workFenced(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m, old := r.work("k", lease(20*time.Millisecond))
	r.past(old.Claim.LeaseUntil)
	r.ask(r.call("k"), ledger.Granted)
	for _, k := range []ledger.Kind{ledger.Succeeded, ledger.Permanent, ledger.Definite} {
		r.unsaid(settling(old, k), ledger.Fenced)
	}
	want(r, "status", r.status("jobs", m.ID), queue.InFlight)
	r.applied(act(queue.Release, m))
}

func workNoSettle(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("k")
	r.say(word(a, ledger.Succeeded), ledger.Done)
	want(r, "status", r.status("jobs", m.ID), queue.InFlight)
	r.applied(act(queue.Ack, m))
}

func workSettlesAgain(r *rig) {
	r.queue("jobs", maxReceives(1))
	r.publish(queue.Publish{Queue: "jobs"})
	_, a := r.work("k")
	for range 2 {
		r.say(word(a, ledger.Succeeded), ledger.Done)
		want(r, "messages", r.count("SELECT count(*) FROM messages"), 1)
	}
	for range 2 {
		r.say(settling(a, ledger.Succeeded), ledger.Done)
		want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
	}

	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("lost")
	r.say(word(a, ledger.Succeeded), ledger.Done)
	r.applied(act(queue.Release, m))
	other := r.soon("jobs", time.Minute)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "lease", r.row("jobs", m.ID).Lease, other.Lease)
	want(r, "status", r.applied(act(queue.Nack, other)).Status, queue.Dead)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "dead", len(r.dead("jobs")), 1)
	r.purgeAll("jobs-dlq")
}

func workHeartbeat(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("k", once)
	want(r, "applied", r.begin(a, time.Hour).Applied, true)
	if d := r.row("jobs", m.ID).VisibleAt.Sub(r.now()); d < 50*time.Minute {
		r.Errorf("the message is leased for %v, want an hour", d)
	}
	r.say(settling(a, ledger.Succeeded), ledger.Done)
}

func workDeadByNack(r *rig) {
	r.queue("jobs", maxReceives(1))
	for key, c := range map[string]struct {
		policy func(*ledger.Call)
		left   ledger.State
	}{"never begun": {once, ledger.Failed}, "may have happened": {func(*ledger.Call) {}, ledger.Stuck}} {
		r.publish(queue.Publish{Queue: "jobs"})
		m, _ := r.work(key, c.policy)
		want(r, "status", r.applied(act(queue.Nack, m)).Status, queue.Dead)
		want(r, key, r.find(key).State, c.left)
	}
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("done")
	r.say(word(a, ledger.Succeeded), ledger.Done)
	want(r, "status", r.applied(act(queue.Nack, m)).Status, queue.Dead)
	want(r, "done", r.find("done").State, ledger.Done)
	r.purgeAll("jobs-dlq")
}

func workDeadByLapse(r *rig) {
	r.queue("jobs", maxReceives(1))
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("k", once)
	r.say(word(a, ledger.Definite), ledger.Retry)
	r.applied(act(queue.Extend, m)) // a time-out now
	r.eventually("dead", func() bool { r.sweep(); return len(r.dead("jobs")) == 1 })
	want(r, "state", r.find("k").State, ledger.Failed)
}

func workReaped(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("k", once)
	r.begin(a, 30*time.Millisecond) // the message's lease with it
	r.past(r.row("jobs", m.ID).VisibleAt)
	r.reap()
	want(r, "state", r.find("k").State, ledger.Stuck)
	r.sweep()
	want(r, "dead", len(r.dead("jobs")), 1)
}

func workRedrive(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs", Group: "g"})[0]
	_, a := r.work("k")
	r.say(settling(a, ledger.Permanent), ledger.Failed)
	want(r, "moved", r.redrive(queue.RedriveCall{Queue: "jobs"}).Moved, 1)
	c := r.find("k")
	want(r, "state", c.State, ledger.Retry)
	want(r, "tries", c.Tries, 0)
	m, a := r.work("k")
	want(r, "id", m.ID, id)
	want(r, "fence", a.Claim.Fence, 2)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func workRedriveStuckOnce(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
	_, a := r.work("o", once)
	r.begin(a, time.Minute)
	r.say(settling(a, ledger.Ambiguous), ledger.Stuck)
	_, a = r.work("i", maxTries(1))
	r.say(settling(a, ledger.Ambiguous), ledger.Stuck)
	rd := r.redrive(queue.RedriveCall{Queue: "jobs"})
	want(r, "moved", rd.Moved, 1)
	want(r, "left", rd.Left, 1)
	want(r, "the once", r.find("o").State, ledger.Stuck)
	want(r, "the idempotent", r.find("i").State, ledger.Retry)
	want(r, "dead", len(r.dead("jobs")), 1)
}

func workResolve(r *rig) {
	r.queue("jobs")
	for _, as := range []ledger.State{ledger.Retry, ledger.Done, ledger.Failed} {
		key := string(as)
		id := r.publish(queue.Publish{Queue: "jobs"})[0]
		_, a := r.work(key, once)
		r.begin(a, time.Minute)
		r.say(settling(a, ledger.Ambiguous), ledger.Stuck)
		want(r, "dead", len(r.dead("jobs")), 1)
		out, err := r.ResolveClaim(r.ctx, ledger.Resolution{Project: 1, Scope: scope, Key: key, As: as, Who: "a person"})
		r.ok(err)
		want(r, "requeued as "+key, out.Requeued, as == ledger.Retry)
		switch as {
		case ledger.Retry:
			m, a := r.work(key)
			want(r, "id", m.ID, id)
			r.begin(a, time.Minute)
			r.say(settling(a, ledger.Succeeded), ledger.Done)
		case ledger.Done:
			want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
		case ledger.Failed:
			want(r, "dead", len(r.dead("jobs")), 1)
			want(r, "moved by a redrive", r.redrive(queue.RedriveCall{Queue: "jobs"}).Moved, 1)
		}
	}
}

func workReopen(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	_, a := r.work("k")
	r.say(settling(a, ledger.Permanent), ledger.Failed)
	_, err := r.ReopenClaim(r.ctx, 1, scope, "k", "a person")
	r.ok(err)
	m, a := r.work("k")
	want(r, "id", m.ID, id)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
}

func workLate(r *rig) {
	r.queue("jobs", maxReceives(1))
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("k")
	r.applied(act(queue.Extend, m)) // a time-out now
	r.eventually("dead", func() bool { r.sweep(); return len(r.dead("jobs")) == 1 })
	want(r, "state", r.find("k").State, ledger.Stuck)
	r.say(word(a, ledger.Succeeded), ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func workBusy(r *rig) {
	r.queue("jobs", maxReceives(1))
	id := r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})[1]
	_, a := r.work("k")
	m := r.one("jobs", time.Minute) // the same work, published twice
	busy := r.ask(r.call("k"), ledger.Busy)
	s := act(queue.Release, m)
	s.Delay = busy.Wait
	r.applied(s)
	want(r, "count", r.row("jobs", id).Receives, 0)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	r.age("messages", "vis", "id = "+itoa(id), 2*time.Minute)
	m = r.one("jobs", time.Minute)
	r.ask(r.call("k"), ledger.WasDone)
	r.applied(act(queue.Ack, m))
}

func workAckFailed(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("k")
	r.say(word(a, ledger.Succeeded), ledger.Done)
	r.applied(act(queue.Extend, m)) // its lease is over before the ack
	again := r.soon("jobs", time.Minute)
	r.refused(act(queue.Ack, m), queue.LeaseLost)
	r.ask(r.call("k"), ledger.WasDone)
	r.applied(act(queue.Ack, again))
	want(r, "state", r.find("k").State, ledger.Done)
}

func workBatch(r *rig) {
	r.queue("jobs")
	r.publish(bodies("jobs", 10)...)
	l := r.receive("jobs", 10, 200*time.Millisecond)
	var acts []queue.Settle
	for i, m := range l {
		s := act([]queue.Verb{queue.Ack, queue.Extend, queue.Release}[min(2, i/4)], m)
		s.Visibility = time.Minute
		acts = append(acts, s)
	}
	r.past(l[9].VisibleAt)
	for _, out := range r.settleAll(acts...) {
		want(r, "applied", out.Applied, true)
	}
	again := r.receive("jobs", 10, time.Minute)
	want(r, "given back", len(again), 2)
	for _, m := range again {
		want(r, "count", m.Receives, 1)
	}
}

func workMismatch(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
	_, a := r.work("k", work(1))
	m := r.one("jobs", time.Minute) // the corrected amount
	c := r.call("k", work(2))
	c.MessageID, c.Lease = m.ID, m.Lease
	r.ask(c, ledger.Mismatch)
	s := act(queue.Nack, m)
	s.DeadLetter, s.Error = true, "mismatch: work 01 was claimed, this is 02"
	want(r, "status", r.applied(s).Status, queue.Dead)
	want(r, "why", r.dead("jobs")[0].LastError, s.Error)
	want(r, "the key", r.find("k").State, ledger.Started)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	l := r.dead("jobs")
	want(r, "dead", len(l), 1)
	want(r, "the dead one", l[0].ID, m.ID)
}
