package api_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/internal/conform"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

var update = flag.Bool("update", false, "write the answers that TestExamples finds missing or out of date to examples.json")

const examplesFile = "examples.json"

// staged is a server in which each example can be sent: what the ids of examples stand for, and those of paths by the beginning of the
// operation's id, the longest first.
type staged struct {
	*rig
	stands map[string]string
	paths  []string
}

func stage(t *testing.T) *staged {
	r := open(t)
	r.queue("jobs")
	r.kill("jobs", `{"order":5}`)
	r.publish("jobs", `{"order":6}`)
	held := r.consume("jobs", 1)[0]
	r.publish("jobs", `{"order":7}`)

	id := func(a *answer, name string) string {
		t.Helper()
		var all map[string]jsontext.Value
		a.ok(&all)
		s, _ := jsontext.AppendUnquote(nil, all[name])
		return string(s)
	}
	event := func(endpoint string, settle func(*webhook.Job)) (event, delivery string) {
		t.Helper()
		var s struct {
			EventID    string     `json:"event_id"`
			Deliveries []received `json:"deliveries"`
		}
		r.post("/v1/webhooks/events", `{"event_type":"ticket.resolved","payload":{"ticket":8},"tenant":"acme","subject":"customer-7","endpoint_ids":["`+endpoint+`"]}`).ok(&s)
		if settle != nil {
			jobs := r.take()
			settle(&jobs[0])
		}
		return s.EventID, s.Deliveries[0].DeliveryID
	}
	endpoint := func(more string) string {
		t.Helper()
		return id(r.post("/v1/webhooks/endpoints", `{"url":"https://example.com/hook","tenant":"acme","event_types":["ticket.*"]`+more+`}`), "endpoint_id")
	}
	once, usual := endpoint(`,"policy":"once"`), endpoint(`,"retry_ladder":[]`)
	_, stuck := event(once, func(j *webhook.Job) {
		r.settle(webhook.Outcome{Job: j, Kind: ledger.Ambiguous, Result: webhook.Unknown, Error: "time-out"})
	})
	ev, failed := event(usual, func(j *webhook.Job) {
		r.settle(webhook.Outcome{Job: j, Kind: ledger.Definite, Result: webhook.Refused, Status: 503, Latency: 12 * time.Millisecond})
	})
	_, pending := event(once, nil)
	r.post("/v1/ledger/claim", `{"scope":"receipt","key":"order-6","owner":"worker 1"}`).ok(nil)
	r.post("/v1/ledger/claim", `{"scope":"charge","key":"order-5","owner":"worker 1","policy":"once"}`).ok(nil)
	r.post("/v1/ledger/begin", `{"scope":"charge","key":"order-5","fence":1}`).ok(nil)
	r.post("/v1/ledger/fail", `{"scope":"charge","key":"order-5","fence":1,"kind":"ambiguous","error":"time-out"}`).ok(nil)
	redrive := id(r.post("/v1/webhooks/redrive", `{"endpoint_id":"`+usual+`","canary":false}`), "redrive_id")
	r.post("/v1/queue/dlq/redrive/jobs", `{"dry_run":true}`).ok(nil)
	subscription := id(r.post("/v1/queue/push_subscribe/jobs", `{"url":"https://example.com/jobs"}`), "id")
	return &staged{r, map[string]string{
		api.ExampleMessage: held.ID, api.ExampleReceipt: held.Receipt, api.ExampleEndpoint: once, // a redrive is at work on the other
	}, []string{
		"webhooks.deliveries.resolve", stuck,
		"webhooks.deliveries.cancel", pending,
		"webhooks.deliveries.", failed,
		"webhooks.endpoints.", usual,
		"webhooks.events.", ev,
		"queue.dlq.redrive.cancel", redrive,
		"queue.push.unsubscribe", subscription,
		"redrives.", redrive,
		"projects.", id(r.post("/v1/projects", `{"name":"shop-2"}`), "project_id"),
		"keys.", r.makeKey(`"scopes":["read"]`).ID,
		"discovery.", "queue.publish",
	}}
}

