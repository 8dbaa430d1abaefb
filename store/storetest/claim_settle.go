package storetest

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/onceward/onceward/ledger"
)

var wordTests = []named{
	{"I7, H-L05: a fenced-out worker's word changes nothing and is recorded", fencedOut},
	{"I5: done never changes, whatever is said", doneStays},
	{"the same success twice is the same success", doneTwice},
	{"I5: a late success of the same fence counts in retry", lateInRetry},
	{"I5: a late success of the same fence counts in stuck", lateInStuck},
	{"a late success after failed is refused", lateInFailed},
	{"a once not begun cannot be done", notBegun},
	{"H-L04: a once is stuck after an ambiguous try", onceAmbiguous},
	{"a once refused for certain is tried again", onceDefinite},
	{"what was not begun cannot have happened", onceAmbiguousNotBegun},
	{"H-L04: an idempotent is tried again after an ambiguous try", idempotentAmbiguous},
	{"H-L19: what would be tried next past the receiver's window is stuck at once", beyondWindow},
	{"permanent fails, or is stuck after an ambiguous try", permanent},
	{"tries used up: failed, or stuck after an ambiguous try", triesUsedUp},
	{"a try given back is not counted", givenBack},
	{"a key under which nothing was begun stands for no work", givenBackStandsForNothing},
	{"a begin extends the lease, and is the heartbeat", heartbeat},
	{"I7: a begin by an old fence is refused", beginFenced},
	{"a begin after the end is refused", beginAfterEnd},
	{"a batch answers each word in its place", wordBatch},
	{"a word on a key that is not there is told so", wordNoKey},
	{"the history holds grants and outcomes, oldest first, the newest 50", history},
	{"I7, H-L22: what a worker repeats for ever is not kept for ever, a person's acts are", historyBounded},
	{"I5: claimers, words and reapers in a storm", claimStorm},
}

func fencedOut(r *rig) {
	for _, k := range []ledger.Kind{ledger.Succeeded, ledger.Definite, ledger.Permanent, ledger.Ambiguous, ledger.GivenBack} {
		key := string(k)
		old := r.expired(r.call(key))
		a := r.ask(r.call(key), ledger.Granted)
		want(r, "fence", a.Claim.Fence, 2)
		w := word(old, k)
		w.Error = "late"
		r.unsaid(w, ledger.Fenced)
		if _, ok := r.said(key, ledger.Fenced, 1); !ok {
			_, notes, _ := r.FindClaim(r.ctx, 1, scope, key)
			r.Errorf("the word of the fenced-out is not in the history: %+v", notes)
		}
		r.say(word(a, ledger.Succeeded), ledger.Done)
	}
}

func doneStays(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	w := word(a, ledger.Succeeded)
	w.Result = []byte("first")
	r.say(w, ledger.Done)
	for _, k := range []ledger.Kind{ledger.Definite, ledger.Permanent, ledger.Ambiguous, ledger.GivenBack} {
		r.unsaid(word(a, k), string(ledger.Done))
	}
	r.ask(r.call("k"), ledger.WasDone)
	r.reap()
	_, err := r.resolve("k", ledger.Retry, 0)
	want(r, "resolve", errors.Is(err, ledger.ErrConflict), true)
	_, err = r.ReopenClaim(r.ctx, 1, scope, "k", "a person")
	want(r, "reopen", errors.Is(err, ledger.ErrConflict), true)
	want(r, "result", string(r.find("k").Result), "first")
}

func doneTwice(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	r.say(word(a, ledger.Succeeded), ledger.Done)
	r.say(word(a, ledger.Succeeded), ledger.Done)
}

func lateInRetry(r *rig) {
	a := r.expired(r.call("k"))
	r.reap()
	want(r, "state", r.find("k").State, ledger.Retry)
	r.say(word(a, ledger.Succeeded), ledger.Done)
}

