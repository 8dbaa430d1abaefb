package storetest

import (
	"slices"
	"time"

	"github.com/onceward/onceward/queue"
)

var deadLetterTests = []named{
	{"I3: nacked for the last time it is dead-lettered", deadByNack},
	{"I3, H-Q03: its last lease over it is dead-lettered by a sweep, never received again", deadByLapse},
	{"I3: in its last try it counts as in flight until it is dead-lettered", lastTryInFlight},
	{"nack without requeue dead-letters now, with its error", deadNow},
	{"a dead letter is listed by its source and consumed by its DLQ's name", deadListed},
	{"a DLQ counts nothing and forgets nothing", dlqCountsNothing},
	{"a message published straight into a DLQ is never dead-lettered", dlqStraight},
	{"lease numbers survive death and redrive", deadLeaseNumbers},
	{"a dead letter frees its group", deadFreesGroup},
	{"a dead letter shows the group that it came from", deadKeepsGroup},
	{"a shared DLQ keeps each dead letter's source", dlqShared},
	{"I2: a receipt of before the death changes nothing", deadReceipt},
	{"I2: extend in the last try keeps a message from death", extendLastTry},
	{"many last tries over at once are all swept, in bounded steps", manyDead},
}

// kill dead-letters one message of a queue by its nack.
func (r *rig) kill(name, why string) int64 {
	r.Helper()
	s := act(queue.Nack, r.soon(name, time.Minute))
	s.DeadLetter, s.Error = true, why
	want(r, "status", r.applied(s).Status, queue.Dead)
	return s.ID
}

// dead lists a source's dead letters.
func (r *rig) dead(source string) []queue.Message {
	r.Helper()
	l, _, err := r.DeadLetters(r.ctx, r.project, source, queue.Page{Limit: 500})
	r.ok(err)
	return l
}

func deadByNack(r *rig) {
	r.queue("jobs", maxReceives(2))
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	s := act(queue.Nack, r.one("jobs", time.Minute))
	s.HasDelay, s.Error = true, "first"
	want(r, "status", r.applied(s).Status, queue.Available)
	s = act(queue.Nack, r.one("jobs", time.Minute))
	s.HasDelay, s.Error = true, "second"
	want(r, "status", r.applied(s).Status, queue.Dead)
	r.none("jobs")
	m := r.dead("jobs")
	if len(m) != 1 {
		r.Fatalf("%d dead letters, want 1", len(m))
	}
	want(r, "id", m[0].ID, id)
	want(r, "count", m[0].Receives, 2)
	want(r, "error", m[0].LastError, "second")
}

func deadByLapse(r *rig) {
	r.queue("jobs", maxReceives(2))
	for _, g := range []string{"", "g"} {
		id := r.publish(queue.Publish{Queue: "jobs", Group: g})[0]
		r.past(r.one("jobs", 30*time.Millisecond).VisibleAt)
		m := r.soon("jobs", 30*time.Millisecond)
		want(r, "count", m.Receives, 2)
		r.past(m.VisibleAt)
		r.none("jobs")
		r.sweep()
		r.none("jobs")
		l := r.dead("jobs")
		if len(l) == 0 {
			r.Fatal("it was not dead-lettered")
		}
		want(r, "newest dead letter", l[len(l)-1].ID, id)
		want(r, "why", l[len(l)-1].LastError, "received 2 times without an ack")
	}
}

func deadKeepsGroup(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs", Group: "g"})
	r.kill("jobs", "why")
	want(r, "group in the list", r.dead("jobs")[0].Group, "g")
	m := r.one("jobs-dlq", time.Minute)
	want(r, "group when consumed", m.Group, "g")
	r.applied(act(queue.Release, m))
	r.publish(queue.Publish{Queue: "jobs-dlq", Group: "other"}) // a DLQ with groups of its own hands out by turns
	for range 2 {
		if m := r.one("jobs-dlq", time.Minute); m.Source == "jobs" {
			want(r, "group among groups", m.Group, "g")
		} else {
			want(r, "group of the other", m.Group, "other")
		}
	}
}

