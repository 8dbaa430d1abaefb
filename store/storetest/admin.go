package storetest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

var adminTests = []named{
	{"a queue is made with its defaults and its DLQ", createDefaults},
	{"made again with settings that it has it is answered", createAgain},
	{"made again with other settings it is refused", createOther},
	{"made by many at once it is made once", createRace},
	{"a DLQ that is itself, or has a DLQ, is refused", createBadDLQ},
	{"an update concerns what is published after it", updateLater},
	{"queues are listed newest first, the server's own never", listQueues},
	{"a queue that is not empty is deleted by force alone", deleteForce},
	{"a DLQ that somebody uses is not deleted", deleteDLQ},
	{"of a deleted queue nothing is left, and it can be made anew", deleteAnew},
	{"dead letters outlive their source queue, which they then do not name", deleteSource},
	{"a publish while its queue is deleted is refused or deleted with it, never left", deleteRace},
	{"a purge takes all that is there, in flight too, and counts it", purge},
	{"a page of messages goes on where the last ended", messagesPaged},
	{"a page of messages ends at its bytes, and goes on", pageBytes},
	{"messages are listed by status", messagesByStatus},
	{"I14: a list says when it was made, by the database's clock", listedAt},
	{"settings survive a restart", settingsSurvive},
}

func createDefaults(r *rig) {
	q := r.queue("jobs")
	want(r, "name", q.Name, "jobs")
	want(r, "dlq", q.DLQ, "jobs-dlq")
	want(r, "is dlq", q.IsDLQ, false)
	want(r, "max receives", q.MaxReceives, queue.DefaultMaxReceives)
	want(r, "visibility", q.Visibility, queue.DefaultVisibility)
	want(r, "retention", q.Retention, queue.DefaultRetention)
	want(r, "window", q.DedupWindow, queue.DefaultDedupWindow)
	if d := r.now().Sub(q.CreatedAt).Abs(); d > time.Minute {
		r.Errorf("made %v from now", d)
	}
	d, err := r.Queue(r.ctx, 1, "jobs-dlq")
	r.ok(err)
	want(r, "dlq is one", d.IsDLQ, true)
	want(r, "dlq's dlq", d.DLQ, "")
	long := strings.Repeat("n", 76)
	want(r, "long name's dlq", r.queue(long).DLQ, long+"-dlq")
	_, err = r.Queue(r.ctx, 1, "gone")
	want(r, "not found", errors.Is(err, queue.ErrQueueNotFound), true)
}

func createAgain(r *rig) {
	first := r.queue("jobs", maxReceives(7))
	want(r, "named alone", r.queue("jobs").ID, first.ID)
	want(r, "with its settings", r.queue("jobs", maxReceives(7), dlq("jobs-dlq")).ID, first.ID)
	want(r, "its DLQ", r.queue("jobs-dlq").IsDLQ, true)
	want(r, "queues", r.count("SELECT count(*) FROM queues WHERE project = 1"), 2)
}

func createOther(r *rig) {
	r.queue("jobs")
	for _, w := range []func(*queue.Spec){maxReceives(7), dlq("elsewhere")} {
		s := queue.Spec{Project: 1, Name: "jobs"}
		w(&s)
		_, err := r.CreateQueue(r.ctx, s)
		want(r, "refused", errors.Is(err, queue.ErrQueueExists), true)
	}
	want(r, "queues", r.count("SELECT count(*) FROM queues WHERE project = 1"), 2)
}

func createRace(r *rig) {
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			name := []string{"a", "b"}[i%2]
			shared := "dead"
			if _, err := r.CreateQueue(r.ctx, queue.Spec{Project: 1, Name: name, DLQ: &shared}); err != nil {
				r.Errorf("create %s: %v", name, err)
			}
		})
	}
	wg.Wait()
	want(r, "queues", r.count("SELECT count(*) FROM queues WHERE project = 1"), 3)
}

