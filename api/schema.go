package api

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"reflect"
	"strings"
)

// schema is a JSON Schema of the dialect of 2020-12, as far as the contract needs it.
type schema struct {
	Ref         string     `json:"$ref,omitzero"`
	Type        any        `json:"type,omitzero"` // a name, or a list of them
	Description string     `json:"description,omitzero"`
	Const       any        `json:"const,omitzero"`
	Enum        []string   `json:"enum,omitzero"`
	Default     any        `json:"default,omitzero"`
	Minimum     any        `json:"minimum,omitzero"`
	Maximum     any        `json:"maximum,omitzero"`
	Above       any        `json:"exclusiveMinimum,omitzero"`
	MinLength   int        `json:"minLength,omitzero"`
	MaxLength   int        `json:"maxLength,omitzero"`
	MinItems    int        `json:"minItems,omitzero"`
	MaxItems    int        `json:"maxItems,omitzero"`
	Pattern     string     `json:"pattern,omitzero"`
	Format      string     `json:"format,omitzero"`
	Items       *schema    `json:"items,omitzero"`
	Properties  properties `json:"properties,omitzero"`
	Additional  any        `json:"additionalProperties,omitzero"` // a *schema, or false
	Required    []string   `json:"required,omitzero"`
	AllOf       []*schema  `json:"allOf,omitzero"`
	AnyOf       []*schema  `json:"anyOf,omitzero"`
	OneOf       []*schema  `json:"oneOf,omitzero"`
}

// properties are an object's, in the order in which they are shown.
type properties []property

type property struct {
	name   string
	schema *schema
}

// MarshalJSONTo writes them as an object.
func (p properties) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range p {
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, m.schema); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func (p properties) names() []string {
	names := make([]string, len(p))
	for i, m := range p {
		names[i] = m.name
	}
	return names
}

// null is what only null fits.
func null() *schema { return &schema{Type: "null"} }

// orNull is s, or null.
func orNull(s *schema) *schema {
	if t, ok := s.Type.(string); ok && s.Ref == "" && s.Enum == nil {
		s.Type = []string{t, "null"}
		return s
	}
	says := s.Description
	s.Description = ""
	return &schema{AnyOf: []*schema{s, null()}, Description: says}
}

// shapes makes schemas of the types that requests are read into and answers written from.
type shapes struct {
	reply  bool // of answers, which have every member
	inline bool // schemas that stand by themselves; else those of named types are gathered in named
	named  map[string]*schema
	errs   []string // fields that nobody has described
}

// custom is a type that knows its own schema.
type custom interface{ shape(g *shapes) *schema }

var (
	secondsType         = reflect.TypeFor[seconds]()
	numberType          = reflect.TypeFor[optionalNumber]()
	wholeType           = reflect.TypeFor[whole]()
	momentType          = reflect.TypeFor[moment]()
	stampType           = reflect.TypeFor[stamp]()
	dollarsType         = reflect.TypeFor[dollars]()
	optionalDollarsType = reflect.TypeFor[optionalDollars]()
	shapeType           = reflect.TypeFor[schema]()
	anyType             = reflect.TypeFor[jsontext.Value]()
	customType          = reflect.TypeFor[custom]()
)

// of gives the schema of a type. where names the call or the shape it stands in, for what is said of its fields.
func (g *shapes) of(t reflect.Type, where string) *schema {
	if t.Implements(customType) {
		return reflect.New(t).Elem().Interface().(custom).shape(g)
	}
	switch t {
	case secondsType, numberType, dollarsType, optionalDollarsType:
		return &schema{Type: "number"}
	case wholeType:
		return &schema{Type: "integer"}
	case momentType, stampType:
		return &schema{Type: "string", Format: "date-time"}
	case anyType:
		return &schema{}
	case shapeType:
		return &schema{Type: "object"}
	}
	switch t.Kind() {
	case reflect.Interface:
		return &schema{}
	case reflect.Pointer:
		return g.of(t.Elem(), where)
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &schema{Type: "integer"}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Slice:
		return &schema{Type: "array", Items: g.of(t.Elem(), where)}
	case reflect.Map:
		return &schema{Type: "object", Additional: g.of(t.Elem(), where)}
	case reflect.Struct:
		name := shapeNames[t]
		if name == "" {
			return g.object(t, where)
		}
		if g.inline {
			return g.object(t, name)
		}
		if g.named[name] == nil {
			g.named[name] = &schema{} // of a type within itself
			*g.named[name] = *g.object(t, name)
		}
		return &schema{Ref: "#/components/schemas/" + name}
	}
	panic(fmt.Sprintf("api: no schema for %v", t))
}

// object gives the schema of a struct, those embedded in it taken apart.
func (g *shapes) object(t reflect.Type, where string) *schema {
	s := &schema{Type: "object", Properties: properties{}}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			inner := g.object(f.Type, cmp.Or(shapeNames[f.Type], where))
			s.Properties, s.Required = append(s.Properties, inner.Properties...), append(s.Required, inner.Required...)
		case f.IsExported() && name != "-":
			s.Properties = append(s.Properties, property{name, g.field(f.Type, where, name)})
			if g.reply && options == "" { // else it may be left out
				s.Required = append(s.Required, name)
			}
		}
	}
	return s
}

// field gives the schema of a member, with what fields says of it.
func (g *shapes) field(t reflect.Type, where, name string) *schema {
	f, ok := fields[where+"."+name]
	if !ok {
		f, ok = fields[name]
	}
	if !ok {
		g.errs = append(g.errs, fmt.Sprintf("the field %q of %s has no description: add it to fields in api/fields*.go, as %q, or as %q where it means something of its own there", name, where, name, where+"."+name))
	}
	if g.reply {
		f = field{says: f.says, enum: f.enum, null: f.null} // what may be sent is of no matter
	}
	return f.put(g.of(t, where))
}
