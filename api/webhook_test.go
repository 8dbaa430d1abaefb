package api_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

func TestEndpointCalls(t *testing.T) {
	t.Parallel()
	r := open(t)
	secret := "whsec_" + strings.Repeat("QUJD", 8)
	a := r.post("/v1/webhooks/endpoints", `{"url":"https://example.com/hook","tenant":"acme","event_types":["ticket.*","ping"],"description":"é","headers":{"x-a":"1"},"secret":"`+secret+`",
		"timeout_seconds":2.5,"retry_ladder":[1,2.5],"retry_4xx":false,"policy":"once","receiver_window_seconds":3600,"max_in_flight":3,"rate_per_second":0.5}`).ok(nil)
	var e struct {
		ID string `json:"endpoint_id"`
	}
	a.ok(&e)
	want := `"url":"https://example.com/hook","tenant":"acme","event_types":["ticket.*","ping"],"description":"é","headers":{"x-a":"1"},"timeout_seconds":2.5,"retry_ladder":[1,2.5],"retry_4xx":false,` +
		`"policy":"once","receiver_window_seconds":3600,"max_in_flight":3,"rate_per_second":0.5,"disabled":false,"disabled_reason":null,"created_at":"`
	if !strings.Contains(string(a.Data), want) || !strings.HasSuffix(string(a.Data), `"secret":"`+secret+`"}`) || !strings.HasPrefix(e.ID, "ep_") {
		t.Errorf("create: %s", a.Data)
	}
	path := "/v1/webhooks/endpoints/" + e.ID
	b := r.get(path).ok(nil)
	if string(b.Data) != strings.Replace(string(a.Data), `,"secret":"`+secret+`"`, "", 1) || strings.Contains(string(b.raw), "secret") {
		t.Errorf("get: %s; made as %s", b.Data, a.Data)
	}
	c := r.do("PATCH", path, `{"receiver_window_seconds":null,"rate_per_second":null,"headers":{},"max_in_flight":5}`).ok(nil)
	for _, s := range []string{`"receiver_window_seconds":null`, `"rate_per_second":null`, `"headers":{}`, `"max_in_flight":5`, `"timeout_seconds":2.5`} {
		if !strings.Contains(string(c.Data), s) {
			t.Errorf("patch: %s; want %s", c.Data, s)
		}
	}
	if d := r.post(path+"/disable", "").ok(nil); !strings.Contains(string(d.Data), `"disabled":true,"disabled_reason":"disabled by root"`) {
		t.Errorf("disable: %s", d.Data)
	}
	if d := r.post(path+"/enable", `{}`).ok(nil); !strings.Contains(string(d.Data), `"disabled":false,"disabled_reason":null`) {
		t.Errorf("enable: %s", d.Data)
	}
	var rot struct {
		Secret string `json:"secret"`
	}
	if r.post(path+"/rotate_secret", "").ok(&rot); !strings.HasPrefix(rot.Secret, "whsec_") || rot.Secret == secret {
		t.Errorf("rotate: %+v", rot)
	}
	var test struct {
		EventID    string           `json:"event_id"`
		ID         string           `json:"endpoint_id"`
		Deliveries []map[string]any `json:"deliveries"`
	}
	if r.post(path+"/test", "").ok(&test); test.ID != e.ID || len(test.Deliveries) != 1 || test.Deliveries[0]["state"] != "pending" || !strings.HasPrefix(test.EventID, "evt_") {
		t.Errorf("test: %+v", test)
	}
	var ids []string
	for i := range 5 {
		var e received
		r.post("/v1/webhooks/endpoints", fmt.Sprintf(`{"url":"http://127.0.0.1:1/%d"}`, i)).ok(&e)
		ids = append([]string{e.EndpointID}, ids...)
	}
	endpointID := func(m received) string { return m.EndpointID }
	if got := r.all("/v1/webhooks/endpoints", 2, endpointID); !equal(got, append(ids, e.ID)) {
		t.Errorf("list: %v; want %v, the newest first", got, append(ids, e.ID))
	}
	if got := r.all("/v1/webhooks/endpoints?tenant=acme", 2, endpointID); !equal(got, []string{e.ID}) {
		t.Errorf("list of a tenant: %v", got)
	}
	if d := r.do("DELETE", path, "").ok(nil); string(d.Data) != `{"deleted":true}` {
		t.Errorf("delete: %s", d.Data)
	}
	for _, m := range []string{"GET", "PATCH", "DELETE"} {
		body := ""
		if m == "PATCH" {
			body = `{}`
		}
		r.do(m, path, body).fails(404, "NOT_FOUND", "*")
	}
	for _, act := range []string{"rotate_secret", "enable", "disable", "test"} {
		r.post(path+"/"+act, "").fails(404, "NOT_FOUND", "*")
	}
}

