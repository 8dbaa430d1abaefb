package api_test

import (
	"strings"
	"testing"

	"github.com/onceward/onceward/ledger"
)

// A payload and a result of the most levels come back in answers that can be read whole; one level more is refused, where it stands.
func TestDepth(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	nested := func(n int) string { return strings.Repeat("[", n-1) + "{}" + strings.Repeat("]", n-1) }
	most, more := nested(9_900), nested(9_901)
	has := func(a *answer, n int) {
		t.Helper()
		if strings.Count(string(a.ok(nil).raw), most) != n { // what cannot be read ends the test in ok
			t.Errorf("%s: %.300s", a.what, a.raw)
		}
	}

	has(r.post("/v1/queue/publish", `{"queue":"jobs","payload":`+most+`,"idempotency_key":"k"}`), 1)
	has(r.post("/v1/queue/publish", `{"queue":"jobs","payload":`+most+`,"idempotency_key":"k"}`), 1)
	r.post("/v1/queue/publish_batch", `{"queue":"jobs","messages":[{"body":`+most+`}]}`).ok(nil)
	has(r.post("/v1/queue/consume", `{"queue":"jobs","max_messages":2}`), 2)
	has(r.get("/v1/queue/messages/jobs"), 2)
	r.queue("dead")
	r.kill("dead", most)
	has(r.get("/v1/queue/dlq/list/dead"), 1)

	r.post("/v1/webhooks/events", `{"event_id":"deep","event_type":"deep","payload":`+most+`,"idempotency_key":"k"}`).ok(nil)
	has(r.get("/v1/webhooks/events/deep"), 1)

	r.post("/v1/ledger/claim", `{"scope":"s","key":"k"}`).ok(nil)
	r.post("/v1/ledger/complete", `{"scope":"s","key":"k","fence":1,"result":`+more+`}`).fails(400, "INVALID_ARGUMENT", "/result")
	r.post("/v1/ledger/complete", `{"scope":"s","key":"k","fence":1,"result":`+most+`}`).ok(nil)
	has(r.post("/v1/ledger/claim", `{"scope":"s","key":"k"}`), 1)
	has(r.get("/v1/ledger/claims?scope=s&key=k"), 1)

	// What a program wrote beside the server can be read all the same: in base64, as what is no JSON.
	r.post("/v1/ledger/claim", `{"scope":"s","key":"beside"}`).ok(nil)
	w := ledger.Word{Project: 1, Scope: "s", Key: "beside", Fence: 1, Kind: ledger.Succeeded, Result: []byte(nested(9_999))}
	if out, err := r.store.SettleClaims(t.Context(), w); err != nil || !out[0].Applied {
		t.Fatal(out, err)
	}
	r.get("/v1/ledger/claims?scope=s&key=beside").ok(nil)

	r.post("/v1/queue/publish", `{"queue":"jobs","payload":`+more+`}`).fails(400, "INVALID_ARGUMENT", "/payload")
	r.post("/v1/queue/publish", `{"queue":"jobs","body":`+more+`}`).fails(400, "INVALID_ARGUMENT", "/body")
	r.post("/v1/queue/publish", `{"queue":"jobs","payload":`+nested(20_000)+`}`).fails(400, "INVALID_ARGUMENT", "*")
	r.post("/v1/webhooks/events", `{"event_type":"deep","payload":`+more+`}`).fails(400, "INVALID_ARGUMENT", "/payload")
	r.post("/v1/queue/publish", `{"queue":"jobs","payload":[`+strings.Repeat("[],{},", 9_950)+`"`+strings.Repeat("[{", 9_950)+`"]}`).ok(nil) // wide, not deep
}
