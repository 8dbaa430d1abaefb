package storetest

import (
	"context"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// poisonTests are about one row that the database refuses, whatever is tried: it costs itself alone.
var poisonTests = []named{
	{"H-Q17: one last try that cannot be buried does not keep the others", poisonLapse},
	{"H-Q17: one message that cannot expire does not keep the others", poisonExpiry},
	{"H-Q17: one claim that cannot be reaped does not keep the others", poisonReap},
	{"H-Q18, I9: a publish that fails between its parts leaves no part", poisonPublish},
	{"H-Q18, I9: one publish that fails costs no other of its commit", poisonPublishOthers},
	{"H-Q18, I1: a publish that fails once it is handed to one who waits is stored all the same", poisonHandOut},
	{"H-W01, I9: an event that fails between its parts leaves no part", poisonSend},
	{"H-W02: one delivery whose outcome fails costs no other of its commit", poisonSettle},
	{"H-W02: of one event's deliveries the one whose outcome fails comes again, and it alone", poisonSettleOne},
	{"I10: an outcome whose message cannot be settled changes nothing", poisonOutcome},
	{"I10: a word whose message cannot be settled changes nothing", poisonWord},
	{"H-W03, I11: an attempt that cannot be written changes nothing of the outcome", poisonAttempt},
	{"I15: one delivery that cannot be taken does not keep other endpoints'", poisonTake},
}

// poison makes the database refuse one operation on the rows of a table that match a condition over NEW or OLD.
func (r *rig) poison(op, table, when string) {
	r.Helper()
	if r.b.Dialect == SQLite {
		r.exec("CREATE TRIGGER poison BEFORE " + op + " ON " + table + " WHEN " + when + " BEGIN SELECT RAISE(ABORT, 'poisoned'); END")
		return
	}
	r.exec("CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'poisoned' USING ERRCODE = 'check_violation'; END $$;" +
		"CREATE TRIGGER poison BEFORE " + op + " ON " + table + " FOR EACH ROW WHEN (" + when + ") EXECUTE FUNCTION poison()")
}

func poisonHandOut(r *rig) {
	r.queue("jobs")
	r.none("jobs")
	r.none("jobs")
	r.poison("UPDATE", "messages", "NEW.lease_no > 0")
	ctx, cancel := context.WithTimeout(r.ctx, 20*time.Second)
	defer cancel()
	waited := make(chan []queue.Message)
	go func() {
		waited <- r.WaitMessages(ctx, queue.Receive{Project: r.project, Queue: "jobs", Max: 10, Visibility: time.Minute})
	}()
	time.Sleep(50 * time.Millisecond) // where it waits by then it is handed to it, and that fails
	id := r.publish(queue.Publish{Queue: "jobs"})[0]
	if m := <-waited; len(m) > 0 || ctx.Err() != nil {
		r.Errorf("handed out %v, want to be woken with nothing: %v", ids(m), ctx.Err())
	}
	r.cured("messages")
	want(r, "received", r.one("jobs", time.Minute).ID, id)
}

// cured ends that.
func (r *rig) cured(table string) {
	r.Helper()
	if r.b.Dialect == SQLite {
		r.exec("DROP TRIGGER poison")
		return
	}
	r.exec("DROP FUNCTION poison CASCADE")
}

// awa#388. What a sweep answers meanwhile is the store's affair.
func poisonLapse(r *rig) {
	r.queue("jobs", maxReceives(1))
	b := bodies("jobs", 9)
	for i := range b {
		b[i].Group = []string{"", "g"}[i%2]
	}
	r.publish(b...)
	var l []queue.Message
	r.eventually("all are in flight", func() bool { l = append(l, r.receive("jobs", 9, time.Minute)...); return len(l) == 9 })
	r.age("messages", "vis", "true", 2*time.Minute)
	r.poison("UPDATE", "messages", "OLD.id = "+itoa(l[3].ID))
	r.eventually("the others are dead", func() bool {
		r.Sweep(r.ctx, 5) // may say what it met
		return len(r.dead("jobs")) == 8
	})
	r.cured("messages")
	r.eventually("and so is the one", func() bool { r.Sweep(r.ctx, 5); return len(r.dead("jobs")) == 9 })
}

func poisonExpiry(r *rig) {
	r.queue("jobs")
	ids := r.publish(bodies("jobs", 9)...)
	r.age("messages", "expires_at", "true", 31*24*time.Hour)
	r.poison("DELETE", "messages", "OLD.id = "+itoa(ids[0]))
	r.eventually("the others are gone", func() bool {
		r.Sweep(r.ctx, 5)
		return r.count("SELECT count(*) FROM messages") == 1
	})
	r.cured("messages")
	r.eventually("and so is the one", func() bool { r.Sweep(r.ctx, 5); return r.count("SELECT count(*) FROM messages") == 0 })
}

func poisonReap(r *rig) {
	var calls []ledger.Call
	for i := range 9 {
		calls = append(calls, r.call(itoa(int64(i)), lease(20*time.Millisecond)))
	}
	out := r.claimAll(calls...)
	r.past(out[8].Claim.LeaseUntil)
	r.poison("UPDATE", "claims", "OLD.id = "+itoa(out[0].Claim.ID))
	r.eventually("the others are reaped", func() bool {
		r.ReapClaims(r.ctx, 5)
		return r.count("SELECT count(*) FROM claims WHERE state = 'retry'") == 8
	})
	r.cured("claims")
	r.eventually("and so is the one", func() bool {
		r.ReapClaims(r.ctx, 5)
		return r.count("SELECT count(*) FROM claims WHERE state = 'retry'") == 9
	})
}

// nats-server#6415.
func poisonPublish(r *rig) {
	r.queue("jobs")
	for _, table := range []string{"messages", "bodies", "publish_keys"} {
		p := queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Key: table, Hash: make([]byte, 32), Group: "g"}
		r.poison("INSERT", table, "true")
		if out, err := r.Publish(r.ctx, p); err == nil && out[0].Err == nil {
			r.Errorf("published though %s could not be written", table)
		}
		for _, left := range []string{"messages", "bodies", "publish_keys"} {
			want(r, left+" left", r.count("SELECT count(*) FROM "+left), 0)
		}
		r.cured(table)
		out, err := r.Publish(r.ctx, p)
		r.ok(err)
		r.ok(out[0].Err)
		want(r, "replay", out[0].Replay, false)
		r.applied(act(queue.Ack, r.one("jobs", time.Minute)))
		r.exec("DELETE FROM publish_keys")
	}
}