func lateInStuck(r *rig) {
	a := r.expired(r.call("k", maxTries(1)))
	r.reap()
	want(r, "state", r.find("k").State, ledger.Stuck)
	r.say(word(a, ledger.Succeeded), ledger.Done)
	b := r.ask(r.call("o", once), ledger.Granted)
	r.begin(b, 20*time.Millisecond)
	r.past(r.find("o").LeaseUntil)
	r.reap()
	want(r, "state of a once", r.find("o").State, ledger.Stuck)
	r.say(word(b, ledger.Succeeded), ledger.Done)
}

func lateInFailed(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	r.say(word(a, ledger.Permanent), ledger.Failed)
	r.unsaid(word(a, ledger.Succeeded), string(ledger.Failed))
	r.ask(r.call("k"), ledger.WasFailed)
}

func notBegun(r *rig) {
	a := r.ask(r.call("k", once), ledger.Granted)
	r.unsaid(word(a, ledger.Succeeded), ledger.NotBegun)
	want(r, "begun", r.begin(a, time.Minute).State, ledger.Started)
	r.say(word(a, ledger.Succeeded), ledger.Done)
}

func onceAmbiguous(r *rig) {
	a := r.ask(r.call("k", once), ledger.Granted)
	r.begin(a, time.Minute)
	r.say(word(a, ledger.Ambiguous), ledger.Stuck)
	r.ask(r.call("k"), ledger.WasStuck)
	r.reap()
	want(r, "state", r.find("k").State, ledger.Stuck)
}

func onceDefinite(r *rig) {
	a := r.ask(r.call("k", once), ledger.Granted)
	r.begin(a, time.Minute)
	r.say(word(a, ledger.Definite), ledger.Retry)
	a = r.ask(r.call("k"), ledger.Granted)
	want(r, "state", a.Claim.State, ledger.Claimed)
	r.unsaid(word(a, ledger.Succeeded), ledger.NotBegun) // the former grant's beginning is not this one's
}

func onceAmbiguousNotBegun(r *rig) {
	a := r.ask(r.call("k", once), ledger.Granted)
	r.say(word(a, ledger.Ambiguous), ledger.Retry)
	r.ask(r.call("k"), ledger.Granted)
}

func beyondWindow(r *rig) {
	again := func(a ledger.Answer, k ledger.Kind, in time.Duration, to ledger.State) ledger.Claim {
		w := word(a, k)
		w.RetryIn, w.Error = in, "no answer"
		r.say(w, to)
		return r.find(a.Claim.Key)
	}
	c := again(r.ask(r.call("k", window(time.Hour)), ledger.Granted), ledger.Ambiguous, time.Hour, ledger.Stuck)
	want(r, "state", c.State, ledger.Stuck)
	want(r, "next is none", c.NextAt.IsZero(), true)
	want(r, "why", c.LastError, "no answer; the next try would come when the receiver no longer remembers the key of one with an unknown outcome")
	r.ask(r.call("k"), ledger.WasStuck)

	again(r.ask(r.call("within", window(time.Hour)), ledger.Granted), ledger.Ambiguous, 50*time.Minute, ledger.Retry)
	again(r.ask(r.call("known", window(time.Hour)), ledger.Granted), ledger.Definite, 2*time.Hour, ledger.Retry)
	again(r.ask(r.call("for ever"), ledger.Granted), ledger.Ambiguous, 2*time.Hour, ledger.Retry)
	again(r.ask(r.call("later", window(time.Hour)), ledger.Granted), ledger.Ambiguous, 0, ledger.Retry)
	again(r.ask(r.call("later"), ledger.Granted), ledger.GivenBack, 0, ledger.Retry)
	again(r.ask(r.call("later"), ledger.Granted), ledger.Definite, 2*time.Hour, ledger.Stuck)
}

func idempotentAmbiguous(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	r.say(word(a, ledger.Ambiguous), ledger.Retry)
	a = r.ask(r.call("k"), ledger.Granted)
	want(r, "ambiguous", a.Claim.Ambiguous, true)
	r.say(word(a, ledger.Succeeded), ledger.Done)
}

