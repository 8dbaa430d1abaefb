package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/onceward/onceward/queue"
)

var redriveTests = []named{
	{"I12: a redrive moves all that was there, each to where it came from, anew", redriveAll},
	{"I12: of a shared DLQ a redrive moves its source's own", redriveShared},
	{"I12: what was published straight into the DLQ stays, counted as left", redriveStraight},
	{"I12: what dies after the start is not taken", redriveLater},
	{"I12: a redrive of named messages moves those alone", redriveIDs},
	{"I12: a redrive moves at most its max", redriveMax},
	{"I12: a cancelled redrive loses nothing", redriveCancel},
	{"a dry run moves nothing and says how many it would", redriveDry},
	{"a redrive goes on over a restart", redriveRestart},
	{"a redrive keeps to its rate", redriveRate},
	{"one redrive of a queue at a time", redriveConflict},
	{"a redriven message is back in its group though the group was empty and swept", redriveGroup},
	{"a redrive takes a dead letter in flight or leaves it, and its receipt is void", redriveInFlight},
	{"a redrive of nothing completes", redriveNothing},
	{"redrives are listed newest first", redriveList},
	{"a redrive of a queue that is not there is told so", redriveNoQueue},
}

// redrive runs a redrive to its end.
func (r *rig) redrive(c queue.RedriveCall) queue.Redrive {
	r.Helper()
	return r.finish(r.start(c))
}

func (r *rig) start(c queue.RedriveCall) queue.Redrive {
	r.Helper()
	c.Project, c.Who = r.project, "a person"
	rd, err := r.StartRedrive(r.ctx, c)
	r.ok(err)
	return rd
}

func (r *rig) finish(rd queue.Redrive) queue.Redrive {
	r.Helper()
	r.eventually("the redrive's end", func() bool {
		_, _, err := r.StepRedrives(r.ctx, 100)
		r.ok(err)
		rd, err = r.Redrive(r.ctx, rd.Project, rd.ID)
		r.ok(err)
		return rd.State != queue.Running
	})
	want(r, "taken = moved + left", rd.Moved+rd.Left, rd.Total)
	want(r, "finished at", rd.FinishedAt.IsZero(), false)
	return rd
}

// killMany publishes n messages to a queue and dead-letters them.
func (r *rig) killMany(name string, n int) (killed []int64) {
	r.Helper()
	r.publish(bodies(name, n)...)
	l := r.receive(name, n, time.Minute)
	want(r, "received to be killed", len(l), n)
	var acts []queue.Settle
	for _, m := range l {
		s := act(queue.Nack, m)
		s.DeadLetter, s.Error = true, "killed"
		acts = append(acts, s)
		killed = append(killed, m.ID)
	}
	for _, out := range r.settleAll(acts...) {
		want(r, "status", out.Status, queue.Dead)
	}
	return killed
}

func redriveAll(r *rig) {
	r.queue("jobs")
	killed := r.killMany("jobs", 12)
	rd := r.start(queue.RedriveCall{Queue: "jobs"})
	want(r, "state", rd.State, queue.Running)
	want(r, "total", rd.Total, 12)
	rd = r.finish(rd)
	want(r, "state", rd.State, queue.Completed)
	want(r, "moved", rd.Moved, 12)
	r.none("jobs-dlq")
	l := r.receive("jobs", 20, time.Minute)
	if !slices.Equal(ids(l), killed) {
		r.Errorf("back came %v, want %v", ids(l), killed)
	}
	for i, m := range l {
		want(r, "count", m.Receives, 1)
		want(r, "lease", m.Lease, 2)
		want(r, "body", string(m.Body), string(bodies("", 12)[i].Body))
		want(r, "origin kept", m.OriginAt.Equal(m.PublishedAt), true)
		if d := m.ExpiresAt.Sub(m.ReceivedAt); d < queue.DefaultRetention-time.Minute {
			r.Errorf("its retention is over in %v", d)
		}
	}
}

func redriveShared(r *rig) {
	r.queue("a", dlq("dead"))
	r.queue("b", dlq("dead"))
	r.killMany("a", 3)
	r.killMany("b", 4)
	want(r, "moved", r.redrive(queue.RedriveCall{Queue: "a"}).Moved, 3)
	want(r, "back in a", len(r.receive("a", 10, time.Minute)), 3)
	r.none("b")
	want(r, "dead of b", len(r.dead("b")), 4)
}

