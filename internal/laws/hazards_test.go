package laws_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	hazardID  = regexp.MustCompile(`H-[A-Z][0-9]{2}`)
	testName  = regexp.MustCompile("`([^`]+)`")
	testFunc  = regexp.MustCompile(`func (Test\w+)\(`)
	caseName  = regexp.MustCompile(`"([^"\n]+)"`)
	hazardRow = regexp.MustCompile(`^\| (H-[A-Z][0-9]{2}) \| (.+) \| (.+) \| (.+) \| (.+) \|$`)
)

// coverage is on which stores a test shows something: bits of onSQLite and onPostgres.
type coverage int

const (
	onNone     coverage = 0
	onSQLite   coverage = 1
	onPostgres coverage = 2
	onBoth              = onSQLite | onPostgres
)

var coverages = map[string]coverage{"none": onNone, "sqlite": onSQLite, "postgres": onPostgres, "both": onBoth}

func (c coverage) String() string {
	for name, is := range coverages {
		if is == c {
			return name
		}
	}
	return "?"
}

// rooms are on which stores what stands in them runs; the cases of a suite are named by strings, so the whole file counts.
var rooms = map[string]coverage{
	"store/storetest": onBoth, "internal/verify": onBoth, "test/wire": onBoth, "store/sqlite": onSQLite, "store/postgres": onPostgres, "store/sqldb": onBoth, "ledger": onBoth, "idempotency": onBoth,
	"webhook": onSQLite, "api": onSQLite, ".": onSQLite, // over a real SQLite file, where over a store at all
}

// parts gives a test file cut into its tests, each with its comment, and what is outside of them.
func (f *file) parts() (out []string) {
	at, left := 0, ""
	for _, d := range f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(fn.Name.Name, "Test") || f.room != "test/faults" {
			continue
		}
		from := fn.Pos()
		if fn.Doc != nil {
			from = fn.Doc.Pos()
		}
		// The file is alone in its set, whose positions begin at 1.
		left += f.text[at : from-1]
		at = int(fn.End()) - 1
		out = append(out, f.text[from-1:at])
	}
	return append(out, left+f.text[at:])
}

// covers is on which stores a part of a file runs. The tests of whole servers say it by what they start.
func covers(room, part string) (c coverage) {
	if room != "test/faults" {
		return rooms[room]
	}
	if strings.Contains(part, "onBoth(") {
		return onBoth
	}
	if strings.Contains(part, "\"sqlite:\"") {
		c |= onSQLite
	}
	if strings.Contains(part, "pgtest.Database(") || strings.Contains(part, "pgtest.Start(") || strings.Contains(part, "cluster(t)") || strings.Contains(part, "movable(t)") {
		c |= onPostgres
	}
	return c
}

// evidence is what the tests name.
type evidence struct {
	ids   map[string]coverage // hazards, by the tests that name them
	names map[string]coverage // tests and cases
	where map[string][]string // of ids: files
}

func evidenceOf(t *testing.T) evidence {
	e := evidence{map[string]coverage{}, map[string]coverage{}, map[string][]string{}}
	for _, f := range files(t) {
		if (!f.test || f.room == "internal/laws") && !under(f.room, "store/storetest") && f.room != "internal/verify" {
			continue
		}
		for _, part := range f.parts() {
			c := covers(f.room, part)
			for _, id := range hazardID.FindAllString(part, -1) {
				e.ids[id] |= c
				e.where[id] = append(e.where[id], f.path)
			}
			for _, m := range testFunc.FindAllStringSubmatch(part, -1) {
				e.names[m[1]] |= c
			}
			for _, m := range caseName.FindAllStringSubmatch(part, -1) {
				e.names[m[1]] |= c
			}
		}
	}
	return e
}

// A hazard without a test comes back, on the store that has none. One that is marked "in" is named by tests, or its row names them between
// backquotes, and they run on every store that the row says; one that is not says why.
func TestEveryHazardInScopeHasItsTest(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "docs", "hazards.md"))
	if err != nil {
		t.Fatal(err)
	}
	e := evidenceOf(t)
	known := map[string]bool{}
	for line := range strings.SplitSeq(string(b), "\n") {
		m := hazardRow.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "| H-") {
				t.Errorf("not a row of five columns: %s", line)
			}
			continue
		}
		id, test := m[1], m[5]
		if known[id] {
			t.Errorf("%s stands twice", id)
		}
		known[id] = true
		stores, why, _ := strings.Cut(m[4], ": ")
		must, ok := coverages[stores]
		if one := must == onSQLite || must == onPostgres; !ok || one != (why != "") {
			t.Errorf("%s: stores is %q; it is both, none, postgres or sqlite, the last two with a reason", id, m[4])
		}
		shown, some := e.ids[id], e.where[id] != nil
		for _, q := range testName.FindAllStringSubmatch(test, -1) {
			c, ok := e.names[q[1]]
			if !ok {
				t.Errorf("%s: there is no test %q", id, q[1])
			}
			shown, some = shown|c, true
		}
		mark, why, _ := strings.Cut(test, ": ")
		switch {
		case mark == "later" && why == "":
			t.Errorf("%s is marked later and does not say why", id)
		case mark == "later":
		case mark != "in":
			t.Errorf("%s: test is %q; it begins with in or later", id, test)
		case !some:
			t.Errorf("%s is in scope, no test names it and it names no test", id)
		case shown&must != must:
			t.Errorf("%s concerns the stores %q and its tests run on %q: %s", id, must, shown, strings.Join(e.where[id], ", "))
		}
	}
	if len(known) < 40 {
		t.Errorf("only %d hazards found", len(known))
	}
	for id, where := range e.where {
		if !known[id] {
			t.Errorf("%s, named in %s, is no hazard of docs/hazards.md", id, strings.Join(where, ", "))
		}
	}
}
