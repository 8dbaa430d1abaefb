package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/onceward/onceward/queue"
)

var receiveTests = []named{
	{"order is by priority, then by when it became visible, then by id", order},
	{"a delayed message is not handed out before its time and needs no sweep", delayed},
	{"I2: a leased message is not handed out again before its lease is over", leaseHolds},
	{"I2: many receivers never get one message twice", receiversRace},
	{"visibility defaults to the queue's", visibilityDefault},
	{"a receive takes at most what was asked for", receiveMax},
	{"a receive ends early at its bytes, and one always goes", receiveBytes},
	{"a receive of many groups ends at the same bytes", receiveBytesOfGroups},
	{"a receive of a queue that is not there is told so", receiveNoQueue},
	{"groups take turns, the ungrouped being one of them", fairGroups},
	{"a fair group has no limit in flight", fairNoLimit},
	{"order holds within a group", orderInGroup},
	{"a group whose messages are delayed comes in time", groupDelayed},
	{"a crowd in one group does not keep another waiting", crowd},
	{"a paused queue hands out nothing and takes publishes", paused},
	{"H-Q11: behind an overload of high priority the low one's age shows", lowShows},
	{"I2, H-Q02: a lease outlives a restart, and its receipt still acks", leaseSurvives},
	{"H-Q04: an abandoned receive leaves nothing in flight for ever", receiveAbandoned},
}

func order(r *rig) {
	r.queue("jobs")
	late := queue.Publish{Queue: "jobs", Priority: 5, Delay: 60 * time.Millisecond}
	ids1 := r.publish(
		queue.Publish{Queue: "jobs", Priority: 0},
		queue.Publish{Queue: "jobs", Priority: 9},
		late,
		queue.Publish{Queue: "jobs", Priority: 5},
		queue.Publish{Queue: "jobs", Priority: 5},
		queue.Publish{Queue: "jobs", Priority: 9},
	)
	r.past(r.row("jobs", ids1[2]).VisibleAt)
	wanted := []int64{ids1[1], ids1[5], ids1[3], ids1[4], ids1[2], ids1[0]}
	if got := ids(r.receive("jobs", 10, time.Minute)); !slices.Equal(got, wanted) {
		r.Errorf("order %v, want %v", got, wanted)
	}
}

func delayed(r *rig) {
	r.queue("jobs")
	out := r.tryPublish(queue.Publish{Queue: "jobs", Delay: 2 * time.Second})[0]
	want(r, "visible at", out.VisibleAt.Sub(out.PublishedAt), 2*time.Second)
	r.none("jobs")
	want(r, "status", r.status("jobs", out.ID), queue.Delayed)
	m := r.soon("jobs", time.Minute)
	if m.ReceivedAt.Before(out.VisibleAt) {
		r.Errorf("received %v early", out.VisibleAt.Sub(m.ReceivedAt))
	}
}

func leaseHolds(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	first := r.one("jobs", 2*time.Second)
	r.none("jobs")
	again := r.soon("jobs", time.Minute)
	want(r, "id", again.ID, first.ID)
	want(r, "lease", again.Lease, 2)
	want(r, "receives", again.Receives, 2)
	if again.ReceivedAt.Before(first.VisibleAt) {
		r.Errorf("received %v before the lease's end", first.VisibleAt.Sub(again.ReceivedAt))
	}
}