func redriveStraight(r *rig) {
	r.queue("jobs")
	straight := r.publish(queue.Publish{Queue: "jobs-dlq"})[0]
	r.killMany("jobs", 2)
	rd := r.redrive(queue.RedriveCall{Queue: "jobs"})
	want(r, "moved", rd.Moved, 2)
	want(r, "left", rd.Left, 1)
	want(r, "stays", r.one("jobs-dlq", time.Minute).ID, straight)
}

func redriveLater(r *rig) {
	r.queue("jobs")
	first := r.killMany("jobs", 4)
	rd := r.start(queue.RedriveCall{Queue: "jobs"})
	_, _, err := r.StepRedrives(r.ctx, 2)
	r.ok(err)
	back := r.receive("jobs", 10, time.Minute)
	later := r.killMany("jobs", 3)
	rd = r.finish(rd)
	want(r, "total", rd.Total, 4)
	want(r, "moved", rd.Moved, 4)
	if got := ids(r.dead("jobs")); !slices.Equal(got, later) {
		r.Errorf("dead %v, want those of after the start, %v", got, later)
	}
	want(r, "back", len(back)+len(r.receive("jobs", 10, time.Minute)), len(first))
}

func redriveIDs(r *rig) {
	r.queue("jobs")
	killed := r.killMany("jobs", 5)
	rd := r.redrive(queue.RedriveCall{Queue: "jobs", IDs: []int64{killed[1], killed[3]}})
	want(r, "total", rd.Total, 2)
	want(r, "moved", rd.Moved, 2)
	if got := ids(r.receive("jobs", 10, time.Minute)); !slices.Equal(got, []int64{killed[1], killed[3]}) {
		r.Errorf("back came %v", got)
	}
	want(r, "dead", len(r.dead("jobs")), 3)
}

func redriveMax(r *rig) {
	r.queue("jobs")
	killed := r.killMany("jobs", 5)
	rd := r.redrive(queue.RedriveCall{Queue: "jobs", Max: 2})
	want(r, "moved", rd.Moved, 2)
	if got := ids(r.receive("jobs", 10, time.Minute)); !slices.Equal(got, killed[:2]) {
		r.Errorf("back came %v, want the oldest, %v", got, killed[:2])
	}
}

func redriveCancel(r *rig) {
	r.queue("jobs")
	r.killMany("jobs", 10)
	rd := r.start(queue.RedriveCall{Queue: "jobs"})
	_, _, err := r.StepRedrives(r.ctx, 4)
	r.ok(err)
	rd, err = r.CancelRedrive(r.ctx, 1, rd.ID)
	r.ok(err)
	want(r, "state", rd.State, queue.Cancelled)
	want(r, "moved", rd.Moved, 4)
	want(r, "left", rd.Left, 6)
	n, again, err := r.StepRedrives(r.ctx, 100)
	r.ok(err)
	want(r, "moved after it", n, 0)
	want(r, "again", again, 0)
	want(r, "dead", len(r.dead("jobs")), 6)
	want(r, "back", len(r.receive("jobs", 20, time.Minute)), 4)
	rd, err = r.CancelRedrive(r.ctx, 1, rd.ID)
	if err == nil {
		want(r, "state after a second cancel", rd.State, queue.Cancelled)
	}
	want(r, "moved by another", r.redrive(queue.RedriveCall{Queue: "jobs"}).Moved, 6)
}

func redriveDry(r *rig) {
	r.queue("jobs")
	r.killMany("jobs", 3)
	rd := r.start(queue.RedriveCall{Queue: "jobs", DryRun: true})
	_, _, err := r.StepRedrives(r.ctx, 100)
	r.ok(err)
	rd, err = r.Redrive(r.ctx, 1, rd.ID)
	r.ok(err)
	want(r, "dry run", rd.DryRun, true)
	want(r, "state", rd.State, queue.Completed)
	want(r, "total", rd.Total, 3)
	want(r, "moved", rd.Moved, 0)
	want(r, "dead", len(r.dead("jobs")), 3)
}

