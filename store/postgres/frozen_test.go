package postgres

import (
	"testing"

	"github.com/onceward/onceward/internal/pgtest"
	"github.com/onceward/onceward/queue"
)

// H-Q24: a server that is frozen or cut off inside a transaction keeps what it has locked for some seconds, not for as long as PostgreSQL
// takes its connection for alive.
func TestFrozenInATransaction(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	frozen, other := openAt(t, url), openAt(t, url)
	make1(t, frozen, "jobs")
	publish(t, frozen, queue.Publish{Queue: "jobs"})
	tx, err := frozen.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "SELECT id FROM messages FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, other, "jobs", 1); len(got) > 0 {
		t.Fatal("received what another transaction has locked")
	}
	eventually(t, "the other server receives it", func() bool { return len(receive(t, other, "jobs", 1)) == 1 })
}
