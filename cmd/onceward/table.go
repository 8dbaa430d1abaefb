package main

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// column is a column of a table: a field, and its head if that is another.
type column struct {
	field, head string
	elastic     bool // its text may be cut to fit
	width       int
	cells       []string
}

// elastic are the fields that are for reading; the others are for copying, or short.
var elastic = []string{"payload", "last_error", "error", "url", "event_types", "description", "note"}

const (
	widest   = 100 // of a cell
	narrowed = 12  // of an elastic cell on a narrow terminal
	gap      = 2
)

// table prints objects, a row each. A column is a field's name, or field=HEAD. On a terminal it fits the width: elastic
// columns are cut, then the last of the others are left out, and said so.
func table(out io.Writer, items []object, columns ...string) error {
	all := make([]*column, len(columns))
	for i, name := range columns {
		field, head, ok := strings.Cut(name, "=")
		if !ok {
			head = strings.ToUpper(strings.ReplaceAll(field, "_", " "))
		}
		c := &column{field: field, head: head, elastic: slices.Contains(elastic, field), width: cells(head)}
		for _, o := range items {
			s := clip(short(line(o[field])), widest)
			c.cells = append(c.cells, s)
			c.width = max(c.width, cells(s))
		}
		all[i] = c
	}
	var left []string
	if o, ok := out.(output); ok && o.columns > 0 {
		all, left = fit(all, o.columns)
	}
	var b strings.Builder
	for row := -1; row < len(items); row++ {
		for i, c := range all {
			s := c.head
			if row >= 0 {
				s = clip(c.cells[row], c.width)
			}
			b.WriteString(s)
			if i < len(all)-1 {
				b.WriteString(strings.Repeat(" ", c.width-cells(s)+gap))
			}
		}
		b.WriteByte('\n')
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "(not shown, for want of room: %s; --json has all)\n", strings.Join(left, ", "))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// fit makes columns fit a width. It gives those that stay, and the fields of those that do not. The first stays always.
func fit(all []*column, room int) (stay []*column, left []string) {
	sum := func(least bool) int {
		n := gap * (len(all) - 1)
		for _, c := range all {
			if least && c.elastic {
				n += min(c.width, narrowed)
			} else {
				n += c.width
			}
		}
		return n
	}
	for sum(true) > room {
		i := len(all) - 1
		for i > 0 && all[i].elastic {
			i--
		}
		if i <= 0 {
			break
		}
		left = append([]string{all[i].field}, left...)
		all = slices.Delete(all, i, i+1)
	}
	for over := sum(false) - room; over > 0; over-- {
		most := slices.MaxFunc(all, func(a, b *column) int { return a.spare() - b.spare() })
		if most.spare() <= 0 {
			break
		}
		most.width--
	}
	return all, left
}

// spare is how much narrower a column can be.
func (c *column) spare() int {
	if !c.elastic {
		return 0
	}
	return c.width - narrowed
}

// line is a value as one line of text.
func line(v any) string {
	s := ""
	switch v := v.(type) {
	case nil:
		return "-"
	case string:
		s = v
	case jsontext.Value:
		s = string(v)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = line(e)
		}
		s = strings.Join(parts, ",")
	default:
		b, _ := json.Marshal(v, json.Deterministic(true))
		s = string(b)
	}
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && r != '\r' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar // what others wrote must not steer the terminal
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "-"
	}
	return s
}

var stamp = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$`)

// short gives a time to the second.
func short(s string) string { return stamp.ReplaceAllString(s, "${1}Z") }

// clip cuts s to so many cells of a terminal.
func clip(s string, most int) string {
	if cells(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n += cell(r); n > most-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// cells is how much room s takes on a terminal.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += cell(r)
	}
	return n
}

func cell(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
