package ledger

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func fresh(p Policy, maxTries int) Claim {
	return Claim{ID: 1, Project: 1, Policy: p, State: New, MaxTries: maxTries, OriginAt: t0, CreatedAt: t0}
}

// in gives a claim that went through the events named, a second apart, and the time of the next.
func in(t *testing.T, p Policy, events ...string) (*Claim, time.Time) {
	t.Helper()
	c := fresh(p, 3)
	now := t0
	for i, e := range events {
		now = now.Add(time.Second)
		ok := true
		switch e {
		case "grant":
			ok = c.Grant(now, Grant{GrantID: fmt.Sprint(i), Lease: time.Minute}).Verdict == Granted
		case "begin":
			ok = c.Begin(now, c.Fence, time.Minute).Applied
		case "lapse":
			now = now.Add(time.Hour)
			ok = c.Reap(now)
		case "expire":
			now = now.Add(time.Hour)
		case "failed":
			ok = c.Resolve(now, Failed)
		default:
			ok = c.Settle(now, c.Fence, Kind(e), 0, "", nil).Applied
		}
		if !ok {
			t.Fatalf("event %d, %s, did not apply in state %s", i, e, c.State)
		}
	}
	return &c, now.Add(time.Second)
}

func TestStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy Policy
		events []string
		want   State
		amb    bool
		tries  int
	}{
		{Idempotent, []string{"grant"}, Started, false, 1},
		{Once, []string{"grant"}, Claimed, false, 1},
		{Once, []string{"grant", "begin"}, Started, false, 1},
		{Idempotent, []string{"grant", "begin"}, Started, false, 1},
		{Idempotent, []string{"grant", "done"}, Done, false, 1},
		{Once, []string{"grant", "begin", "done"}, Done, false, 1},
		{Idempotent, []string{"grant", "definite"}, Retry, false, 1},
		{Once, []string{"grant", "definite"}, Retry, false, 1},
		{Once, []string{"grant", "begin", "definite"}, Retry, false, 1},
		{Idempotent, []string{"grant", "ambiguous"}, Retry, true, 1},
		{Once, []string{"grant", "ambiguous"}, Retry, false, 1},
		{Once, []string{"grant", "begin", "ambiguous"}, Stuck, true, 1},
		{Idempotent, []string{"grant", "permanent"}, Failed, false, 1},
		{Idempotent, []string{"grant", "ambiguous", "grant", "permanent"}, Stuck, true, 2},
		{Idempotent, []string{"grant", "given_back"}, Retry, false, 0},
		{Once, []string{"grant", "begin", "given_back"}, Retry, false, 0},
		{Idempotent, []string{"grant", "lapse"}, Retry, true, 1},
		{Once, []string{"grant", "lapse"}, Retry, false, 1},
		{Once, []string{"grant", "begin", "lapse"}, Stuck, true, 1},
		{Idempotent, []string{"grant", "expire", "grant"}, Started, true, 2},
		{Once, []string{"grant", "expire", "grant"}, Claimed, false, 2},
		{Idempotent, []string{"grant", "lapse", "done"}, Done, true, 1},
		{Once, []string{"grant", "begin", "lapse", "done"}, Done, true, 1},
		{Idempotent, []string{"grant", "definite", "grant", "definite", "grant", "definite"}, Failed, false, 3},
		{Idempotent, []string{"grant", "definite", "grant", "ambiguous", "grant", "definite"}, Stuck, true, 3},
		{Idempotent, []string{"grant", "definite", "grant", "definite", "grant", "lapse"}, Stuck, true, 3},
		{Once, []string{"grant", "definite", "grant", "definite", "grant", "lapse"}, Failed, false, 3},
		{Idempotent, []string{"grant", "lapse", "grant", "done"}, Done, true, 2},
		{Once, []string{"grant", "begin", "ambiguous", "failed"}, Failed, false, 1},
	} {
		t.Run(fmt.Sprint(c.policy, c.events), func(t *testing.T) {
			t.Parallel()
			got, now := in(t, c.policy, c.events...)
			if got.State != c.want || got.Ambiguous != c.amb || got.Tries != c.tries {
				t.Errorf("state %s, ambiguous %v, tries %d; want %s, %v, %d", got.State, got.Ambiguous, got.Tries, c.want, c.amb, c.tries)
			}
			if !got.State.Terminal() {
				return
			}
			before := *got
			if r := got.Grant(now, Grant{GrantID: "later", Lease: time.Minute}); r.Verdict != Verdict(c.want) || r.Changed {
				t.Errorf("a grant of %s: %+v", c.want, r)
			}
			if got.Reap(now.Add(1000*24*time.Hour)) || got.Close(now, "x") {
				t.Errorf("%s was moved", c.want)
			}
			if before.Fence != got.Fence || before.State != got.State {
				t.Errorf("%s changed", c.want)
			}
		})
	}
}