func createBadDLQ(r *rig) {
	r.queue("a")
	for what, s := range map[string]queue.Spec{
		"itself":               {Name: "b", DLQ: new("b")},
		"one that has a DLQ":   {Name: "b", DLQ: new("a")},
		"a DLQ given one":      {Name: "a-dlq", DLQ: new("c")},
		"a name out of range":  {Name: strings.Repeat("n", 77)},
		"the server's own":     {Name: queue.Deliveries},
		"the server's own DLQ": {Name: "b", DLQ: new(queue.DeadDeliveries)},
	} {
		s.Project = 1
		_, err := r.CreateQueue(r.ctx, s)
		if c := fault.CodeOf(err); c != fault.InvalidArgument && c != fault.QueueExists {
			r.Errorf("%s: %v, want a bad argument", what, err)
		}
	}
	_, err := r.UpdateQueue(r.ctx, queue.Spec{Project: 1, Name: "a", DLQ: new("a")})
	want(r, "update to itself", fault.CodeOf(err), fault.InvalidArgument)
	want(r, "queues", r.count("SELECT count(*) FROM queues WHERE project = 1"), 2)
}

func updateLater(r *rig) {
	r.queue("jobs", maxReceives(1))
	old := r.publish(queue.Publish{Queue: "jobs"})[0]
	q, err := r.UpdateQueue(r.ctx, queue.Spec{Project: 1, Name: "jobs", MaxReceives: new(2), DLQ: new("elsewhere")})
	r.ok(err)
	want(r, "max receives", q.MaxReceives, 2)
	want(r, "dlq", q.DLQ, "elsewhere")
	r.publish(queue.Publish{Queue: "jobs"})
	for _, m := range r.receive("jobs", 2, time.Minute) {
		s := act(queue.Nack, m)
		s.HasDelay = true
		want(r, "dead", r.applied(s).Status == queue.Dead, m.ID == old)
	}
	_, err = r.UpdateQueue(r.ctx, queue.Spec{Project: 1, Name: "gone", MaxReceives: new(2)})
	want(r, "not found", errors.Is(err, queue.ErrQueueNotFound), true)
}

func listQueues(r *rig) {
	for _, n := range []string{"a", "b", "c"} {
		r.queue(n, dlq("dead"))
	}
	var names []string
	for after := int64(0); ; {
		l, err := r.Queues(r.ctx, 1, queue.Page{After: after, Limit: 3})
		r.ok(err)
		for _, q := range l {
			names = append(names, q.Name)
			after = q.ID
		}
		if len(l) < 3 || len(names) > 10 {
			break
		}
	}
	got := strings.Join(names, " ")
	if got != "c b a dead" && got != "c b dead a" {
		r.Errorf("listed %q", got)
	}
}

func deleteForce(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs", Group: "g"}, queue.Publish{Queue: "jobs"})
	m := r.one("jobs", time.Minute)
	want(r, "not empty", errors.Is(r.DeleteQueue(r.ctx, 1, "jobs", false), queue.ErrQueueNotEmpty), true)
	r.ok(r.DeleteQueue(r.ctx, 1, "jobs", true))
	if out := r.settle(act(queue.Ack, m)); out.Err == nil {
		r.Errorf("an ack in a deleted queue: %+v", out)
	}
	_, err := r.Receive(r.ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 1})
	want(r, "not found", errors.Is(err, queue.ErrQueueNotFound), true)
	want(r, "gone again", errors.Is(r.DeleteQueue(r.ctx, 1, "jobs", true), queue.ErrQueueNotFound), true)
}

func deleteDLQ(r *rig) {
	r.queue("jobs")
	want(r, "conflict", errors.Is(r.DeleteQueue(r.ctx, 1, "jobs-dlq", true), queue.ErrConflict), true)
	r.ok(r.DeleteQueue(r.ctx, 1, "jobs", false))
	r.ok(r.DeleteQueue(r.ctx, 1, "jobs-dlq", false))
	want(r, "queues", r.count("SELECT count(*) FROM queues WHERE project = 1"), 0)
}