func permanent(r *rig) {
	r.say(word(r.ask(r.call("a"), ledger.Granted), ledger.Permanent), ledger.Failed)
	r.say(word(r.ask(r.call("b"), ledger.Granted), ledger.Ambiguous), ledger.Retry)
	r.say(word(r.ask(r.call("b"), ledger.Granted), ledger.Permanent), ledger.Stuck)
	r.ask(r.call("a"), ledger.WasFailed)
	r.ask(r.call("b"), ledger.WasStuck)
}

func triesUsedUp(r *rig) {
	for i, end := range []ledger.State{ledger.Failed, ledger.Stuck} {
		key := string(end)
		for n := range 3 {
			a := r.ask(r.call(key, maxTries(3)), ledger.Granted)
			k, left := ledger.Definite, ledger.Retry
			if n == 1 && i == 1 {
				k = ledger.Ambiguous
			}
			if n == 2 {
				left = end
			}
			r.say(word(a, k), left)
		}
	}
}

func givenBack(r *rig) {
	for range 6 {
		a := r.ask(r.call("k", maxTries(2), once), ledger.Granted)
		want(r, "tries", a.Claim.Tries, 1)
		want(r, "attempt", a.Claim.Attempt, 1)
		r.say(word(a, ledger.GivenBack), ledger.Retry)
	}
	c := r.find("k")
	want(r, "fence", c.Fence, 6)
	want(r, "tries", c.Tries, 0)
	want(r, "ambiguous", c.Ambiguous, false)
}

func heartbeat(r *rig) {
	for key, policy := range map[string]func(*ledger.Call){"o": once, "i": func(*ledger.Call) {}} {
		a := r.ask(r.call(key, policy, lease(150*time.Millisecond)), ledger.Granted)
		b := r.begin(a, time.Minute)
		want(r, "applied", b.Applied, true)
		want(r, "state", b.State, ledger.Started)
		r.past(a.Claim.LeaseUntil)
		r.reap()
		r.ask(r.call(key), ledger.Busy)
		want(r, "again", r.begin(a, time.Hour).Applied, true)
		if d := r.find(key).LeaseUntil.Sub(r.now()); d < 50*time.Minute {
			r.Errorf("leased for %v, want an hour", d)
		}
	}
}

func beginFenced(r *rig) {
	old := r.expired(r.call("k", once))
	a := r.ask(r.call("k"), ledger.Granted)
	b := r.begin(old, time.Minute)
	want(r, "applied", b.Applied, false)
	want(r, "reason", b.Reason, ledger.Fenced)
	want(r, "state", r.find("k").State, ledger.Claimed)
	want(r, "the holder's", r.begin(a, time.Minute).Applied, true)
}

func beginAfterEnd(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	r.say(word(a, ledger.Definite), ledger.Retry)
	b := r.begin(a, time.Minute)
	want(r, "applied", b.Applied, false)
	want(r, "reason", b.Reason, string(ledger.Retry))
}

func wordBatch(r *rig) {
	old := r.expired(r.call("fenced"))
	r.ask(r.call("fenced"), ledger.Granted)
	out, err := r.SettleClaims(r.ctx,
		word(r.ask(r.call("a"), ledger.Granted), ledger.Succeeded),
		word(old, ledger.Succeeded),
		word(r.ask(r.call("o", once), ledger.Granted), ledger.Succeeded),
		word(r.ask(r.call("b"), ledger.Granted), ledger.Definite))
	r.ok(err)
	want(r, "a", out[0].State, ledger.Done)
	want(r, "fenced", out[1].Reason, ledger.Fenced)
	want(r, "once", out[2].Reason, ledger.NotBegun)
	want(r, "b", out[3].State, ledger.Retry)
}

func wordNoKey(r *rig) {
	out, err := r.SettleClaims(r.ctx, ledger.Word{Project: 1, Scope: scope, Key: "none", Fence: 1, Kind: ledger.Succeeded})
	if err == nil && out[0].Applied {
		r.Error("a word on no key applied")
	}
	_, _, err = r.FindClaim(r.ctx, 1, scope, "none")
	want(r, "not found", errors.Is(err, ledger.ErrNotFound), true)
}

