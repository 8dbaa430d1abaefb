package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// The list must not fall behind the code: what a mutant takes out stands there word for word, and the tests that are to catch it exist.
// That each does catch it is shown by make mutants, which takes minutes.
func TestListIsOfThisTree(t *testing.T) {
	t.Parallel()
	tests := testsOf(t)
	seen := map[string]bool{}
	for _, m := range mutants {
		if seen[m.id] || !regexp.MustCompile(`^[a-z][a-z-]+$`).MatchString(m.id) {
			t.Errorf("%q is no id, or stands twice", m.id)
		}
		seen[m.id] = true
		if m.holds == "" || m.out == "" || len(m.edits) == 0 || len(m.caught) == 0 {
			t.Errorf("%s: the list must say what stands on the guard, what is taken out, where, and which tests catch it", m.id)
		}
		files, err := m.apply(root)
		if err != nil {
			t.Error(err)
			continue
		}
		for name, text := range files {
			if was, _ := os.ReadFile(filepath.Join(root, name)); string(was) == text {
				t.Errorf("%s changes nothing in %s", m.id, name)
			}
			if !strings.HasSuffix(name, ".go") {
				continue
			}
			if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("mutant %s is not Go: %v", m.id, err)
			}
		}
		for _, c := range m.caught {
			if c.says == "" {
				t.Errorf("%s: by which assertion does %s fail?", m.id, c.test)
			}
			if packages[c.store] != "" && c.pkg != packages[c.store] {
				t.Errorf("%s: %s is not the package of the store %s", m.id, c.pkg, c.store)
			}
			room, names := c.pkg, strings.Split(c.test, "/")
			if names[0] == "TestSuite" {
				room = "store/storetest"
			}
			for _, name := range names[1:] {
				if !slices.ContainsFunc(tests[room], func(text string) bool { return strings.Contains(text, "\""+name+"\"") }) {
					t.Errorf("%s: there is no test %q in %s", m.id, name, room)
				}
			}
			if !slices.ContainsFunc(tests[c.pkg], func(text string) bool { return strings.Contains(text, "func "+names[0]+"(") }) {
				t.Errorf("%s: there is no %s in %s", m.id, names[0], c.pkg)
			}
		}
	}
}

// Both stores hold every guard that concerns one, or the list says why not: an entry for one store is a guard that the other holds in
// the place of another entry.
func TestGuardsAreShownOnBothStores(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		on := map[string]bool{}
		for _, c := range m.caught {
			on[c.store] = true
		}
		if one := on[onSQLite] != on[onPostgres]; one && !strings.Contains(m.out, "(on ") {
			t.Errorf("%s is tried on one store: what it takes out ends with (on the other …)", m.id)
		}
	}
}

// testsOf gives the texts of the files that hold the tests of the list, by their folders.
func testsOf(t *testing.T) map[string][]string {
	out := map[string][]string{}
	for _, m := range mutants {
		for _, c := range m.caught {
			for _, room := range []string{c.pkg, "store/storetest"} {
				if out[room] != nil {
					continue
				}
				files, err := filepath.Glob(filepath.Join(root, room, "*.go"))
				if err != nil || len(files) == 0 {
					t.Fatalf("no Go files in %s: %v", room, err)
				}
				for _, f := range files {
					b, err := os.ReadFile(f)
					if err != nil {
						t.Fatal(err)
					}
					out[room] = append(out[room], string(b))
				}
			}
		}
	}
	return out
}

// What is not the assertion's own failing is no catch: a survivor, an error of the database, a panic, another assertion.
func TestJudge(t *testing.T) {
	t.Parallel()
	c := catch{store: onSQLite, test: "TestSuite/words/I7: it holds", says: "applied: true, want false"}
	const prepared = "\n--- PASS: TestStatementsPrepare (0.1s)\n"
	const failed = "        --- FAIL: TestSuite/words/I7:_it_holds (0.2s)\n"
	for name, tc := range map[string]struct{ out, want string }{
		"caught":            {prepared + "x.go:7: applied: true, want false\n" + failed, ""},
		"survived":          {prepared + "        --- PASS: TestSuite/words/I7:_it_holds (0.2s)\n", "SURVIVED"},
		"not run":           {prepared, "did not run"},
		"another test":      {prepared + "applied: true, want false\n        --- FAIL: TestSuite/words/I7:_it_holds_too (0.2s)\n", "did not run"},
		"another assertion": {prepared + "x.go:8: fence: 1, want 2\n" + failed, "not by"},
		"SQL, postgres":     {prepared + "applied: true, want false\nERROR: division by zero (SQLSTATE 22012)\n" + failed, "broke: "},
		"SQL, sqlite":       {prepared + "applied: true, want false\nstatement message_save: constraint failed\n" + failed, "broke: "},
		"its own poison":    {prepared + "applied: true, want false\nERROR: poisoned (SQLSTATE 23514)\n" + failed, ""},
		"panic":             {prepared + "applied: true, want false\npanic: index out of range\n" + failed, "broke: "},
		"does not prepare":  {"\n--- FAIL: TestStatementsPrepare (0.1s)\napplied: true, want false\n" + failed, "does not prepare"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.judge(tc.out); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("judged %q, want %q", got, tc.want)
			}
		})
	}
	if got := c.pattern(); got != `^TestSuite$/^words$/^I7:_it_holds$` {
		t.Errorf("pattern %s", got)
	}
}
