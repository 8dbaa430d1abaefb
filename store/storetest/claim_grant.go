package storetest

import (
	"sync"
	"time"

	"github.com/onceward/onceward/ledger"
)

var grantTests = []named{
	{"I5: a new key is granted under fence 1", grantNew},
	{"I5: a held key is busy until its lease is over", grantBusy},
	{"I5: a key is granted to one of many who ask at once", grantRace},
	{"I5: a grant comes under the next fence", grantNextFence},
	{"the same call again gets its own grant", grantRepeated},
	{"a grant id used by another owner is busy", grantIDOther},
	{"a grant id whose grant was settled is busy", grantIDSettled},
	{"of equal keys in one batch one is granted", grantEqual},
	{"each call of a batch has its own owner, lease and grant id", grantOwn},
	{"H-L14: the same key with other work is a mismatch, and nothing changes", grantMismatch},
	{"work that names no hash is not compared", grantNoHash},
	{"an existing key keeps its policy, tries and window", grantKeepsPolicy},
	{"H-L11: scope and key are never run together", grantParts},
	{"I13: one key of two projects is two keys", grantProjects},
	{"I8: work older than the ledger's memory is too old", grantTooOld},
	{"H-L02: a retry waits for its time, then is granted", grantRetry},
	{"a short lease still makes others wait a second", grantMinWait},
	{"I1: a grant survives a restart", grantSurvives},
	{"what a claim was made with is kept", grantKept},
	{"the op id is one under every fence, after a restart, a failure and a reopening too", grantOpID},
	{"H-Q08: a batch with one busy key grants the others", grantOthersFlow},
}

func grantOpID(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	other := r.ask(r.call("l"), ledger.Granted)
	id := a.Claim.OpID()
	want(r, "another key's is the same", other.Claim.OpID() == id, false)
	r.say(word(a, ledger.Definite), ledger.Retry)
	r.reopen()
	b := r.ask(r.call("k"), ledger.Granted)
	want(r, "fence", b.Claim.Fence, 2)
	want(r, "op id", b.Claim.OpID(), id)
	r.say(word(b, ledger.Permanent), ledger.Failed)
	_, err := r.ReopenClaim(r.ctx, r.project, scope, "k", "a person")
	r.ok(err)
	c := r.ask(r.call("k"), ledger.Granted)
	want(r, "op id of a reopened key", c.Claim.OpID(), id)
	found := r.find("k")
	want(r, "op id as it is shown", found.OpID(), id)
}

func grantNew(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	want(r, "fence", a.Claim.Fence, 1)
	want(r, "attempt", a.Claim.Attempt, 1)
	want(r, "state", a.Claim.State, ledger.Started)
	want(r, "ambiguous", a.Claim.Ambiguous, false)
	a = r.ask(r.call("o", once), ledger.Granted)
	want(r, "state of a once", a.Claim.State, ledger.Claimed)
	want(r, "begun", a.Claim.Begun, 0)
}

func grantBusy(r *rig) {
	for key, policy := range map[string]func(*ledger.Call){"once": once, "idempotent": func(*ledger.Call) {}} {
		a := r.ask(r.call(key, policy), ledger.Granted)
		b := r.ask(r.call(key), ledger.Busy)
		if b.Wait > time.Minute || b.Wait < 50*time.Second {
			r.Errorf("busy for %v of a lease of 1 m", b.Wait)
		}
		want(r, "fence", r.find(key).Fence, a.Claim.Fence)
		r.begin(a, time.Minute)
		r.say(word(a, ledger.Succeeded), ledger.Done)
		r.ask(r.call(key), ledger.WasDone)
	}
}

func grantRace(r *rig) {
	for _, key := range []string{"new", "lapsed", "waiting"} {
		switch key {
		case "lapsed":
			r.expired(r.call(key))
		case "waiting":
			r.say(word(r.ask(r.call(key), ledger.Granted), ledger.Definite), ledger.Retry)
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		got := map[ledger.Verdict]int{}
		for range 16 {
			c := r.call(key)
			wg.Go(func() {
				out, err := r.Claim(r.ctx, c)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					r.Errorf("claim: %v", err)
					return
				}
				got[out[0].Verdict]++
			})
		}
		wg.Wait()
		if got[ledger.Granted] != 1 || got[ledger.Busy] != 15 {
			r.Errorf("%s: %v, want 1 granted and 15 busy", key, got)
		}
	}
}