func TestWebhookCallsRefuse(t *testing.T) {
	t.Parallel()
	r := open(t)
	var e received
	r.post("/v1/webhooks/endpoints", `{"url":"https://example.com/hook","tenant":"acme"}`).ok(&e)
	path := "/v1/webhooks/endpoints/" + e.EndpointID
	for _, test := range []struct{ path, body, field string }{
		{"endpoints", `{}`, "/url"},
		{"endpoints", `{"url":"ftp://example.com"}`, "/url"},
		{"endpoints", `{"url":"https://example.com","tenant":"a b"}`, "/tenant"},
		{"endpoints", `{"url":"https://example.com","tenant":""}`, "/tenant"},
		{"endpoints", `{"url":"https://example.com","event_types":[]}`, "/event_types"},
		{"endpoints", `{"url":"https://example.com","event_types":["a","*b"]}`, "/event_types/1"},
		{"endpoints", `{"url":"https://example.com","headers":{"webhook-id":"x"}}`, "/headers/webhook-id"},
		{"endpoints", `{"url":"https://example.com","headers":{"Host":"x"}}`, "/headers/Host"},
		{"endpoints", `{"url":"https://example.com","secret":"short"}`, "/secret"},
		{"endpoints", `{"url":"https://example.com","timeout_seconds":0.5}`, "/timeout_seconds"},
		{"endpoints", `{"url":"https://example.com","timeout_seconds":31}`, "/timeout_seconds"},
		{"endpoints", `{"url":"https://example.com","retry_ladder":[30,0]}`, "/retry_ladder/1"},
		{"endpoints", `{"url":"https://example.com","retry_ladder":[30,null]}`, "/retry_ladder/1"},
		{"endpoints", `{"url":"https://example.com","retry_ladder":["30"]}`, "/retry_ladder/0"},
		{"endpoints", `{"url":"https://example.com","policy":"twice"}`, "/policy"},
		{"endpoints", `{"url":"https://example.com","receiver_window_seconds":0}`, "/receiver_window_seconds"},
		{"endpoints", `{"url":"https://example.com","max_in_flight":0}`, "/max_in_flight"},
		{"endpoints", `{"url":"https://example.com","rate_per_second":0}`, "/rate_per_second"},
		{"endpoints", `{"url":"https://example.com","rate_per_second":"1"}`, "/rate_per_second"},
		{"endpoints", `{"url":"https://example.com","description":"\u0000"}`, "/description"},
		{"endpoints/" + e.EndpointID + "/rotate_secret", `{"grace_seconds":-1}`, "/grace_seconds"},
		{"endpoints/" + e.EndpointID + "/rotate_secret", `{"secret":"x"}`, "/secret"},
		{"endpoints/" + e.EndpointID + "/test", `{"x":1}`, "/x"},
		{"events", `{}`, "/event_type"},
		{"events", `{"event_type":"a"}`, "/payload"},
		{"events", `{"event_type":"a b","payload":1}`, "/event_type"},
		{"events", `{"event_type":"a","payload":1,"event_id":""}`, "/event_id"},
		{"events", `{"event_type":"a","payload":1,"event_id":"a.b"}`, "/event_id"},
		{"events", `{"event_type":"a","payload":1,"event_id":"` + strings.Repeat("e", 256) + `"}`, "/event_id"},
		{"events", `{"event_type":"a","payload":1,"tenant":"a/b"}`, "/tenant"},
		{"events", `{"event_type":"a","payload":1,"tenant":""}`, "/tenant"},
		{"redrive", `{"tenant":""}`, "/tenant"},
		{"events", `{"event_type":"a","payload":1,"subject":"\n"}`, "/subject"},
		{"events", `{"event_type":"a","payload":1,"endpoint_ids":[]}`, "/endpoint_ids"},
		{"events", `{"event_type":"a","payload":1,"endpoint_ids":["` + e.EndpointID + `"]}`, "/endpoint_ids/0"},
		{"events", `{"event_type":"a","payload":1,"tenant":"other","endpoint_ids":["` + e.EndpointID + `"]}`, "/endpoint_ids/0"},
		{"redrive", ``, ""},
		{"redrive", `{"states":[]}`, "/states"},
		{"redrive", `{"states":["delivered"]}`, "/states/0"},
		{"redrive", `{"max":0}`, "/max"},
		{"redrive", `{"rate_per_second":-1}`, "/rate_per_second"},
		{"redrive", `{"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"}`, "/to"},
		{"redrive", `{"from":"now"}`, "/from"},
	} {
		r.post("/v1/webhooks/"+test.path, test.body).fails(400, "INVALID_ARGUMENT", test.field)
	}
	r.do("PATCH", path, `{"tenant":"other"}`).fails(400, "INVALID_ARGUMENT", "/tenant")
	r.do("PATCH", path, `{"secret":"x"}`).fails(400, "INVALID_ARGUMENT", "/secret")
	r.do("PATCH", path, ``).fails(400, "INVALID_ARGUMENT", "")
	r.post("/v1/webhooks/events", `{"event_type":"a","payload":"`+strings.Repeat("x", 1<<20)+`"}`).fails(413, "PAYLOAD_TOO_LARGE", "/payload")
	r.post("/v1/webhooks/events", `{"event_type":"a","payload":1,"endpoint_ids":["ep_000000000000000000000000"]}`).fails(404, "NOT_FOUND", "/endpoint_ids/0")
	r.post("/v1/webhooks/redrive", `{"endpoint_id":"ep_000000000000000000000000"}`).fails(404, "NOT_FOUND", "/endpoint_id")
	for _, test := range []struct{ query, field string }{
		{"state=gone", "/state"}, {"from=yesterday", "/from"}, {"to=1", "/to"}, {"limit=1000", "/limit"}, {"subjct=x", "/subjct"}, {"tenant=%00", "/tenant"}, {"subject=%ff", "/subject"},
	} {
		r.get("/v1/webhooks/deliveries?"+test.query).fails(400, "INVALID_ARGUMENT", test.field)
	}
	r.get("/v1/webhooks/deliveries?endpoint_id=ep_0").fails(404, "NOT_FOUND", "*")
	r.get("/v1/webhooks/events?state=pending").fails(400, "INVALID_ARGUMENT", "*")
	for _, path := range []string{"events/none", "events/a%00", "events/a.b", "deliveries/none", "deliveries/dlv_000000000000000000000000", "endpoints/x"} {
		r.get("/v1/webhooks/"+path).fails(404, "NOT_FOUND", "*")
	}
	for path, body := range map[string]string{"resend": ``, "cancel": ``, "resolve": `{"as":"retry"}`} {
		r.post("/v1/webhooks/deliveries/dlv_000000000000000000000000/"+path, body).fails(404, "NOT_FOUND", "*")
	}
}

