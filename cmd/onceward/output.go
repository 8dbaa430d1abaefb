package main

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"golang.org/x/term"
)

// output is where a command writes for its caller. Logs and progress go to standard error.
type output struct {
	io.Writer
	columns, rows int // of the terminal; 0: it is none
}

// A terminal that does not say its size has this one.
const (
	usualColumns = 80
	usualRows    = 24
)

func newOutput(f *os.File) output {
	if !term.IsTerminal(int(f.Fd())) {
		return output{Writer: f}
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 1 || rows < 1 {
		columns, rows = usualColumns, usualRows
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		columns = n
	}
	return output{f, columns, rows}
}

// printer prints for people or for programs.
type printer struct {
	JSON bool `name:"json" group:"common" env:"ONCEWARD_JSON" help:"Print JSON for programs instead of a table."`
}

// rows prints objects as a table, or as JSON.
func (p *printer) rows(out output, items []object, columns ...string) error {
	if p.JSON {
		return printJSON(out, object{"items": items})
	}
	if len(items) == 0 {
		_, err := fmt.Fprintln(out, "none")
		return err
	}
	return table(out, items, columns...)
}

// fields prints one object, a line each, the named ones first and the rest in order.
func (p *printer) fields(out output, o object, first ...string) error {
	if p.JSON {
		return printJSON(out, o)
	}
	var names, rest []string
	for name, v := range o {
		if _, nested := v.([]any); !slices.Contains(first, name) && (!nested || plain(v)) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	widest := 0
	for _, name := range append(slices.Clone(first), rest...) {
		if _, ok := o[name]; ok {
			names, widest = append(names, name), max(widest, len(name))
		}
	}
	for _, name := range names {
		if _, err := fmt.Fprintf(out, "%-*s  %s\n", widest, name, line(o[name])); err != nil {
			return err
		}
	}
	return nil
}

// below prints a list that stands inside an object.
func (p *printer) below(out output, o object, name string, columns ...string) error {
	l, _ := o[name].([]any)
	items := make([]object, 0, len(l))
	for _, e := range l {
		if m, ok := e.(object); ok {
			items = append(items, m)
		}
	}
	fmt.Fprintf(out, "\n%s\n", name)
	return p.rows(out, items, columns...)
}

// plain reports whether v is a list of nothing but strings and numbers.
func plain(v any) bool {
	l, ok := v.([]any)
	return ok && !slices.ContainsFunc(l, func(e any) bool {
		_, o := e.(object)
		return o
	})
}

func printJSON(out io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", b)
	return err
}

// jsonLine prints JSON in one line, for what comes one after the other.
func jsonLine(out io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", b)
	return err
}
