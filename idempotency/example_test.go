package idempotency_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/sqlite"
)

// A request and what it does to the store are one transaction: a repeated one gets the first answer, and does nothing.
func ExampleStore() {
	dir, err := os.MkdirTemp("", "onceward")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "onceward.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()

	export := func(key, body string) {
		hash := sha256.Sum256([]byte(body))
		r := idempotency.Request{Project: access.DefaultProject, Scope: "POST /exports", Key: key, Hash: hash[:]}
		answer, replay, err := store.Once(ctx, r, func(ctx context.Context) ([]byte, error) {
			q, err := store.CreateQueue(ctx, queue.Spec{Project: access.DefaultProject, Name: "exports"}) // with this ctx: in the transaction
			return []byte("made " + q.Name), err
		})
		fmt.Printf("%q replay: %v %v\n", answer, replay, err)
	}
	export("k1", `{"month":5}`)
	export("k1", `{"month":5}`)
	export("k1", `{"month":6}`)
	// Output:
	// "made exports" replay: false <nil>
	// "made exports" replay: true <nil>
	// "" replay: false the idempotency key "k1" was used for another request
}