// take receives what is due, as a worker does.
func (r *rig) take() []webhook.Job {
	r.t.Helper()
	taken, err := r.store.TakeDeliveries(context.Background(), webhook.Take{Owner: "test", Max: 100, Slack: time.Second})
	if err != nil {
		r.t.Fatal(err)
	}
	jobs := make([]*webhook.Job, len(taken.Jobs))
	for i := range taken.Jobs {
		jobs[i] = &taken.Jobs[i]
	}
	if _, err := r.store.BeginDeliveries(context.Background(), jobs); err != nil {
		r.t.Fatal(err)
	}
	return taken.Jobs
}

func (r *rig) settle(outcomes ...webhook.Outcome) {
	r.t.Helper()
	applied, err := r.store.SettleDeliveries(context.Background(), outcomes...)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, a := range applied {
		if !a.Applied {
			r.t.Fatalf("an outcome was refused: %+v", a)
		}
	}
}

func TestEventsAndDeliveries(t *testing.T) {
	t.Parallel()
	r := open(t)
	var e received
	r.post("/v1/webhooks/endpoints", `{"url":"https://example.com/hook","tenant":"acme","event_types":["ticket.*"],"retry_ladder":[30]}`).ok(&e)
	type sent struct {
		EventID    string     `json:"event_id"`
		Deliveries []received `json:"deliveries"`
	}
	const payload = `{"b": 1.0, "a":"\u00e9"}`
	body := `{"event_id":"order-1","event_type":"ticket.resolved","tenant":"acme","subject":"s/1","payload":` + payload + `}`
	var first, again sent
	if a := r.post("/v1/webhooks/events", body).ok(&first); first.EventID != "order-1" || len(first.Deliveries) != 1 || first.Deliveries[0].EndpointID != e.EndpointID || *a.Metadata.Replay {
		t.Fatalf("send: %s", a.raw)
	}
	id := first.Deliveries[0].DeliveryID
	if a := r.post("/v1/webhooks/events", strings.Replace(body, payload, `{"a":"é","b":1}`, 1)).ok(&again); !*a.Metadata.Replay || fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("the same event_id again: %s", a.raw)
	}
	r.post("/v1/webhooks/events", strings.Replace(body, payload, `2`, 1)).fails(409, "EVENT_ID_REUSED", "*")
	var nobody sent
	if a := r.post("/v1/webhooks/events", `{"event_type":"ticket.resolved","payload":1}`).ok(&nobody); string(a.Data) != `{"event_id":"`+nobody.EventID+`","deliveries":[]}` {
		t.Errorf("an event for nobody: %s", a.Data)
	}
	if a := r.get("/v1/webhooks/events/order-1").ok(nil); !strings.Contains(string(a.Data), `"payload":`+payload+`,"deliveries":[{"delivery_id":"`+id+`","endpoint_id":"`+e.EndpointID+`","state":"pending"}]}`) {
		t.Errorf("event: %s", a.Data)
	}

	pending := r.get("/v1/webhooks/deliveries/" + id).ok(nil)
	key := webhook.DeliveryKey(e.EndpointID, "order-1", 0)
	want := `{"delivery_id":"` + id + `","event_id":"order-1","event_type":"ticket.resolved","endpoint_id":"` + e.EndpointID + `","tenant":"acme","subject":"s/1","state":"pending","policy":"idempotent","delivery_key":"` + key + `","created_at":"`
	if !strings.HasPrefix(string(pending.Data), want) || !strings.HasSuffix(string(pending.Data), `,"delivered_at":null,"attempts":[]}`) {
		t.Errorf("delivery: %s; want %s", pending.Data, want)
	}
	r.post("/v1/webhooks/deliveries/"+id+"/resend", "").fails(409, "CONFLICT", "*")
	r.post("/v1/webhooks/deliveries/"+id+"/resolve", `{"as":"delivered"}`).fails(409, "CONFLICT", "*")
	r.post("/v1/webhooks/deliveries/"+id+"/resolve", `{"as":"done"}`).fails(400, "INVALID_ARGUMENT", "/as")
	r.post("/v1/webhooks/deliveries/"+id+"/resolve", `{}`).fails(400, "INVALID_ARGUMENT", "/as")
	r.post("/v1/webhooks/deliveries/"+id+"/cancel", `{"reason":"`+strings.Repeat("r", 1025)+`"}`).fails(400, "INVALID_ARGUMENT", "/reason")

	jobs := r.take()
	if len(jobs) != 1 || !bytes.Equal(jobs[0].Payload, []byte(payload)) {
		t.Fatalf("jobs: %+v", jobs)
	}
	if a := r.get("/v1/webhooks/deliveries/" + id).ok(nil); !strings.Contains(string(a.Data), `"state":"sending"`) {
		t.Errorf("sending: %s", a.Data)
	}
	r.settle(webhook.Outcome{Job: &jobs[0], Kind: ledger.Definite, RetryIn: time.Millisecond, Result: webhook.Refused, Status: 503, Latency: 12300 * time.Microsecond, Response: []byte("no \xff")})
	var d struct {
		State    string           `json:"state"`
		Attempts []map[string]any `json:"attempts"`
	}
	a := r.get("/v1/webhooks/deliveries/" + id).ok(&d)
	if d.State != "retrying" || len(d.Attempts) != 1 {
		t.Fatalf("retrying: %s", a.Data)
	}
	at := d.Attempts[0]
	if len(at) != 12 || at["attempt"] != 1.0 || at["cause"] != "event" || at["outcome"] != "refused" || at["class"] != "definite" || at["status_code"] != 503.0 || at["latency_ms"] != 12.3 ||
		at["response_start"] != "no \ufffd" || at["error"] != nil || at["next_attempt_at"] == nil || !strings.HasPrefix(at["attempt_id"].(string), "att_") {
		t.Errorf("attempt: %v", at)
	}
	var names []string
	for _, s := range strings.Split(string(a.Data), `,"`) {
		if n, _, ok := strings.Cut(s, `":`); ok {
			names = append(names, strings.TrimLeft(n, `{"`))
		}
	}
	if got := strings.Join(names[:12], " "); got != "delivery_id event_id event_type endpoint_id tenant subject state policy delivery_key created_at next_attempt_at delivered_at" {
		t.Errorf("fields: %s", got)
	}
	var second []webhook.Job
	eventually(t, "the next rung", func() bool { second = r.take(); return len(second) == 1 })
	r.settle(webhook.Outcome{Job: &second[0], Kind: ledger.Definite, Result: webhook.NotSent, Error: "connection refused"})
	d.Attempts = nil
	if a := r.get("/v1/webhooks/deliveries/" + id).ok(&d); d.State != "failed" || len(d.Attempts) != 2 || d.Attempts[1]["error"] != "connection refused" || d.Attempts[1]["status_code"] != nil || d.Attempts[1]["response_start"] != nil {
		t.Errorf("failed: %s", a.Data)
	}
	r.post("/v1/webhooks/deliveries/"+id+"/cancel", "").fails(409, "CONFLICT", "*")

	// A redrive of what failed, then a resend of what was delivered, then a cancel.
	type redrive struct {
		ID    string  `json:"redrive_id"`
		Queue *string `json:"queue"`
		State string  `json:"state"`
		Total int     `json:"total"`
	}
	var rd redrive
	if a := r.post("/v1/webhooks/redrive", `{"endpoint_id":"`+e.EndpointID+`","dry_run":true}`).ok(&rd); rd.Total != 1 || rd.Queue != nil {
		t.Errorf("dry run: %s", a.Data)
	}
	r.post("/v1/webhooks/redrive", `{"tenant":"acme","canary":false}`).ok(&rd)
	r.redrives()
	if a := r.get("/v1/redrives/" + rd.ID).ok(&rd); rd.State != "completed" {
		t.Errorf("redrive: %s", a.Data)
	}
	third := r.take()
	if len(third) != 1 || third[0].Attempt != 3 {
		t.Fatalf("after the redrive: %+v", third)
	}
	r.settle(webhook.Outcome{Job: &third[0], Kind: ledger.Succeeded, Result: webhook.WasDelivered, Status: 200, Latency: time.Millisecond})
	if a := r.get("/v1/webhooks/deliveries/" + id).ok(&d); d.State != "delivered" || d.Attempts[2]["cause"] != "redrive" || d.Attempts[2]["class"] != nil || strings.Contains(string(a.Data), `"delivered_at":null`) {
		t.Errorf("delivered: %s", a.Data)
	}
	resend := r.post("/v1/webhooks/deliveries/"+id+"/resend", `{"reason":"asked","new_key":true}`, "Idempotency-Key", "resend").ok(&d)
	if d.State != "pending" || strings.Contains(string(resend.Data), key) {
		t.Errorf("resend: %s", resend.Data)
	}
	if a := r.post("/v1/webhooks/deliveries/"+id+"/resend", `{"reason":"asked","new_key":true}`, "Idempotency-Key", "resend").ok(nil); !*a.Metadata.Replay || string(a.Data) != string(resend.Data) {
		t.Errorf("resend again: %s", a.raw)
	}
	r.post("/v1/webhooks/deliveries/"+id+"/resend", `{"reason":"asked"}`, "Idempotency-Key", "resend").fails(409, "IDEMPOTENCY_KEY_REUSED", "*")
	if a := r.post("/v1/webhooks/deliveries/"+id+"/cancel", `{"reason":"no more"}`).ok(&d); d.State != "cancelled" {
		t.Errorf("cancel: %s", a.Data)
	}
	// Stuck: a person's word.
	var stuck sent
	var once received
	r.post("/v1/webhooks/endpoints", `{"url":"https://example.com/once","policy":"once"}`).ok(&once)
	r.post("/v1/webhooks/events", `{"event_type":"x","payload":1}`).ok(&stuck)
	jobs = r.take()
	r.settle(webhook.Outcome{Job: &jobs[0], Kind: ledger.Ambiguous, Result: webhook.Unknown, Error: "time-out"})
	sid := stuck.Deliveries[0].DeliveryID
	if r.get("/v1/webhooks/deliveries/" + sid).ok(&d); d.State != "stuck" {
		t.Errorf("state %s; want stuck", d.State)
	}
	if a := r.post("/v1/webhooks/deliveries/"+sid+"/resolve", `{"as":"delivered","note":"they have it"}`).ok(&d); d.State != "delivered" {
		t.Errorf("resolve: %s", a.Data)
	}
	for _, list := range []string{"deliveries?state=cancelled", "deliveries?event_id=order-1", "deliveries?subject=s/1&tenant=acme", "deliveries?endpoint_id=" + e.EndpointID, "deliveries?event_type=ticket.resolved"} {
		if got := r.all("/v1/webhooks/"+list, 10, func(m received) string { return m.DeliveryID }); !equal(got, []string{id}) {
			t.Errorf("%s: %v; want %s", list, got, id)
		}
	}
	for _, list := range []string{"deliveries?state=sending", "deliveries?tenant=other", "deliveries?to=2020-01-01T00:00:00Z", "deliveries?from=2099-01-01T00:00:00Z", "events?subject=none"} {
		if a := r.get("/v1/webhooks/" + list).ok(nil); string(a.Data) != `{"items":[],"next_cursor":null}` {
			t.Errorf("%s: %s", list, a.Data)
		}
	}
}

