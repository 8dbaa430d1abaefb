package storetest

import (
	"errors"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// linkTests are about which message may carry which key, and what becomes of a key that several messages name.
var linkTests = []named{
	{"I2, H-L20: who lost the message is granted nothing and makes no key; who has it is", linkLost},
	{"a receipt that ended carries no key", linkEnded},
	{"a time-out alone does not end a receipt: it carries a key still", linkTimedOut},
	{"I13: a message of another project carries no key", linkForeign},
	{"a message that is not there carries no key", linkNoMessage},
	{"a dead letter carries no key", linkDead},
	{"a message carries one key", linkOneKey},
	{"of one batch each call has its own message, and its own refusal", linkBatch},
	{"two workers with one message and one key: one is granted", linkTwoWorkers},
	{"what has ended is told to who lost the message too", linkLostTold},
	{"I5, H-L21: a message's death leaves a key that another message carries by now", linkDeathOfFormer},
	{"H-L08, I12: what is dead-lettered for its failed key opens that by its own redrive", linkFailed},
	{"I12: of two dead letters of one key each may be redriven, and the work is done once", linkBothRedriven},
	{"a person's word on a stuck key brings back its dead letter, whoever asks meanwhile", linkAskedMeanwhile},
	{"I8: a key is as old as the message that carries it, and runs again only by a redrive", linkTooOld},
	{"a message of a fifo group holds its group until its key's word", linkFifo},
	{"I1, I10: killed at each point between claim and ack, another goes on", linkCrash},
	{"a worker that asks again for its lost answer keeps its message", linkRepeated},
}

// carried makes a call whose key a message carries.
func (r *rig) carried(key string, m queue.Message, with ...func(*ledger.Call)) ledger.Call {
	c := r.call(key, with...)
	c.MessageID, c.Lease = m.ID, m.Lease
	return c
}

// lost sees that a call is told that its message is another's, and that it made and changed nothing.
func (r *rig) lost(c ledger.Call) {
	r.Helper()
	before := r.text("SELECT * FROM claims ORDER BY id")
	a := r.ask(c, ledger.Busy)
	want(r, "lost", a.Lost, true)
	want(r, "a fence for who lost", a.Claim.Fence > 0 && a.Claim.Owner == c.Owner && a.Claim.GrantID == c.GrantID, false)
	r.same("claims", before, r.text("SELECT * FROM claims ORDER BY id"))
}

// barred sees that a call is refused, and that it made and changed nothing.
func (r *rig) barred(c ledger.Call, wanted error) {
	r.Helper()
	before := r.text("SELECT * FROM claims ORDER BY id")
	a := r.claimAll(c)[0]
	if !errors.Is(a.Err, wanted) || a.Verdict != "" {
		r.Errorf("verdict %q, error %v; want %v", a.Verdict, a.Err, wanted)
	}
	r.same("claims", before, r.text("SELECT * FROM claims ORDER BY id"))
}

func (r *rig) same(what string, before, after []string) {
	r.Helper()
	if len(before) != len(after) {
		r.Fatalf("%s: %d rows, then %d", what, len(before), len(after))
	}
	for i := range before {
		want(r, what, after[i], before[i])
	}
}

// twice publishes two messages and receives them, the older first.
func (r *rig) twice() (a, b queue.Message) {
	r.Helper()
	r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
	l := r.receive("jobs", 2, time.Minute)
	want(r, "received", len(l), 2)
	return l[0], l[1]
}

func linkLost(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	old := r.one("jobs", time.Minute)
	r.applied(act(queue.Extend, old)) // a time-out now
	young := r.soon("jobs", time.Minute)
	r.lost(r.carried("k", old))
	a := r.ask(r.carried("k", young), ledger.Granted)
	want(r, "fence", a.Claim.Fence, 1)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func linkEnded(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	for _, verb := range []queue.Verb{queue.Release, queue.Nack} {
		m := r.soon("jobs", time.Minute)
		s := act(verb, m)
		s.HasDelay = true
		r.applied(s)
		r.lost(r.carried("k", m))
	}
	m := r.soon("jobs", time.Minute)
	s := act(queue.Nack, m)
	s.DeadLetter = true
	r.applied(s)
	r.lost(r.carried("k", m))
	m = r.one("jobs-dlq", time.Minute)
	r.applied(act(queue.Ack, m))
	r.barred(r.carried("k", m), queue.ErrMessageNotFound)
}

func linkTimedOut(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs", Group: "g"})[0]
	m := r.one("jobs", time.Minute)
	r.applied(act(queue.Extend, m)) // a time-out now
	r.sweep()
	a := r.ask(r.carried("k", m), ledger.Granted)
	want(r, "claim", r.row("jobs", id).ClaimID, a.Claim.ID)
	want(r, "message", r.find("k").MessageID, id)
	want(r, "the message's lease", r.find("k").Lease, m.Lease)
	want(r, "its lease goes on with the key's", r.begin(a, time.Minute).Applied, true)
	want(r, "status", r.status("jobs", id), queue.InFlight)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func linkForeign(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", time.Minute)
	r.project = 2
	r.barred(r.carried("k", m), queue.ErrMessageNotFound)
	r.say(word(r.ask(r.call("k"), ledger.Granted), ledger.Permanent), ledger.Failed)
	r.project = 1
	want(r, "status", r.status("jobs", m.ID), queue.InFlight)
	want(r, "dead", len(r.dead("jobs")), 0)
	r.applied(act(queue.Ack, m))
}

func linkNoMessage(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", time.Minute)
	m.ID += 1000
	r.barred(r.carried("k", m), queue.ErrMessageNotFound)
	m.ID -= 1000
	m.Lease++ // never given
	r.lost(r.carried("k", m))
}

func linkDead(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	r.kill("jobs", "no")
	m := r.one("jobs-dlq", time.Minute)
	r.barred(r.carried("k", m), ledger.ErrConflict)
	r.applied(act(queue.Release, m))

	r.publish(queue.Publish{Queue: "jobs-dlq"}) // has no source: the queue is as any other to it
	straight := r.receive("jobs-dlq", 2, time.Minute)
	for _, m := range straight {
		if m.DeadAt.IsZero() {
			r.say(settling(r.ask(r.carried("straight", m), ledger.Granted), ledger.Succeeded), ledger.Done)
		}
	}
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 1)
}

func linkOneKey(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("k")
	r.barred(r.carried("l", m), ledger.ErrConflict)
	r.say(word(a, ledger.Definite), ledger.Retry)
	r.barred(r.carried("l", m), ledger.ErrConflict)
	a = r.ask(r.carried("k", m), ledger.Granted)
	r.ask(r.call("l"), ledger.Granted) // without the message it may
	r.say(settling(a, ledger.Succeeded), ledger.Done)
}

func linkBatch(r *rig) {
	r.queue("jobs")
	m, other := r.twice()
	gone := other
	gone.ID += 1000
	late := other
	late.Lease--
	out := r.claimAll(r.carried("lost first", late), r.carried("k", m), r.carried("l", m), r.carried("gone", gone), r.carried("lost first", other), r.call("bare"))
	want(r, "lost", out[0].Lost, true)
	want(r, "k", out[1].Verdict, ledger.Granted)
	want(r, "a second key", errors.Is(out[2].Err, ledger.ErrConflict), true)
	want(r, "gone", errors.Is(out[3].Err, queue.ErrMessageNotFound), true)
	want(r, "who has it", out[4].Verdict, ledger.Granted)
	want(r, "bare", out[5].Verdict, ledger.Granted)
	want(r, "claims", r.count("SELECT count(*) FROM claims"), 3)
	want(r, "claims that nobody has", r.count("SELECT count(*) FROM claims WHERE state = 'new'"), 0)
	for _, i := range []int{1, 4} {
		r.say(settling(out[i], ledger.Succeeded), ledger.Done)
	}
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func linkTwoWorkers(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	old := r.one("jobs", time.Minute)
	first := r.ask(r.carried("k", old, lease(20*time.Millisecond)), ledger.Granted)
	r.applied(act(queue.Extend, old)) // a time-out now
	young := r.soon("jobs", time.Minute)
	r.past(first.Claim.LeaseUntil)
	r.lost(r.carried("k", old))
	second := r.ask(r.carried("k", young), ledger.Granted)
	want(r, "fence", second.Claim.Fence, 2)
	r.ask(r.carried("k", young), ledger.Busy)
	for _, k := range []ledger.Kind{ledger.Succeeded, ledger.Permanent, ledger.Definite} { // the frozen one wakes
		r.unsaid(settling(first, k), ledger.Fenced)
	}
	want(r, "its heartbeat", r.begin(first, time.Hour).Reason, ledger.Fenced)
	if left := r.row("jobs", young.ID).VisibleAt.Sub(r.now()); left > time.Minute {
		r.Errorf("the late heartbeat took the message for %v", left)
	}
	want(r, "status", r.status("jobs", young.ID), queue.InFlight)
	r.say(settling(second, ledger.Succeeded), ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
	r.unsaid(settling(first, ledger.Permanent), ledger.Fenced)
	r.barred(r.carried("k", old), queue.ErrMessageNotFound)
}

func linkLostTold(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	old := r.one("jobs", time.Minute)
	r.applied(act(queue.Extend, old))
	r.soon("jobs", time.Minute)
	r.say(word(r.ask(r.call("done"), ledger.Granted), ledger.Succeeded), ledger.Done)
	r.say(word(r.ask(r.call("failed"), ledger.Granted), ledger.Permanent), ledger.Failed)
	r.ask(r.carried("done", old), ledger.WasDone)
	r.ask(r.carried("failed", old), ledger.WasFailed)
	want(r, "messages that carry a key", r.count("SELECT count(*) FROM messages WHERE claim_id IS NOT NULL"), 0)
	want(r, "keys that a message carries", r.count("SELECT count(*) FROM claims WHERE message_id IS NOT NULL"), 0)
}

func linkDeathOfFormer(r *rig) {
	r.queue("jobs", maxReceives(1))
	m, other := r.twice()
	a := r.ask(r.carried("k", m, once), ledger.Granted)
	r.say(word(a, ledger.Definite), ledger.Retry)
	a = r.ask(r.carried("k", other), ledger.Granted) // the same work, published twice
	want(r, "status", r.applied(act(queue.Nack, m)).Status, queue.Dead)
	want(r, "state", r.find("k").State, ledger.Claimed)
	r.begin(a, time.Minute)
	want(r, "status", r.status("jobs", other.ID), queue.InFlight)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "left", r.redrive(queue.RedriveCall{Queue: "jobs"}).Left, 1) // its key is done: there is nothing to run
	r.purgeAll("jobs-dlq")
	want(r, "done", r.find("k").State, ledger.Done)
}

func linkFailed(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	r.say(word(r.ask(r.call("k"), ledger.Granted), ledger.Permanent), ledger.Failed)
	m := r.one("jobs", time.Minute)
	r.ask(r.carried("k", m), ledger.WasFailed)
	want(r, "state", r.find("k").State, ledger.Failed)
	s := act(queue.Nack, m)
	s.DeadLetter, s.Error = true, "failed before"
	r.applied(s)
	want(r, "moved", r.redrive(queue.RedriveCall{Queue: "jobs"}).Moved, 1)
	_, a := r.work("k")
	want(r, "tries", a.Claim.Tries, 1)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func linkAskedMeanwhile(r *rig) {
	r.queue("jobs")
	m, other := r.twice()
	a := r.ask(r.carried("k", m, once), ledger.Granted)
	r.begin(a, time.Minute)
	r.say(settling(a, ledger.Ambiguous), ledger.Stuck)
	r.ask(r.carried("k", other), ledger.WasStuck)
	_, err := r.resolve("k", ledger.Retry, 0)
	r.ok(err)
	s := act(queue.Nack, other) // by what it heard before
	s.DeadLetter, s.Error = true, "stuck"
	want(r, "status", r.applied(s).Status, queue.Dead)
	want(r, "the key", r.find("k").State, ledger.Retry)
	again, a := r.work("k")
	want(r, "the message", again.ID, m.ID)
	r.begin(a, time.Minute)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "left", r.redrive(queue.RedriveCall{Queue: "jobs"}).Left, 1) // its copy: there is nothing to run
}

func linkBothRedriven(r *rig) {
	r.queue("jobs")
	m, other := r.twice()
	r.say(settling(r.ask(r.carried("k", m), ledger.Granted), ledger.Permanent), ledger.Failed)
	r.ask(r.carried("k", other), ledger.WasFailed)
	s := act(queue.Nack, other)
	s.DeadLetter = true
	r.applied(s)
	for _, id := range []int64{m.ID, other.ID} {
		want(r, "moved", r.redrive(queue.RedriveCall{Queue: "jobs", IDs: []int64{id}}).Moved, 1)
	}
	l := r.receive("jobs", 2, time.Minute)
	want(r, "received", len(l), 2)
	a := r.ask(r.carried("k", l[1]), ledger.Granted)
	r.ask(r.carried("k", l[0]), ledger.Busy)
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	r.ask(r.carried("k", l[0]), ledger.WasDone)
	r.applied(act(queue.Ack, l[0]))
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func linkTooOld(r *rig) {
	r.queue("jobs")
	origin := r.now().Add(-ledger.Memory - time.Hour).Truncate(time.Microsecond)
	r.publish(queue.Publish{Queue: "jobs", OriginAt: origin})
	m := r.one("jobs", time.Minute)
	a := r.ask(r.carried("k", m), ledger.TooOld)
	want(r, "origin", a.Claim.OriginAt.Equal(origin), true)
	want(r, "state", a.Claim.State, ledger.Failed)
	s := act(queue.Nack, m)
	s.DeadLetter, s.Error = true, "too_old"
	r.applied(s)
	want(r, "moved", r.redrive(queue.RedriveCall{Queue: "jobs"}).Moved, 1)
	r.reap()
	want(r, "a person said so", r.find("k").State, ledger.Retry)
	_, a = r.work("k")
	r.say(settling(a, ledger.Succeeded), ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)

	c := r.call("young")
	c.OriginAt = r.now().Add(-time.Hour).Truncate(time.Microsecond)
	r.publish(queue.Publish{Queue: "jobs", OriginAt: origin})
	c.MessageID, c.Lease = r.receive("jobs", 1, time.Minute)[0].ID, 1
	want(r, "what the call says counts", r.ask(c, ledger.Granted).Claim.OriginAt.Equal(c.OriginAt), true)
}

func linkRepeated(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", time.Minute)
	c := r.carried("k", m)
	first := r.ask(c, ledger.Granted)
	r.applied(act(queue.Extend, m))
	r.soon("jobs", time.Minute) // another has the message, and finds the key busy
	again := r.ask(c, ledger.Granted)
	want(r, "fence", again.Claim.Fence, first.Claim.Fence)
	want(r, "repeated", again.Repeated, true)
	r.say(word(again, ledger.Succeeded), ledger.Done)
}