func deleteAnew(r *rig) {
	r.queue("jobs")
	r.publish(append(bodies("jobs", 30), queue.Publish{Queue: "jobs", Group: "g"})...)
	old := r.receive("jobs", 2, time.Minute)
	r.ok(r.DeleteQueue(r.ctx, 1, "jobs", true))
	r.queue("jobs")
	r.none("jobs")
	for _, m := range old {
		want(r, "old receipt", errors.Is(r.settle(act(queue.Ack, m)).Err, queue.ErrMessageNotFound), true)
	}
	r.publish(queue.Publish{Queue: "jobs", Group: "g"})
	r.one("jobs", time.Minute)
	r.sweep()
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 1)
}

func deleteSource(r *rig) {
	r.queue("jobs")
	r.killMany("jobs", 1)
	r.ok(r.DeleteQueue(r.ctx, 1, "jobs", true))
	m := r.one("jobs-dlq", time.Minute)
	want(r, "source", m.Source, "")
	r.applied(act(queue.Release, m))
	r.queue("jobs", dlq("jobs-dlq"))
	want(r, "dead of the new queue", len(r.dead("jobs")), 0)
	r.applied(act(queue.Ack, r.one("jobs-dlq", time.Minute)))
}

func deleteRace(r *rig) {
	for range 5 {
		r.queue("jobs")
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for range 5 {
					p := queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Group: []string{"", "g"}[i%2]}
					if _, err := r.Publish(r.ctx, p, p); err != nil {
						r.Errorf("publish: %v", err)
					}
				}
			})
		}
		r.ok(r.DeleteQueue(r.ctx, 1, "jobs", true))
		wg.Wait()
		r.sweep()
	}
}

func purge(r *rig) {
	r.queue("jobs")
	b := bodies("jobs", 40)
	for i := range b {
		b[i].Group = []string{"", "g"}[i%2]
		b[i].Delay = time.Duration(i%3) * time.Hour
	}
	r.publish(b...)
	flying := r.receive("jobs", 5, time.Minute)
	r.kill("jobs", "x")
	n, err := r.PurgeQueue(r.ctx, 1, "jobs")
	r.ok(err)
	want(r, "purged", n, int64(40-1))
	r.none("jobs")
	for _, m := range flying {
		out, err := r.Settle(r.ctx, act(queue.Ack, m))
		r.ok(err)
		want(r, "ack of what was purged", errors.Is(out[0].Err, queue.ErrMessageNotFound), true)
	}
	want(r, "dead", len(r.dead("jobs")), 1)
	n, err = r.PurgeQueue(r.ctx, 1, "jobs-dlq")
	r.ok(err)
	want(r, "purged of the DLQ", n, 1)
	_, err = r.PurgeQueue(r.ctx, 1, "gone")
	want(r, "not found", errors.Is(err, queue.ErrQueueNotFound), true)
}

func messagesPaged(r *rig) {
	r.queue("jobs")
	r.queue("other")
	var all []int64
	for range 11 {
		all = append(all, r.publish(queue.Publish{Queue: "jobs", Priority: len(all) % 3}, queue.Publish{Queue: "other"})[0])
	}
	var got []int64
	for after := int64(0); ; {
		l, next, err := r.Messages(r.ctx, 1, "jobs", "", queue.Page{After: after, Limit: 4})
		r.ok(err)
		got = append(got, ids(l)...)
		if after = next; next == 0 || len(got) > 30 {
			break
		}
	}
	want(r, "listed", len(got), len(all))
	for i := range got {
		want(r, "in order of id", got[i], all[i])
	}
	_, _, err := r.Messages(r.ctx, 1, "gone", "", queue.Page{Limit: 4})
	want(r, "not found", errors.Is(err, queue.ErrQueueNotFound), true)
}

