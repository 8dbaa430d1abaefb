package storetest

import (
	"time"

	"github.com/onceward/onceward/queue"
)

var retentionTests = []named{
	{"a message past its retention is swept with its body", expires},
	{"retention counts from when it is first due", expiryFromDue},
	{"a message in flight outlives its retention until its lease ends", expiryInFlight},
	{"in a DLQ retention counts from the death", expiryDead},
	{"a redrive restarts retention", expiryRedriven},
	{"what is not due to go stays", sweepLeaves},
	{"empty groups are swept", groupsSwept},
	{"stats count each state, and the dead apart", statsCount},
	{"stats tell the age of the oldest", statsAge},
	{"stats of a shared DLQ count by source", statsShared},
	{"I16, H-Q15: after a storm everything comes to rest", storm},
}

func expires(r *rig) {
	r.queue("jobs")
	ids := r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs", Group: "g"}, queue.Publish{Queue: "jobs", Delay: time.Hour})
	r.age("messages", "expires_at", "id IN ("+itoa(ids[0])+", "+itoa(ids[1])+")", 31*24*time.Hour)
	r.sweep()
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 1)
	want(r, "left", r.row("jobs", ids[2]).ID, ids[2])
}

func expiryFromDue(r *rig) {
	day := 24 * time.Hour
	r.queue("jobs", func(s *queue.Spec) { s.Retention = &day })
	out := r.tryPublish(queue.Publish{Queue: "jobs", Delay: time.Hour})[0]
	r.ok(out.Err)
	want(r, "expires", r.row("jobs", out.ID).ExpiresAt.Equal(out.VisibleAt.Add(day)), true)
}

func expiryInFlight(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs", Group: "g"})
	l := r.receive("jobs", 2, time.Minute)
	r.age("messages", "expires_at", "true", 40*24*time.Hour)
	r.sweep()
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 2)
	s := act(queue.Extend, l[0])
	r.applied(s) // a time-out now
	s = act(queue.Nack, l[1])
	r.applied(s)
	r.eventually("they go", func() bool { r.sweep(); return r.count("SELECT count(*) FROM messages") == 0 })
}

func expiryDead(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	r.age("messages", "expires_at", "id = "+itoa(id), 29*24*time.Hour)
	r.kill("jobs", "x")
	m := r.dead("jobs")[0]
	want(r, "expires", m.ExpiresAt.Equal(m.DeadAt.Add(queue.DefaultRetention)), true)
	r.age("messages", "expires_at", "id = "+itoa(id), 31*24*time.Hour)
	r.sweep()
	want(r, "dead", len(r.dead("jobs")), 0)
}

func expiryRedriven(r *rig) {
	r.queue("jobs")
	id := r.killMany("jobs", 1)[0]
	r.age("messages", "expires_at", "id = "+itoa(id), 29*24*time.Hour)
	r.redrive(queue.RedriveCall{Queue: "jobs"})
	m := r.row("jobs", id)
	if d := m.ExpiresAt.Sub(r.now()); d < queue.DefaultRetention-time.Minute {
		r.Errorf("it expires in %v", d)
	}
}

func sweepLeaves(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs", Key: "k"}, queue.Publish{Queue: "jobs", Group: "g"}, queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
	l := r.receive("jobs", 2, time.Minute)
	r.sweep()
	want(r, "keys", r.count("SELECT count(*) FROM publish_keys"), 1)
	for _, m := range l {
		r.applied(act(queue.Ack, m))
	}
	want(r, "received", len(r.receive("jobs", 10, time.Minute)), 2)
}

func groupsSwept(r *rig) {
	r.queue("jobs")
	for i := range 40 {
		r.publish(queue.Publish{Queue: "jobs", Group: "g" + itoa(int64(i))})
	}
	n := 0
	r.eventually("all are acked", func() bool {
		for _, m := range r.receive("jobs", 40, time.Minute) {
			r.applied(act(queue.Ack, m))
			n++
		}
		return n == 40
	})
	r.sweep()
	want(r, "groups", r.count("SELECT count(*) FROM groups"), 0)
	r.publish(queue.Publish{Queue: "jobs", Group: "g1"})
	r.one("jobs", time.Minute)
}

func statsCount(r *rig) {
	r.queue("jobs")
	r.killMany("jobs", 2)
	r.publish(append(bodies("jobs", 5), queue.Publish{Queue: "jobs", Delay: time.Hour}, queue.Publish{Queue: "jobs", Group: "g", Delay: time.Hour})...)
	r.publish(queue.Publish{Queue: "jobs", Group: "g"})
	r.receive("jobs", 2, time.Minute)
	r.eventually("the counts", func() bool {
		s, err := r.QueueStats(r.ctx, 1, "jobs")
		r.ok(err)
		return s.Messages == 8 && s.InFlight == 2 && s.Delayed == 2 && s.Available == 4 && s.Dead == 2
	})
	r.eventually("the DLQ's own", func() bool {
		s, err := r.QueueStats(r.ctx, 1, "jobs-dlq")
		r.ok(err)
		return s.Messages == 2 && s.Available == 2 && s.Dead == 0
	})
	r.purgeAll("jobs")
	r.eventually("the counts after the purge", func() bool {
		s, err := r.QueueStats(r.ctx, 1, "jobs")
		r.ok(err)
		return s.Messages == 0 && s.InFlight == 0 && s.Dead == 2
	})
}

func (r *rig) purgeAll(name string) {
	r.Helper()
	_, err := r.PurgeQueue(r.ctx, 1, name)
	r.ok(err)
}

func statsAge(r *rig) {
	r.queue("jobs")
	s, err := r.QueueStats(r.ctx, 1, "jobs")
	r.ok(err)
	want(r, "age of nothing", s.OldestAge, time.Duration(0))
	r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
	r.eventually("an age that grows", func() bool {
		s, err := r.QueueStats(r.ctx, 1, "jobs")
		r.ok(err)
		return s.OldestAge > 30*time.Millisecond && s.OldestAge < time.Minute
	})
}

func statsShared(r *rig) {
	r.queue("a", dlq("dead"))
	r.queue("b", dlq("dead"))
	r.killMany("a", 2)
	r.killMany("b", 3)
	r.eventually("each its own", func() bool {
		a, err := r.QueueStats(r.ctx, 1, "a")
		r.ok(err)
		b, err := r.QueueStats(r.ctx, 1, "b")
		r.ok(err)
		return a.Dead == 2 && b.Dead == 3
	})
}