func history(r *rig) {
	for range 30 {
		r.say(word(r.ask(r.call("k", maxTries(1000)), ledger.Granted), ledger.Definite), ledger.Retry)
	}
	_, notes, err := r.FindClaim(r.ctx, 1, scope, "k")
	r.ok(err)
	want(r, "notes", len(notes), 50)
	last := notes[len(notes)-1]
	want(r, "last", last.Fence, 30)
	for i := 1; i < len(notes); i++ {
		if notes[i].Fence < notes[i-1].Fence || notes[i].At.Before(notes[i-1].At) {
			r.Fatalf("the history is not in order: %+v", notes)
		}
	}
	granted, ok := r.said("k", "granted", 30)
	want(r, "granted", ok, true)
	want(r, "who", granted.Who, "worker")
	_, ok = r.said("k", string(ledger.Definite), 30)
	want(r, "outcome", ok, true)
}

func historyBounded(r *rig) {
	a := r.stuck("k")
	_, err := r.resolve("k", ledger.Failed, 0)
	r.ok(err)
	old := word(a, ledger.Definite)
	old.Fence = 7
	for _, w := range []ledger.Word{old, word(a, ledger.Succeeded)} {
		for range 6 {
			_, err := r.SettleClaims(r.ctx, slices.Repeat([]ledger.Word{w}, 20)...)
			r.ok(err)
		}
	}
	if n := r.count("SELECT count(*) FROM " + r.notes); n > 100 {
		r.Errorf("%d lines are kept", n)
	}
	want(r, "a person's act", r.count("SELECT count(*) FROM "+r.notes+" WHERE what = 'resolved'"), 1)
	_, ok := r.said("k", "refused", a.Claim.Fence)
	want(r, "the newest words", ok, true)
}

// claimStorm lets workers of every habit at few keys. The watch holds every change against the rules; what is counted
// here is the effect itself: of a once at most one try may have taken effect.
func claimStorm(r *rig) {
	keys := []string{"a", "b", "c", "d"}
	var mu sync.Mutex
	effects := map[string]int{}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 25 {
				key := keys[(w+i)%len(keys)]
				c := r.call(key, lease(15*time.Millisecond), maxTries(1000))
				if key < "c" {
					c.Policy = ledger.Once
				}
				out, err := r.Claim(r.ctx, c)
				if err != nil {
					r.Errorf("claim: %v", err)
					return
				}
				a := out[0]
				if a.Verdict != ledger.Granted {
					continue
				}
				if b, err := r.Begin(r.ctx, ledger.Beat{Project: 1, Scope: scope, Key: key, Fence: a.Claim.Fence, Lease: 15 * time.Millisecond}); err != nil || !b[0].Applied {
					continue
				}
				kind := ledger.Definite
				if i%4 == 3 {
					mu.Lock()
					effects[key]++
					mu.Unlock()
					kind = ledger.Succeeded
				}
				if (w+i)%5 == 0 {
					continue // died before it could say so
				}
				if _, err := r.SettleClaims(r.ctx, ledger.Word{Project: 1, Scope: scope, Key: key, Fence: a.Claim.Fence, Kind: kind}); err != nil {
					r.Errorf("settle: %v", err)
				}
				if i%6 == 0 {
					if _, err := r.ReapClaims(r.ctx, 2); err != nil {
						r.Errorf("reap: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	for key, n := range effects {
		if key < "c" && n > 1 {
			r.Errorf("the once %q took effect %d times", key, n)
		}
	}
}

func givenBackStandsForNothing(r *rig) {
	call := func(key string, work byte) ledger.Call {
		c := r.call(key)
		c.WorkHash = bytes.Repeat([]byte{work}, 32)
		return c
	}
	r.say(word(r.ask(call("k", 1), ledger.Granted), ledger.GivenBack), ledger.Retry)
	a := r.ask(call("k", 2), ledger.Granted)
	r.ask(call("k", 1), ledger.Mismatch)
	r.say(word(a, ledger.Definite), ledger.Retry)
	r.say(word(r.ask(call("k", 2), ledger.Granted), ledger.GivenBack), ledger.Retry)
	r.ask(call("k", 1), ledger.Mismatch) // something was begun before
}
