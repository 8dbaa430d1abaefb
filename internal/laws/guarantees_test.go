package laws_test

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	mdLink  = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	mdTest  = regexp.MustCompile("`(Test\\w+)`")
	mdSeeds = regexp.MustCompile("(?m)^\\| simulation \\| `(\\w+)` \\| ([0-9]+) \\| ([0-9]+) \\|$")
	mdSum   = regexp.MustCompile("(?m)^\\| (sqlite|postgres) \\| `(\\w+)` \\| ([0-9]+) \\| ([0-9]+) \\| ([0-9]+) \\| ([0-9]+) \\| ([0-9]+) \\| ([0-9]+) \\| ([0-9]+) \\| ([0-9]+) \\| ([0-9]+) \\|$")
)

// A promise is worth what shows it: each page and each test that docs/guarantees.md names is there, and its figures are the sums of the rounds that were run.
func TestGuaranteesAreShown(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, m := range mdLink.FindAllStringSubmatch(page, -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		if _, err := os.Stat(filepath.Join("../../docs", m[1])); err != nil {
			t.Errorf("docs/guarantees.md: the link %s leads nowhere: %v", m[1], err)
		}
	}
	there := testsOf(t)
	tests := mdTest.FindAllStringSubmatch(page, -1)
	for _, m := range tests {
		if !there[m[1]] {
			t.Errorf("docs/guarantees.md: there is no test %s", m[1])
		}
	}
	if len(tests) < 10 {
		t.Errorf("docs/guarantees.md names %d tests", len(tests))
	}
	seeds := seedSums(t)
	for _, m := range mdSeeds.FindAllStringSubmatch(page, -1) {
		if got, want := m[2]+" "+m[3], seeds[m[1]]; got != want {
			t.Errorf("docs/guarantees.md says %s of the seeds of code %s; the lines of bench/simulation.jsonl sum up to %s", got, m[1], want)
		}
		delete(seeds, m[1])
	}
	for code, sum := range seeds {
		t.Errorf("docs/guarantees.md does not say that of the code %s %s seeds were run and failed: bench/simulation.jsonl has them", code, sum)
	}
	sums := roundSums(t)
	figures := mdSum.FindAllStringSubmatch(page, -1)
	if len(figures) < 2 {
		t.Errorf("docs/guarantees.md has %d rows of figures; one for each store", len(figures))
	}
	for _, m := range figures {
		if got, want := strings.Join(m[3:], " "), sums[m[1]+" "+m[2]]; got != want {
			t.Errorf("docs/guarantees.md says %s of %s; the rounds of code %s in bench/kills.jsonl sum up to %s", got, m[1], m[2], want)
		}
	}
}

// seedSums adds up the seeds of each code, and sees that none counts twice.
func seedSums(t *testing.T) map[string]string {
	b, err := os.ReadFile("../../bench/simulation.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	next, seeds, failed, out := map[string]int{}, map[string]int{}, map[string]int{}, map[string]string{}
	for line := range bytes.Lines(b) {
		var r struct {
			Code                 string
			First, Seeds, Failed int
		}
		if err := json.Unmarshal(line, &r, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("bench/simulation.jsonl: %v", err)
		}
		if r.First < next[r.Code] {
			t.Errorf("bench/simulation.jsonl: seed %d of code %s counts twice", r.First, r.Code)
		}
		next[r.Code] = r.First + r.Seeds
		seeds[r.Code] += r.Seeds
		failed[r.Code] += r.Failed
		out[r.Code] = fmt.Sprint(seeds[r.Code], " ", failed[r.Code])
	}
	return out
}

// roundSums adds up the rounds of each store and code.
func roundSums(t *testing.T) map[string]string {
	f, err := os.Open("../../bench/kills.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sums := map[string]*[9]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r struct {
			Code, Store                                                                 string
			Kills, Workers, Frozen, Things, Requests, Lost, Doubled, Unfinished, Broken int
		}
		if err := json.Unmarshal(lines.Bytes(), &r, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("bench/kills.jsonl: %v", err)
		}
		key := r.Store + " " + r.Code
		if sums[key] == nil {
			sums[key] = new([9]int)
		}
		for i, n := range []int{r.Kills, r.Workers, r.Frozen, r.Things, r.Requests, r.Lost, r.Doubled, r.Unfinished, r.Broken} {
			sums[key][i] += n
		}
	}
	out := map[string]string{}
	for key, s := range sums {
		out[key] = strings.Trim(fmt.Sprint(*s), "[]")
	}
	return out
}
