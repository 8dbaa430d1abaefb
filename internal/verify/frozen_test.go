package verify

import (
	"strings"
	"testing"
	"testing/synctest"
)

// Where nobody takes over, what is noted says how the claim stood.
func TestNobodyTookOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, err := newFile()
		if err != nil {
			t.Fatal(err)
		}
		defer g.drop(false)
		if _, err := g.db().Exec("CREATE TABLE claims (state TEXT, fence INTEGER, owner TEXT); INSERT INTO claims VALUES ('started', 7, 'host/12/a')"); err != nil {
			t.Fatal(err)
		}
		r := &run{ground: g, verdict: &verdict{}}
		over, err := r.takenOver(t.Context())
		if err != nil || over || !r.verdict.unfinished {
			t.Fatalf("taken over %v, unfinished %v, %v", over, r.verdict.unfinished, err)
		}
		for _, want := range []string{"started", "fence 7", "host/12/a"} {
			if got := strings.Join(r.verdict.reasons, ""); !strings.Contains(got, want) {
				t.Errorf("noted %q, want it to say %q", got, want)
			}
		}
	})
}