func grantNextFence(r *rig) {
	for fence := int64(1); fence <= 4; fence++ {
		a := r.ask(r.call("k"), ledger.Granted)
		want(r, "fence", a.Claim.Fence, fence)
		want(r, "tries", a.Claim.Tries, int(fence))
		r.say(word(a, ledger.Definite), ledger.Retry)
	}
}

func grantRepeated(r *rig) {
	c := r.call("k")
	a := r.ask(c, ledger.Granted)
	b := r.ask(c, ledger.Granted)
	want(r, "fence", b.Claim.Fence, a.Claim.Fence)
	want(r, "tries", b.Claim.Tries, 1)
	want(r, "lease", b.Claim.LeaseUntil.Equal(a.Claim.LeaseUntil), true)
}

func grantIDOther(r *rig) {
	c := r.call("k")
	r.ask(c, ledger.Granted)
	c.Owner = "another"
	r.ask(c, ledger.Busy)
	want(r, "fence", r.find("k").Fence, 1)
}

func grantIDSettled(r *rig) {
	c := r.call("k")
	r.say(word(r.ask(c, ledger.Granted), ledger.Definite), ledger.Retry)
	r.ask(c, ledger.Busy)
	want(r, "fence", r.find("k").Fence, 1)
	want(r, "fence of a fresh call", r.ask(r.call("k"), ledger.Granted).Claim.Fence, 2)
	c = r.call("l")
	r.expired(c)
	r.ask(c, ledger.Busy)
}

func grantEqual(r *rig) {
	for _, key := range []string{"new", "known"} {
		if key == "known" {
			r.say(word(r.ask(r.call(key, work(1)), ledger.Granted), ledger.Definite), ledger.Retry)
		}
		out := r.claimAll(r.call(key, work(1)), r.call("other"+key), r.call(key, work(1)), r.call(key, work(2)), r.call(key))
		got := map[ledger.Verdict]int{}
		for _, i := range []int{0, 2, 4} {
			got[out[i].Verdict]++
		}
		want(r, "granted", got[ledger.Granted], 1)
		want(r, "busy", got[ledger.Busy], 2)
		want(r, "the one between", out[1].Verdict, ledger.Granted)
		want(r, "other work", out[3].Verdict, ledger.Mismatch)
	}
}

func grantOwn(r *rig) {
	a, b := r.call("a", lease(time.Minute)), r.call("b", lease(time.Hour))
	a.Owner, b.Owner = "anna", "bert"
	out := r.claimAll(a, b)
	for i, c := range []ledger.Call{a, b} {
		got := r.find(c.Key)
		want(r, "owner", got.Owner, c.Owner)
		want(r, "grant id", got.GrantID, c.GrantID)
		want(r, "key", out[i].Claim.Key, c.Key)
		if d := got.LeaseUntil.Sub(r.now()); d > c.Grant.Lease || d < c.Grant.Lease-10*time.Second {
			r.Errorf("%s: leased for %v, want %v", c.Key, d, c.Grant.Lease)
		}
	}
}

func grantMismatch(r *rig) {
	a := r.ask(r.call("k", work(1)), ledger.Granted)
	r.ask(r.call("k", work(2)), ledger.Mismatch)
	r.say(word(a, ledger.Succeeded), ledger.Done)
	r.ask(r.call("k", work(2)), ledger.Mismatch)
	r.ask(r.call("k", work(1)), ledger.WasDone)
	want(r, "fence", r.find("k").Fence, 1)
}

func grantNoHash(r *rig) {
	r.say(word(r.ask(r.call("a", work(1)), ledger.Granted), ledger.Definite), ledger.Retry)
	r.ask(r.call("a"), ledger.Granted)
	r.say(word(r.ask(r.call("b"), ledger.Granted), ledger.Definite), ledger.Retry)
	r.ask(r.call("b", work(2)), ledger.Granted)
}