func TestGrantBusy(t *testing.T) {
	t.Parallel()
	c, now := in(t, Idempotent, "grant")
	for wait, at := range map[time.Duration]time.Time{58 * time.Second: now.Add(time.Second), time.Second: now.Add(58*time.Second + 900*time.Millisecond)} {
		r := c.Grant(at, Grant{GrantID: "b", Lease: time.Minute})
		if r.Verdict != Busy || r.Wait != wait || r.Changed {
			t.Errorf("%v later: %+v, want busy for %v", at.Sub(now), r, wait)
		}
	}
	if r := c.Grant(now, Grant{GrantID: "0", Lease: time.Hour}); r.Verdict != Granted || !r.Repeated || r.Changed || c.Fence != 1 {
		t.Errorf("its own call again: %+v", r)
	}
	if r := c.Grant(now, Grant{GrantID: "0", Owner: "another", Lease: time.Hour}); r.Verdict != Busy {
		t.Errorf("its grant id by another: %+v", r)
	}
	if r := c.Grant(now.Add(time.Hour), Grant{GrantID: "0", Lease: time.Hour}); r.Verdict != Busy || r.Wait < time.Second {
		t.Errorf("its grant id after its lease: %+v", r)
	}
}

func TestGrantLapsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy   Policy
		events   []string
		verdict  Verdict
		notBegun bool
	}{
		{Idempotent, []string{"grant", "expire"}, Granted, false},
		{Once, []string{"grant", "expire"}, Granted, true},
		{Once, []string{"grant", "begin", "expire"}, WasStuck, false},
	} {
		k, now := in(t, c.policy, c.events...)
		r := k.Grant(now, Grant{GrantID: "b", Lease: time.Minute})
		if r.Verdict != c.verdict || !r.Lapsed || r.NotBegun != c.notBegun || !r.Changed {
			t.Errorf("%s %v: %+v", c.policy, c.events, r)
		}
	}
}

