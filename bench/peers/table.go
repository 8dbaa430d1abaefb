package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// table is one to be printed or to stand on a page.
type table struct {
	head []string
	rows [][]string
}

func (t table) text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, cells := range append([][]string{t.head}, t.rows...) {
		line := strings.Join(cells, "\t")
		if i == 0 {
			line = strings.ToUpper(line)
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

func (t table) markdown() string {
	if len(t.rows) == 0 {
		return "Not measured yet.\n"
	}
	var b strings.Builder
	for i, cells := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
		}
	}
	return b.String()
}

// rates is the table of a case that is about rates; latencies of one about those.
func (r *results) rates(what string) table {
	t := table{head: []string{what, "a second", "CPU-s for 10,000", "of it", "bytes to disk", "MiB", "rounds"}}
	for _, name := range r.shown(what) {
		n := r.spread(name, what, rate)
		t.rows = append(t.rows, r.row(name, what, n, thousands(n), ratio(r.spread(name, what, cpu)), r.parts(name, what), count(r.spread(name, what, written)), count(r.spread(name, what, memory))))
	}
	return t
}

func (r *results) latencies(what string) table {
	t := table{head: []string{what, "p50 ms", "p99 ms", "p99.9 ms", "CPU-s for 10,000", "of it", "bytes to disk", "MiB", "rounds"}}
	for _, name := range r.shown(what) {
		n := r.spread(name, what, p50)
		t.rows = append(t.rows, r.row(name, what, n, ratio(n), ratio(r.spread(name, what, p99)), ratio(r.spread(name, what, p999)),
			ratio(r.spread(name, what, cpu)), r.parts(name, what), count(r.spread(name, what, written)), count(r.spread(name, what, memory))))
	}
	return t
}

// row has the cells between a name and its rounds; none of them if no round counts.
func (r *results) row(name, what string, n spread, cells ...string) []string {
	all := 0
	for _, f := range r.figures {
		if f.Peer == name && f.Case == what {
			all++
		}
	}
	if n.rounds == 0 {
		for i := range cells {
			cells[i] = "–"
		}
	}
	rounds := fmt.Sprint(n.rounds)
	if left := all - n.rounds; left > 0 {
		rounds += fmt.Sprintf(" (%d not idle)", left)
	}
	return append(append([]string{name}, cells...), rounds)
}

// parts says whose the CPU-seconds were.
func (r *results) parts(name, what string) string {
	var out []string
	for _, part := range []string{"client", "node", "server", "broker", "database"} {
		s := r.spread(name, what, func(f figure) float64 { return f.Parts[part] })
		if s.median >= 0.005 {
			out = append(out, fmt.Sprintf("%s %.2f", part, s.median))
		}
	}
	return strings.Join(out, ", ")
}

// marks is the table of what was aimed at.
func (r *results) marks() table {
	t := table{head: []string{"mark", "aim", "seen", "rounds", "holds"}}
	for _, m := range marks() {
		seen, holds := r.judge(m)
		word := map[bool]string{true: "yes", false: "**no**"}[holds]
		if seen.rounds == 0 {
			word = "not measured"
		}
		t.rows = append(t.rows, []string{m.what, m.bound(), ratio(seen), fmt.Sprint(seen.rounds), word})
	}
	return t
}

// aheads says where somebody does more a second than we do over HTTP, and why.
func (r *results) aheads() (out []string) {
	for _, p := range peers() {
		if p.ahead == "" {
			continue
		}
		var where []string
		for _, what := range []string{"enqueue", "batch", "work", "cycle"} {
			ours := max(r.spread("onceward-postgres", what, rate).median, r.spread("onceward-sqlite", what, rate).median)
			if theirs := r.spread(p.name, what, rate).median; ours > 0 && theirs > ours {
				where = append(where, fmt.Sprintf("%s %.1f ×", what, theirs/ours))
			}
		}
		for _, what := range []struct {
			name   string
			column func(figure) float64
		}{{"p50", p50}, {"p99", p99}} {
			ours := min(r.spread("onceward-postgres", "start", what.column).median, r.spread("onceward-sqlite", "start", what.column).median)
			if theirs := r.spread(p.name, "start", what.column).median; theirs > 0 && theirs < ours {
				where = append(where, fmt.Sprintf("%s of start %.1f ms beside %.1f", what.name, theirs, ours))
			}
		}
		if len(where) > 0 {
			out = append(out, fmt.Sprintf("- **%s** (%s): %s", p.name, strings.Join(where, ", "), p.ahead))
		}
	}
	return out
}

// print shows the tables.
func (r *results) print(out io.Writer) error {
	for _, c := range cases() {
		for _, what := range c.shows {
			if c.name == "fill" {
				continue // "batch" has it
			}
			t := r.rates(what)
			if c.latency {
				t = r.latencies(what)
			}
			if len(t.rows) == 0 {
				continue
			}
			if err := t.text(out); err != nil {
				return err
			}
		}
	}
	t := r.marks()
	t.rows = slices.DeleteFunc(t.rows, func(cells []string) bool { return cells[3] == "0" })
	return t.text(out)
}

func ratio(s spread) string {
	if s.rounds == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%s–%s)", digits(s.median), digits(s.least), digits(s.most))
}

// thousands is a spread of large numbers.
func thousands(s spread) string {
	return fmt.Sprintf("%s (%s–%s)", comma(s.median), comma(s.least), comma(s.most))
}

func count(s spread) string {
	if s.median == 0 {
		return "–"
	}
	return comma(s.median)
}

// digits gives a number with three digits that count, or two behind the point.
func digits(x float64) string {
	switch {
	case x >= 100:
		return comma(x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// comma gives a whole number with its thousands apart.
func comma(x float64) string {
	s := fmt.Sprintf("%.0f", x)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
