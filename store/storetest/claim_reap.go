package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/onceward/onceward/ledger"
)

var reapTests = []named{
	{"the key of a worker that died waits for another", reapIdempotent},
	{"a once that was never begun is taken over", reapClaimed},
	{"H-L04: a once that may have begun is stuck", reapStarted},
	{"a lapsed lease needs no reaper", lapseNoReaper},
	{"a live holder is left alone", reapLive},
	{"H-L19: an ambiguous try past the receiver's window is stuck, not tried again", reapWindow},
	{"without a window the receiver remembers for ever", reapNoWindow},
	{"a definite try has no window", reapWindowDefinite},
	{"I8: a retry older than the ledger's memory ends", reapTooOld},
	{"reaping goes in bounded steps", reapBounded},
	{"what a person sent back, as old as it is, keeps no other key from the reaper", reapPastReopened},
	{"H-Q16: a reaper acts only on what it saw", reapRace},
	{"I16: with nobody left, every key comes to rest", reapRest},
	{"a person says done, retry or failed of a stuck key", resolveStuck},
	{"a person may retry what failed", resolveFailed},
	{"a resolve of a claim that moved is refused", resolveMoved},
	{"only what is stuck or failed is resolved", resolveConflict},
	{"a person's act is in the history", resolveRecorded},
	{"H-L08: a redrive reopens what failed, tries 0, the fence kept", reopenFailed},
	{"a redrive reopens a stuck idempotent, its window anew", reopenStuck},
	{"a stuck once is left for a person", reopenOnce},
	{"a once that a person calls failed may be redriven", reopenResolved},
	{"I8: done and failed are forgotten after 90 days, the others never", forget},
	{"a key is remembered for as long as it was asked to be, and new after it, swept or not", forgetKept},
}

func reapIdempotent(r *rig) {
	r.expired(r.call("k"))
	r.reap()
	c := r.find("k")
	want(r, "state", c.State, ledger.Retry)
	want(r, "ambiguous", c.Ambiguous, true)
	a := r.ask(r.call("k"), ledger.Granted)
	want(r, "fence", a.Claim.Fence, 2)
}

func reapClaimed(r *rig) {
	r.expired(r.call("k", once))
	r.reap()
	c := r.find("k")
	want(r, "state", c.State, ledger.Retry)
	want(r, "ambiguous", c.Ambiguous, false)
	r.ask(r.call("k"), ledger.Granted)
}

func reapStarted(r *rig) {
	a := r.ask(r.call("k", once), ledger.Granted)
	r.begin(a, 20*time.Millisecond)
	r.past(r.find("k").LeaseUntil)
	r.reap()
	want(r, "state", r.find("k").State, ledger.Stuck)
}

func lapseNoReaper(r *rig) {
	r.expired(r.call("i"))
	a := r.ask(r.call("i"), ledger.Granted)
	want(r, "ambiguous", a.Claim.Ambiguous, true)
	want(r, "lapsed", a.Lapsed, true)
	a = r.ask(r.call("o", once), ledger.Granted)
	r.begin(a, 20*time.Millisecond)
	r.past(r.find("o").LeaseUntil)
	r.ask(r.call("o"), ledger.WasStuck)
	want(r, "state", r.find("o").State, ledger.Stuck)
}

func reapLive(r *rig) {
	for _, policy := range []func(*ledger.Call){once, func(*ledger.Call) {}} {
		a := r.ask(r.call("k"+itoa(grantIDs.Load()), policy), ledger.Granted)
		r.reap()
		want(r, "state", r.find(a.Claim.Key).State, a.Claim.State)
	}
}

func reapWindow(r *rig) {
	a := r.ask(r.call("k", window(time.Hour)), ledger.Granted)
	w := word(a, ledger.Ambiguous)
	w.RetryIn = time.Minute
	r.say(w, ledger.Retry)
	r.reap()
	want(r, "state in its window", r.find("k").State, ledger.Retry)
	r.age(r.claims, "first_at", "id = "+itoa(a.Claim.ID), 2*time.Hour)
	r.reap()
	want(r, "state past it", r.find("k").State, ledger.Stuck)
	// and without a reaper
	a = r.ask(r.call("l", window(time.Hour)), ledger.Granted)
	r.say(word(a, ledger.Ambiguous), ledger.Retry)
	r.age(r.claims, "first_at", "id = "+itoa(a.Claim.ID), 2*time.Hour)
	r.ask(r.call("l"), ledger.WasStuck)
}

func reapNoWindow(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	r.say(word(a, ledger.Ambiguous), ledger.Retry)
	r.age(r.claims, "first_at", "id = "+itoa(a.Claim.ID), 80*24*time.Hour)
	r.reap()
	want(r, "state", r.find("k").State, ledger.Retry)
	r.ask(r.call("k"), ledger.Granted)
}