// A lease and a window are over at their end, not after it: a message is due again at that very moment.
func TestEnds(t *testing.T) {
	t.Parallel()
	c := fresh(Idempotent, 3)
	c.Window = time.Minute
	if r := c.Grant(t0, Grant{GrantID: "a", Lease: time.Minute}); r.Verdict != Granted {
		t.Fatalf("%+v", r)
	}
	end := t0.Add(time.Minute)
	k := c
	if r := k.Grant(end.Add(-1), Grant{GrantID: "b", Lease: time.Minute}); r.Verdict != Busy {
		t.Errorf("before the lease's end: %s", r.Verdict)
	}
	k = c
	k.Window = 0
	if r := k.Grant(end, Grant{GrantID: "b", Lease: time.Minute}); r.Verdict != Granted {
		t.Errorf("at the lease's end: %s", r.Verdict)
	}
	if k = c; k.Reap(end.Add(-1)) {
		t.Error("reaped before the lease's end")
	}
	if k = c; !k.Reap(end) || k.State != Stuck {
		t.Errorf("reaped at the lease's end, which is the window's: %s", k.State)
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	c, now := in(t, Idempotent, "grant")
	c.Window = time.Hour
	c.Settle(now, 1, Ambiguous, 0, "", nil)
	k := *c
	if k.Reap(t0.Add(time.Hour)) || k.State != Retry {
		t.Errorf("inside its window it was moved to %s", k.State)
	}
	if !k.Reap(t0.Add(time.Hour+time.Second)) || k.State != Stuck {
		t.Errorf("past its window it is %s", k.State)
	}
	k = *c
	if r := k.Grant(t0.Add(2*time.Hour), Grant{GrantID: "b", Lease: time.Minute}); r.Verdict != WasStuck {
		t.Errorf("a grant past the window: %+v", r)
	}
	k = *c
	k.Window = 0
	if k.Reap(t0.Add(80*24*time.Hour)) || k.Grant(t0.Add(80*24*time.Hour), Grant{GrantID: "b", Lease: time.Minute}).Verdict != Granted {
		t.Error("no window: for ever")
	}
}

// A try with an unknown outcome whose next would come past the receiver's window ends at once; before it, or where every outcome is known, it waits.
func TestBeyondTheWindow(t *testing.T) {
	t.Parallel()
	const in1h = 59*time.Minute + 59*time.Second // the grant is a second old
	for _, c := range []struct {
		former []string
		kind   Kind
		again  time.Duration
		want   State
	}{
		{nil, Ambiguous, in1h, Stuck},
		{nil, Ambiguous, in1h - 1, Retry},
		{nil, Definite, 2 * time.Hour, Retry},
		{nil, GivenBack, 2 * time.Hour, Retry},
		{[]string{"ambiguous", "grant"}, Definite, 2 * time.Hour, Stuck},
		{[]string{"ambiguous", "grant"}, GivenBack, 2 * time.Hour, Retry},
		{[]string{"definite", "grant"}, Ambiguous, in1h - 1, Retry}, // the window is that of the first that is not known
	} {
		k, now := in(t, Idempotent, append([]string{"grant"}, c.former...)...)
		k.Window = time.Hour
		a := k.Settle(now, k.Fence, c.kind, c.again, "no answer", nil)
		if !a.Applied || a.State != c.want || k.State != c.want || k.NextAt.IsZero() != (c.want == Stuck) || !k.FinishedAt.IsZero() {
			t.Errorf("%s, again in %v after %v: %+v, the claim %s with next %v", c.kind, c.again, c.former, a, k.State, k.NextAt)
		}
		if c.want == Stuck && k.LastError != "no answer; "+beyondWindow {
			t.Errorf("stuck for %q", k.LastError)
		}
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	late := t0.Add(Memory + time.Hour)
	c := fresh(Idempotent, 3)
	if r := c.Grant(late, Grant{GrantID: "a", Lease: time.Minute}); r.Verdict != TooOld || c.State != Failed || c.Fence != 0 {
		t.Errorf("%+v, state %s", r, c.State)
	}
	k, _ := in(t, Idempotent, "grant", "ambiguous")
	if !k.Reap(late) || k.State != Stuck {
		t.Errorf("an ambiguous retry: %s", k.State)
	}
	k, _ = in(t, Idempotent, "grant", "definite")
	if !k.Reap(late) || k.State != Failed {
		t.Errorf("a definite retry: %s", k.State)
	}
}

// A person who sends back what is too old says that it is to run, once.
func TestMemoryOfWhatAPersonSentBack(t *testing.T) {
	t.Parallel()
	late := t0.Add(Memory + time.Hour)
	c := fresh(Idempotent, 3)
	c.Grant(late, Grant{GrantID: "a", Lease: time.Minute})
	for i, act := range []func() bool{func() bool { return c.Reopen(late) }, func() bool { return c.Resolve(late, Retry) }} {
		if !act() || c.Reap(late.Add(Memory)) {
			t.Fatalf("%d: it was reaped in state %s", i, c.State)
		}
		if k := c; !k.Reap(late.Add(Memory+time.Second)) || k.State != Failed {
			t.Errorf("%d: nobody asked for it as long again, and it is %s", i, k.State)
		}
		if r := c.Grant(late, Grant{GrantID: fmt.Sprint("b", i), Lease: time.Minute}); r.Verdict != Granted {
			t.Fatalf("%d: %+v", i, r)
		}
		c.Settle(late, c.Fence, Definite, 0, "", nil)
		if r := c.Grant(late, Grant{GrantID: fmt.Sprint("c", i), Lease: time.Minute}); r.Verdict != TooOld {
			t.Errorf("%d: tried again by itself: %+v", i, r)
		}
	}
}

// Whose message is another's by now is granted nothing, and told what has ended.
func TestLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		events  []string
		verdict Verdict
	}{
		{nil, Busy},
		{[]string{"grant"}, Busy},
		{[]string{"grant", "lapse"}, Busy},
		{[]string{"grant", "expire"}, Busy},
		{[]string{"grant", "done"}, WasDone},
		{[]string{"grant", "permanent"}, WasFailed},
		{[]string{"grant", "ambiguous", "grant", "permanent"}, WasStuck},
	} {
		k, now := in(t, Idempotent, c.events...)
		before := *k
		r := k.Grant(now, Grant{GrantID: "late", Lease: time.Minute, Lost: true})
		if r.Verdict != c.verdict || r.Changed || r.Lost != (r.Verdict == Busy) || r.Verdict == Busy && r.Wait < time.Second || !reflect.DeepEqual(before, *k) {
			t.Errorf("%v: %+v, now %+v", c.events, r, *k)
		}
	}
}