func poisonPublishOthers(r *rig) {
	r.queue("jobs")
	r.poison("INSERT", "messages", "NEW.prio = 9")
	done := make(chan int, 8)
	for i := range 8 {
		go func() {
			n := 0
			for range 5 {
				out, err := r.Publish(r.ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte(`1`), Priority: 9 * (i % 2)})
				if err == nil && out[0].Err == nil {
					n++
				}
			}
			done <- n
		}()
	}
	n := 0
	for range 8 {
		n += <-done
	}
	want(r, "published", n, 20)
	r.cured("messages")
	want(r, "received", len(r.receive("jobs", 100, time.Minute)), 20)
}

func poisonSend(r *rig) {
	r.endpoint()
	for _, table := range []string{"events", "deliveries", "claims", "messages"} {
		r.poison("INSERT", table, "true")
		if out, err := r.Send(r.ctx, r.event("evt-"+table)); err == nil && out[0].Err == nil {
			r.Errorf("sent though %s could not be written", table)
		}
		for _, left := range []string{"events", "deliveries", "claims", "messages"} {
			want(r, left+" left", r.count("SELECT count(*) FROM "+left), 0)
		}
		r.cured(table)
	}
	want(r, "replay", r.send(r.event("evt-events")).Replay, false)
}

func poisonSettle(r *rig) {
	r.endpoint()
	for _, id := range []string{"a", "b", "c"} {
		r.delivery(id)
	}
	l := r.take(3)
	r.poison("UPDATE", "claims", "OLD.id = "+itoa(l[1].ClaimID))
	done := make(chan bool, 3)
	for i := range l {
		go func() {
			out, err := r.SettleDeliveries(r.ctx, outcome(&l[i], ledger.Succeeded))
			done <- err == nil && out[0].Applied
		}()
	}
	n := 0
	for range l {
		if <-done {
			n++
		}
	}
	want(r, "settled", n, 2)
	r.cured("claims")
	r.ends(outcome(&l[1], ledger.Succeeded), ledger.Done)
}

