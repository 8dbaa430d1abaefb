package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// list is a page of a list. It is asked for until --limit or the end.
type list struct {
	Items []object `json:"items"`
	Next  *string  `json:"next_cursor"`
}

const mostPerPage = 500

// lister is what the list commands have in common.
type lister struct {
	remote
	Limit int `default:"50" help:"Most rows to print."`
}

// show prints the list at path, by the columns named.
func (l *lister) show(ctx context.Context, out output, path string, columns ...string) error {
	if l.Limit < 1 {
		return usage("--limit is %d; it must be at least 1", l.Limit)
	}
	items, cursor := []object{}, ""
	for {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		page := path + sep + "limit=" + strconv.Itoa(min(l.Limit-len(items), mostPerPage))
		if cursor != "" {
			page += "&cursor=" + cursor
		}
		var got list
		if _, err := l.call(ctx, "GET", page, nil, &got); err != nil {
			return err
		}
		items = append(items, got.Items...)
		if got.Next == nil || len(items) >= l.Limit {
			return l.rows(out, items, columns...)
		}
		cursor = *got.Next
	}
}

// rows prints objects as a table, or as JSON.
func (r *remote) rows(out output, items []object, columns ...string) error {
	if r.JSON {
		return printJSON(out, object{"items": items})
	}
	if len(items) == 0 {
		_, err := fmt.Fprintln(out, "none")
		return err
	}
	return table(out, items, columns...)
}

// fields prints one object, a line each, the named ones first and the rest in order.
func (r *remote) fields(out output, o object, first ...string) error {
	if r.JSON {
		return printJSON(out, o)
	}
	var rest []string
	for name, v := range o {
		if _, nested := v.([]any); !slices.Contains(first, name) && (!nested || plain(v)) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, name := range append(first, rest...) {
		if v, ok := o[name]; ok {
			fmt.Fprintf(w, "%s\t%s\n", name, cell(v))
		}
	}
	return w.Flush()
}

func table(out io.Writer, items []object, columns ...string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = strings.ToUpper(strings.ReplaceAll(c, "_", " "))
	}
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, o := range items {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = cell(o[c])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// plain reports whether v is a list of nothing but strings and numbers.
func plain(v any) bool {
	l, ok := v.([]any)
	return ok && !slices.ContainsFunc(l, func(e any) bool {
		_, o := e.(object)
		return o
	})
}

// cell is a value as a table shows it: one line, not too wide.
func cell(v any) string {
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
			parts[i] = cell(e)
		}
		s = strings.Join(parts, ",")
	default:
		b, _ := json.Marshal(v, json.Deterministic(true))
		s = string(b)
	}
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "-"
	}
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:97], "") + "…"
	}
	return s
}

func printJSON(out io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", b)
	return err
}
