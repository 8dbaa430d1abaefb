package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Calls made from what the program says of itself in /openapi.json, good and bad: never a 5xx, always an answer as it is described, and a call that
// was refused has changed nothing.
func TestGeneratedCalls(t *testing.T) {
	t.Parallel()
	rounds := 6
	if os.Getenv("ONCEWARD_TEST_LONG") != "" {
		rounds = 300
	}
	on(t, func(t *testing.T, s *server) {
		g := newGenerator(t, s)
		for range rounds {
			for _, c := range g.calls { // each call, so that none is left out
				g.send(c, g.dice.IntN(3) == 0)
			}
		}
		g.refusals(rounds)
		t.Logf("%d calls, %d of them refused; answered 200 at least once: %d of %d", g.sent, g.refused, len(g.good), len(g.calls))
		if len(g.good) < len(g.calls)*2/3 || g.refused < g.sent/10 {
			t.Errorf("too few calls were answered 200, or refused: the test shows nothing")
		}
		for _, c := range g.calls {
			if g.good[c.name()] == 0 && rounds > 100 {
				t.Errorf("%s was never answered 200", c.name())
			}
		}
	})
}

// generated is a call as the document has it.
type generated struct {
	method, path string
	params       []object
	body         object // its schema; nil: none
}

func (c generated) name() string { return c.method + " " + c.path }

type generator struct {
	t             *testing.T
	s             *server
	dice          *rand.Rand
	calls         []generated
	ids           map[string][]string
	sent, refused int
	good          map[string]int
}

func newGenerator(t *testing.T, s *server) *generator {
	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed is %d", seed)
	g := &generator{t: t, s: s, dice: rand.New(rand.NewPCG(seed, 1)), ids: map[string][]string{}, good: map[string]int{}}
	res, err := http.Get(s.url + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var d struct {
		Paths map[string]map[string]struct {
			Parameters  []object
			RequestBody object `json:"requestBody"`
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&d); err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			op := d.Paths[path][method]
			if !strings.HasPrefix(path, "/v1/") {
				continue
			}
			c := generated{method: strings.ToUpper(method), path: path, params: op.Parameters}
			if content, ok := op.RequestBody["content"].(object); ok {
				c.body = content["application/json"].(object)["schema"].(object)
			}
			g.calls = append(g.calls, c)
		}
	}
	for _, q := range []object{{"name": "jobs"}, {"name": "line", "type": "fifo"}} {
		s.post(t, "/v1/queue/create", q)
	}
	return g
}

