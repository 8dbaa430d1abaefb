// Package conform holds answers against a document of OpenAPI 3.1, for tests.
package conform

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// specification is the schema of OpenAPI 3.1 itself, https://spec.openapis.org/oas/3.1/schema, as it is published.
//
//go:embed oas-3.1.json
var specification []byte

// Contract is a document that answers are held against.
type Contract struct {
	raw   []byte
	calls []call
}

type call struct {
	method  string
	parts   []string
	body    *jsonschema.Schema         // nil: it takes none, or this test has no use for it
	answers map[int]*jsonschema.Schema // by status; nil where the answer is no JSON
}

// Read reads a document. Its schemas are taken strictly: a member of an answer that none of them describes does not conform.
func Read(document []byte) (*Contract, error) {
	d, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	close(d)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	const base = "contract.json"
	if err := c.AddResource(base, d); err != nil {
		return nil, err
	}
	contract := &Contract{raw: document}
	for path, methods := range at(d, "paths").(map[string]any) {
		for method, op := range methods.(map[string]any) {
			one := call{method: strings.ToUpper(method), parts: strings.Split(path, "/"), answers: map[int]*jsonschema.Schema{}}
			here := "#/paths/" + escape(path) + "/" + method
			if at(op, "requestBody") != nil {
				if one.body, err = c.Compile(base + here + "/requestBody/content/" + escape(jsonKind) + "/schema"); err != nil {
					return nil, err
				}
			}
			for status, answer := range at(op, "responses").(map[string]any) {
				n, err := strconv.Atoi(status)
				if err != nil {
					return nil, fmt.Errorf("%s %s: the status %q is no number", method, path, status)
				}
				there := here + "/responses/" + status
				if ref, ok := at(answer, "$ref").(string); ok {
					there, answer = ref, at(d, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
				}
				one.answers[n] = nil
				if at(answer, "content", jsonKind) != nil {
					if one.answers[n], err = c.Compile(base + there + "/content/" + escape(jsonKind) + "/schema"); err != nil {
						return nil, err
					}
				}
			}
			contract.calls = append(contract.calls, one)
		}
	}
	return contract, nil
}

const jsonKind = "application/json"

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

// at gives what lies within v; nil where there is none.
func at(v any, names ...string) any {
	for _, n := range names {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[n]
	}
	return v
}

// close lets no object have a member that its schema does not describe.
func close(v any) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			close(inner)
		}
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok && v["type"] == "object" && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for name, inner := range v {
			if name != "example" && name != "examples" {
				close(inner)
			}
		}
	}
}

// Valid says what is wrong with the document as one of OpenAPI 3.1, by the specification's own schema.
func (c *Contract) Valid() error {
	d, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.raw))
	if err != nil {
		return err
	}
	s, err := jsonschema.UnmarshalJSON(bytes.NewReader(specification))
	if err != nil {
		return err
	}
	const name = "specification.json"
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, s); err != nil {
		return err
	}
	all, err := compiler.Compile(name)
	if err != nil {
		return err
	}
	return all.Validate(d)
}

// find gives the call of a method and a path, the one with the fewest places if more fit.
func (c *Contract) find(method, path string) *call {
	var best *call
	least := 1 << 20
	parts := strings.Split(path, "/")
	for i, one := range c.calls {
		if places, ok := one.fits(method, parts); ok && places < least {
			best, least = &c.calls[i], places
		}
	}
	return best
}

func (c *call) fits(method string, parts []string) (places int, ok bool) {
	if c.method != method || len(c.parts) != len(parts) {
		return 0, false
	}
	for i, p := range c.parts {
		if strings.HasPrefix(p, "{") {
			places++
		} else if p != parts[i] {
			return 0, false
		}
	}
	return places, true
}

// Answer says how an answer does not conform. What is no call of the document conforms if nothing there says otherwise: 404 and 405.
func (c *Contract) Answer(method, path string, status int, body []byte) error {
	one := c.find(method, path)
	if one == nil {
		return nil
	}
	s, ok := one.answers[status]
	if !ok {
		return fmt.Errorf("%s %s answers %d, which it is not described to: %.300s", method, path, status, body)
	}
	if err := check(s, body); err != nil {
		return fmt.Errorf("%s %s: the answer %d %.600s is not as it is described: %w", method, path, status, body, err)
	}
	return nil
}

// Body says how a request's body does not conform.
func (c *Contract) Body(method, path string, body []byte) error {
	one := c.find(method, path)
	if one == nil || one.body == nil {
		return fmt.Errorf("%s %s takes no body", method, path)
	}
	return check(one.body, body)
}

func check(s *jsonschema.Schema, body []byte) error {
	if s == nil {
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// Fields gives the schemas of the members of a call's body, as they are written.
func (c *Contract) Fields(method, path string) map[string]map[string]any {
	var d map[string]any
	if json.Unmarshal(c.raw, &d) != nil {
		return nil
	}
	members, _ := at(d, "paths", path, strings.ToLower(method), "requestBody", "content", jsonKind, "schema", "properties").(map[string]any)
	all := map[string]map[string]any{}
	for name, m := range members {
		all[name], _ = m.(map[string]any)
	}
	return all
}
