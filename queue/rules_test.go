package queue

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	t0   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	dead = DLQ{ID: 99, Retention: 14 * 24 * time.Hour}
)

func fresh(maxReceives int) Row {
	p := Publish{Project: 1, Queue: "jobs"}
	return p.New(t0, Queue{ID: 7, MaxReceives: maxReceives, Retention: 24 * time.Hour}, 5, 0)
}

func TestNew(t *testing.T) {
	t.Parallel()
	origin := t0.Add(-time.Hour)
	p := Publish{Project: 3, Priority: 4, Delay: time.Minute, OriginAt: origin}
	r := p.New(t0, Queue{ID: 7, MaxReceives: 5, Retention: time.Hour}, 11, 12)
	if r.ID != 11 || r.GroupID != 12 || r.QueueID != 7 || r.Project != 3 || r.Priority != 4 || r.MaxReceives != 5 {
		t.Errorf("%+v", r)
	}
	if !r.VisibleAt.Equal(t0.Add(time.Minute)) || !r.ExpiresAt.Equal(t0.Add(time.Minute+time.Hour)) || !r.OriginAt.Equal(origin) {
		t.Errorf("times: %+v", r)
	}
	p.OriginAt = time.Time{}
	if r = p.New(t0, Queue{ID: 8, MaxReceives: 5, IsDLQ: true}, 1, 0); r.MaxReceives != Unlimited || !r.OriginAt.Equal(t0) {
		t.Errorf("in a DLQ: %+v", r)
	}
}

