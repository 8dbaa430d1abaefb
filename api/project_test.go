package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// I13: no key of one project reads or changes anything of another, or can tell that it is there.
func TestProjectsAreApart(t *testing.T) {
	t.Parallel()
	r := open(t)
	o := r.other()
	r.queue("jobs")
	r.kill("jobs", `1`)
	id := r.publish("jobs", `"mine"`)
	m := r.consume("jobs", 1)[0]
	var ep, d received
	r.post("/v1/webhooks/endpoints", `{"url":"https://example.com/hook"}`).ok(&ep)
	var sent struct {
		Deliveries []received `json:"deliveries"`
	}
	r.post("/v1/webhooks/events", `{"event_id":"e1","event_type":"a","payload":1}`).ok(&sent)
	d = sent.Deliveries[0]
	var rd struct {
		ID string `json:"redrive_id"`
	}
	r.post("/v1/queue/dlq/redrive/jobs", `{"rate_per_second":0.001}`).ok(&rd)

	for _, call := range []struct{ method, path, body string }{
		{"GET", "/v1/queue/get/jobs", ""},
		{"GET", "/v1/queue/stats/jobs", ""},
		{"GET", "/v1/queue/messages/jobs", ""},
		{"GET", "/v1/queue/dlq/list/jobs", ""},
		{"POST", "/v1/queue/update/jobs", `{"max_retries":9}`},
		{"POST", "/v1/queue/pause/jobs", ""},
		{"POST", "/v1/queue/purge/jobs", `{"confirm":"jobs"}`},
		{"DELETE", "/v1/queue/delete/jobs?force=true", ""},
		{"POST", "/v1/queue/publish", `{"queue":"jobs","payload":1}`},
		{"POST", "/v1/queue/consume", `{"queue":"jobs"}`},
		{"POST", "/v1/queue/dlq/redrive/jobs", ""},
		{"GET", "/v1/queue/dlq/redrive/jobs", ""},
	} {
		o.do(call.method, call.path, call.body).fails(404, "QUEUE_NOT_FOUND", "*")
	}
	endpoint, delivery := "/v1/webhooks/endpoints/"+ep.EndpointID, "/v1/webhooks/deliveries/"+d.DeliveryID
	for _, call := range []struct{ method, path, body string }{
		{"GET", endpoint, ""},
		{"PATCH", endpoint, `{"description":"theirs"}`},
		{"DELETE", endpoint, ""},
		{"POST", endpoint + "/rotate_secret", ""},
		{"POST", endpoint + "/disable", ""},
		{"POST", endpoint + "/test", ""},
		{"GET", "/v1/webhooks/events/e1", ""},
		{"GET", delivery, ""},
		{"POST", delivery + "/resend", ""},
		{"POST", delivery + "/cancel", ""},
		{"POST", delivery + "/resolve", `{"as":"retry"}`},
		{"POST", "/v1/webhooks/events", `{"event_type":"a","payload":1,"endpoint_ids":["` + ep.EndpointID + `"]}`},
		{"POST", "/v1/webhooks/redrive", `{"endpoint_id":"` + ep.EndpointID + `"}`},
		{"GET", "/v1/webhooks/deliveries?endpoint_id=" + ep.EndpointID, ""},
		{"GET", "/v1/redrives/" + rd.ID, ""},
		{"POST", "/v1/redrives/" + rd.ID + "/cancel", ""},
		{"POST", "/v1/queue/dlq/redrive_cancel/" + rd.ID, ""},
	} {
		a := o.do(call.method, call.path, call.body).fails(404, "NOT_FOUND", "*")
		// And in the same words as of what was never there.
		if none := o.do(call.method, strings.NewReplacer(ep.EndpointID, "ep_0", d.DeliveryID, "dlv_0", rd.ID, "rdv_0", "e1", "e2").Replace(call.path), call.body); call.body == "" || !strings.Contains(call.body, "ep_") {
			said := strings.NewReplacer(ep.EndpointID, "", d.DeliveryID, "", rd.ID, "", "e1", "").Replace(a.Error.Message)
			if want := strings.NewReplacer("ep_0", "", "dlv_0", "", "rdv_0", "", "e2", "").Replace(none.Error.Message); said != want {
				t.Errorf("%s %s: %q; of what is not there: %q", call.method, call.path, said, want)
			}
		}
	}
	for _, list := range []string{"/v1/queue/list", "/v1/webhooks/endpoints", "/v1/webhooks/events", "/v1/webhooks/deliveries"} {
		if a := o.do("GET", list, "").ok(nil); string(a.Data) != `{"items":[],"next_cursor":null}` {
			t.Errorf("%s: %s", list, a.Data)
		}
	}
	// The same names in both are two things.
	o.do("POST", "/v1/queue/create", `{"name":"jobs"}`).ok(nil)
	var p page
	if o.do("POST", "/v1/queue/consume", `{"queue":"jobs","max_messages":10}`).ok(&p); len(p.Items) != 0 {
		t.Errorf("the other project received %v", p.Items)
	}
	o.do("POST", "/v1/queue/ack", `{"queue":"jobs","receipt_handle":"`+m.Receipt+`"}`).fails(400, "RECEIPT_INVALID", "*")
	o.do("POST", "/v1/queue/ack", `{"queue":"jobs","message_id":"`+id+`"}`).fails(404, "QUEUE_MESSAGE_NOT_FOUND", "*")
	o.do("POST", "/v1/webhooks/events", `{"event_id":"e1","event_type":"b","payload":2}`).ok(nil)
	if a := o.do("POST", "/v1/queue/publish", `{"queue":"jobs","payload":1}`, "Idempotency-Key", "k").ok(nil); *a.Metadata.Replay {
		t.Errorf("%s", a.raw)
	}
	if a := r.post("/v1/queue/publish", `{"queue":"jobs","payload":2}`, "Idempotency-Key", "k").ok(nil); *a.Metadata.Replay {
		t.Errorf("%s", a.raw)
	}
	r.post("/v1/queue/ack", fmt.Sprintf(`{"queue":"jobs","receipt_handle":"%s"}`, m.Receipt)).ok(nil)
	if a := r.get("/v1/webhooks/events/e1").ok(nil); !strings.Contains(string(a.Data), `"event_type":"a"`) {
		t.Errorf("%s", a.Data)
	}
}