func pageBytes(r *rig) {
	r.queue("jobs")
	big := slices.Repeat([]byte("7"), queue.MaxPayload)
	var all []int64
	for range 40 {
		all = append(all, r.publish(queue.Publish{Queue: "jobs", Body: big})...)
	}
	listed := func(what string, list func(queue.Page) ([]queue.Message, int64, error)) {
		var got []int64
		for after := int64(0); ; {
			l, next, err := list(queue.Page{After: after, Limit: 500})
			r.ok(err)
			bytes := 0
			for _, m := range l {
				bytes += len(m.Body)
			}
			if bytes == 0 || bytes > queue.MaxReceiveBytes {
				r.Errorf("%s: %d bytes in one page, want 1 to %d", what, bytes, queue.MaxReceiveBytes)
			}
			got = append(got, ids(l)...)
			if after = next; next == 0 || len(got) > len(all) {
				break
			}
		}
		if !slices.Equal(got, all) {
			r.Errorf("%s: listed %v, want each once: %v", what, got, all)
		}
	}
	listed("messages", func(p queue.Page) ([]queue.Message, int64, error) { return r.Messages(r.ctx, 1, "jobs", "", p) })
	for dead := 0; dead < len(all); {
		l := r.receive("jobs", 40, time.Minute)
		for _, m := range l {
			s := act(queue.Nack, m)
			s.DeadLetter = true
			r.applied(s)
		}
		if dead += len(l); len(l) == 0 {
			r.Fatalf("%d received of %d", dead, len(all))
		}
	}
	listed("dead letters", func(p queue.Page) ([]queue.Message, int64, error) { return r.DeadLetters(r.ctx, 1, "jobs", p) })
}

func listedAt(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	before := r.now().Truncate(time.Microsecond) // as times are stored
	at := r.row("jobs", id).LookedAt
	if after := r.now(); at.Before(before) || at.After(after) {
		r.Errorf("listed at %v, want between %v and %v", at, before, after)
	}
	r.kill("jobs", "no")
	if m := r.dead("jobs"); len(m) != 1 || m[0].LookedAt.Before(at) {
		r.Errorf("dead letters %v, want one that was listed after %v", m, at)
	}
}

func messagesByStatus(r *rig) {
	r.queue("jobs")
	r.publish(append(bodies("jobs", 4), queue.Publish{Queue: "jobs", Delay: time.Hour})...)
	r.receive("jobs", 1, time.Minute)
	for s, n := range map[queue.Status]int{queue.Available: 3, queue.InFlight: 1, queue.Delayed: 1, "": 5} {
		got := 0
		for after := int64(0); ; {
			l, next, err := r.Messages(r.ctx, 1, "jobs", s, queue.Page{After: after, Limit: 2})
			r.ok(err)
			for i := range l {
				got++
				if s != "" {
					want(r, "status", l[i].Status(r.now()), s)
				}
			}
			if after = next; next == 0 {
				break
			}
		}
		want(r, string(s), got, n)
	}
}

func settingsSurvive(r *rig) {
	s := queue.Spec{
		Project: 1, Name: "jobs", DLQ: new("dead"), MaxReceives: new(9), Visibility: new(1500 * time.Millisecond),
		Retention: new(48 * time.Hour), DedupWindow: new(2 * time.Minute), RequireReceipt: new(true), ContentDedup: new(true), FIFO: new(true),
	}
	made, err := r.CreateQueue(r.ctx, s)
	r.ok(err)
	_, err = r.PauseQueue(r.ctx, 1, "jobs", true)
	r.ok(err)
	r.reopen()
	q, err := r.Queue(r.ctx, 1, "jobs")
	r.ok(err)
	want(r, "paused", q.Paused, true)
	want(r, "made at", q.CreatedAt.Equal(made.CreatedAt), true)
	want(r, "settings", s.Same(q), true)
}
