package api

import (
	"bytes"
	_ "embed"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

//go:embed docs.html
var manualHTML string

var manualPage = template.Must(template.New("docs").Funcs(template.FuncMap{"join": strings.Join}).Parse(manualHTML))

// manualCall is a call as /docs shows it.
type manualCall struct {
	ID, Method, Path, Says string
	Scopes                 []string
	Query, Body, Answer    []manualField
	Example, Answered      string
	Errors                 []manualError
}

type manualField struct {
	Name, Kind, Says string
	Required         bool
}

type manualError struct {
	Status     int
	Code, Says string
}

// writeManual writes /docs: one page, with no script and nothing from elsewhere.
func writeManual(calls []described) []byte {
	var examples map[string]jsontext.Value
	_ = json.Unmarshal(recorded, &examples) // openAPI says what is wrong with them
	type group struct {
		Name  string
		Calls []manualCall
	}
	var groups []group
	for _, d := range calls {
		if d.id == "" {
			continue
		}
		name, _, _ := strings.Cut(d.id, ".")
		i := slices.IndexFunc(groups, func(g group) bool { return g.Name == name })
		if i < 0 {
			i, groups = len(groups), append(groups, group{Name: name})
		}
		groups[i].Calls = append(groups[i].Calls, d.manual(examples[d.id]))
	}
	var buf bytes.Buffer
	if err := manualPage.Execute(&buf, groups); err != nil {
		panic(fmt.Sprintf("api: %v", err))
	}
	return buf.Bytes()
}

func (d described) manual(answered jsontext.Value) manualCall {
	m := manualCall{ID: d.id, Method: d.method, Path: d.path, Says: d.says, Scopes: scopeNames(d.scopes), Example: indented(jsontext.Value(d.example)), Answered: indented(answered)}
	for _, name := range d.places() {
		m.Query = append(m.Query, manualField{name, "in the path", parameterShapes["{"+name+"}"].Description, true})
	}
	for _, name := range d.query {
		s := d.parameterShape(name)
		m.Query = append(m.Query, manualField{name, s.text(), s.Description, false})
	}
	if d.body != nil {
		m.Body = members("", d.bodyShape(&shapes{inline: true}))
	}
	m.Answer = members("", d.answerShape(&shapes{inline: true, reply: true}))
	for _, c := range d.mayFail() {
		i := slices.IndexFunc(codes, func(k codeMeaning) bool { return k.code == c })
		m.Errors = append(m.Errors, manualError{statuses[c], string(c), codes[i].says})
	}
	return m
}

func indented(v jsontext.Value) string {
	if v == nil {
		return ""
	}
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(v)
	}
	return string(v)
}

// members gives an object's members, those of objects within it too, each by its way from the outermost.
func members(way string, s *schema) (all []manualField) {
	if len(s.AnyOf) > 0 && s.Properties == nil && s.Items == nil {
		s = s.AnyOf[0]
	}
	for _, p := range s.Properties {
		name := way + p.name
		all = append(all, manualField{name, p.schema.text(), p.schema.Description, slices.Contains(s.Required, p.name)})
		inner := p.schema
		if inner.Items != nil {
			name, inner = name+"[]", inner.Items
		}
		all = append(all, members(name+".", inner)...)
	}
	return all
}

// text says in words what kind of value fits.
func (s *schema) text() string {
	var words []string
	switch t := s.Type.(type) {
	case string:
		words = append(words, t)
	case []string:
		words = append(words, strings.Join(t, " or "))
	default:
		if len(s.AnyOf) > 0 {
			for _, a := range s.AnyOf {
				words = append(words, a.text())
			}
			return strings.Join(words, " or ")
		}
		words = append(words, "any")
	}
	if s.Enum != nil {
		words = append(words, "one of "+strings.Join(s.Enum, ", "))
	}
	if s.Above != nil {
		words = append(words, "above "+plainNumber(s.Above))
	}
	for _, r := range []struct {
		from, to any
		of       string
	}{
		{s.Minimum, s.Maximum, ""},
		{given(s.MinLength), given(s.MaxLength), " characters"},
		{given(s.MinItems), given(s.MaxItems), " items"},
	} {
		switch {
		case r.from != nil && r.to != nil:
			words = append(words, plainNumber(r.from)+" to "+plainNumber(r.to)+r.of)
		case r.from != nil:
			words = append(words, "at least "+plainNumber(r.from)+r.of)
		case r.to != nil:
			words = append(words, "at most "+plainNumber(r.to)+r.of)
		}
	}
	if s.Default != nil {
		b, _ := json.Marshal(s.Default)
		words = append(words, "else "+string(b))
	}
	return strings.Join(words, ", ")
}

// given is a limit, nil for 0, which is none.
func given(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func plainNumber(v any) string {
	if f, ok := v.(float64); ok {
		return number(f)
	}
	return fmt.Sprint(v)
}

// writeShort writes /llms.txt: what there is, a line a call.
func writeShort(calls []described) []byte {
	var b bytes.Buffer
	b.WriteString(`# Onceward

> Work that is handed over at least once and takes effect once: a queue over HTTP, a ledger that decides what already happened, and webhooks.

Send Authorization: Bearer KEY and JSON in UTF-8. An answer is {"ok", "data", "error": {"code", "message", "hint", "field"}, "metadata"}; beneath /bare/v1 it is the data alone, or {"error"}.
Send Idempotency-Key with each write that takes one, and the same call again under the same key after a time-out, a 5xx or a 429: it takes effect once.
Consume, do the work, ack with the receipt_handle; nack what failed. A message comes again when its lease is over.

- [OpenAPI](/openapi.json): every call, member, limit and error
- [The manual](/docs): the same for people
- [Discovery](/v1/discovery): the calls as capabilities with their schemas and prices
`)
	group := ""
	for _, d := range calls {
		if d.id == "" {
			continue
		}
		if g, _, _ := strings.Cut(d.id, "."); g != group {
			group = g
			fmt.Fprintf(&b, "\n## %s\n\n", g)
		}
		fmt.Fprintf(&b, "- %s %s: %s", d.method, d.path, d.says)
		var wants []string
		for _, names := range d.requires() {
			wants = append(wants, strings.Join(names, " or "))
		}
		if wants != nil {
			fmt.Fprintf(&b, " Needs %s.", strings.Join(wants, ", "))
		}
		if d.keyed {
			b.WriteString(" Takes an idempotency key.")
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