// A message carries the key whose work it is, or with which it is to be dead-lettered.
func TestLinks(t *testing.T) {
	t.Parallel()
	for v, want := range map[Verdict]bool{Granted: true, WasDone: false, Busy: false, WasFailed: true, WasStuck: true, Mismatch: false, TooOld: true} {
		r := Ruling{Verdict: v}
		if r.Links() != want {
			t.Errorf("%s: %v", v, !want)
		}
		had, none := Claim{MessageID: 1, Lease: 1}, Claim{}
		had.Link(r, 7, 3)
		none.Link(r, 7, 3)
		if (had.MessageID == 7 && had.Lease == 3) != (v == Granted) || none.MessageID != 7 || (none.Lease == 3) != (v == Granted) {
			t.Errorf("%s: message %d, lease %d; of none %d, %d", v, had.MessageID, had.Lease, none.MessageID, none.Lease)
		}
	}
	if (Ruling{Verdict: Granted, Repeated: true}).Links() {
		t.Error("the same call again links anew")
	}
}

func TestMismatch(t *testing.T) {
	t.Parallel()
	c := fresh(Idempotent, 3)
	c.WorkHash = []byte("one")
	if r := c.Grant(t0, Grant{GrantID: "a", Lease: time.Minute, WorkHash: []byte("two")}); r.Verdict != Mismatch || r.Changed || c.Fence != 0 {
		t.Errorf("%+v", r)
	}
	if r := c.Grant(t0, Grant{GrantID: "a", Lease: time.Minute}); r.Verdict != Granted {
		t.Errorf("not compared: %+v", r)
	}
}