func reapWindowDefinite(r *rig) {
	a := r.ask(r.call("k", window(time.Hour)), ledger.Granted)
	r.say(word(a, ledger.Definite), ledger.Retry)
	r.age(r.claims, "first_at", "id = "+itoa(a.Claim.ID), 2*time.Hour)
	r.reap()
	want(r, "state", r.find("k").State, ledger.Retry)
	r.ask(r.call("k"), ledger.Granted)
}

func reapTooOld(r *rig) {
	turns := r.now().Add(3 * time.Second) // long enough for what comes before it
	for key, k := range map[string]ledger.Kind{"certain": ledger.Definite, "unknown": ledger.Ambiguous} {
		c := r.call(key)
		c.OriginAt = turns.Add(-ledger.Memory)
		w := word(r.ask(c, ledger.Granted), k)
		w.RetryIn = time.Hour
		r.say(w, ledger.Retry)
	}
	r.past(turns)
	r.reap()
	want(r, "certain", r.find("certain").State, ledger.Failed)
	want(r, "unknown", r.find("unknown").State, ledger.Stuck)
}

func reapBounded(r *rig) {
	var calls []ledger.Call
	for i := range 25 {
		calls = append(calls, r.call(itoa(int64(i)), lease(20*time.Millisecond)))
	}
	out := r.claimAll(calls...)
	r.past(out[24].Claim.LeaseUntil)
	n, err := r.ReapClaims(r.ctx, 10)
	r.ok(err)
	want(r, "moved", n, 10)
	want(r, "moved, counted", r.count("SELECT count(*) FROM "+r.claims+" WHERE state = 'retry'"), 10)
	r.reap()
	want(r, "moved at last", r.count("SELECT count(*) FROM "+r.claims+" WHERE state = 'retry'"), 25)
}

func reapPastReopened(r *rig) {
	const page = 200
	turns := r.now().Add(4 * time.Second) // long enough for the claims
	from := func(at time.Time) func(*ledger.Call) {
		return func(c *ledger.Call) { c.OriginAt = at.Add(-ledger.Memory) }
	}
	var calls []ledger.Call
	for i := range page {
		calls = append(calls, r.call(itoa(int64(i)), from(turns.Add(-time.Second))))
	}
	var words []ledger.Word
	for _, a := range r.claimAll(calls...) {
		want(r, "verdict", a.Verdict, ledger.Granted)
		words = append(words, word(a, ledger.Permanent))
	}
	old := word(r.ask(r.call("old", from(turns)), ledger.Granted), ledger.Definite)
	old.RetryIn = time.Hour
	_, err := r.SettleClaims(r.ctx, append(words, old)...)
	r.ok(err)
	for _, c := range calls {
		_, err := r.ReopenClaim(r.ctx, c.Project, scope, c.Key, "a person")
		r.ok(err)
	}
	r.past(turns)
	r.expired(r.call("lost"))
	n, err := r.ReapClaims(r.ctx, page)
	r.ok(err)
	want(r, "moved", n, 2)
	want(r, "of the lost holder, state", r.find("lost").State, ledger.Retry)
	want(r, "of what is too old, state", r.find("old").State, ledger.Failed)
	want(r, "of what was sent back, state", r.find("0").State, ledger.Retry)
}

// river#1302.
func reapRace(r *rig) {
	for range 3 {
		var calls []ledger.Call
		for range 20 {
			calls = append(calls, r.call("k"+itoa(grantIDs.Load()), lease(10*time.Millisecond)))
		}
		out := r.claimAll(calls...)
		r.past(out[19].Claim.LeaseUntil)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for range 4 {
					if _, err := r.ReapClaims(r.ctx, 7); err != nil {
						r.Errorf("reap: %v", err)
					}
				}
			})
		}
		for _, a := range out {
			wg.Go(func() {
				if _, err := r.SettleClaims(r.ctx, word(a, ledger.Succeeded)); err != nil {
					r.Errorf("settle: %v", err)
				}
			})
		}
		wg.Wait()
		for _, a := range out {
			want(r, a.Claim.Key, r.find(a.Claim.Key).State, ledger.Done)
		}
	}
}

func reapRest(r *rig) {
	for i, policy := range []func(*ledger.Call){once, func(*ledger.Call) {}, once, func(*ledger.Call) {}} {
		a := r.ask(r.call(itoa(int64(i)), policy, lease(20*time.Millisecond), maxTries(1)), ledger.Granted)
		if i > 1 {
			r.begin(a, 20*time.Millisecond)
		}
	}
	r.eventually("all keys are terminal", func() bool {
		r.reap()
		return r.count("SELECT count(*) FROM "+r.claims+" WHERE state NOT IN ('done', 'failed', 'stuck')") == 0
	})
	want(r, "a once never begun", r.find("0").State, ledger.Failed)
	want(r, "a once begun", r.find("2").State, ledger.Stuck)
}