func lastTryInFlight(r *rig) {
	r.queue("jobs", maxReceives(1))
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	r.past(r.one("jobs", 30*time.Millisecond).VisibleAt)
	want(r, "status", r.status("jobs", id), queue.InFlight)
	r.eventually("the stats say so", func() bool {
		s, err := r.QueueStats(r.ctx, 1, "jobs")
		r.ok(err)
		return s.InFlight == 1 && s.Messages == 1 && s.Available == 0
	})
}

func deadNow(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs", Headers: map[string]string{"a": "b"}, Body: []byte(`[7]`), Group: "g"})[0]
	want(r, "id", r.kill("jobs", "no such customer"), id)
	m := r.one("jobs-dlq", time.Minute)
	want(r, "id", m.ID, id)
	want(r, "body", string(m.Body), "[7]")
	want(r, "header", m.Headers["a"], "b")
	want(r, "count", m.Receives, 1)
	want(r, "error", m.LastError, "no such customer")
	want(r, "source", m.Source, "jobs")
	want(r, "queue", m.Queue, "jobs-dlq")
	want(r, "dead at", m.DeadAt.IsZero(), false)
}

func deadListed(r *rig) {
	r.queue("jobs")
	var killed []int64
	for range 7 {
		r.publish(queue.Publish{Queue: "jobs"})
		killed = append(killed, r.kill("jobs", "x"))
	}
	var got []int64
	for after := int64(0); ; {
		l, next, err := r.DeadLetters(r.ctx, 1, "jobs", queue.Page{After: after, Limit: 3})
		r.ok(err)
		got = append(got, ids(l)...)
		if after = next; next == 0 || len(got) > 20 {
			break
		}
	}
	if !slices.Equal(got, killed) {
		r.Errorf("listed %v, want %v", got, killed)
	}
	want(r, "consumed", len(r.receive("jobs-dlq", 10, time.Minute)), 7)
	want(r, "dead letters of the DLQ", len(r.dead("jobs-dlq")), 0)
}

func dlqCountsNothing(r *rig) {
	r.queue("jobs", maxReceives(1))
	r.publish(queue.Publish{Queue: "jobs"})
	id := r.kill("jobs", "why it died")
	before := r.row("jobs-dlq", id)
	for n, v := range []queue.Verb{queue.Nack, queue.Release, queue.Extend, queue.Nack, queue.Extend} {
		m := r.soon("jobs-dlq", 30*time.Millisecond)
		s := act(v, m)
		s.HasDelay, s.Error, s.DeadLetter = true, "another", n == 3
		out := r.applied(s)
		if out.Status == queue.Dead {
			r.Errorf("%s in the DLQ dead-lettered it further", v)
		}
		r.sweep()
	}
	r.past(r.soon("jobs-dlq", 30*time.Millisecond).VisibleAt)
	r.sweep()
	there := r.publish(queue.Publish{Queue: "jobs-dlq", Priority: 9})[0]
	s := act(queue.Nack, r.soon("jobs-dlq", time.Minute))
	s.HasDelay, s.Delay, s.Error = true, time.Hour, "another"
	r.applied(s)
	want(r, "nacked", s.ID, there)
	want(r, "error of what was published there", r.row("jobs-dlq", there).LastError, "")
	after := r.row("jobs-dlq", id)
	want(r, "count", after.Receives, before.Receives)
	want(r, "error", after.LastError, "why it died")
	want(r, "source", after.Source, "jobs")
	want(r, "dead at", after.DeadAt.Equal(before.DeadAt), true)
	r.applied(act(queue.Ack, r.soon("jobs-dlq", time.Minute)))
	want(r, "left", len(r.dead("jobs")), 0)
}