// send makes one call; with bad, something in it is wrong.
func (g *generator) send(c generated, bad bool) (status int, said string) {
	g.t.Helper()
	path, query := c.path, url.Values{}
	for _, p := range c.params {
		name, in := text(p["name"]), text(p["in"])
		if in == "path" {
			v := g.parameter(c, name, p["schema"].(object), bad && g.chance(20))
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(v))
		} else if in == "query" && (p["required"] == true || g.chance(30)) {
			query.Set(name, g.parameter(c, name, p["schema"].(object), bad && g.chance(50)))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	var body any
	if c.body != nil {
		b, err := json.Marshal(g.object(c, c.body, bad))
		if err != nil {
			g.t.Fatal(err)
		}
		body = string(b)
		if bad && g.chance(10) { // not even JSON
			body = []string{"", "{", string(b) + "x", string(b[:g.dice.IntN(len(b)+1)]), `{"a":1,"a":1}`, "\xff", "[]", "null"}[g.dice.IntN(8)]
		}
	}
	var headers []string
	if g.chance(15) {
		headers = []string{"Idempotency-Key", fmt.Sprint("k", g.dice.IntN(5))}
	}
	a := g.s.call(g.t, c.method, path, body, headers...)
	g.sent++
	said = fmt.Sprintf("%s %s %.300v %v: %d %.300s", c.method, path, body, headers, a.status, a.raw)
	e, _ := a.body["error"].(object)
	switch {
	case a.status >= 500, a.status >= 400 && (text(e["code"]) == "" || text(e["message"]) == "" || a.body["ok"] != false && !strings.HasPrefix(path, "/v1/discovery/")):
		g.t.Errorf("%s", said)
	case a.status >= 400:
		g.refused++
	default:
		g.good[c.name()]++
	}
	if c.name() != "GET /v1/keys" { // the key in use is among them, and would be revoked
		for _, id := range anyID.FindAllString(a.raw, -1) {
			kind, _, _ := strings.Cut(id, "_")
			if l := g.ids[kind]; !slices.Contains(l, id) {
				g.ids[kind] = append(l[max(0, len(l)-30):], id)
			}
		}
	}
	return a.status, said
}

func (g *generator) chance(percent int) bool { return g.dice.IntN(100) < percent }

func (g *generator) one(of ...string) string { return of[g.dice.IntN(len(of))] }

// object is one for a schema: what is required, and some of the rest.
func (g *generator) object(c generated, schema object, bad bool) object {
	o := object{}
	properties, _ := schema["properties"].(object)
	names := slices.Sorted(maps.Keys(properties))
	wanted := map[string]bool{}
	var mark func(s object)
	mark = func(s object) {
		if l, ok := s["required"].([]any); ok {
			for _, n := range l {
				wanted[text(n)] = true
			}
		}
		if l, ok := s["allOf"].([]any); ok {
			for _, inner := range l {
				mark(inner.(object))
			}
		}
		if l, ok := s["anyOf"].([]any); ok {
			mark(l[g.dice.IntN(len(l))].(object))
		}
	}
	mark(schema)
	wrong := -1
	if bad && len(names) > 0 {
		wrong = g.dice.IntN(len(names))
	}
	for i, n := range names {
		switch {
		case i == wrong && g.chance(20): // left out
		case i == wrong:
			o[n] = g.value(c, n, properties[n].(object), true)
		case wanted[n] || g.chance(15):
			o[n] = g.value(c, n, properties[n].(object), false)
		}
	}
	if bad && g.chance(10) {
		o[g.one("no_such_member", "Queue", "", "queue\u0000")] = 1
	}
	return o
}

// wrongs are what hardly any member takes.
var wrongs = []any{
	nil, true, -1, 0, 1.5, 1e300, "", "\x00", "é", "a\r\nX: y", " ", "../..", "%00",
	[]any{},
	object{},
	[]any{nil},
	object{"": object{}},
	strings.Repeat("x", 5000), "ep_none", "rct_", "cur_0", "0x7f.1",
	json.RawMessage("1e999"), json.RawMessage("9007199254740993"), json.RawMessage("-9223372036854775809"), json.RawMessage("-0"), json.RawMessage(`"\ud800"`), json.RawMessage(`"\u0000"`), json.RawMessage(`{"a":1,"a":2}`),
	json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), json.RawMessage(`"` + strings.Repeat("x", 300_000) + `"`), "9999-12-31T23:59:59.9999999999Z", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z",
}

// parameter is a value of the path or the query. None is empty, "." or "..": those are other paths.
func (g *generator) parameter(c generated, name string, schema object, bad bool) string {
	if bad {
		return g.one("x", "-1", "none", "%2e%2e", "a/b", "a?b", "\x00", "é", "\xff", "\r\nX: y", strings.Repeat("y", 400))
	}
	return fmt.Sprint(g.value(c, name, schema, false))
}

// value is one for a member.
func (g *generator) value(c generated, name string, schema object, bad bool) any {
	if bad {
		return wrongs[g.dice.IntN(len(wrongs))]
	}
	if v, ok := g.known(c, name); ok {
		return v
	}
	number := func(key string, or float64) float64 {
		if f, ok := schema[key].(float64); ok {
			return f
		}
		return or
	}
	if l, ok := schema["enum"].([]any); ok {
		return l[g.dice.IntN(len(l))]
	}
	kind := schema["type"]
	if l, ok := kind.([]any); ok {
		kind = l[g.dice.IntN(len(l))]
	}
	switch kind {
	case "boolean":
		return g.chance(50)
	case "integer":
		low := number("minimum", 1)
		return int(low) + g.dice.IntN(int(min(number("maximum", 5)-low, 5))+1)
	case "number":
		low := number("minimum", number("exclusiveMinimum", 0))
		return low + 1 + float64(g.dice.IntN(3))
	case "null":
		return nil
	case "array":
		items, _ := schema["items"].(object)
		l := []any{}
		for range 1 + g.dice.IntN(2) {
			if _, ok := items["properties"]; ok {
				l = append(l, g.object(c, items, false))
			} else {
				l = append(l, g.value(c, strings.TrimSuffix(name, "s"), items, false))
			}
		}
		return l
	case "object":
		return object{"X-A": "b"}
	case "string":
		if schema["format"] == "date-time" {
			return time.Now().Add(time.Duration(g.dice.IntN(7200)-3600) * time.Second).UTC().Format(time.RFC3339)
		}
		return g.one("a", "b", "c")
	default: // any JSON
		return object{"n": g.dice.IntN(4)}
	}
}