func TestPersons(t *testing.T) {
	t.Parallel()
	stuckOnce := []string{"grant", "begin", "ambiguous"}
	failed := []string{"grant", "permanent"}
	for _, c := range []struct {
		name   string
		policy Policy
		events []string
		act    func(*Claim, time.Time) bool
		ok     bool
		state  State
	}{
		{"reopen failed", Idempotent, failed, (*Claim).Reopen, true, Retry},
		{"reopen a stuck once", Once, stuckOnce, (*Claim).Reopen, false, Stuck},
		{"reopen done", Idempotent, []string{"grant", "done"}, (*Claim).Reopen, false, Done},
		{"reopen held", Idempotent, []string{"grant"}, (*Claim).Reopen, false, Started},
		{"resolve stuck as done", Once, stuckOnce, resolve(Done), true, Done},
		{"resolve stuck as failed", Once, stuckOnce, resolve(Failed), true, Failed},
		{"resolve stuck as retry", Once, stuckOnce, resolve(Retry), true, Retry},
		{"resolve failed as retry", Idempotent, failed, resolve(Retry), true, Retry},
		{"resolve failed as done", Idempotent, failed, resolve(Done), false, Failed},
		{"resolve done as retry", Idempotent, []string{"grant", "done"}, resolve(Retry), false, Done},
		{"resolve held as failed", Idempotent, []string{"grant"}, resolve(Failed), false, Started},
		{"resolve waiting as done", Idempotent, []string{"grant", "definite"}, resolve(Done), false, Retry},
		{"resolve stuck as stuck", Once, stuckOnce, resolve(Stuck), false, Stuck},
	} {
		k, now := in(t, c.policy, c.events...)
		before := *k
		if ok := c.act(k, now); ok != c.ok || k.State != c.state || k.Fence != before.Fence || k.Attempt != before.Attempt {
			t.Errorf("%s: %v, state %s, fence %d", c.name, ok, k.State, k.Fence)
		}
		if k.State == Retry && (k.Tries != 0 || !k.FirstAt.IsZero()) && c.ok {
			t.Errorf("%s: tries %d, first %v", c.name, k.Tries, k.FirstAt)
		}
	}
}

func resolve(as State) func(*Claim, time.Time) bool {
	return func(c *Claim, now time.Time) bool { return c.Resolve(now, as) }
}

// A person who says that it failed answers for what happened: tried again and refused, it is failed, not stuck.
func TestResolvedAsFailedIsCertain(t *testing.T) {
	t.Parallel()
	c, now := in(t, Once, "grant", "begin", "ambiguous")
	if !c.Resolve(now, Failed) || !c.Reopen(now) {
		t.Fatal("not reopened")
	}
	if c.Grant(now, Grant{GrantID: "b", Lease: time.Minute}).Verdict != Granted || c.Ambiguous {
		t.Errorf("granted with an unknown outcome that a person has ruled out")
	}
	if a := c.Settle(now, c.Fence, Permanent, 0, "", nil); a.State != Failed {
		t.Errorf("refused for good: %s", a.State)
	}
}

func TestOpID(t *testing.T) {
	t.Parallel()
	c, _ := in(t, Idempotent, "grant", "definite", "grant", "permanent")
	c.Hash, c.CreatedAt = Hash(1, "a", "b"), t0
	was := c.OpID()
	c.Reopen(t0.Add(time.Hour))
	c.Fence++
	c.CreatedAt = c.CreatedAt.Add(999 * time.Nanosecond).In(time.FixedZone("elsewhere", 3600)) // no store keeps more
	if c.OpID() != was || was != "op_3ebc7106b6f25c8d8022aa9ba6d3b411" {
		t.Errorf("%s, then %s", was, c.OpID())
	}
	anew, other := *c, *c
	anew.CreatedAt = anew.CreatedAt.Add(time.Microsecond)
	other.Hash = Hash(1, "ab")
	if anew.OpID() == was || other.OpID() == was {
		t.Error("a key made anew, or another key, has the same op id")
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	seen := map[[32]byte]string{}
	for name, h := range map[string][32]byte{
		"a:b, c": Hash(1, "a:b", "c"), "a, b:c": Hash(1, "a", "b:c"), "a, b, c": Hash(1, "a", "b", "c"), "ab, c": Hash(1, "ab", "c"),
		"abc": Hash(1, "abc"), "abc, empty": Hash(1, "abc", ""), "empty, abc": Hash(1, "", "abc"), "another project": Hash(2, "abc"),
	} {
		if other, ok := seen[h]; ok {
			t.Errorf("%q and %q are one key", name, other)
		}
		seen[h] = name
	}
	if one, again := Hash(1, "a", "b"), Hash(1, "a", "b"); one != again {
		t.Error("a hash is not itself")
	}
}