func redriveRestart(r *rig) {
	r.queue("jobs")
	r.killMany("jobs", 6)
	rd := r.start(queue.RedriveCall{Queue: "jobs"})
	_, _, err := r.StepRedrives(r.ctx, 2)
	r.ok(err)
	r.reopen()
	rd = r.finish(rd)
	want(r, "moved", rd.Moved, 6)
	want(r, "back", len(r.receive("jobs", 20, time.Minute)), 6)
}

func redriveRate(r *rig) {
	r.queue("jobs")
	r.killMany("jobs", 6)
	begin := r.now()
	rd := r.start(queue.RedriveCall{Queue: "jobs", Rate: 5})
	n, again, err := r.StepRedrives(r.ctx, 100)
	r.ok(err)
	if most := 1 + int(5*r.now().Sub(begin).Seconds()); n > most || again <= 0 && n < 6 {
		r.Errorf("a first step at 5 a second moved %d and asks to be called in %v; at most %d", n, again, most)
	}
	rd = r.finish(rd)
	want(r, "moved", rd.Moved, 6)
	if took := r.now().Sub(begin); took < 900*time.Millisecond {
		r.Errorf("6 at 5 a second took %v", took)
	}
}

func redriveConflict(r *rig) {
	r.queue("jobs")
	r.queue("other")
	r.killMany("jobs", 2)
	rd := r.start(queue.RedriveCall{Queue: "jobs", Rate: 1})
	_, err := r.StartRedrive(r.ctx, queue.RedriveCall{Project: 1, Queue: "jobs"})
	want(r, "conflict", errors.Is(err, queue.ErrConflict), true)
	r.start(queue.RedriveCall{Queue: "other"})
	_, err = r.CancelRedrive(r.ctx, 1, rd.ID)
	r.ok(err)
	r.redrive(queue.RedriveCall{Queue: "jobs"})
}

func redriveGroup(r *rig) {
	r.queue("jobs")
	id := r.publish(queue.Publish{Queue: "jobs", Group: "g"})[0]
	r.kill("jobs", "x")
	r.sweep()
	r.redrive(queue.RedriveCall{Queue: "jobs"})
	m := r.one("jobs", time.Minute)
	want(r, "id", m.ID, id)
	want(r, "group", m.Group, "g")
	r.applied(act(queue.Ack, m))
}

func redriveInFlight(r *rig) {
	r.queue("jobs")
	r.killMany("jobs", 2)
	m := r.one("jobs-dlq", time.Minute)
	rd := r.redrive(queue.RedriveCall{Queue: "jobs"})
	want(r, "total", rd.Total, 2)
	left := int64(len(r.dead("jobs")))
	want(r, "left", left, rd.Left)
	want(r, "back", int64(len(r.receive("jobs", 10, time.Minute))), rd.Moved)
	if rd.Left == 0 {
		r.refused(act(queue.Ack, m), queue.LeaseLost)
	} else {
		r.applied(act(queue.Ack, m))
	}
}

func redriveNothing(r *rig) {
	r.queue("jobs")
	rd := r.redrive(queue.RedriveCall{Queue: "jobs"})
	want(r, "state", rd.State, queue.Completed)
	want(r, "total", rd.Total, 0)
}

func redriveList(r *rig) {
	r.queue("jobs")
	var made []int64
	for range 3 {
		made = append(made, r.redrive(queue.RedriveCall{Queue: "jobs"}).ID)
	}
	l, err := r.Redrives(r.ctx, 1, queue.Page{Limit: 2})
	r.ok(err)
	want(r, "page", len(l), 2)
	want(r, "first", l[0].ID, made[2])
	want(r, "queue", l[0].Queue, "jobs")
	l, err = r.Redrives(r.ctx, 1, queue.Page{Limit: 2, After: l[1].ID})
	r.ok(err)
	want(r, "page", len(l), 1)
	want(r, "last", l[0].ID, made[0])
	_, err = r.Redrive(r.ctx, 1, 1<<40)
	want(r, "not found", errors.Is(err, queue.ErrNotFound), true)
}

func redriveNoQueue(r *rig) {
	_, err := r.StartRedrive(r.ctx, queue.RedriveCall{Project: 1, Queue: "gone"})
	want(r, "not found", errors.Is(err, queue.ErrQueueNotFound), true)
}