// queries are what examples have in their address.
var queries = map[string]string{"queue.delete": "?force=true", "webhooks.deliveries.list": "?state=failed", "queue.messages": "?limit=1", "ledger.claims": "?scope=charge&key=order-5"}

// send sends an example, and gives the path and the body that it had.
func (s *staged) send(t *testing.T, d api.Described) (path, body string, a *answer) {
	t.Helper()
	path, body = strings.Replace(d.Path, "{queue}", "jobs", 1), d.Example
	if strings.Contains(path, "{id}") {
		i := 0
		for ; i < len(s.paths) && !strings.HasPrefix(d.ID, s.paths[i]); i += 2 {
		}
		if i >= len(s.paths) {
			t.Fatalf("%s: which id is to stand in its path? stage in api/example_test.go makes one, and says so in paths", d.Route)
		}
		path = strings.Replace(path, "{id}", s.paths[i+1], 1)
	}
	for from, to := range s.stands {
		body = strings.ReplaceAll(body, from, to)
	}
	method, _, _ := strings.Cut(d.Route, " ")
	return path, body, s.do(method, path+queries[d.ID], body)
}

var shownOnce = regexp.MustCompile(`\b(ow|whsec)_[0-9A-Za-z_/+=-]{20,}`)

// Each example of the documents is taken by the server, and its answer is as they say; the answers that they show are such ones.
func TestExamples(t *testing.T) {
	t.Parallel()
	contract, err := conform.Read(api.Contract())
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(examplesFile)
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]jsontext.Value
	if err := json.Unmarshal(b, &recorded); err != nil {
		t.Fatal(err)
	}
	now := map[string]jsontext.Value{}
	looked := stage(t) // by what changes nothing
	for _, d := range api.Descriptions() {
		if d.ID == "" {
			continue // TestEveryRouteIsDescribed says so
		}
		method, _, _ := strings.Cut(d.Route, " ")
		s := looked
		if method != "GET" {
			s = stage(t)
		}
		path, body, a := s.send(t, d)
		if a.status != 200 {
			t.Errorf("%s: the example %s is answered %d %s", d.Route, body, a.status, a.raw)
			continue
		}
		if err := contract.Answer(method, path, 200, a.raw); err != nil {
			t.Error(err)
		}
		if d.Example != "" {
			if err := contract.Body(method, path, []byte(body)); err != nil {
				t.Errorf("%s: the example %s is not as the body is described: %v", d.Route, body, err)
			}
		}
		if d.Raw {
			continue
		}
		now[d.ID] = recorded[d.ID]
		if old := recorded[d.ID]; old != nil && contract.Answer(method, path, 200, old) == nil && slices.Equal(names(t, old), names(t, a.raw)) {
			continue
		}
		if !*update {
			t.Errorf("%s: %s shows %s and the server answers %s: write that down with go test ./api -run TestExamples -update", d.Route, examplesFile, recorded[d.ID], a.raw)
			continue
		}
		now[d.ID] = shownOnce.ReplaceAll(a.raw, []byte("${1}_RVhBTVBMRS1FWEFNUExFLUVYQU1QTEU"))
	}
	if !*update {
		for id := range recorded {
			if now[id] == nil {
				t.Errorf("%s has an answer of %s, which is no call", examplesFile, id)
			}
		}
		return
	}
	b, err = json.Marshal(now, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil {
		err = os.WriteFile(examplesFile, append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// names gives the members of an answer's data, in their order.
func names(t *testing.T, raw []byte) (all []string) {
	t.Helper()
	var e struct {
		Data jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	dec := jsontext.NewDecoder(strings.NewReader(string(e.Data)))
	for {
		k, err := dec.ReadToken()
		if err != nil {
			slices.Sort(all)
			return slices.Compact(all)
		}
		if n, _ := dec.StackIndex(dec.StackDepth()); k.Kind() == '"' && n == '{' && !strings.Contains(string(dec.StackPointer()), "/payload/") {
			if last := string(dec.StackPointer()); strings.HasSuffix(last, "/"+k.String()) {
				all = append(all, k.String())
			}
		}
	}
}
