package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mutant is a guard, and what shows that it is there.
type mutant struct {
	id     string
	holds  string // the invariants and hazards that stand on the guard
	out    string // what is taken out, as a row of the table says it
	edits  []edit // all places where the guard is held: of the rules, and of both stores
	caught []catch
}

// edit puts new where old stands in a file.
type edit struct {
	file, old, new string
	times          int // that old stands in the file; 0 is once
}

// catch is a test that must fail, and by which of its assertions.
type catch struct {
	store string // "" where none is concerned
	pkg   string
	test  string // subtests by their names as they are written
	says  string // a part of the assertion's words
}

// The stores.
const (
	onSQLite   = "sqlite"
	onPostgres = "postgres"
)

var packages = map[string]string{onSQLite: "store/sqlite", onPostgres: "store/postgres"}

// suite names a test of store/storetest, on both stores.
func suite(area, test, says string) []catch {
	return append(suiteOn(onSQLite, area, test, says), suiteOn(onPostgres, area, test, says)...)
}

// suiteOn is suite on one store, where the stores hold a guard in places of their own.
func suiteOn(store, area, test, says string) []catch {
	return []catch{{store, packages[store], "TestSuite/" + area + "/" + test, says}}
}

// alone names a test of code that knows no store.
func alone(pkg, test, says string) []catch { return []catch{{"", pkg, test, says}} }

// apply gives the files of the tree under root as the mutant has them, by their paths in it.
func (m *mutant) apply(root string) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range m.edits {
		text, ok := out[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.id, err)
			}
			text = string(b)
		}
		if n, want := strings.Count(text, e.old), max(1, e.times); n != want {
			return nil, fmt.Errorf("mutant %s: %s has this text %d times, and the list says %d: bring the list to what the code is now:\n%s", m.id, e.file, n, want, e.old)
		}
		out[e.file] = strings.ReplaceAll(text, e.old, e.new)
	}
	return out, nil
}

// pattern is the test as -test.run takes it.
func (c catch) pattern() string {
	parts := strings.Split(c.name(), "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// name is the test as the testing package prints it.
func (c catch) name() string { return strings.ReplaceAll(c.test, " ", "_") }

// prepares is the test that has the database prepare every statement of a store.
const prepares = "TestStatementsPrepare"

// foreign is what no assertion says: something broke before it could. A test that poisons the database says so.
var foreign = regexp.MustCompile(`(?m)^.*(panic:|fatal error:|SQLSTATE|SQL logic error|constraint failed|no query solution|statement \w+: ).*$`)

// judge says what the output of a test run with -test.v shows; "" if it is the assertion that was to fail.
func (c catch) judge(out string) string {
	if c.store != "" && !strings.Contains(out, "\n--- PASS: "+prepares+" ") {
		return "the SQL does not prepare"
	}
	for _, line := range foreign.FindAllString(out, -1) {
		if !strings.Contains(line, "poisoned") {
			return "broke: " + strings.TrimSpace(line)
		}
	}
	switch {
	case strings.Contains(out, "--- PASS: "+c.name()+" "):
		return "SURVIVED"
	case !strings.Contains(out, "--- FAIL: "+c.name()+" "):
		return "the test did not run"
	case !strings.Contains(out, c.says):
		return fmt.Sprintf("failed, but not by %q", c.says)
	}
	return ""
}
