package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

var settleTests = []named{
	{"an acked message is gone, and its receipt says so", ackGone},
	{"I2, H-Q01: an older receipt changes nothing and is told so", olderReceipt},
	{"I2: a receipt whose lease is over still acts until another receive", timedOutActs},
	{"I2: a receipt ends with nack and release", receiptEnds},
	{"I2: lease numbers survive nack, release and restart", leaseNumbersSurvive},
	{"a nack with a delay waits that long", nackDelay},
	{"a nack without a delay waits 2^(n-1) seconds", nackBackoff},
	{"a nack keeps its error", nackError},
	{"I3: a release gives the count back", releaseGivesBack},
	{"I3: a release by an old receipt gives nothing back", releaseOld},
	{"I3: released for ever, a message is never dead-lettered", releasedForEver},
	{"by id the newest receipt acts", byID},
	{"by id a message with no open receipt is not in flight", byIDNotInFlight},
	{"by id is refused where the queue requires receipts", requireReceipt},
	{"a batch answers each act in its place, whatever the others are", settleBatch},
	{"two acts of one message in one batch apply in their order", settleTwice},
	{"an act on another queue's message finds nothing", settleOtherQueue},
	{"I1: an answered ack survives a restart", ackSurvives},
	{"I2: many acks of one receipt: it goes once", ackRace},
	{"grouped messages settle like others, and their slots come back", settleGrouped},
	{"I16: a nack or a release wakes a group that was at rest", settleWakes},
	{"I16: a lease that ran out wakes a group that was at rest", lapseWakes},
}

func ackGone(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", time.Minute)
	r.applied(act(queue.Ack, m))
	for _, v := range []queue.Verb{queue.Ack, queue.Nack, queue.Release, queue.Extend} {
		want(r, string(v)+" of what is gone", errors.Is(r.settle(act(v, m)).Err, queue.ErrMessageNotFound), true)
	}
	want(r, "bodies", r.count("SELECT count(*) FROM bodies"), 0)
}

// bull#1416.
func olderReceipt(r *rig) {
	r.queue("jobs")
	for _, g := range []string{"", "g"} {
		r.publish(queue.Publish{Queue: "jobs", Group: g})
		old := r.one("jobs", 60*time.Millisecond)
		r.past(old.VisibleAt)
		m := r.soon("jobs", time.Minute)
		want(r, "same message", m.ID, old.ID)
		for _, v := range []queue.Verb{queue.Nack, queue.Extend, queue.Release, queue.Ack} {
			r.refused(act(v, old), queue.LeaseLost)
		}
		now := r.row("jobs", m.ID)
		want(r, "lease", now.Lease, m.Lease)
		want(r, "count", now.Receives, 2)
		want(r, "lease's end", now.VisibleAt.Equal(m.VisibleAt), true)
		r.applied(act(queue.Ack, m))
	}
}

func timedOutActs(r *rig) {
	r.queue("jobs")
	for _, v := range []queue.Verb{queue.Ack, queue.Nack, queue.Release} {
		for _, g := range []string{"", "g"} {
			r.publish(queue.Publish{Queue: "jobs", Group: g})
			m := r.one("jobs", 40*time.Millisecond)
			r.past(m.VisibleAt)
			if g == "g" {
				r.sweep() // takes back the slot, not the receipt
			}
			r.applied(act(v, m))
			if v != queue.Ack {
				r.refused(act(v, m), queue.LeaseLost)
			}
			_, err := r.PurgeQueue(r.ctx, 1, "jobs")
			r.ok(err)
		}
	}
}

func receiptEnds(r *rig) {
	r.queue("jobs")
	for _, v := range []queue.Verb{queue.Nack, queue.Release} {
		id := r.publish(queue.Publish{Queue: "jobs"})[0]
		m := r.one("jobs", time.Minute)
		s := act(v, m)
		s.HasDelay, s.Delay = true, time.Hour
		r.applied(s)
		r.refused(act(queue.Ack, m), queue.LeaseLost)
		r.refused(act(queue.Extend, m), queue.LeaseLost)
		want(r, "status", r.status("jobs", id), queue.Delayed)
	}
}

func leaseNumbersSurvive(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	for n := 1; n <= 6; n++ {
		m := r.soon("jobs", time.Minute)
		want(r, "lease", m.Lease, n)
		r.applied(act(queue.Release, m))
		if n == 3 {
			r.reopen()
		}
	}
}