func grantKeepsPolicy(r *rig) {
	a := r.ask(r.call("k", once, maxTries(3), window(time.Hour)), ledger.Granted)
	r.say(word(a, ledger.Definite), ledger.Retry)
	b := r.ask(r.call("k", maxTries(9), window(time.Minute)), ledger.Granted)
	want(r, "policy", b.Claim.Policy, ledger.Once)
	want(r, "state", b.Claim.State, ledger.Claimed)
	want(r, "tries", b.Claim.MaxTries, 3)
	want(r, "window", b.Claim.Window, time.Hour)
}

func grantParts(r *rig) {
	a, b := r.call("b:c"), r.call("c")
	a.Scope, b.Scope = "a", "a:b"
	r.ask(a, ledger.Granted)
	r.ask(b, ledger.Granted)
}

func grantProjects(r *rig) {
	r.ask(r.call("k"), ledger.Granted)
	c := r.call("k")
	c.Project = 2
	a := r.ask(c, ledger.Granted)
	want(r, "fence", a.Claim.Fence, 1)
	w := word(a, ledger.Succeeded)
	r.say(w, ledger.Done)
	want(r, "the other's state", r.find("k").State, ledger.Started)
}

func grantTooOld(r *rig) {
	c := r.call("k")
	c.OriginAt = r.now().Add(-ledger.Memory - time.Hour)
	r.ask(c, ledger.TooOld)
	r.ask(r.call("k"), ledger.WasFailed)
	c = r.call("young")
	c.OriginAt = r.now().Add(-ledger.Memory + time.Hour)
	r.ask(c, ledger.Granted)
}

func grantRetry(r *rig) {
	a := r.ask(r.call("k"), ledger.Granted)
	w := word(a, ledger.Definite)
	w.RetryIn, w.Error = time.Second, "503"
	r.say(w, ledger.Retry)
	c := r.find("k")
	want(r, "error", c.LastError, "503")
	r.ask(r.call("k"), ledger.Busy)
	r.past(c.NextAt)
	want(r, "fence", r.ask(r.call("k"), ledger.Granted).Claim.Fence, 2)
}

func grantMinWait(r *rig) {
	r.ask(r.call("k", lease(300*time.Millisecond)), ledger.Granted)
	want(r, "wait", r.ask(r.call("k"), ledger.Busy).Wait, time.Second)
}

func grantSurvives(r *rig) {
	c := r.call("k", once)
	a := r.ask(c, ledger.Granted)
	r.begin(a, time.Minute)
	r.reopen()
	r.ask(r.call("k"), ledger.Busy)
	r.ask(c, ledger.Granted)
	r.say(word(a, ledger.Succeeded), ledger.Done)
}

func grantKept(r *rig) {
	c := r.call("k", work(3), window(90*time.Second), maxTries(7))
	c.OriginAt = r.now().Add(-time.Hour).Truncate(time.Microsecond)
	r.ask(c, ledger.Granted)
	got := r.find("k")
	want(r, "project", got.Project, 1)
	want(r, "scope", got.Scope, scope)
	want(r, "key", got.Key, "k")
	want(r, "hash", got.Hash, ledger.Hash(1, scope, "k"))
	want(r, "work", string(got.WorkHash), string(c.WorkHash))
	want(r, "window", got.Window, 90*time.Second)
	want(r, "tries", got.MaxTries, 7)
	want(r, "origin", got.OriginAt.Equal(c.OriginAt), true)
	w := word(ledger.Answer{Claim: got}, ledger.Succeeded)
	w.Result = []byte(`{"sent": 1}`)
	r.say(w, ledger.Done)
	want(r, "result", string(r.ask(r.call("k"), ledger.WasDone).Claim.Result), `{"sent": 1}`)
}

func grantOthersFlow(r *rig) {
	r.ask(r.call("held"), ledger.Granted)
	w := word(r.ask(r.call("waits"), ledger.Granted), ledger.Definite)
	w.RetryIn = time.Minute
	r.say(w, ledger.Retry)
	out := r.claimAll(r.call("a"), r.call("held"), r.call("b"), r.call("waits"), r.call("waits"), r.call("c"))
	want(r, "a", out[0].Verdict, ledger.Granted)
	want(r, "held", out[1].Verdict, ledger.Busy)
	want(r, "b", out[2].Verdict, ledger.Granted)
	want(r, "one that retries", out[3].Verdict, ledger.Busy)
	want(r, "the same again", out[4].Verdict, ledger.Busy)
	want(r, "c", out[5].Verdict, ledger.Granted)
}
