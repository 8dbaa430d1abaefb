package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A page has regions that are made from results; all else is written by hand. It names its results files itself, as seen from its folder.
var (
	region = regexp.MustCompile(`(?s)<!-- begin ([a-z]+) -->\n.*?<!-- end -->`)
	source = regexp.MustCompile(`<!-- results: (\S*) -->`)
	depths = regexp.MustCompile(`<!-- depth: (\S+) -->`)
)

// writePage makes the regions of a page anew, and its plots beside the results. from is where they are.
func writePage(page, from string, r *results) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	at, err := relative(page, from)
	if err != nil {
		return err
	}
	text = source.ReplaceAllLiteral(text, fmt.Appendf(nil, "<!-- results: %s -->", at))
	text, err = fill(page, text, r)
	if err != nil {
		return err
	}
	for name, plot := range r.plots() {
		if err := os.WriteFile(filepath.Join(filepath.Dir(from), name), []byte(plot), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(page, text, 0o644)
}

func relative(page, to string) (string, error) {
	a, err := filepath.Abs(filepath.Dir(page))
	if err != nil {
		return "", err
	}
	b, err := filepath.Abs(to)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(a, b)
	return filepath.ToSlash(rel), err
}

// fill gives the page with its regions as the results have them.
func fill(page string, text []byte, r *results) ([]byte, error) {
	var failed error
	out := region.ReplaceAllFunc(text, func(old []byte) []byte {
		name := string(region.FindSubmatch(old)[1])
		s, err := r.region(page, text, name)
		failed = errors.Join(failed, err)
		return fmt.Appendf(nil, "<!-- begin %s -->\n%s<!-- end -->", name, s)
	})
	return out, failed
}

func (r *results) region(page string, text []byte, name string) (string, error) {
	switch name {
	case "about":
		return r.about(), nil
	case "marks":
		return r.marks().markdown(), nil
	case "limits":
		return r.limits(), nil
	case "peers":
		t := table{head: []string{"", "what it is here", "what it remembers of what was done"}}
		for _, p := range peers() {
			t.rows = append(t.rows, []string{p.name, p.about, p.keeps})
		}
		return t.markdown(), nil
	case "ahead":
		return strings.Join(append(r.aheads(), ""), "\n"), nil
	case "rates":
		return r.images(text, "rates.svg", "cpu.svg"), nil
	case "plot":
		return r.images(text, "latency.svg"), nil
	case "made":
		return r.made().markdown(), nil
	case "depth":
		m := depths.FindSubmatch(text)
		if m == nil {
			return "", errors.New(`the region "depth" wants a comment that names its results`)
		}
		return depth(filepath.Join(filepath.Dir(page), string(m[1])))
	}
	for _, c := range cases() {
		if slices.Contains(c.shows, name) {
			if c.latency {
				return r.latencies(name).markdown(), nil
			}
			return r.rates(name).markdown(), nil
		}
	}
	return "", fmt.Errorf("nothing is known of the region %q", name)
}

// about says on what and when it was measured.
func (r *results) about() string {
	a := r.run
	if a.Commit == "" {
		return "Not measured yet.\n"
	}
	var b strings.Builder
	rounds := fmt.Sprintf("%d rounds, of which the median stands here, with the least and the most behind it", a.Settings.Rounds)
	if a.Settings.Rounds == 1 {
		rounds = "One round alone, which shows no spread"
	}
	fmt.Fprintf(&b, "Commit `%s`, %s UTC: %d cores of %s, %s MiB, %s, %s. %s.\n",
		a.Commit, a.When, a.Cores, a.CPU, comma(float64(a.Memory)), a.Kernel, a.Disk, rounds)
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(a.Versions)) {
		versions = append(versions, name+" "+a.Versions[name])
	}
	fmt.Fprintf(&b, "\nVersions: %s.\n", strings.Join(versions, ", "))
	if len(r.absent) > 0 {
		fmt.Fprintf(&b, "\nLeft out, since that machine lacks what they need: %s.\n", strings.Join(r.absent, ", "))
	}
	return b.String()
}

// images shows plots, which stand beside the results.
func (r *results) images(text []byte, names ...string) string {
	if r.run.Commit == "" {
		return "Not measured yet.\n"
	}
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "![%s](%s)\n\n", name, path.Join(path.Dir(string(source.FindSubmatch(text)[1])), name))
	}
	return b.String()
}

// depth is the table of bench/depth's results: lines of another kind.
func depth(at string) (string, error) {
	f, err := os.Open(at)
	if errors.Is(err, fs.ErrNotExist) {
		return "Not measured yet.\n", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	t := table{head: []string{"case", "store", "rows", "what", "without them", "with them", "limit", "holds"}}
	maybe := func(x *float64) string {
		if x == nil {
			return ""
		}
		return digits(*x)
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var l struct {
			Case, Store, What, Unit string
			Rows                    int
			Value                   float64
			Base, Limit             *float64
			Within                  *bool
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return "", fmt.Errorf("%s: %w", at, err)
		}
		holds := ""
		if l.Within != nil {
			holds = map[bool]string{true: "yes", false: "**no**"}[*l.Within]
		}
		t.rows = append(t.rows, []string{l.Case, l.Store, comma(float64(l.Rows)), l.What + ", " + l.Unit, maybe(l.Base), digits(l.Value), maybe(l.Limit), holds})
	}
	return t.markdown(), nil
}
