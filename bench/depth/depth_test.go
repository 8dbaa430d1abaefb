package main

import (
	"bytes"
	"encoding/json/v2"
	"math"
	"os"
	"testing"

	"github.com/onceward/onceward/internal/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// Each case runs to its end on each store it is for, and what it prints can be read. How long anything takes is not looked at.
func TestEachCaseRuns(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-fsync=false", "-rows", "300", "-cycles", "10", "-for", "300ms", "-hold", "600ms", "-endpoints", "40"}
	for _, k := range cases {
		args = append(args, k.name)
	}
	if err := start(t.Context(), args, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(out.Bytes()) {
		var f figure
		if err := json.Unmarshal(line, &f, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if f.What == "" || f.Unit == "" || math.IsNaN(f.Value) || (f.Limit == nil) != (f.OK == nil) {
			t.Errorf("a figure that says little: %s", line)
		}
		if at := f.Case + " " + f.Store + " " + f.What; seen[at] {
			t.Errorf("twice: %s", at)
		} else {
			seen[at], seen[f.Case+" "+f.Store] = true, true
		}
	}
	for _, k := range cases {
		for _, store := range []string{"sqlite", "postgres"} {
			if want := store == "postgres" || !k.postgres; seen[k.name+" "+store] != want {
				t.Errorf("figures of %s on %s: %v, want %v", k.name, store, !want, want)
			}
		}
	}
}
