package api_test

import (
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/internal/conform"
)

// The limits that the documents name are those that the server keeps: one more is refused, where the limit stands, and the limit itself is not.
func TestLimits(t *testing.T) {
	t.Parallel()
	tried := 0
	eachField(t, func(route, name string, field map[string]any, ask func(v any) *answer) {
		within, beyond := bounds(name, field)
		for _, c := range []struct {
			values  []any
			refused bool
		}{{beyond, true}, {within, false}} {
			for _, v := range c.values {
				tried++
				a := ask(v)
				at := a.Error != nil && a.Error.Field != nil && (*a.Error.Field == "/"+name || strings.HasPrefix(*a.Error.Field, "/"+name+"/"))
				if refused := a.status == 400 && at; refused != c.refused && !(c.refused && a.status == 404 && at) {
					t.Errorf("%s: %s is described by %v, and with %.200s the answer is %d %.500s", route, name, field, fmt.Sprint(v), a.status, a.raw)
				}
			}
		}
	})
	if tried < 200 {
		t.Errorf("only %d values were tried: are the limits still there?", tried)
	}
}

// eachField gives each member that the contract has in the body of a call, and how to ask with another value there than the example's.
func eachField(t *testing.T, do func(route, name string, field map[string]any, ask func(v any) *answer)) {
	t.Helper()
	contract, err := conform.Read(api.Contract())
	if err != nil {
		t.Fatal(err)
	}
	s := stage(t)
	for _, d := range api.Descriptions() {
		if !d.Body {
			continue
		}
		method, path, _ := strings.Cut(d.Route, " ")
		example := map[string]any{}
		if d.Example != "" {
			if err := json.Unmarshal([]byte(d.Example), &example); err != nil {
				t.Fatal(err)
			}
		}
		for name, field := range contract.Fields(method, path) {
			do(d.Route, name, field, func(v any) *answer {
				body := maps.Clone(example)
				switch name { // two names of one field
				case "body", "work_hash":
					delete(body, "payload")
				case "max_retries":
					delete(body, "max_receive_count")
				}
				body[name] = v
				b, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				one := d
				one.Example = string(b)
				_, _, a := s.send(t, one)
				return a
			})
		}
	}
}

// bounds gives values at the limits that a schema names, and just beyond them.
func bounds(name string, s map[string]any) (within, beyond []any) {
	number := func(key string) (float64, bool) { f, ok := s[key].(float64); return f, ok }
	if n, ok := number("minimum"); ok {
		within, beyond = append(within, n), append(beyond, n-1)
	}
	if n, ok := number("maximum"); ok && n < 1<<52 {
		if beyond = append(beyond, n+1); name != "wait_seconds" { // which would wait
			within = append(within, n)
		}
	}
	if n, ok := number("exclusiveMinimum"); ok {
		within, beyond = append(within, n+0.5), append(beyond, n)
	}
	filled := func(n int) any {
		switch name {
		case "url":
			return "https://example.com/" + strings.Repeat("a", n-len("https://example.com/"))
		case "dlq", "dead_letter_queue":
			return strings.Repeat("d", n)
		}
		return strings.Repeat("a", n)
	}
	if n, ok := number("maxLength"); ok {
		within, beyond = append(within, filled(int(n))), append(beyond, filled(int(n)+1))
	}
	if n, ok := number("minLength"); ok && n == 1 {
		beyond = append(beyond, "")
	}
	if items, ok := s["items"].(map[string]any); ok {
		var item any = "a"
		if e, ok := items["enum"].([]any); ok {
			item = e[0]
			beyond = append(beyond, []any{"nonsense"})
		} else if items["type"] == "number" {
			item = 1
		} else if items["type"] == "object" {
			item = map[string]any{"payload": 1, "receipt_handle": "rct_x"}
		}
		if n, ok := number("maxItems"); ok {
			beyond = append(beyond, slices.Repeat([]any{item}, int(n)+1))
		}
		if n, ok := number("minItems"); ok && n == 1 {
			beyond = append(beyond, []any{})
		}
	}
	for _, v := range enumOf(s) {
		within = append(within, v)
		beyond = append(beyond, v.(string)+"x")
	}
	return within, beyond
}

func enumOf(s map[string]any) []any {
	e, _ := s["enum"].([]any)
	return e
}
