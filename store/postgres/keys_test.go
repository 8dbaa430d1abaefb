package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

// A worker's key in an open transaction: a server's claim, heartbeat and word for it are answered with "not now", within a bound; what shares their lane goes on
// meanwhile, its messages with it.
func TestHeldWorkKeyStopsNoOther(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	ctx := t.Context()
	make1(t, db, "jobs")
	publish(t, db, make100("jobs")[:3]...)
	got := receive(t, db, "jobs", 3)
	call := func(i int, key string) ledger.Call {
		c := ledger.Call{Project: 1, Scope: "work", Key: key, Policy: ledger.Idempotent, MaxTries: 5, Grant: ledger.Grant{GrantID: key, Lease: time.Minute}}
		if i >= 0 {
			c.MessageID, c.Lease = got[i].ID, got[i].Lease
		}
		return c
	}
	word := func(key string) ledger.Word {
		return ledger.Word{Project: 1, Scope: "work", Key: key, Fence: 1, Kind: ledger.Succeeded, Settle: true}
	}
	if _, err := db.Claim(ctx, call(0, "a"), call(1, "theirs")); err != nil {
		t.Fatal(err)
	}
	tx := begun(t, caller(t, at, 1))
	var verdict string
	if err := tx.QueryRow(ctx, "SELECT verdict FROM onceward_claim('work', 'theirs')").Scan(&verdict); err != nil || verdict != "busy" {
		t.Fatal(verdict, err)
	}
	refused := make(chan error, 3)
	go func() {
		_, err := db.SettleClaims(ctx, word("a"), word("theirs"))
		refused <- err
	}()
	go func() {
		_, err := db.Claim(ctx, call(2, "new"), call(-1, "theirs"))
		refused <- err
	}()
	go func() {
		_, err := db.Begin(ctx, ledger.Beat{Project: 1, Scope: "work", Key: "theirs", Fence: 1, Lease: time.Minute})
		refused <- err
	}()
	eventually(t, "the others are settled and claimed beside the held key", func() bool {
		return count(t, db, "SELECT count(*) FROM worker_claims WHERE key = 'a' AND state = 'done' OR key = 'new' AND state = 'started' AND message_id IS NOT NULL") == 2
	})
	if n := len(refused); n > 0 {
		t.Errorf("%d calls have ended: the others were not beside one that waits", n)
	}
	if n := count(t, db, "SELECT count(*) FROM messages"); n != 2 {
		t.Errorf("%d messages, want 2: the settled one's is acked", n)
	}
	for range cap(refused) {
		if err := <-refused; fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("under the held key: %v, want %s", err, fault.Unavailable)
		}
	}
	commit(t, tx)
	if a, err := db.SettleClaims(ctx, word("theirs")); err != nil || !a[0].Applied || count(t, db, "SELECT count(*) FROM messages") != 1 {
		t.Errorf("after the commit: %+v %v", a, err)
	}
}

// Two servers ask for keys that are new, at once and in any order: one is granted each, the other is told that it is busy.
func TestNewKeysAtOnce(t *testing.T) {
	t.Parallel()
	db, at := withFunctions(t)
	other := openAt(t, at)
	for round := range 20 {
		answers := make(chan []ledger.Answer, 2)
		for n, s := range []*DB{db, other} {
			go func() {
				calls := make([]ledger.Call, 50)
				for i := range calls {
					key := fmt.Sprint(round, "-", (i*(2*n+1)+7*n)%50)
					calls[i] = ledger.Call{Project: 1, Scope: "work", Key: key, Policy: ledger.Once, MaxTries: 5, Grant: ledger.Grant{GrantID: fmt.Sprint(n, key), Lease: time.Minute}}
				}
				a, err := s.Claim(t.Context(), calls...)
				if err != nil {
					t.Error(err)
				}
				answers <- a
			}()
		}
		verdicts := map[ledger.Verdict]int{}
		for range 2 {
			for _, a := range <-answers {
				verdicts[a.Verdict]++
			}
		}
		if verdicts[ledger.Granted] != 50 || verdicts[ledger.Busy] != 50 {
			t.Fatalf("round %d: %v, want each granted once and busy once", round, verdicts)
		}
	}
}