func receiversRace(r *rig) {
	r.queue("jobs")
	batch := bodies("jobs", 120)
	for i := range batch {
		batch[i].Group = []string{"", "a", "b"}[i%3]
	}
	r.publish(batch...)
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[int64]int{}
	for range 6 {
		wg.Go(func() {
			for {
				l, err := r.Receive(r.ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 7, Visibility: time.Minute})
				if err != nil {
					r.Errorf("receive: %v", err)
					return
				}
				mu.Lock()
				for _, m := range l {
					got[m.ID]++
				}
				done := len(got) == len(batch)
				mu.Unlock()
				if done || r.ctx.Err() != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for id, n := range got {
		if n != 1 {
			r.Errorf("message %d was received %d times", id, n)
		}
	}
}

func visibilityDefault(r *rig) {
	v := 90 * time.Second
	r.queue("jobs", func(s *queue.Spec) { s.Visibility = &v })
	r.publish(queue.Publish{Queue: "jobs"})
	m := r.one("jobs", 0)
	want(r, "lease", m.VisibleAt.Sub(m.ReceivedAt), v)
}

func receiveMax(r *rig) {
	r.queue("jobs")
	r.publish(bodies("jobs", 25)...)
	for _, n := range []int{10, 10, 5, 0} {
		want(r, "received", len(r.receive("jobs", 10, time.Minute)), n)
	}
}

func receiveBytes(r *rig) {
	r.queue("jobs")
	big := slices.Repeat([]byte("7"), queue.MaxPayload)
	for range 40 {
		r.publish(queue.Publish{Queue: "jobs", Body: big})
	}
	l := r.receive("jobs", 100, time.Minute)
	if n := len(l) * queue.MaxPayload; n > queue.MaxReceiveBytes || n < queue.MaxReceiveBytes/2 {
		r.Errorf("%d bytes in one receive", n)
	}
	s, err := r.QueueStats(r.ctx, 1, "jobs")
	r.ok(err)
	want(r, "in flight", r.count("SELECT count(*) FROM messages WHERE leased"), int64(len(l)))
	want(r, "messages", s.Messages, 40)
	want(r, "received next", len(r.receive("jobs", 100, time.Minute)) > 0, true)
}

// What the first groups have is no more than half the bytes, so that a store which looks at groups in rounds makes another.
func receiveBytesOfGroups(r *rig) {
	r.queue("jobs")
	for i := range 60 {
		size := 160_000
		if i >= 25 {
			size = 250_000
		}
		r.publish(queue.Publish{Queue: "jobs", Group: "g" + itoa(int64(i)), Body: slices.Repeat([]byte("7"), size)})
	}
	seen := map[int64]int{}
	for n := 0; n < 60 && len(seen) < 60; n++ {
		bytes := 0
		for _, m := range r.receive("jobs", 60, time.Minute) {
			bytes += len(m.Body)
			seen[m.ID]++
		}
		if bytes == 0 || bytes > queue.MaxReceiveBytes {
			r.Errorf("receive %d: %d bytes of groups in one receive, want 1 to %d", n+1, bytes, queue.MaxReceiveBytes)
		}
	}
	want(r, "received", len(seen), 60)
	want(r, "in flight", r.count("SELECT count(*) FROM messages WHERE leased"), 60)
}

func receiveNoQueue(r *rig) {
	_, err := r.Receive(r.ctx, queue.Receive{Project: 1, Queue: "gone", Max: 1})
	want(r, "not found", errors.Is(err, queue.ErrQueueNotFound), true)
}

func fairGroups(r *rig) {
	r.queue("jobs")
	for _, g := range []string{"a", "a", "a", "a", "b", "b", "", "", ""} {
		r.publish(queue.Publish{Queue: "jobs", Group: g})
	}
	turns := map[string]int{}
	for range 3 {
		turns[r.one("jobs", time.Minute).Group]++
	}
	if turns["a"] != 1 || turns["b"] != 1 || turns[""] != 1 {
		r.Errorf("three receives of one took %v, want one of each group", turns)
	}
	want(r, "rest", len(r.receive("jobs", 10, time.Minute)), 6)
}

func fairNoLimit(r *rig) {
	r.queue("jobs")
	for range 3 {
		b := bodies("jobs", 50)
		for i := range b {
			b[i].Group = "only"
		}
		r.publish(b...)
	}
	n := 0
	r.eventually("all are in flight", func() bool { n += len(r.receive("jobs", 100, time.Minute)); return n == 150 })
}

func orderInGroup(r *rig) {
	r.queue("jobs")
	var low, high []int64
	for range 4 {
		low = append(low, r.publish(queue.Publish{Queue: "jobs", Group: "g"})...)
		high = append(high, r.publish(queue.Publish{Queue: "jobs", Group: "g", Priority: 3})...)
		r.publish(queue.Publish{Queue: "jobs", Group: "other"})
	}
	var got []int64
	for range 12 {
		if m := r.one("jobs", time.Minute); m.Group == "g" {
			got = append(got, m.ID)
		}
	}
	if wanted := append(high, low...); !slices.Equal(got, wanted) {
		r.Errorf("order %v, want %v", got, wanted)
	}
}

func groupDelayed(r *rig) {
	r.queue("jobs")
	first := r.publish(queue.Publish{Queue: "jobs", Group: "g", Delay: 3 * time.Second})[0]
	r.none("jobs")
	second := r.publish(queue.Publish{Queue: "jobs", Group: "g", Delay: time.Second})[0]
	third := r.publish(queue.Publish{Queue: "jobs", Group: "g"})[0]
	want(r, "first received", r.soon("jobs", time.Minute).ID, third)
	want(r, "second received", r.soon("jobs", time.Minute).ID, second)
	want(r, "third received", r.soon("jobs", time.Minute).ID, first)
}

func crowd(r *rig) {
	r.queue("jobs")
	b := bodies("jobs", 500)
	for i := range b {
		b[i].Group, b[i].Priority = "crowd", 9
	}
	r.publish(b...)
	r.publish(queue.Publish{Queue: "jobs", Group: "few"})
	for n := range 4 {
		for _, m := range r.receive("jobs", 10, time.Minute) {
			if m.Group == "few" {
				return
			}
		}
		if n == 3 {
			r.Error("the second group had no turn in four receives")
		}
	}
}

func paused(r *rig) {
	r.queue("jobs")
	q, err := r.PauseQueue(r.ctx, 1, "jobs", true)
	r.ok(err)
	want(r, "paused", q.Paused, true)
	r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs", Group: "g"})
	r.none("jobs")
	_, err = r.PauseQueue(r.ctx, 1, "jobs", false)
	r.ok(err)
	want(r, "received", len(r.receive("jobs", 10, time.Minute)), 2)
	_, err = r.PauseQueue(r.ctx, 1, "gone", true)
	want(r, "not found", errors.Is(err, queue.ErrQueueNotFound), true)
}

func lowShows(r *rig) {
	r.queue("jobs")
	low := r.tryPublish(queue.Publish{Queue: "jobs"})[0]
	r.ok(low.Err)
	for range 3 {
		b := bodies("jobs", 10)
		for i := range b {
			b[i].Priority = 9
		}
		r.publish(b...)
		for _, m := range r.receive("jobs", 10, time.Minute) {
			want(r, "priority", m.Priority, 9)
			r.applied(act(queue.Ack, m))
		}
	}
	r.past(low.PublishedAt.Add(50 * time.Millisecond))
	r.eventually("the age of the low one", func() bool {
		s, err := r.QueueStats(r.ctx, 1, "jobs")
		r.ok(err)
		return s.Messages == 1 && s.OldestAge >= 50*time.Millisecond
	})
}

// hatchet#552, dbos-transact-java#491: leases forgotten by a restart.
func leaseSurvives(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"}, queue.Publish{Queue: "jobs", Group: "g"})
	l := r.receive("jobs", 10, time.Minute)
	want(r, "received", len(l), 2)
	r.reopen()
	r.sweep()
	r.none("jobs")
	for _, m := range l {
		r.applied(act(queue.Ack, m))
	}
}

// asynq#1051: whatever happens in the middle of a receive, every message is waiting or has a lease that ends.
func receiveAbandoned(r *rig) {
	r.queue("jobs")
	b := bodies("jobs", 30)
	for i := range b {
		b[i].Group = []string{"", "g"}[i%2]
	}
	r.publish(b...)
	for i := range 15 {
		ctx, cancel := context.WithTimeout(r.ctx, time.Duration(i)*150*time.Microsecond)
		r.Receive(ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 2, Visibility: 100 * time.Millisecond}) // abandoned
		cancel()
	}
	got := map[int64]bool{}
	r.eventually("all came", func() bool {
		r.sweep()
		for _, m := range r.receive("jobs", 30, time.Minute) {
			got[m.ID] = true
			r.applied(act(queue.Ack, m))
		}
		return len(got) == 30
	})
}
