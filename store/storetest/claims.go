package storetest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/ledger"
)

const scope = "mail"

var grantIDs atomic.Int64

// call asks for a key of the rig's project under a fresh grant id.
func (r *rig) call(key string, with ...func(*ledger.Call)) ledger.Call {
	n := grantIDs.Add(1)
	c := ledger.Call{
		Project: r.project, Scope: scope, Key: key, Policy: ledger.Idempotent, MaxTries: 5,
		Grant: ledger.Grant{GrantID: fmt.Sprintf("grant-%d", n), Owner: "worker", Lease: time.Minute},
	}
	for _, w := range with {
		w(&c)
	}
	return c
}

func once(c *ledger.Call)                       { c.Policy = ledger.Once }
func lease(d time.Duration) func(*ledger.Call)  { return func(c *ledger.Call) { c.Grant.Lease = d } }
func maxTries(n int) func(*ledger.Call)         { return func(c *ledger.Call) { c.MaxTries = n } }
func window(d time.Duration) func(*ledger.Call) { return func(c *ledger.Call) { c.Window = d } }
func work(b byte) func(*ledger.Call) {
	return func(c *ledger.Call) { c.WorkHash = slices.Repeat([]byte{b}, 32) }
}

func (r *rig) claimAll(c ...ledger.Call) []ledger.Answer {
	r.Helper()
	out, err := r.Claim(r.ctx, c...)
	r.ok(err)
	if len(out) != len(c) {
		r.Fatalf("%d answers to %d calls", len(out), len(c))
	}
	return out
}

// ask asks for one key and expects a verdict.
func (r *rig) ask(c ledger.Call, wanted ledger.Verdict) ledger.Answer {
	r.Helper()
	a := r.claimAll(c)[0]
	if a.Verdict != wanted {
		r.Fatalf("key %q: %s, want %s (state %s)", c.Key, a.Verdict, wanted, a.Claim.State)
	}
	if a.Verdict == ledger.Busy && a.Wait < time.Second {
		r.Errorf("key %q: busy for %v, want 1 s at least", c.Key, a.Wait)
	}
	return a
}

// word makes what a holder says of its grant.
func word(a ledger.Answer, k ledger.Kind) ledger.Word {
	return ledger.Word{Project: a.Claim.Project, Scope: a.Claim.Scope, Key: a.Claim.Key, Fence: a.Claim.Fence, Kind: k}
}

// say applies one word and expects the state it leaves.
func (r *rig) say(w ledger.Word, wanted ledger.State) {
	r.Helper()
	out, err := r.SettleClaims(r.ctx, w)
	r.ok(err)
	if !out[0].Applied || out[0].State != wanted {
		r.Fatalf("%s of %q by fence %d: applied %v, state %s (%s); want %s", w.Kind, w.Key, w.Fence, out[0].Applied, out[0].State, out[0].Reason, wanted)
	}
}

// unsaid sees that a word changes nothing, and why.
func (r *rig) unsaid(w ledger.Word, reason string) {
	r.Helper()
	before := r.find(w.Key)
	out, err := r.SettleClaims(r.ctx, w)
	r.ok(err)
	if out[0].Applied || out[0].Reason != reason {
		r.Errorf("%s of %q by fence %d: applied %v, reason %q; want reason %q", w.Kind, w.Key, w.Fence, out[0].Applied, out[0].Reason, reason)
	}
	if after := r.find(w.Key); after.State != before.State || after.Fence != before.Fence || after.Tries != before.Tries {
		r.Errorf("it changed %q from %s to %s", w.Key, before.State, after.State)
	}
}

// begin says that the effect begins.
func (r *rig) begin(a ledger.Answer, d time.Duration) ledger.Applied {
	r.Helper()
	out, err := r.Begin(r.ctx, ledger.Beat{Project: a.Claim.Project, Scope: a.Claim.Scope, Key: a.Claim.Key, Fence: a.Claim.Fence, Lease: d})
	r.ok(err)
	return out[0]
}

func (r *rig) find(key string) ledger.Claim {
	r.Helper()
	c, _, err := r.FindClaim(r.ctx, r.project, scope, key)
	r.ok(err)
	return c
}

// said reports whether the key's history has a line of a kind and a fence.
func (r *rig) said(key, what string, fence int64) (n ledger.Note, ok bool) {
	r.Helper()
	_, notes, err := r.FindClaim(r.ctx, r.project, scope, key)
	r.ok(err)
	for _, n := range notes {
		if n.What == what && n.Fence == fence {
			return n, true
		}
	}
	return n, false
}

// reap reaps until nothing is left to do.
func (r *rig) reap() {
	r.Helper()
	for {
		n, err := r.ReapClaims(r.ctx, 100)
		r.ok(err)
		if n == 0 {
			return
		}
	}
}

func (r *rig) resolve(key string, as ledger.State, fence int64) (ledger.Claim, error) {
	out, err := r.ResolveClaim(r.ctx, ledger.Resolution{Project: r.project, Scope: scope, Key: key, As: as, Fence: fence, Who: "a person", Note: "asked the bank"})
	return out.Claim, err
}

// expired gives a claim whose holder is gone: its lease is over.
func (r *rig) expired(c ledger.Call) ledger.Answer {
	r.Helper()
	c.Grant.Lease = 20 * time.Millisecond
	a := r.ask(c, ledger.Granted)
	r.past(a.Claim.LeaseUntil)
	return a
}