func nackDelay(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	s := act(queue.Nack, r.one("jobs", time.Minute))
	s.HasDelay, s.Delay = true, 2*time.Second
	out := r.applied(s)
	want(r, "status", out.Status, queue.Delayed)
	r.none("jobs")
	m := r.soon("jobs", time.Minute)
	if m.ReceivedAt.Before(out.VisibleAt) {
		r.Error("received before its delay was over")
	}
	want(r, "count", m.Receives, 2)
	s = act(queue.Nack, m)
	s.HasDelay = true
	out = r.applied(s)
	want(r, "status", out.Status, queue.Available)
	r.one("jobs", time.Minute)
}

func nackBackoff(r *rig) {
	r.queue("jobs", maxReceives(100))
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	for n := 1; n <= 11; n++ {
		m := r.one("jobs", time.Minute)
		before := r.now()
		out := r.applied(act(queue.Nack, m))
		wanted := min(300*time.Second, time.Second<<(n-1))
		if d := out.VisibleAt.Sub(before); d < wanted-time.Millisecond || d > wanted+5*time.Second {
			r.Errorf("nack %d waits %v, want %v", n, d, wanted)
		}
		r.age("messages", "vis", "id = "+itoa(id), wanted+10*time.Second)
	}
}

func nackError(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	s := act(queue.Nack, r.one("jobs", time.Minute))
	s.HasDelay, s.Error = true, "no such customer"
	r.applied(s)
	want(r, "last error", r.row("jobs", id).LastError, "no such customer")
	s = act(queue.Nack, r.one("jobs", time.Minute))
	s.HasDelay = true
	r.applied(s)
	want(r, "last error kept", r.row("jobs", id).LastError, "no such customer")
}

func releaseGivesBack(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	s := act(queue.Release, r.one("jobs", time.Minute))
	s.Delay = 80 * time.Millisecond
	out := r.applied(s)
	want(r, "status", out.Status, queue.Delayed)
	want(r, "count", r.row("jobs", id).Receives, 0)
	m := r.soon("jobs", time.Minute)
	want(r, "count", m.Receives, 1)
	want(r, "lease", m.Lease, 2)
}

func releaseOld(r *rig) {
	r.queue("jobs")
	ids1 := r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
	l := r.receive("jobs", 2, time.Minute)
	r.applied(act(queue.Release, l[0]))
	out := r.settleAll(act(queue.Release, l[0]), act(queue.Release, l[0]), act(queue.Release, l[1])) // one bad act must not fail the batch
	want(r, "again", out[0].Applied || out[1].Applied, false)
	want(r, "reason", out[0].Reason, queue.LeaseLost)
	want(r, "the other", out[2].Applied, true)
	for _, id := range ids1 {
		want(r, "count", r.row("jobs", id).Receives, 0)
	}
}

func releasedForEver(r *rig) {
	r.queue("jobs", maxReceives(1))
	r.publish(queue.Publish{Queue: "jobs"})
	for range 10 {
		r.applied(act(queue.Release, r.one("jobs", time.Minute)))
		r.sweep()
	}
	r.none("jobs-dlq")
	r.one("jobs", time.Minute)
}

func byID(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", time.Minute)
	m.Lease = 0
	s := act(queue.Extend, m)
	s.Visibility = time.Minute
	r.applied(s)
	s = act(queue.Nack, m)
	s.HasDelay = true
	r.applied(s)
	r.one("jobs", time.Minute)
	r.applied(act(queue.Ack, m))
	want(r, "gone", errors.Is(r.settle(act(queue.Ack, m)).Err, queue.ErrMessageNotFound), true)
}

func byIDNotInFlight(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	s := queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: id}
	r.refused(s, queue.NotInFlight)
	r.applied(act(queue.Release, r.one("jobs", time.Minute)))
	r.refused(s, queue.NotInFlight)
}

func requireReceipt(r *rig) {
	yes := true
	r.queue("jobs", func(s *queue.Spec) { s.RequireReceipt = &yes })
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", time.Minute)
	s := act(queue.Ack, m)
	s.Lease = 0
	want(r, "by id", fault.CodeOf(r.settle(s).Err), fault.InvalidArgument)
	r.applied(act(queue.Ack, m))
}

