package ledger_test

import (
	"fmt"
	"time"

	"github.com/onceward/onceward/ledger"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// A key is made of its parts, not of their text put together.
func ExampleHash() {
	a := ledger.Hash(1, "invoice", "ab", "c")
	b := ledger.Hash(1, "invoice", "a", "bc")
	fmt.Printf("%x\n%x\n", a[:4], b[:4])
	// Output:
	// f8096cdf
	// 8413c46b
}

// The queue handed the work out twice. One worker is granted the key; the other is told to come back, then that it is done.
func ExampleClaim_Grant() {
	c := ledger.Claim{Policy: ledger.Idempotent, State: ledger.Retry, MaxTries: 3}

	a := c.Grant(noon, ledger.Grant{GrantID: "a", Owner: "one", Lease: time.Minute})
	b := c.Grant(noon.Add(20*time.Second), ledger.Grant{GrantID: "b", Owner: "two", Lease: time.Minute})
	fmt.Println(a.Verdict, "fence", c.Fence)
	fmt.Println(b.Verdict, b.Wait)

	c.Settle(noon.Add(30*time.Second), c.Fence, ledger.Succeeded, 0, "", nil)
	b = c.Grant(noon.Add(time.Minute), ledger.Grant{GrantID: "c", Owner: "two", Lease: time.Minute})
	fmt.Println(b.Verdict)
	// Output:
	// granted fence 1
	// busy 40s
	// done
}

// Of a receiver that cannot tell a repeated request: Begin is the durable line before the effect. Who dies before it is taken
// over; who dies behind it leaves a claim that only a person can resolve.
func ExampleClaim_Begin() {
	for _, begun := range []bool{false, true} {
		c := ledger.Claim{Policy: ledger.Once, State: ledger.Retry, MaxTries: 3}
		c.Grant(noon, ledger.Grant{GrantID: "a", Lease: time.Minute})
		if begun {
			c.Begin(noon, c.Fence, time.Minute)
		}
		r := c.Grant(noon.Add(2*time.Minute), ledger.Grant{GrantID: "b", Lease: time.Minute})
		fmt.Println("begun:", begun, "then", r.Verdict)
	}
	// Output:
	// begun: false then granted
	// begun: true then stuck
}

// A worker slept past its lease, and another was granted the key: the first one's word changes nothing.
func ExampleClaim_Settle() {
	c := ledger.Claim{Policy: ledger.Idempotent, State: ledger.Retry, MaxTries: 3}
	c.Grant(noon, ledger.Grant{GrantID: "a", Lease: time.Minute})
	slept := c.Fence
	c.Grant(noon.Add(2*time.Minute), ledger.Grant{GrantID: "b", Lease: time.Minute})

	late := c.Settle(noon.Add(2*time.Minute), slept, ledger.Definite, time.Second, "refused", nil)
	fmt.Println(late.Applied, late.State, late.Reason)
	done := c.Settle(noon.Add(2*time.Minute), c.Fence, ledger.Succeeded, 0, "", nil)
	fmt.Println(done.Applied, done.State)
	// Output:
	// false started fenced
	// true done
}

// What a person can say of a claim that nobody can know of.
func ExampleClaim_Resolve() {
	c := ledger.Claim{Policy: ledger.Once, State: ledger.Stuck, Fence: 4, Ambiguous: true, MaxTries: 3}
	fmt.Println("a redrive leaves it:", c.Reopen(noon))
	fmt.Println("the receiver's log shows it:", c.Resolve(noon, ledger.Done), c.State)
	// Output:
	// a redrive leaves it: false
	// the receiver's log shows it: true done
}
