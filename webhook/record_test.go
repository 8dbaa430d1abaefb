package webhook

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

var then = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestEventAgain(t *testing.T) {
	t.Parallel()
	n := NewEvent{EventID: "evt_1", Hash: bytes.Repeat([]byte{1}, 32)}
	if err := n.Again(n.Hash); err != nil {
		t.Error(err)
	}
	if err := n.Again(bytes.Repeat([]byte{2}, 32)); !errors.Is(err, ErrEventIDReused) {
		t.Error(err)
	}
}

func TestStand(t *testing.T) {
	t.Parallel()
	at := func(m int) time.Time { return then.Add(time.Duration(m) * time.Minute) }
	claim := func(s ledger.State, attempt int) ledger.Claim {
		return ledger.Claim{State: s, Attempt: attempt, CreatedAt: at(1), NextAt: at(2), FinishedAt: at(3), LastError: "503", Policy: ledger.Once}
	}
	for name, c := range map[string]struct {
		claim     ledger.Claim
		base      int
		cancelled bool
		want      Delivery
	}{
		"new":        {claim(ledger.New, 4), 4, false, Delivery{State: Pending, NextAttemptAt: at(1)}},
		"given back": {claim(ledger.Retry, 4), 4, false, Delivery{State: Pending, NextAttemptAt: at(2)}},
		"retrying":   {claim(ledger.Retry, 1), 0, false, Delivery{State: Retrying, NextAttemptAt: at(2)}},
		"sending":    {claim(ledger.Started, 1), 0, false, Delivery{State: Sending}},
		"delivered":  {claim(ledger.Done, 1), 0, false, Delivery{State: Delivered, DeliveredAt: at(3)}},
		"failed":     {claim(ledger.Failed, 1), 0, false, Delivery{State: Failed}},
		"cancelled":  {claim(ledger.Failed, 0), 0, true, Delivery{State: Cancelled}},
	} {
		c.want.Policy, c.want.LastError = ledger.Once, "503"
		d := Delivery{NextAttemptAt: at(9), DeliveredAt: at(9)}
		d.Stand(&c.claim, c.base, c.cancelled)
		if diff := cmp.Diff(c.want, d); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOutcomeAttempt(t *testing.T) {
	t.Parallel()
	j := &Job{Attempt: 3, Cause: ByRetry}
	o := Outcome{Job: j, Kind: ledger.Definite, Result: Refused, Status: 503, Ago: 5 * time.Second, Latency: 2 * time.Second, Error: "no"}
	want := Attempt{
		Attempt: 3, Cause: ByRetry, StartedAt: then.Add(-5 * time.Second), FinishedAt: then.Add(-3 * time.Second), Result: Refused,
		Class: ledger.Definite, StatusCode: 503, Latency: 2 * time.Second, NextAttemptAt: then.Add(time.Minute),
	}
	if diff := cmp.Diff(want, o.Attempt(then, then.Add(time.Minute))); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		kind   ledger.Kind
		result Result
		status int
		class  ledger.Kind
		why    string
	}{
		{ledger.Permanent, Refused, 410, ledger.Permanent, ""},
		{ledger.Permanent, Refused, 404, ledger.Definite, ""}, // retry_4xx: false
		{ledger.Definite, NotSent, 0, ledger.Definite, "no"},
		{ledger.Ambiguous, Unknown, 0, ledger.Ambiguous, "no"},
		{ledger.Ambiguous, Unknown, 502, ledger.Ambiguous, "no"},
	} {
		a := (&Outcome{Job: j, Kind: c.kind, Result: c.result, Status: c.status, Error: "no"}).Attempt(then, time.Time{})
		if a.Class != c.class || a.Error != c.why {
			t.Errorf("%s of %d: class %s, error %q; want %s, %q", c.result, c.status, a.Class, a.Error, c.class, c.why)
		}
	}
	o.Kind, o.Latency = ledger.Succeeded, time.Minute // longer than it is ago: two clocks
	if a := o.Attempt(then, time.Time{}); a.Class != "" || !a.FinishedAt.Equal(then) {
		t.Errorf("%+v", a)
	}
	o.Ago = -time.Second
	if a := o.Attempt(then, time.Time{}); !a.StartedAt.Equal(then) || !a.FinishedAt.Equal(then) {
		t.Errorf("%+v", a)
	}
}

func TestDied(t *testing.T) {
	t.Parallel()
	c := ledger.Claim{State: ledger.Started, Attempt: 2, LeaseUntil: then}
	a := Died(then.Add(time.Minute), &c, then.Add(-time.Minute))
	if a.Result != Unknown || a.Class != ledger.Ambiguous || !a.StartedAt.Equal(then.Add(-time.Minute)) || !a.FinishedAt.Equal(then) || a.Attempt != 2 {
		t.Errorf("%+v", a)
	}
	c.State = ledger.Claimed
	if a := Died(then.Add(-time.Second), &c, time.Time{}); a.Result != NotSent || a.Class != ledger.Definite || !a.FinishedAt.Equal(then.Add(-time.Second)) || a.StartedAt.After(a.FinishedAt) || a.StartedAt.IsZero() {
		t.Errorf("%+v", a)
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	dlq := queue.DLQ{ID: 2, Retention: time.Hour}
	for name, c := range map[string]struct {
		state  ledger.State
		lease  int
		dead   bool
		save   bool
		change queue.Change
	}{
		"done":                          {ledger.Done, 1, false, true, queue.Change{Delete: true, Slot: -1}},
		"done, by a lease that is over": {ledger.Done, 0, false, true, queue.Change{Delete: true, Slot: -1}},
		"done, and a dead letter":       {ledger.Done, 1, true, true, queue.Change{Delete: true}},
		"a retry":                       {ledger.Retry, 1, false, true, queue.Change{Slot: -1, Wake: then.Add(time.Minute)}},
		"a retry, its lease lost":       {ledger.Retry, 9, false, false, queue.Change{}},
		"failed":                        {ledger.Failed, 1, false, true, queue.Change{Slot: -1, Dead: true, CloseKey: true}},
		"stuck":                         {ledger.Stuck, 1, false, true, queue.Change{Slot: -1, Dead: true, CloseKey: true}},
		"stuck, and a dead letter":      {ledger.Stuck, 1, true, false, queue.Change{}},
	} {
		m := (&queue.Publish{}).New(then, queue.Queue{ID: 1, MaxReceives: 1000, Retention: time.Hour}, 1, 7)
		m.ClaimID = 3
		m.Receive(then, time.Minute)
		if c.dead {
			m.DeadLetter(then, dlq, "")
		}
		change, save := Follow(then, &ledger.Claim{State: c.state, NextAt: then.Add(time.Minute), LastError: "503"}, &m, c.lease, dlq)
		if change != c.change || save != c.save {
			t.Errorf("%s: %+v %v", name, change, save)
		}
	}
}
