// Package storetest is the one suite that every store must pass. A store's own test opens it and calls [Run].
//
// Each test has a store of its own, whose every change is watched by triggers (audit_*.sql): what must never happen
// between two states of a row is found even where the end looks right. At its end the store is counted through once
// more (check.go). I1 to I16 in the names are the invariants of ARCHITECTURE.md.
package storetest

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward/store"
)

// Dialect is a store's SQL.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Backend opens the stores of one kind.
type Backend struct {
	Dialect Dialect
	// Unit is what one of the store's numbers for times is; zero where times have a type of their own.
	Unit time.Duration
	// ClaimsOnly: the store keeps claims and nothing else, in the tables of [ClaimsTable] and [NotesTable].
	ClaimsOnly bool
	// Open gives a new and empty store. The test ends it by Instance.Close.
	Open func(t testing.TB) *Instance
	// Areas are those to run, by their names; none: all.
	Areas []string
}

// The tables of a store that keeps claims only, in a database of somebody else's.
const (
	ClaimsTable = "onceward_claims"
	NotesTable  = "onceward_claim_notes"
)

// Instance is one open store.
type Instance struct {
	Store store.Store
	// DB looks at the same database beside the store: for raw looks, and to tamper with what takes days.
	DB *sql.DB
	// Reopen opens the store again as a new process would, after Store was closed.
	Reopen func(t testing.TB) store.Store
}

type named struct {
	name string
	run  func(t *rig)
}

// claimAreas are what a store that keeps claims only passes too.
var claimAreas = []string{"grants", "words", "reaping"}

// Run runs the suite; of a backend that keeps claims only its part.
func Run(t *testing.T, b Backend) {
	for _, area := range []struct {
		name  string
		tests []named
	}{
		{"audit", auditTests},
		{"publish", publishTests},
		{"receive", receiveTests},
		{"fifo", fifoTests},
		{"content", contentTests},
		{"wait", waitTests},
		{"push", pushTests},
		{"settle", settleTests},
		{"extend", extendTests},
		{"dead letters", deadLetterTests},
		{"redrive", redriveTests},
		{"redrive by endpoint", canaryTests},
		{"redrive by chance", conserveTests},
		{"queues", adminTests},
		{"retention", retentionTests},
		{"grants", grantTests},
		{"words", wordTests},
		{"reaping", reapTests},
		{"work", workTests},
		{"links", linkTests},
		{"work by chance", workStormTests},
		{"lists of keys", claimListTests},
		{"events", sendTests},
		{"attempts", attemptTests},
		{"acts", actTests},
		{"deaths", deathTests},
		{"endpoints", endpointTests},
		{"lists", listTests},
		{"requests", requestTests},
		{"access", accessTests},
		{"account", accountTests},
		{"keys", keyTests},
		{"poison", poisonTests},
	} {
		if b.ClaimsOnly && !slices.Contains(claimAreas, area.name) || len(b.Areas) > 0 && !slices.Contains(b.Areas, area.name) {
			continue
		}
		t.Run(area.name, func(t *testing.T) {
			t.Parallel()
			for _, n := range area.tests {
				t.Run(n.name, func(t *testing.T) {
					t.Parallel()
					r := open(t, b)
					n.run(r)
					r.end()
				})
			}
		})
	}
}

// rig is a test with its store.
type rig struct {
	*testing.T
	store.Store
	b       Backend
	in      *Instance
	ctx     context.Context
	project int64
	claims  string // the tables of claims and of their histories
	notes   string
	guilty  bool // the test breaks the rules itself, to see the watch find it
}

func open(t *testing.T, b Backend) *rig {
	in := b.Open(t)
	r := &rig{T: t, Store: in.Store, b: b, in: in, ctx: t.Context(), project: 1, claims: "claims", notes: "claim_notes"}
	if b.ClaimsOnly {
		r.claims, r.notes = ClaimsTable, NotesTable
	}
	t.Cleanup(func() {
		if err := r.Store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		in.DB.Close()
	})
	r.watch()
	return r
}

// reopen closes the store and opens it again, as a restart does.
func (r *rig) reopen() {
	r.Helper()
	if err := r.Store.Close(); err != nil {
		r.Fatalf("close: %v", err)
	}
	r.Store = r.in.Reopen(r.T)
}

// ok ends the test on an error.
func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// want reports a difference by what it is about.
func want[T comparable](r *rig, what string, got, want T) {
	r.Helper()
	if got != want {
		r.Errorf("%s: %v, want %v", what, got, want)
	}
}

// eventually polls until cond holds.
func (r *rig) eventually(what string, cond func() bool) {
	r.Helper()
	for deadline := time.Now().Add(15 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatalf("%s: not within 15 s", what)
		}
	}
}

// past returns when the database's clock is past at.
func (r *rig) past(at time.Time) {
	r.Helper()
	r.eventually("the clock past "+at.String(), func() bool { return r.now().After(at.Add(time.Millisecond)) })
}