func poisonSettleOne(r *rig) {
	for range 3 {
		r.endpoint(brief)
	}
	sent := r.send(r.event("evt1")).Deliveries
	l := r.take(3)
	if len(l) != 3 {
		r.Fatalf("took %d deliveries of one event to three endpoints", len(l))
	}
	r.poison("UPDATE", "claims", "OLD.id = "+itoa(l[0].ClaimID)+" AND NEW.state = 'done'")
	out, err := r.SettleDeliveries(r.ctx, outcome(&l[0], ledger.Succeeded))
	if err == nil && out[0].Applied {
		r.Error("an outcome was taken that the database refuses")
	}
	r.ends(outcome(&l[1], ledger.Succeeded), ledger.Done)
	r.ends(outcome(&l[2], ledger.Succeeded), ledger.Done)
	r.lapsed(&l[0])
	j := r.soonJob()
	want(r, "the claim of what comes again", j.ClaimID, l[0].ClaimID)
	r.cured("claims")
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	r.sweep()
	r.idle()
	tries := map[int64]int{l[0].ClaimID: 2}
	for _, d := range sent {
		n := max(1, tries[r.count("SELECT claim_id FROM deliveries WHERE id = "+itoa(d.ID))])
		want(r, "attempts", len(r.dlv(d.ID).Attempts), n)
	}
}

func poisonOutcome(r *rig) {
	r.endpoint()
	id := r.delivery("evt1")
	j := r.job()
	r.poison("DELETE", "messages", "true")
	if out, err := r.SettleDeliveries(r.ctx, outcome(j, ledger.Succeeded)); err == nil && out[0].Applied {
		r.Error("the outcome was taken though its message could not be settled")
	}
	want(r, "state", r.dlv(id).State, webhook.Sending)
	want(r, "attempts", len(r.dlv(id).Attempts), 0)
	r.cured("messages")
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func poisonWord(r *rig) {
	r.queue("jobs")
	r.publish(queue.Publish{Queue: "jobs"})
	m, a := r.work("k")
	w := settling(a, ledger.Succeeded)
	r.poison("DELETE", "messages", "true")
	if out, err := r.SettleClaims(r.ctx, w); err == nil && out[0].Applied {
		r.Error("the word was taken though its message could not be settled")
	}
	want(r, "state", r.find("k").State, ledger.Started)
	want(r, "status", r.status("jobs", m.ID), queue.InFlight)
	r.cured("messages")
	r.say(w, ledger.Done)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
}

func poisonAttempt(r *rig) {
	r.endpoint(brief)
	id := r.delivery("evt1")
	r.poison("INSERT", "attempts", "true")
	r.lapsed(r.job()) // its death cannot be written either
	j := r.soonJob()
	want(r, "attempt", j.Attempt, 2)
	r.ends(outcome(j, ledger.Succeeded), ledger.Done)
	want(r, "state", r.dlv(id).State, webhook.Delivered)
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 0)
	r.sweep()
	r.idle()
}

func poisonTake(r *rig) {
	r.guilty = true // the sick endpoint is left waiting a while, which looks stranded
	a, b := r.endpoint(), r.endpoint()
	r.sendMany(2)
	claim := r.count("SELECT min(claim_id) FROM deliveries WHERE endpoint = " + itoa(a.ID))
	r.poison("UPDATE", "claims", "OLD.id = "+itoa(claim))
	got := 0
	r.eventually("the other endpoint's are taken", func() bool {
		t, err := r.TakeDeliveries(r.ctx, webhook.Take{Owner: "w", Max: 10, Slack: slack})
		if err != nil {
			return false
		}
		for _, j := range t.Jobs {
			if j.Endpoint.ID == b.ID {
				got++
			}
		}
		return got == 2
	})
	r.cured("claims")
}
