package api

import (
	_ "embed"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

type object = map[string]any

// recorded are answers to the operations' examples, as the server gave them: go test ./api -run TestExamples -update writes them.
//
//go:embed examples.json
var recorded []byte

// described is a route and what is said of it.
type described struct {
	route
	operation
	path  string
	query []string
}

// describe joins routes and operations, in the order of the routes.
func describe(routes []route) []described {
	ops := operations()
	all := make([]described, len(routes))
	for i, rt := range routes {
		path, query := rt.split()
		all[i] = described{rt, ops[rt.method+" "+path], path, query}
	}
	return all
}

// parameters of the path, in their order.
func (d described) places() (names []string) {
	for part := range strings.SplitSeq(d.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// mayFail gives the codes that the call may end with, in the order of their statuses.
func (d described) mayFail() []fault.Code {
	may := append([]fault.Code{fault.HeadersTooLarge, fault.Internal, fault.Unavailable}, d.errors...)
	if len(d.scopes) > 0 {
		may = append(may, fault.Unauthenticated, fault.Forbidden, fault.InvalidArgument)
	}
	if d.body != nil {
		may = append(may, fault.InvalidArgument, fault.PayloadTooLarge, fault.UnsupportedMediaType)
	}
	if d.keyed {
		may = append(may, fault.IdempotencyKeyReused)
	}
	for _, name := range d.places() {
		may = append(may, map[string]fault.Code{"queue": fault.QueueNotFound}[name])
		if name != "queue" {
			may = append(may, fault.NotFound)
		}
	}
	var in []fault.Code
	for _, c := range codes {
		if slices.Contains(may, c.code) {
			in = append(in, c.code)
		}
	}
	return in
}

// openAPI writes the contract as a document of OpenAPI 3.1. The errors say what nobody has described.
func openAPI(calls []described) (document object, errs []string) {
	named := map[string]*schema{}
	requests, replies := &shapes{named: named}, &shapes{named: named, reply: true}
	var examples map[string]jsontext.Value
	if err := json.Unmarshal(recorded, &examples); err != nil {
		errs = append(errs, "examples.json: "+err.Error())
	}
	paths, responses := object{}, object{}
	for _, d := range calls {
		if d.id == "" {
			continue
		}
		group, _, _ := strings.Cut(d.id, ".")
		op := object{"operationId": d.id, "summary": d.says, "tags": []string{group}}
		if len(d.scopes) == 0 {
			op["security"] = []object{}
		} else {
			op["description"] = "Wants a key of scope " + strings.Join(scopeNames(d.scopes), " or ") + "."
		}
		if p := d.parameters(); len(p) > 0 {
			op["parameters"] = p
		}
		if d.body != nil {
			op["requestBody"] = d.requestBody(requests)
		}
		answers := object{"200": d.success(replies, examples[d.id])}
		for status, codes := range byStatus(d.mayFail()) {
			name := strings.Join(codes, ".")
			bare := d.kind != "" && slices.Contains(codes, string(fault.NotFound)) // as its answers are
			if bare {
				name = "bare." + name
			}
			if responses[name] == nil {
				responses[name] = failure(replies, codes, bare)
			}
			answers[strconv.Itoa(status)] = object{"$ref": "#/components/responses/" + name}
		}
		op["responses"] = answers
		if paths[d.path] == nil {
			paths[d.path] = object{}
		}
		paths[d.path].(object)[strings.ToLower(d.method)] = op
	}
	return object{
		"openapi": "3.1.1",
		"info": object{
			"title": "Onceward", "version": "1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"summary": "Work that is handed over at least once and takes effect once.",
			"description": "A queue, a ledger that decides what already happened, and webhooks. A member that is not described, in a body or in a query, is refused. " +
				"null in a body is the same as not given, save where a schema allows it. The same calls beneath /bare/v1 are answered without the envelope: the data itself, or {\"error\": …}; consume's list is there named messages.",
		},
		"servers":  []object{{"url": "/"}},
		"security": []object{{"key": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": named, "responses": responses,
			"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer", "description": "A key of a project, with scopes."}},
		},
	}, append(append(errs, requests.errs...), replies.errs...)
}

func scopeNames(scopes []access.Scope) []string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return names
}

func byStatus(in []fault.Code) map[int][]string {
	m := map[int][]string{}
	for _, c := range in {
		m[statuses[c]] = append(m[statuses[c]], string(c))
	}
	return m
}

// parameterShape gives the schema of a parameter of the query: its own of this call, or that of its name.
func (d described) parameterShape(name string) *schema {
	if s := parameterShapes[d.id+"."+name]; s != nil {
		return s
	}
	return parameterShapes[name]
}

func (d described) parameters() (all []object) {
	for _, name := range d.places() {
		all = append(all, object{"name": name, "in": "path", "required": true, "schema": parameterShapes["{"+name+"}"]})
	}
	for _, name := range d.query {
		all = append(all, object{"name": name, "in": "query", "schema": d.parameterShape(name)})
	}
	if d.keyed {
		all = append(all, object{"name": "Idempotency-Key", "in": "header", "schema": fields["idempotency_key"].put(&schema{Type: "string"})})
	}
	return all
}

// bodyShape gives the schema of the body.
func (d described) bodyShape(g *shapes) *schema {
	s := g.object(reflect.TypeOf(d.body), d.id)
	s.Additional = false
	for i, p := range s.Properties {
		if p.name == "idempotency_key" && !d.keyed {
			s.Properties[i].schema = &schema{Type: "string", Description: "Accepted and ignored: the call may be sent again as it is."}
		}
	}
	for _, names := range d.requires() {
		if len(names) == 1 {
			s.Required = append(s.Required, names[0])
			continue
		}
		either := &schema{}
		for _, n := range names {
			either.AnyOf = append(either.AnyOf, &schema{Required: []string{n}})
		}
		s.AllOf = append(s.AllOf, either)
	}
	return s
}

func (d described) requestBody(g *shapes) object {
	content := object{"schema": d.bodyShape(g)}
	if d.example != "" {
		content["example"] = jsontext.Value(d.example)
	}
	return object{"required": d.wants != "", "content": object{"application/json": content}}
}

func (d described) success(g *shapes, example jsontext.Value) object {
	if d.kind != "" {
		return object{"description": "Done.", "content": object{d.kind: object{"schema": d.answerShape(g)}}}
	}
	content := object{"schema": envelope(true, d.answerShape(g), null(), d.metadata(g))}
	if example != nil {
		content["example"] = example
	}
	return object{"description": "Done.", "content": object{"application/json": content}}
}

func (d described) metadata(g *shapes) *schema {
	if d.method == "GET" {
		return g.of(reflect.TypeFor[metadataShape](), "")
	}
	return g.of(reflect.TypeFor[writeShape](), "")
}

func envelope(ok bool, data, err, metadata *schema) *schema {
	p := properties{{"ok", &schema{Const: ok, Description: fields["ok"].says}}, {"data", data}, {"error", err}, {"metadata", metadata}}
	return &schema{Type: "object", Properties: p, Required: p.names()}
}

// failure is the response of errors that share a status; bare, it has no envelope.
func failure(g *shapes, of []string, bare bool) object {
	of1 := &schema{AllOf: []*schema{g.of(reflect.TypeFor[errorShape](), ""), {Properties: properties{{"code", &schema{Enum: of}}}}}}
	// A write's metadata is a read's and a member more.
	either := &schema{AnyOf: []*schema{g.of(reflect.TypeFor[metadataShape](), ""), g.of(reflect.TypeFor[writeShape](), "")}}
	whole := envelope(false, null(), of1, either)
	if bare {
		whole = &schema{Type: "object", Properties: properties{{"error", of1}}, Required: []string{"error"}}
	}
	says, examples := []string{}, object{}
	for _, c := range codes {
		if !slices.Contains(of, string(c.code)) {
			continue
		}
		says = append(says, string(c.code)+": "+c.says)
		value := object{"error": object{"code": c.code, "message": c.says, "hint": nil, "field": nil}}
		if !bare {
			value["ok"], value["data"] = false, nil
			value["metadata"] = object{"request_id": "01980f3c-7a52-7cc1-9f0e-2b6d1c5e8a41", "latency_ms": 0.4, "cost_usd": 0}
		}
		examples[string(c.code)] = object{"value": value}
	}
	r := object{
		"description": strings.Join(says, " "),
		"content":     object{"application/json": object{"schema": whole, "examples": examples}},
	}
	if code := fault.Code(of[0]); code == fault.Unavailable || code == fault.RateLimited {
		r["headers"] = object{"Retry-After": object{"description": "After how many seconds to send it again.", "schema": &schema{Type: "integer", Minimum: 1}}}
	}
	return r
}

var parameterShapes = map[string]*schema{
	"scope":               {Type: "string", Description: "Of the one key to show.", MinLength: 1, MaxLength: ledger.MaxScope},
	"key":                 {Type: "string", Description: "The one key to show, of at most 512 bytes.", MinLength: 1, MaxLength: ledger.MaxKey},
	"ledger.claims.state": {Type: "string", Description: "Whose keys to list.", Enum: keyStates},
	"{queue}":             {Type: "string", Description: "The queue's name."},
	"{id}":                {Type: "string", Description: "The id of what the call is about."},
	"cursor":              {Type: "string", Description: "Where to go on: next_cursor of the page before, with the same filter."},
	"limit":               {Type: "integer", Description: "The most items of a page.", Minimum: 1, Maximum: maxLimit, Default: defaultLimit},
	"force":               {Type: "boolean", Description: "Whether to delete it with what is in it.", Default: false},
	"status":              {Type: "string", Description: "Only messages that are so.", Enum: []string{"available", "delayed", "in_flight"}},
	"tenant":              {Type: "string", Description: "Only what is of this tenant."},
	"event_type":          {Type: "string", Description: "Only what is of this type."},
	"event_id":            {Type: "string", Description: "Only what is of this event."},
	"subject":             {Type: "string", Description: "Only what is of this subject."},
	"state":               {Type: "string", Description: "Only deliveries in this state.", Enum: stateNames},
	"endpoint_id":         {Type: "string", Description: "Only what is for this endpoint."},
	"project_id":          {Type: "string", Description: "The project whose keys are meant; the caller's own if it is not given."},
	"from":                {Type: "string", Format: "date-time", Description: "Only what was made from then on."},
	"to":                  {Type: "string", Format: "date-time", Description: "Only what was made before then."},
}
