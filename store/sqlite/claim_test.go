package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// A worker's key that its holder settles with its message: acked, released, dead-lettered in the same transaction, and
// never by a lease that is lost.
func TestSettleLinkedMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := t.Context()
	_, err := r.CreateQueue(ctx, queue.Spec{Project: 1, Name: "jobs"})
	r.ok(err)
	grant := func(key string, m queue.Message) ledger.Claim {
		t.Helper()
		out, err := r.Claim(ctx, ledger.Call{
			Project: 1, Scope: "s", Key: key, Policy: ledger.Idempotent, MaxTries: 3, MessageID: m.ID, Lease: m.Lease,
			Grant: ledger.Grant{GrantID: fmt.Sprint(key, m.Lease), Owner: "w", Lease: time.Minute},
		})
		r.ok(err)
		if out[0].Verdict != ledger.Granted {
			t.Fatalf("%s: %s", key, out[0].Verdict)
		}
		return out[0].Claim
	}
	receive := func() queue.Message {
		t.Helper()
		m, err := r.Receive(ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 1, Visibility: time.Minute})
		r.ok(err)
		if len(m) != 1 {
			t.Fatalf("received %d", len(m))
		}
		return m[0]
	}
	say := func(c ledger.Claim, k ledger.Kind) {
		t.Helper()
		out, err := r.SettleClaims(ctx, ledger.Word{Project: 1, Scope: "s", Key: c.Key, Fence: c.Fence, Kind: k, Error: "why", Settle: true})
		r.ok(err)
		if !out[0].Applied {
			t.Fatalf("%s of %s: %+v", k, c.Key, out[0])
		}
	}
	publish := func() {
		t.Helper()
		_, err := r.Publish(ctx, queue.Publish{Project: 1, Queue: "jobs", Body: []byte("{}")})
		r.ok(err)
	}

	publish()
	m := receive()
	c := grant("done", m)
	_, err = r.Begin(ctx, ledger.Beat{Project: 1, Scope: "s", Key: "done", Fence: c.Fence, Lease: time.Hour})
	r.ok(err)
	r.want("both leases extended", r.count("SELECT count(*) FROM messages m JOIN claims c ON c.id = m.claim_id WHERE m.vis = c.lease_until"), 1)
	say(c, ledger.Succeeded)
	r.want("acked", r.count("SELECT count(*) FROM messages"), 0)

	publish()
	say(grant("retry", receive()), ledger.Definite)
	r.want("released", r.count("SELECT count(*) FROM messages WHERE NOT leased AND receives = 0"), 1)
	say(grant("retry", receive()), ledger.Permanent)
	r.want("dead-lettered", r.count("SELECT count(*) FROM messages WHERE dead_at IS NOT NULL AND last_error = 'why'"), 1)
	_, err = r.ResolveClaim(ctx, ledger.Resolution{Project: 1, Scope: "s", Key: "retry", As: ledger.Retry, Who: "anna"})
	r.ok(err)
	r.want("requeued by its resolve", r.count("SELECT count(*) FROM messages WHERE dead_at IS NULL"), 1)
	say(grant("retry", receive()), ledger.Permanent)
	_, err = r.ReopenClaim(ctx, 1, "s", "retry", "anna")
	r.ok(err)
	r.want("requeued by its reopening", r.count("SELECT count(*) FROM messages WHERE dead_at IS NULL"), 1)

	m = receive()
	c = grant("retry", m)
	out, err := r.Settle(ctx, queue.Settle{Verb: queue.Release, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease})
	r.ok(err)
	r.ok(out[0].Err)
	say(c, ledger.Succeeded)
	r.want("a lost lease settles nothing", r.count("SELECT count(*) FROM messages"), 1)
}