// known is a value for what has a meaning beyond its schema.
func (g *generator) known(c generated, name string) (any, bool) {
	of := map[string]string{"receipt_handle": "rct", "message_id": "qmsg", "endpoint_id": "ep", "project_id": "prj"}[name]
	if name == "id" {
		for part, kind := range map[string]string{"/keys/": "key", "/projects/": "prj", "/endpoints/": "ep", "/deliveries/": "dlv", "/redrives/": "rdv", "/redrive_cancel/": "rdv", "/push_unsubscribe/": "psh"} {
			if strings.Contains(c.path, part) {
				of = kind
			}
		}
		switch {
		case strings.Contains(c.path, "/events/"):
			return g.one("e1", "e2", "e3"), true
		case strings.Contains(c.path, "/discovery/"):
			return g.one("queue.publish", "queue.consume"), true
		}
	}
	switch {
	case of != "" && len(g.ids[of]) > 0:
		return g.ids[of][g.dice.IntN(len(g.ids[of]))], true
	case of != "":
		return of + "_none", true
	}
	switch name {
	case "queue":
		return g.one("jobs", "jobs", "line", "q1", "jobs-dlq", "line-dlq"), true
	case "name":
		return g.one("jobs", "line", "q1", "q2"), true
	case "confirm":
		return g.one("jobs", "q1"), true
	case "event_id":
		return g.one("e1", "e2", "e3"), true
	case "wait_seconds":
		return 0, true
	case "url":
		return "http://127.0.0.1:9/hook", true // nobody is there
	case "visibility_timeout", "lease_seconds", "message_retention_seconds", "retention_seconds":
		return 3600, true
	case "secret":
		return "whsec_" + strings.Repeat("AAAA", 8), true
	case "scope":
		return g.one("mail", "charge"), true
	case "cursor", "grant_id", "idempotency_key", "fence", "dlq", "expires_at":
		return map[string]any{
			"cursor": g.one(append(g.ids["cur"], "cur_0")...), "grant_id": "g1", "idempotency_key": fmt.Sprint("b", g.dice.IntN(5)), "fence": 1 + g.dice.IntN(2), "dlq": "jobs-dlq",
			"expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		}[name], true
	}
	return nil, false
}

// refusals makes bad calls, and looks now and then whether those that were refused have changed anything. What changes by itself meanwhile (a lease that
// is over, a delivery) is not looked at, or does so once and not again.
func (g *generator) refusals(rounds int) {
	var calls []generated
	for _, c := range g.calls {
		if c.method != "GET" {
			calls = append(calls, c)
		}
	}
	suspicions := 0
	for range rounds * 4 {
		before, said := g.state(), []string(nil)
		for len(said) < 20 {
			status, what := g.send(calls[g.dice.IntN(len(calls))], true)
			if status < 400 {
				before = g.state()
				said = nil
				continue
			}
			said = append(said, what)
		}
		after := g.state()
		if before == after {
			suspicions = 0
		} else if suspicions++; suspicions == 3 {
			g.t.Errorf("what was refused has changed something, three times in a row:\nbefore %s\nafter  %s\nthe calls: %s", before, after, strings.Join(said, "\n"))
			return
		}
	}
}

// state is what the lists show, without what changes by itself.
func (g *generator) state() string {
	var all []string
	for _, l := range []struct{ path, fields string }{
		{"/v1/queue/list?limit=500", "name type max_retries visibility_timeout paused dlq"},
		{"/v1/queue/messages/jobs?limit=500", "message_id priority payload"},
		{"/v1/queue/messages/line?limit=500", "message_id priority payload"},
		{"/v1/queue/push_list/jobs?limit=500", "id url max_in_flight"},
		{"/v1/webhooks/endpoints?limit=500", "endpoint_id url description headers event_types max_in_flight rate_per_second timeout_seconds"},
		{"/v1/webhooks/events?limit=500", "event_id payload"},
		{"/v1/webhooks/deliveries?limit=500", "delivery_id"},
		{"/v1/keys?limit=500", "key_id scopes revoked_at"},
		{"/v1/projects?limit=500", "project_id name credit_limit_usd"},
	} {
		a := g.s.call(g.t, "GET", l.path, nil)
		list, _ := a.data("items").([]any)
		for _, i := range list {
			line := l.path[4:12]
			for f := range strings.FieldsSeq(l.fields) {
				line += fmt.Sprintf(" %v", i.(object)[f])
			}
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