// stuck makes a stuck claim.
func (r *rig) stuck(key string, with ...func(*ledger.Call)) ledger.Answer {
	r.Helper()
	a := r.ask(r.call(key, append(with, maxTries(1))...), ledger.Granted)
	r.begin(a, time.Minute)
	r.say(word(a, ledger.Ambiguous), ledger.Stuck)
	return a
}

func resolveStuck(r *rig) {
	for _, as := range []ledger.State{ledger.Done, ledger.Retry, ledger.Failed} {
		for key, policy := range map[string]func(*ledger.Call){"o": once, "i": func(*ledger.Call) {}} {
			key += string(as)
			a := r.stuck(key, policy)
			c, err := r.resolve(key, as, a.Claim.Fence)
			r.ok(err)
			want(r, "state", c.State, as)
			want(r, "fence", c.Fence, a.Claim.Fence)
			want(r, "state kept", r.find(key).State, as)
			if as == ledger.Retry {
				want(r, "tries", c.Tries, 0)
				want(r, "next fence", r.ask(r.call(key), ledger.Granted).Claim.Fence, a.Claim.Fence+1)
			}
		}
	}
}

func resolveFailed(r *rig) {
	r.say(word(r.ask(r.call("k"), ledger.Granted), ledger.Permanent), ledger.Failed)
	c, err := r.resolve("k", ledger.Retry, 0)
	r.ok(err)
	want(r, "state", c.State, ledger.Retry)
	r.ask(r.call("k"), ledger.Granted)
}

func resolveMoved(r *rig) {
	a := r.stuck("k")
	_, err := r.resolve("k", ledger.Done, a.Claim.Fence+1)
	want(r, "changed", errors.Is(err, ledger.ErrChanged), true)
	want(r, "state", r.find("k").State, ledger.Stuck)
	_, err = r.resolve("none", ledger.Done, 0)
	want(r, "not found", errors.Is(err, ledger.ErrNotFound), true)
}

func resolveConflict(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	for _, as := range []ledger.State{ledger.Done, ledger.Retry, ledger.Failed} {
		_, err := r.resolve("k", as, 0)
		want(r, string(as)+" of a held key", errors.Is(err, ledger.ErrConflict), true)
	}
	r.say(word(a, ledger.Permanent), ledger.Failed)
	_, err := r.resolve("k", ledger.Done, 0)
	want(r, "done of a failed key", errors.Is(err, ledger.ErrConflict), true)
}

func resolveRecorded(r *rig) {
	r.stuck("k")
	_, err := r.resolve("k", ledger.Done, 0)
	r.ok(err)
	n, ok := r.said("k", "resolved", 1)
	want(r, "recorded", ok, true)
	want(r, "who", n.Who, "a person")
	r.say(word(r.ask(r.call("l"), ledger.Granted), ledger.Permanent), ledger.Failed)
	_, err = r.ReopenClaim(r.ctx, 1, scope, "l", "a person")
	r.ok(err)
	n, ok = r.said("l", "reopened", 1)
	want(r, "recorded", ok, true)
	want(r, "who", n.Who, "a person")
}

func reopenFailed(r *rig) {
	for range 3 {
		a := r.ask(r.call("k", maxTries(3)), ledger.Granted)
		r.SettleClaims(r.ctx, word(a, ledger.Definite))
	}
	want(r, "state", r.find("k").State, ledger.Failed)
	c, err := r.ReopenClaim(r.ctx, 1, scope, "k", "a person")
	r.ok(err)
	want(r, "state", c.State, ledger.Retry)
	want(r, "tries", c.Tries, 0)
	want(r, "fence", c.Fence, 3)
	want(r, "attempts", c.Attempt, 3)
	a := r.ask(r.call("k"), ledger.Granted)
	want(r, "next fence", a.Claim.Fence, 4)
	want(r, "next attempt", a.Claim.Attempt, 4)
	_, err = r.ReopenClaim(r.ctx, 1, scope, "none", "a person")
	want(r, "not found", errors.Is(err, ledger.ErrNotFound), true)
}

func reopenStuck(r *rig) {
	a := r.stuck("k", window(time.Hour))
	r.age(r.claims, "first_at", "id = "+itoa(a.Claim.ID), 2*time.Hour)
	c, err := r.ReopenClaim(r.ctx, 1, scope, "k", "a person")
	r.ok(err)
	want(r, "state", c.State, ledger.Retry)
	r.reap()
	r.ask(r.call("k"), ledger.Granted)
}

