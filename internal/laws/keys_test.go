package laws_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testLink = regexp.MustCompile("\\[`([^`]+)`\\]\\(\\.\\./([^)]+\\.go)\\)")

// What docs/keys.md promises is shown by the tests that it links to: each line has one, and each is there.
func TestKeysAreShownByTests(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join(root, "docs", "keys.md"))
	if err != nil {
		t.Fatal(err)
	}
	links, header := 0, true
	for line := range strings.SplitSeq(string(doc), "\n") {
		if !strings.HasPrefix(line, "|") {
			header = true
			continue
		}
		found := testLink.FindAllStringSubmatch(line, -1)
		if ruled := strings.HasPrefix(line, "|---"); ruled || header {
			header = header && !ruled
			continue
		}
		if len(found) == 0 {
			t.Errorf("a line of docs/keys.md without a test: %s", line)
		}
		for _, m := range found {
			links++
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m[2])))
			if err != nil {
				t.Error(err)
			} else if !strings.Contains(string(text), "func "+m[1]+"(") && !strings.Contains(string(text), `"`+m[1]+`"`) {
				t.Errorf("docs/keys.md: there is no test %q in %s", m[1], m[2])
			}
		}
	}
	if links < 40 {
		t.Errorf("only %d links found", links)
	}
}
