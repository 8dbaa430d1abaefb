package laws_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	hazardID  = regexp.MustCompile(`H-[A-Z][0-9]{2}`)
	testName  = regexp.MustCompile("`([^`]+)`")
	hazardRow = regexp.MustCompile(`^\| (H-[A-Z][0-9]{2}) \| (.+) \| (.+) \| (.+) \| (.+) \|$`)
)

// A hazard without a test comes back. One that is marked "in" is named by a test (or by the suite that every store's test
// runs, or a case of the crash matrix), or its row names the test between backquotes; one that is not says that it has
// none yet.
func TestEveryHazardInScopeHasItsTest(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "docs", "hazards.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string][]string{}
	var tests strings.Builder
	for _, f := range files(t) {
		if f.test && f.room != "internal/laws" || under(f.room, "store/storetest") || f.room == "internal/verify" {
			tests.WriteString(f.text)
			for _, id := range hazardID.FindAllString(f.text, -1) {
				named[id] = append(named[id], f.path)
			}
		}
	}
	known := map[string]bool{}
	for line := range strings.SplitSeq(string(b), "\n") {
		m := hazardRow.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "| H-") {
				t.Errorf("not a row of five columns: %s", line)
			}
			continue
		}
		id, stores, test := m[1], m[4], m[5]
		if known[id] {
			t.Errorf("%s stands twice", id)
		}
		known[id] = true
		if s, _, _ := strings.Cut(stores, ":"); s != "both" && s != "none" && s != "postgres" && s != "sqlite" {
			t.Errorf("%s: stores is %q; it is both, none, postgres or sqlite, the last two with a reason", id, stores)
		}
		quoted := testName.FindAllStringSubmatch(test, -1)
		for _, q := range quoted {
			if !strings.Contains(tests.String(), "func "+q[1]+"(") && !strings.Contains(tests.String(), strconv.Quote(q[1])) {
				t.Errorf("%s: there is no test %q", id, q[1])
			}
		}
		switch in := strings.HasPrefix(test, "in"); {
		case in && named[id] == nil && len(quoted) == 0:
			t.Errorf("%s is in scope, no test names it and it names no test", id)
		case !in && !strings.HasPrefix(test, "later"):
			t.Errorf("%s: test is %q; it begins with in or later", id, test)
		case !in && named[id] != nil:
			t.Logf("%s is marked later and is named in %s: mark it in", id, strings.Join(named[id], ", "))
		}
	}
	if len(known) < 40 {
		t.Errorf("only %d hazards found", len(known))
	}
	for id, where := range named {
		if !known[id] {
			t.Errorf("%s, named in %s, is no hazard of docs/hazards.md", id, strings.Join(where, ", "))
		}
	}
}