func TestMayCarry(t *testing.T) {
	t.Parallel()
	held := func(change func(*Row)) *Row {
		r := fresh(3)
		r.Receive(t0, time.Minute)
		if change != nil {
			change(&r)
		}
		return &r
	}
	for name, c := range map[string]struct {
		row  *Row
		lost bool
		err  error
	}{
		"held":            {held(nil), false, nil},
		"timed out":       {held(func(r *Row) { r.Lapse(t0.Add(time.Minute), dead) }), false, nil},
		"carries it":      {held(func(r *Row) { r.ClaimID = 7 }), false, nil},
		"carries another": {held(func(r *Row) { r.ClaimID = 8 }), false, ErrConflict},
		"received again":  {held(func(r *Row) { r.Receive(t0.Add(time.Minute), time.Minute) }), true, nil},
		"given back":      {held(func(r *Row) { r.Settle(t0, Settle{Verb: Release}, Group{}, dead) }), true, nil},
		"dead":            {held(func(r *Row) { r.DeadLetter(t0, dead, "") }), true, nil},
		"dead and held": {held(func(r *Row) {
			r.DeadLetter(t0, dead, "")
			r.Lease-- // as its receive from the DLQ makes it one again
			r.Receive(t0, time.Minute)
		}), false, ErrConflict},
		"of another project": {held(func(r *Row) { r.Project = 2 }), false, ErrMessageNotFound},
		"none":               {nil, false, ErrMessageNotFound},
	} {
		lost, err := c.row.MayCarry(1, 1, 7)
		if lost != c.lost || !errors.Is(err, c.err) {
			t.Errorf("%s: lost %v, %v; want %v, %v", name, lost, err, c.lost, c.err)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for receives, want := range map[int]time.Duration{0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 8: 128, 9: 256, 10: 300, 11: 300, 1000: 300, 1 << 40: 300} {
		if got := Backoff(receives); got != want*time.Second {
			t.Errorf("after %d receives %v, want %v s", receives, got, int64(want))
		}
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	received := func(maxReceives, times int, group int64) Row {
		r := fresh(maxReceives)
		r.GroupID = group
		for range times {
			r.Receive(t0, time.Minute)
		}
		return r
	}
	lapsed := func(group int64) Row {
		r := received(3, 1, group)
		r.Lapse(t0.Add(time.Minute), dead)
		return r
	}
	inDLQ := received(1, 1, 0)
	inDLQ.DeadLetter(t0, dead, "why")
	inDLQ.Receive(t0, time.Minute)
	free, full, off := Group{Free: true}, Group{}, Group{Free: true, Disabled: true}
	for _, c := range []struct {
		name     string
		row      Row
		at       time.Duration // after the receive
		s        Settle
		g        Group
		reason   string
		status   Status
		visible  time.Duration
		receives int
		slot     int
		gone     bool
	}{
		{name: "ack", row: received(3, 1, 4), s: Settle{Verb: Ack, Lease: 1}, receives: 1, slot: -1, gone: true},
		{name: "ack by an older receipt", row: received(3, 2, 4), s: Settle{Verb: Ack, Lease: 1}, reason: LeaseLost, receives: 2},
		{name: "ack by id", row: received(3, 2, 4), s: Settle{Verb: Ack}, receives: 2, slot: -1, gone: true},
		{name: "ack by id of what nobody received", row: fresh(3), s: Settle{Verb: Ack}, reason: NotInFlight},
		{name: "ack after the lease", row: received(3, 1, 4), at: time.Hour, s: Settle{Verb: Ack, Lease: 1}, receives: 1, slot: -1, gone: true},
		{name: "ack after the sweep", row: lapsed(4), at: time.Hour, s: Settle{Verb: Ack, Lease: 1}, receives: 1, gone: true},
		{name: "nack waits", row: received(5, 3, 0), s: Settle{Verb: Nack, Lease: 3}, status: Delayed, visible: 4 * time.Second, receives: 3, slot: -1},
		{name: "nack at once", row: received(5, 3, 0), s: Settle{Verb: Nack, Lease: 3, HasDelay: true}, status: Available, receives: 3, slot: -1},
		{name: "nack of the last receive", row: received(3, 3, 4), s: Settle{Verb: Nack, Lease: 3, HasDelay: true, Delay: time.Hour}, status: Dead, receives: 3, slot: -1},
		{name: "nack without requeue", row: received(3, 1, 4), s: Settle{Verb: Nack, Lease: 1, DeadLetter: true}, status: Dead, receives: 1, slot: -1},
		{name: "nack without requeue in a DLQ", row: inDLQ, s: Settle{Verb: Nack, Lease: 2, DeadLetter: true, HasDelay: true}, status: Available, receives: 1, slot: -1},
		{name: "release", row: received(3, 3, 4), s: Settle{Verb: Release, Lease: 3, Delay: time.Second}, status: Delayed, visible: time.Second, receives: 2, slot: -1},
		{name: "release in a DLQ", row: inDLQ, s: Settle{Verb: Release, Lease: 2}, status: Available, receives: 1, slot: -1},
		{name: "extend", row: received(3, 1, 4), g: full, s: Settle{Verb: Extend, Lease: 1, Visibility: time.Hour}, status: InFlight, visible: time.Hour, receives: 1},
		{name: "extend to 0", row: received(3, 1, 4), g: full, s: Settle{Verb: Extend, Lease: 1}, status: Available, receives: 1},
		{name: "extend in the last try to 0", row: received(1, 1, 0), s: Settle{Verb: Extend, Lease: 1}, status: InFlight, receives: 1},
		{name: "extend past 12 h", row: received(3, 1, 0), at: time.Second, s: Settle{Verb: Extend, Lease: 1, Visibility: 12 * time.Hour}, status: InFlight, visible: 12*time.Hour - time.Second, receives: 1},
		{name: "extend after 12 h", row: received(3, 1, 0), at: 12 * time.Hour, s: Settle{Verb: Extend, Lease: 1, Visibility: time.Hour}, reason: LeaseLost, receives: 1},
		{name: "extend what is swept, a slot free", row: lapsed(4), at: time.Hour, g: free, s: Settle{Verb: Extend, Lease: 1, Visibility: time.Hour}, status: InFlight, visible: time.Hour, receives: 1, slot: 1},
		{name: "extend what is swept, no slot free", row: lapsed(4), at: time.Hour, g: full, s: Settle{Verb: Extend, Lease: 1, Visibility: time.Hour}, reason: LeaseLost, receives: 1},
		{name: "extend what is swept, no slot free, now before the sweep's", row: lapsed(4), at: -time.Hour, g: full, s: Settle{Verb: Extend, Lease: 1, Visibility: time.Hour}, reason: LeaseLost, receives: 1},
		{name: "extend what lapsed of a disabled group", row: received(3, 1, 4), at: time.Hour, g: off, s: Settle{Verb: Extend, Lease: 1, Visibility: time.Hour}, reason: LeaseLost, receives: 1},
		{name: "extend what lapsed, ungrouped", row: lapsed(0), at: time.Hour, g: full, s: Settle{Verb: Extend, Lease: 1, Visibility: time.Hour}, status: InFlight, visible: time.Hour, receives: 1, slot: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.row
			out, ch := r.Settle(t0.Add(c.at), c.s, c.g, dead)
			if out.Applied != (c.reason == "") || out.Reason != c.reason || out.Status != c.status {
				t.Errorf("applied %v, reason %q, status %q", out.Applied, out.Reason, out.Status)
			}
			if c.reason != "" && r != c.row {
				t.Errorf("it changed the row: %+v", r)
			}
			if out.Applied && c.s.Verb != Ack && out.Status != Dead && !r.VisibleAt.Equal(t0.Add(c.at+c.visible)) {
				t.Errorf("visible %v after, want %v", r.VisibleAt.Sub(t0.Add(c.at)), c.visible)
			}
			if r.Receives != c.receives || ch.Slot != c.slot || ch.Delete != c.gone || ch.Dead != (c.status == Dead) {
				t.Errorf("receives %d, change %+v", r.Receives, ch)
			}
		})
	}
}

// In a DLQ a nack says nothing of the message, whether that was dead-lettered or published there.
func TestNackInADLQLeavesTheLastError(t *testing.T) {
	t.Parallel()
	published, letter, other := fresh(Unlimited), fresh(1), fresh(3)
	letter.DeadLetter(t0, dead, "why it died")
	for name, c := range map[string]struct {
		row  Row
		want string
	}{"published there": {published, ""}, "dead-lettered": {letter, "why it died"}, "in another queue": {other, "another"}} {
		r := c.row
		r.Receive(t0, time.Minute)
		if out, _ := r.Settle(t0, Settle{Verb: Nack, Lease: r.Lease, HasDelay: true, Error: "another"}, Group{}, dead); !out.Applied || r.LastError != c.want {
			t.Errorf("%s: applied %v, last error %q, want %q", name, out.Applied, r.LastError, c.want)
		}
	}
}

// A lease is over at its end, not after it.
func TestLapseAtItsEnd(t *testing.T) {
	t.Parallel()
	r := fresh(3)
	r.Receive(t0, time.Minute)
	if _, did := r.Lapse(t0.Add(time.Minute-1), dead); did {
		t.Error("lapsed before its end")
	}
	if s := r.Status(t0.Add(time.Minute)); s != Available || !r.CanReceive(t0.Add(time.Minute)) {
		t.Errorf("at its end: %s", s)
	}
	if _, did := r.Lapse(t0.Add(time.Minute), dead); !did {
		t.Error("not lapsed at its end")
	}
}

func TestDeadLetterAndRedrive(t *testing.T) {
	t.Parallel()
	r := fresh(1)
	r.GroupID, r.ClaimID = 4, 8
	r.Receive(t0, time.Minute)
	now := t0.Add(time.Minute)
	c, did := r.Lapse(now, dead)
	if !did || !c.Dead || !c.CloseKey || c.Slot != -1 {
		t.Errorf("lapse of the last try: %v %+v", did, c)
	}
	if r.QueueID != 99 || r.GroupID != 0 || r.SourceQueue != 7 || r.SourceGroup != 4 || !r.DeadAt.Equal(now) || r.Open || r.Leased {
		t.Errorf("dead: %+v", r)
	}
	if !r.ExpiresAt.Equal(now.Add(dead.Retention)) || r.LastError != "received 1 times without an ack" {
		t.Errorf("dead: %+v", r)
	}
	if _, did := r.Lapse(now.Add(time.Hour), dead); did {
		t.Error("a dead letter lapsed")
	}
	if !r.CanReceive(now) || r.Status(now) != Available {
		t.Error("a dead letter cannot be received")
	}
	c = r.Redrive(now)
	if r.QueueID != 7 || r.GroupID != 4 || r.Receives != 0 || r.Lease != 1 || !r.DeadAt.IsZero() || r.SourceQueue != 0 || !r.ExpiresAt.Equal(now.Add(24*time.Hour)) {
		t.Errorf("redriven: %+v", r)
	}
	if !c.Wake.Equal(now) || r.LastError == "" {
		t.Errorf("redriven: %+v, error %q", c, r.LastError)
	}
}

// TestRowLaws drives a message by every act, in any order and at any time, and looks at each step.
func TestRowLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := t0
		r := fresh(rapid.SampledFrom([]int{1, 2, 3, Unlimited}).Draw(t, "max receives"))
		r.GroupID = rapid.SampledFrom([]int64{0, 4}).Draw(t, "group")
		inFlight, gone := 0, false
		live := 0 // the lease that is running, for certain
		step := func(before Row, c Change) {
			inFlight += c.Slot
			gone = c.Delete
			held := 0
			if r.Leased {
				held = 1
			}
			switch {
			case !gone && inFlight != held, gone && inFlight != 0:
				t.Fatalf("the slot count is %d, leased %v, gone %v", inFlight, r.Leased, gone)
			case r.Lease < before.Lease || r.Lease > before.Lease+1:
				t.Fatalf("lease %d -> %d", before.Lease, r.Lease)
			case r.Receives < 0:
				t.Fatal("a negative count")
			case r.Leased && !r.Open:
				t.Fatal("leased without a receipt")
			case before.DeadAt.IsZero() && r.DeadAt.IsZero() && r.Receives > r.MaxReceives:
				t.Fatalf("%d receives of %d", r.Receives, r.MaxReceives)
			case !before.DeadAt.IsZero() && !r.DeadAt.IsZero() && (r.Receives != before.Receives || r.SourceQueue != before.SourceQueue ||
				r.SourceGroup != before.SourceGroup || !r.DeadAt.Equal(before.DeadAt) || r.LastError != before.LastError):
				t.Fatalf("a dead letter forgot: %+v -> %+v", before, r)
			case r.MaxReceives == Unlimited && !r.DeadAt.IsZero():
				t.Fatal("what is never dead-lettered was")
			case r.Leased && r.VisibleAt.Sub(r.ReceivedAt) > MaxVisibility:
				t.Fatalf("leased for %v", r.VisibleAt.Sub(r.ReceivedAt))
			case r.OriginAt != before.OriginAt || r.PublishedAt != before.PublishedAt || r.ID != before.ID:
				t.Fatal("what never changes changed")
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 100_000).Draw(t, "seconds")) * time.Second)
			},
			"receive": func(t *rapid.T) {
				if gone || !r.CanReceive(now) {
					t.Skip()
				}
				before := r
				if before.Leased && before.VisibleAt.After(now) {
					t.Fatal("a live lease can be received")
				}
				c := r.Receive(now, time.Duration(rapid.IntRange(1, 43200).Draw(t, "lease"))*time.Second)
				live = r.Lease
				step(before, c)
			},
			"settle": func(t *rapid.T) {
				if gone {
					t.Skip()
				}
				s := Settle{
					Verb:  rapid.SampledFrom([]Verb{Ack, Nack, Release, Extend, Extend, Nack, Release}).Draw(t, "verb"),
					Lease: max(0, r.Lease-rapid.IntRange(-1, 2).Draw(t, "older")),
					Delay: time.Duration(rapid.IntRange(0, 100).Draw(t, "delay")) * time.Second, HasDelay: rapid.Bool().Draw(t, "has delay"),
					DeadLetter: rapid.Bool().Draw(t, "dead"), Visibility: time.Duration(rapid.IntRange(0, 43200).Draw(t, "visibility")) * time.Second,
				}
				g := Group{Free: rapid.Bool().Draw(t, "free"), Disabled: rapid.Bool().Draw(t, "disabled")}
				before := r
				out, c := r.Settle(now, s, g, dead)
				if !out.Applied && (r != before || c != (Change{})) {
					t.Fatalf("not applied (%s), and changed %+v -> %+v", out.Reason, before, r)
				}
				if out.Applied && s.Lease != 0 && s.Lease != live {
					t.Fatalf("receipt %d acted, the newest is %d", s.Lease, live)
				}
				if out.Applied && s.Verb == Release && before.DeadAt.IsZero() && r.MaxReceives != Unlimited && r.Receives != before.Receives-1 {
					t.Fatalf("a release left %d of %d", r.Receives, before.Receives)
				}
				if out.Applied && s.Verb != Extend && r.Open && !c.Delete {
					t.Fatalf("%s left the receipt open", s.Verb)
				}
				step(before, c)
			},
			"lapse": func(t *rapid.T) {
				if gone {
					t.Skip()
				}
				before := r
				c, did := r.Lapse(now, dead)
				if did == (r == before) {
					t.Fatalf("lapse says %v", did)
				}
				if did && before.VisibleAt.After(now) {
					t.Fatal("a live lease lapsed")
				}
				step(before, c)
			},
			"redrive": func(t *rapid.T) {
				if gone || r.DeadAt.IsZero() {
					t.Skip()
				}
				before := r
				c := r.Redrive(now)
				if before.Leased {
					c.Slot-- // the store gives back the slot of the DLQ's receive: dead letters have no group
				}
				if r.QueueID != 7 || r.Receives != 0 || r.Open {
					t.Fatalf("redriven: %+v", r)
				}
				step(before, c)
			},
		})
	})
}
