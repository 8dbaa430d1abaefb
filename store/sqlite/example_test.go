package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/sqlite"
)

// temporary gives a store for an example, and what ends it.
func temporary() (*sqlite.DB, func()) {
	dir, err := os.MkdirTemp("", "onceward")
	if err != nil {
		panic(err)
	}
	db, err := sqlite.Open(context.Background(), filepath.Join(dir, "onceward.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	return db, func() {
		db.Close()
		os.RemoveAll(dir)
	}
}

// The queue without HTTP: publish, receive, settle.
func ExampleDB_Receive() {
	db, done := temporary()
	defer done()
	ctx, project := context.Background(), access.DefaultProject
	if _, err := db.CreateQueue(ctx, queue.Spec{Project: project, Name: "jobs"}); err != nil {
		panic(err)
	}
	for job := range 3 { // many goroutines may; they share commits
		p, err := db.Publish(ctx, queue.Publish{Project: project, Queue: "jobs", Body: fmt.Appendf(nil, `{"job":%d}`, job), Priority: job})
		if err != nil || p[0].Err != nil {
			panic(err)
		}
	}
	got, err := db.Receive(ctx, queue.Receive{Project: project, Queue: "jobs", Max: 10, Visibility: time.Minute})
	if err != nil {
		panic(err)
	}
	acks := make([]queue.Settle, len(got))
	for i, m := range got {
		fmt.Printf("%s\n", m.Body)
		acks[i] = queue.Settle{Verb: queue.Ack, Project: project, Queue: "jobs", ID: m.ID, Lease: m.Lease}
	}
	acked, err := db.Settle(ctx, acks...)
	if err != nil {
		panic(err)
	}
	for _, a := range acked {
		fmt.Println("acked:", a.Applied, a.Err)
	}
	// Output:
	// {"job":2}
	// {"job":1}
	// {"job":0}
	// acked: true <nil>
	// acked: true <nil>
	// acked: true <nil>
}

// The ledger by itself, beside a queue of any kind: the second worker learns that the work was done, and with what result.
func ExampleDB_Claim() {
	db, done := temporary()
	defer done()
	ctx := context.Background()
	for _, worker := range []string{"one", "two"} {
		a, err := db.Claim(ctx, ledger.Call{
			Project: access.DefaultProject, Scope: "invoice", Key: "order-7", Policy: ledger.Idempotent, MaxTries: 3,
			Grant: ledger.Grant{GrantID: worker + "-1", Owner: worker, Lease: time.Minute},
		})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s %q\n", worker, a[0].Verdict, a[0].Claim.Result)
		if a[0].Verdict != ledger.Granted {
			continue
		}
		// Here the work is done, under the key "order-7".
		if _, err := db.SettleClaims(ctx, ledger.Word{
			Project: access.DefaultProject, Scope: "invoice", Key: "order-7", Fence: a[0].Claim.Fence,
			Kind: ledger.Succeeded, Result: []byte("invoice-31"),
		}); err != nil {
			panic(err)
		}
	}
	// Output:
	// one: granted ""
	// two: done "invoice-31"
}