func TestListsOfWebhooks(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.post("/v1/webhooks/endpoints", `{"url":"https://example.com/hook"}`).ok(nil)
	var events, deliveries []string
	for i := range 7 {
		var s struct {
			EventID    string     `json:"event_id"`
			Deliveries []received `json:"deliveries"`
		}
		r.post("/v1/webhooks/events", fmt.Sprintf(`{"event_type":"t%d","payload":%d}`, i%2, i)).ok(&s)
		events, deliveries = append(events, s.EventID), append(deliveries, s.Deliveries[0].DeliveryID)
	}
	slices.Reverse(events)
	slices.Reverse(deliveries)
	for limit := range 8 {
		if got := r.all("/v1/webhooks/events", limit+1, func(m received) string { return m.EventID }); !equal(got, events) {
			t.Errorf("events by %d: %v; want %v", limit+1, got, events)
		}
		if got := r.all("/v1/webhooks/deliveries", limit+1, func(m received) string { return m.DeliveryID }); !equal(got, deliveries) {
			t.Errorf("deliveries by %d: %v; want %v", limit+1, got, deliveries)
		}
	}
	if got := r.all("/v1/webhooks/events?event_type=t1", 2, func(m received) string { return m.EventID }); !equal(got, []string{events[1], events[3], events[5]}) {
		t.Errorf("events of a type: %v", got)
	}
	// A cursor belongs to its list and its filter.
	var p page
	r.get("/v1/webhooks/events?limit=1").ok(&p)
	r.get("/v1/webhooks/events?limit=3&cursor=" + *p.Next).ok(nil)
	r.get("/v1/webhooks/events?event_type=t1&cursor="+*p.Next).fails(400, "INVALID_ARGUMENT", "/cursor")
	r.get("/v1/webhooks/deliveries?cursor="+*p.Next).fails(400, "INVALID_ARGUMENT", "/cursor")
	r.other().do("GET", "/v1/webhooks/events?cursor="+*p.Next, "").fails(400, "INVALID_ARGUMENT", "/cursor")
	var out any
	if err := json.Unmarshal(r.get("/v1/webhooks/events").raw, &out); err != nil {
		t.Error(err)
	}
}
