package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func someResults(t *testing.T) (*results, string) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	s := settings{Rounds: 3, Quiet: 0.1}
	r, err := openResults(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.begin(about{Commit: "abc", Settings: s}); err != nil {
		t.Fatal(err)
	}
	for round, v := range [][2]float64{{1000, 100}, {3000, 200}, {9000, 100}} {
		for i, name := range []string{"onceward-postgres", "river"} {
			if err := r.add(figure{Peer: name, Case: "enqueue", Round: round + 1, Jobs: 1, Rate: v[i], CPU: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r, path
}

var enqueueCase = kase{name: "enqueue", shows: []string{"enqueue"}}

// A figure of a machine that was not idle does not count, and is taken again; what counts is not.
func TestWhatIsThereCounts(t *testing.T) {
	t.Parallel()
	r, path := someResults(t)
	if err := r.add(figure{Peer: "goqite", Case: "enqueue", Round: 1, Others: 0.11}); err != nil {
		t.Fatal(err)
	}
	r.close()
	again, err := openResults(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if !again.has("river", enqueueCase, 3) || again.has("river", enqueueCase, 4) || again.has("goqite", enqueueCase, 1) {
		t.Errorf("%+v", again.figures)
	}
	if again.has("river", kase{shows: []string{"enqueue", "work"}}, 1) {
		t.Error("half of a case counts as all of it")
	}
	for _, other := range []about{{Commit: "abd", Settings: r.run.Settings}, {Commit: "abc", Settings: settings{Rounds: 3, Quiet: 0.2}}} {
		if err := again.begin(other); err == nil || !strings.Contains(err.Error(), "name another") {
			t.Errorf("%+v goes on in a file of others: %v", other, err)
		}
	}
	if err := again.begin(about{Commit: "abc", Settings: r.run.Settings}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("{\"peer\":"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openResults(path); err == nil {
		t.Error("half a line is read")
	}
}

// Of the ratios round by round the median counts, and it decides whether a mark holds.
func TestMarksAreOfOneRound(t *testing.T) {
	t.Parallel()
	r, _ := someResults(t)
	defer r.close()
	of, per := term{"onceward-postgres", "enqueue", rate}, term{"river", "enqueue", rate}
	for _, m := range []struct {
		mark
		want spread
		ok   bool
	}{
		{mark{"", of, per, 15, 0}, spread{15, 10, 90, 3}, true},
		{mark{"", of, per, 15.1, 0}, spread{15, 10, 90, 3}, false},
		{mark{"", of, per, 0, 14.9}, spread{15, 10, 90, 3}, false},
		{mark{"", of, term{}, 0, 3000}, spread{3000, 1000, 9000, 3}, true},
		{mark{"", of, term{"goqite", "enqueue", rate}, 0, 1}, spread{}, false},
	} {
		if got, ok := r.judge(m.mark); got != m.want || ok != m.ok {
			t.Errorf("%+v: %+v %v", m.mark, got, ok)
		}
	}
}

// A mark of a peer or a case that is not there would never be measured, and nobody would see it.
func TestMarksNameWhatIsThere(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for _, p := range peers() {
		for _, c := range cases() {
			for _, what := range c.shows {
				for _, mine := range p.cases {
					if mine == c.name {
						there[p.name+" "+what] = true
					}
				}
			}
		}
	}
	for _, store := range []string{"postgres", "postgres-4", "sqlite"} {
		there[bares+store+" cycle"] = there[inProcess+store+" cycle"]
	}
	for _, m := range marks() {
		for _, x := range []term{m.of, m.per} {
			if x.peer != "" && !there[x.peer+" "+x.what] {
				t.Errorf("%q is of %q of %s, which nobody measures", m.what, x.what, x.peer)
			}
		}
	}
}