func reopenOnce(r *rig) {
	r.stuck("k", once)
	_, err := r.ReopenClaim(r.ctx, 1, scope, "k", "a person")
	want(r, "conflict", errors.Is(err, ledger.ErrConflict), true)
	want(r, "state", r.find("k").State, ledger.Stuck)
}

func reopenResolved(r *rig) {
	r.stuck("k", once)
	_, err := r.resolve("k", ledger.Failed, 0)
	r.ok(err)
	_, err = r.ReopenClaim(r.ctx, 1, scope, "k", "a person")
	r.ok(err)
	a := r.ask(r.call("k"), ledger.Granted)
	want(r, "ambiguous", a.Claim.Ambiguous, false)
	r.say(word(a, ledger.Permanent), ledger.Failed)
}

func forget(r *rig) {
	for _, age := range []string{"old", "new"} {
		r.say(word(r.ask(r.call("done"+age), ledger.Granted), ledger.Succeeded), ledger.Done)
		r.say(word(r.ask(r.call("failed"+age), ledger.Granted), ledger.Permanent), ledger.Failed)
	}
	r.stuck("stuck")
	r.say(word(r.ask(r.call("retry"), ledger.Granted), ledger.Definite), ledger.Retry)
	r.age(r.claims, "finished_at", "key LIKE '%old'", ledger.Memory+time.Hour)
	if r.b.ClaimsOnly {
		r.age(r.claims, "forget_at", "key LIKE '%old'", ledger.Memory+time.Hour)
	}
	for {
		n, err := r.ForgetClaims(r.ctx, 1)
		r.ok(err)
		if n == 0 {
			break
		}
	}
	want(r, "left", r.count("SELECT count(*) FROM "+r.claims), 4)
	want(r, "histories of what is gone", r.count("SELECT count(*) FROM "+r.notes+" n WHERE NOT EXISTS (SELECT 1 FROM "+r.claims+" c WHERE c.id = n.claim_id)"), 0)
	want(r, "a key forgotten is new", r.ask(r.call("doneold"), ledger.Granted).Claim.Fence, 1)
}

func forgetKept(r *rig) {
	kept := func(key string, keep time.Duration) ledger.Call {
		c := r.call(key)
		c.Keep = keep
		return c
	}
	ago := func(key string, d time.Duration) {
		r.age(r.claims, "finished_at", "key = '"+key+"'", d)
		if r.b.ClaimsOnly {
			r.age(r.claims, "forget_at", "key = '"+key+"'", d)
		}
	}
	for _, key := range []string{"swept", "asked", "failed", "remembered"} {
		kind, state := ledger.Succeeded, ledger.Done
		if key == "failed" {
			kind, state = ledger.Permanent, ledger.Failed
		}
		r.say(word(r.ask(kept(key, 24*time.Hour), ledger.Granted), kind), state)
	}
	r.say(word(r.ask(kept("long", 2*ledger.Memory), ledger.Granted), ledger.Succeeded), ledger.Done)
	r.say(word(r.ask(r.call("plain"), ledger.Granted), ledger.Succeeded), ledger.Done)
	r.ask(kept("open", time.Second), ledger.Granted)
	for _, key := range []string{"swept", "asked", "failed", "plain"} {
		ago(key, 24*time.Hour+time.Second)
	}
	ago("remembered", 24*time.Hour-time.Minute)
	ago("long", ledger.Memory+time.Hour)
	want(r, "kept", r.find("remembered").Keep, 24*time.Hour)
	before := r.find("asked")
	again := r.ask(kept("asked", 0), ledger.Granted)
	want(r, "its fence", again.Claim.Fence, 1)
	want(r, "its own time", again.Claim.Keep, 0)
	want(r, "is its operation another", again.Claim.OpID() != before.OpID(), true)
	_, notes, err := r.FindClaim(r.ctx, r.project, scope, "asked")
	r.ok(err)
	want(r, "lines of its history", len(notes), 1)
	n, err := r.ForgetClaims(r.ctx, 10)
	r.ok(err)
	want(r, "forgotten", n, 2)
	for _, key := range []string{"remembered", "long", "plain"} {
		r.ask(r.call(key), ledger.WasDone)
	}
	want(r, "left", r.count("SELECT count(*) FROM "+r.claims), 5)
	want(r, "histories of what is gone", r.count("SELECT count(*) FROM "+r.notes+" n WHERE NOT EXISTS (SELECT 1 FROM "+r.claims+" c WHERE c.id = n.claim_id)"), 0)
}