func settleBatch(r *rig) {
	r.queue("a")
	r.queue("b")
	r.publish(append(bodies("a", 3), bodies("b", 3)...)...)
	a, b := r.receive("a", 3, time.Minute), r.receive("b", 3, time.Minute)
	gone := act(queue.Ack, a[0])
	gone.ID = 1 << 40
	old := act(queue.Ack, b[0])
	old.Lease = 7
	nowhere := act(queue.Ack, b[1])
	nowhere.Queue = "none"
	out := r.settleAll(act(queue.Ack, b[2]), gone, act(queue.Release, a[0]), old, act(queue.Ack, a[1]), nowhere)
	want(r, "0", out[0].Applied, true)
	want(r, "1", errors.Is(out[1].Err, queue.ErrMessageNotFound), true)
	want(r, "2", out[2].Applied, true)
	want(r, "3", out[3].Reason, queue.LeaseLost)
	want(r, "4", out[4].Applied, true)
	want(r, "5", errors.Is(out[5].Err, queue.ErrQueueNotFound), true)
	want(r, "left", r.count("SELECT count(*) FROM messages"), 4)
}

func settleTwice(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs"})
	l := r.receive("jobs", 2, time.Minute)
	out := r.settleAll(act(queue.Ack, l[0]), act(queue.Ack, l[0]), act(queue.Release, l[1]), act(queue.Ack, l[1]))
	want(r, "first ack", out[0].Applied, true)
	want(r, "second ack", errors.Is(out[1].Err, queue.ErrMessageNotFound), true)
	want(r, "release", out[2].Applied, true)
	want(r, "ack after it", out[3].Reason, queue.LeaseLost)
}

func settleOtherQueue(r *rig) {
	r.queue("a")
	r.queue("b")
	r.publish(queue.Publish{Queue: "a"})
	s := act(queue.Ack, r.one("a", time.Minute))
	s.Queue = "b"
	want(r, "found", errors.Is(r.settle(s).Err, queue.ErrMessageNotFound), true)
	want(r, "left", r.count("SELECT count(*) FROM messages"), 1)
}

func ackSurvives(r *rig) {
	r.queue("jobs")
	r.publish(bodies("jobs", 20)...)
	for _, m := range r.receive("jobs", 10, 50*time.Millisecond) {
		r.applied(act(queue.Ack, m))
	}
	r.reopen()
	want(r, "left", len(r.receive("jobs", 100, time.Minute)), 10)
}

func ackRace(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs", Group: "g"})
	m := r.one("jobs", time.Minute)
	var wg sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for range 12 {
		wg.Go(func() {
			out, err := r.Settle(r.ctx, act(queue.Ack, m))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.Errorf("ack: %v", err)
			} else if out[0].Applied {
				n++
			}
		})
	}
	wg.Wait()
	want(r, "applied", n, 1)
}

func settleGrouped(r *rig) {
	r.queue("jobs")
	b := bodies("jobs", 12)
	for i := range b {
		b[i].Group = []string{"a", "b", "c"}[i%3]
	}
	r.publish(b...)
	var acts []queue.Settle
	r.eventually("all are in flight", func() bool {
		for _, m := range r.receive("jobs", 12, time.Minute) {
			s := act([]queue.Verb{queue.Ack, queue.Nack, queue.Release, queue.Extend}[len(acts)%4], m)
			s.HasDelay, s.Visibility = true, time.Minute
			acts = append(acts, s)
		}
		return len(acts) == 12
	})
	for i, out := range r.settleAll(acts...) {
		want(r, string(acts[i].Verb), out.Applied, true)
	}
	want(r, "in flight", r.count("SELECT sum(in_flight) FROM groups"), 3)
	got := 0
	r.eventually("the others come again", func() bool { got += len(r.receive("jobs", 12, time.Minute)); return got == 6 })
}

func settleWakes(r *rig) {
	r.queue("jobs")
	for _, v := range []queue.Verb{queue.Nack, queue.Release} {
		r.publish(queue.Publish{Queue: "jobs", Group: "g"})
		m := r.one("jobs", time.Minute)
		r.none("jobs") // a visit that found nothing: the group waits to be woken
		s := act(v, m)
		s.HasDelay = true
		r.applied(s)
		r.applied(act(queue.Ack, r.soon("jobs", time.Minute)))
	}
}

func lapseWakes(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs", Group: "g"})
	m := r.one("jobs", time.Minute)
	r.none("jobs") // a visit that found nothing: the group waits to be woken
	r.age("messages", "vis", "leased", 2*time.Minute)
	again := r.soon("jobs", time.Minute)
	want(r, "the message", again.ID, m.ID)
}
