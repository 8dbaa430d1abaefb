package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestClaimLaws drives a claim by every call, in any order and at any time, by workers that lie about nothing but their
// being alive, and holds each step against what must always be so. It also keeps the truth that the claim cannot see:
// whether the effect happened.
func TestClaimLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := t0
		c := fresh(rapid.SampledFrom([]Policy{Idempotent, Once}).Draw(t, "policy"), rapid.IntRange(1, 4).Draw(t, "tries"))
		c.Window = time.Duration(rapid.SampledFrom([]int{0, 100, 1000}).Draw(t, "window")) * time.Second
		grants, begun, effects := 0, map[int64]bool{}, map[int64]bool{}
		person := false // somebody answered for what happened
		check := func(before Claim, granted bool) {
			switch {
			case c.Fence < before.Fence || c.Fence > before.Fence+1 || (c.Fence > before.Fence) != granted:
				t.Fatalf("fence %d -> %d, granted %v", before.Fence, c.Fence, granted)
			case before.State == Done && (c.State != Done || !slices.Equal(c.Result, before.Result)):
				t.Fatalf("done became %s", c.State)
			case granted && before.State.Terminal():
				t.Fatalf("%s was granted", before.State)
			case granted && before.State.Held() && before.LeaseUntil.After(now):
				t.Fatal("a live lease was stolen")
			case granted && c.Policy == Once && (before.State == Started || before.Ambiguous):
				t.Fatal("a once was granted after a try whose outcome is unknown")
			case c.Tries < 0 || c.Attempt < 0 || c.Tries > c.MaxTries:
				t.Fatalf("tries %d of %d, attempts %d", c.Tries, c.MaxTries, c.Attempt)
			case c.State == Claimed && c.Policy != Once:
				t.Fatal("an idempotent is claimed")
			case c.State == Started && c.Begun != c.Fence:
				t.Fatal("started without a beginning")
			case c.State.Held() != !c.LeaseUntil.IsZero(), (c.State == Retry) != !c.NextAt.IsZero(),
				(c.State == Done || c.State == Failed) != !c.FinishedAt.IsZero():
				t.Fatalf("times of %s: lease %v, next %v, finished %v", c.State, c.LeaseUntil, c.NextAt, c.FinishedAt)
			case c.State == Failed && c.Ambiguous:
				t.Fatal("failed though a try may have taken effect")
			case c.State == Failed && len(effects) > 0 && !person:
				t.Fatal("failed, and it happened")
			case c.Policy == Once && len(effects) > 1 && !person:
				t.Fatal("a once happened twice")
			case c.State == Done && len(effects) == 0 && !person:
				t.Fatal("done, and it did not happen")
			}
		}
		settle := func(t *rapid.T, fence int64, k Kind) {
			before := c
			a := c.Settle(now, fence, k, time.Duration(rapid.IntRange(0, 50).Draw(t, "retry in"))*time.Second, "word", []byte(fmt.Sprint(fence)))
			if a.State != c.State {
				t.Fatalf("it answers %s and is %s", a.State, c.State)
			}
			if a.Applied && fence != before.Fence {
				t.Fatal("an old fence's word applied")
			}
			if !a.Applied && (a.Reason == "" || c.State != before.State || c.Tries != before.Tries || c.NextAt != before.NextAt) {
				t.Fatalf("not applied (%q), and it changed %s -> %s", a.Reason, before.State, c.State)
			}
			check(before, false)
		}
		fence := func(t *rapid.T) int64 { return max(0, c.Fence-int64(rapid.IntRange(0, 2).Draw(t, "older"))) }
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 10, 100, 1000}).Draw(t, "seconds")) * time.Second)
			},
			"grant": func(t *rapid.T) {
				grants++
				before := c
				r := c.Grant(now, Grant{GrantID: fmt.Sprint(grants), Owner: "w", Lease: time.Duration(rapid.IntRange(1, 60).Draw(t, "lease")) * time.Second})
				if r.Verdict == Busy && r.Wait < time.Second {
					t.Fatalf("busy for %v", r.Wait)
				}
				if !r.Changed && c.State != before.State {
					t.Fatal("changed, and not said so")
				}
				if r.Verdict == Granted && c.Policy == Idempotent {
					begun[c.Fence] = true
				}
				check(before, r.Verdict == Granted)
			},
			"again": func(t *rapid.T) {
				before := c
				r := c.Grant(now, Grant{GrantID: c.GrantID, Owner: "w", Lease: time.Hour})
				if c.Fence != before.Fence && before.GrantID != "" {
					t.Fatalf("a call repeated was granted anew: %+v", r)
				}
				if before.GrantID == "" && r.Verdict == Granted && c.Policy == Idempotent {
					begun[c.Fence] = true
				}
				check(before, c.Fence != before.Fence)
			},
			"begin": func(t *rapid.T) {
				before, f := c, fence(t)
				a := c.Begin(now, f, time.Duration(rapid.IntRange(1, 60).Draw(t, "lease"))*time.Second)
				if a.Applied {
					if f != before.Fence || !before.State.Held() {
						t.Fatalf("begun by fence %d of %d in %s", f, before.Fence, before.State)
					}
					begun[f] = true
				}
				check(before, false)
			},
			// A worker works when it may, alive or not: the effect comes first, its word after or never.
			"effect": func(t *rapid.T) {
				f := fence(t)
				if !begun[f] || effects[f] {
					t.Skip()
				}
				if f != c.Fence || !c.State.Held() {
					t.Skip() // the effect's own time-out ends before the lease
				}
				effects[f] = true
			},
			"word": func(t *rapid.T) {
				f := fence(t)
				k := rapid.SampledFrom([]Kind{Succeeded, Definite, Permanent, Ambiguous, GivenBack}).Draw(t, "kind")
				switch {
				case effects[f]:
					k = rapid.SampledFrom([]Kind{Succeeded, Ambiguous}).Draw(t, "kind of what happened")
				case k == Succeeded:
					k = Definite
				}
				settle(t, f, k)
			},
			"reap": func(t *rapid.T) {
				before := c
				if c.Reap(now) && before.State.Held() && before.LeaseUntil.After(now) {
					t.Fatal("a live holder was reaped")
				}
				check(before, false)
			},
			"close": func(t *rapid.T) {
				if c.State.Held() && c.LeaseUntil.After(now) {
					t.Skip() // its message is not dead-lettered while it is held
				}
				before := c
				if c.Close(now, "expired") == before.State.Terminal() {
					t.Fatalf("close of %s", before.State)
				}
				check(before, false)
			},
			"reopen": func(t *rapid.T) {
				before := c
				if c.Reopen(now) && (c.State != Retry || c.Tries != 0) {
					t.Fatalf("reopened to %s with tries %d", c.State, c.Tries)
				}
				check(before, false)
			},
			"resolve": func(t *rapid.T) {
				before := c
				as := rapid.SampledFrom([]State{Done, Retry, Failed}).Draw(t, "as")
				if c.Resolve(now, as) {
					person = true
					if c.State != as {
						t.Fatalf("resolved as %s it is %s", as, c.State)
					}
				} else if c.State != before.State {
					t.Fatal("refused, and it changed")
				}
				check(before, false)
			},
		})
		// With nobody left, it comes to rest by itself, or waits for a worker.
		now = now.Add(Memory + 24*time.Hour)
		for range 3 {
			c.Reap(now)
		}
		if c.State.Held() || c.State == Retry {
			t.Fatalf("never at rest: %s", c.State)
		}
	})
}
