package storetest

import (
	"time"

	"github.com/onceward/onceward/queue"
)

var extendTests = []named{
	{"extend lengthens a live lease", extendLive},
	{"extend revives a lease that is over", extendRevives},
	{"extend to 0 is a time-out now, counted, the receipt open", extendZero},
	{"extend goes no further than 12 hours after the receive", extendTwelveHours},
	{"extend past 12 hours is a lost lease", extendPastTwelve},
}

func extendLive(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	m := r.one("jobs", 150*time.Millisecond)
	s := act(queue.Extend, m)
	s.Visibility = time.Minute
	out := r.applied(s)
	r.past(m.VisibleAt)
	r.sweep()
	r.none("jobs")
	want(r, "until", r.row("jobs", id).VisibleAt.Equal(out.VisibleAt), true)
	want(r, "count", r.row("jobs", id).Receives, 1)
	s.Visibility = 30 * time.Millisecond // shorter is as good
	r.applied(s)
	want(r, "next lease", r.soon("jobs", time.Minute).Lease, 2)
}

func extendRevives(r *rig) {
	r.queue("jobs")
	for _, g := range []string{"", "g"} {
		for _, swept := range []bool{false, true} {
			r.publish(queue.Publish{Queue: "jobs", Group: g})
			m := r.one("jobs", 40*time.Millisecond)
			r.past(m.VisibleAt)
			if swept {
				r.sweep()
			}
			s := act(queue.Extend, m)
			s.Visibility = time.Minute
			r.applied(s)
			r.none("jobs")
			want(r, "status", r.status("jobs", m.ID), queue.InFlight)
			r.applied(act(queue.Ack, m))
		}
	}
}

func extendZero(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", time.Minute)
	r.applied(act(queue.Extend, m))
	want(r, "count", r.row("jobs", m.ID).Receives, 1)
	r.applied(act(queue.Extend, m)) // the receipt is open
	again := r.soon("jobs", time.Minute)
	want(r, "id", again.ID, m.ID)
	want(r, "count", again.Receives, 2)
	r.refused(act(queue.Ack, m), queue.LeaseLost)
}

func extendTwelveHours(r *rig) {
	r.queue("jobs")
	id := itoa(r.publish(queue.Publish{Queue: "jobs"})[0])
	m := r.one("jobs", time.Hour)
	r.age("messages", "received_at", "id = "+id, 6*time.Hour)
	s := act(queue.Extend, m)
	s.Visibility = 12 * time.Hour
	out := r.applied(s)
	if d := out.VisibleAt.Sub(m.ReceivedAt.Add(6 * time.Hour)); d.Abs() > time.Second {
		r.Errorf("extended %v past 12 hours after the receive", d)
	}
}

func extendPastTwelve(r *rig) {
	r.queue("jobs")
	id := itoa(r.publish(queue.Publish{Queue: "jobs"})[0])
	m := r.one("jobs", 30*time.Millisecond)
	r.past(m.VisibleAt)
	r.age("messages", "vis", "id = "+id, 13*time.Hour)
	r.age("messages", "received_at", "id = "+id, 13*time.Hour)
	s := act(queue.Extend, m)
	s.Visibility = time.Minute
	r.refused(s, queue.LeaseLost)
	r.applied(act(queue.Ack, m)) // but it still acks
}