func dlqStraight(r *rig) {
	r.queue("jobs", maxReceives(1))
	id := r.publish(queue.Publish{Queue: "jobs-dlq"})[0]
	for range 5 {
		m := r.soon("jobs-dlq", 30*time.Millisecond)
		want(r, "id", m.ID, id)
		s := act(queue.Nack, m)
		s.HasDelay, s.DeadLetter = true, true
		if out := r.applied(s); out.Status == queue.Dead {
			r.Error("it was dead-lettered")
		}
		r.past(r.soon("jobs-dlq", 20*time.Millisecond).VisibleAt)
		r.sweep()
	}
	m := r.soon("jobs-dlq", time.Minute)
	want(r, "source", m.Source, "")
	want(r, "count", m.Receives, 0)
	want(r, "lease", m.Lease, 11)
}

func deadLeaseNumbers(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	r.kill("jobs", "x")
	m := r.one("jobs-dlq", time.Minute)
	want(r, "lease in the DLQ", m.Lease, 2)
	r.applied(act(queue.Release, m))
	r.redrive(queue.RedriveCall{Queue: "jobs"})
	want(r, "lease back home", r.one("jobs", time.Minute).Lease, 3)
	r.refused(act(queue.Ack, m), queue.LeaseLost)
}

func deadFreesGroup(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs", Group: "g"}, queue.Publish{Queue: "jobs", Group: "g"})
	r.kill("jobs", "x")
	want(r, "in flight", r.count("SELECT coalesce(sum(in_flight), 0) FROM groups"), 0)
	r.one("jobs", time.Minute)
}

func dlqShared(r *rig) {
	r.queue("a", dlq("dead"))
	r.queue("b", dlq("dead"))
	r.publish(queue.Publish{Queue: "a"}, queue.Publish{Queue: "b"}, queue.Publish{Queue: "b"})
	r.kill("a", "x")
	r.kill("b", "x")
	r.kill("b", "x")
	want(r, "dead of a", len(r.dead("a")), 1)
	want(r, "dead of b", len(r.dead("b")), 2)
	sources := map[string]int{}
	for _, m := range r.receive("dead", 10, time.Minute) {
		sources[m.Source]++
	}
	want(r, "of a", sources["a"], 1)
	want(r, "of b", sources["b"], 2)
}

func deadReceipt(r *rig) {
	r.queue("jobs", maxReceives(1))
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", 30*time.Millisecond)
	r.past(m.VisibleAt)
	r.sweep()
	for _, q := range []string{"jobs", "jobs-dlq"} {
		m.Queue = q
		for _, v := range []queue.Verb{queue.Ack, queue.Nack, queue.Release, queue.Extend} {
			if out := r.settle(act(v, m)); out.Applied {
				r.Errorf("%s in %s applied to a dead letter by the receipt of before its death", v, q)
			}
		}
	}
	want(r, "dead", len(r.dead("jobs")), 1)
}

func extendLastTry(r *rig) {
	r.queue("jobs", maxReceives(1))
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", 40*time.Millisecond)
	r.past(m.VisibleAt)
	s := act(queue.Extend, m)
	s.Visibility = time.Minute
	r.applied(s)
	r.sweep()
	want(r, "dead", len(r.dead("jobs")), 0)
	r.applied(act(queue.Ack, m))
}

func manyDead(r *rig) {
	r.queue("jobs", maxReceives(1))
	b := bodies("jobs", 230)
	for i := range b {
		b[i].Group = []string{"", "a", "b"}[i%3]
	}
	r.publish(b...)
	n := 0
	r.eventually("all are in flight", func() bool { n += len(r.receive("jobs", 100, time.Minute)); return n == 230 })
	r.age("messages", "vis", "true", 2*time.Minute)
	first, err := r.Sweep(r.ctx, 50)
	r.ok(err)
	if got := r.count("SELECT count(*) FROM messages WHERE dead_at IS NOT NULL"); got == 0 || got > 100 {
		r.Errorf("a sweep of 50 (it says %d) dead-lettered %d", first, got)
	}
	r.sweep()
	want(r, "dead", len(r.dead("jobs")), 230)
}
