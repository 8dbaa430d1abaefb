package api_test

import (
	"strings"
	"testing"
)

// H-Q01: only the newest receipt acts, and every other is told why not.
func TestReceipts(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	r.queue("strict", `"require_receipt":true`)
	act := func(verb, rest string) *answer {
		t.Helper()
		return r.post("/v1/queue/"+verb, `{"queue":"jobs",`+rest+`}`)
	}
	says := func(a *answer, want string) {
		t.Helper()
		if a.ok(nil); !strings.HasPrefix(string(a.Data), want) {
			t.Errorf("%s: %s; want %s", a.what, a.Data, want)
		}
	}
	r.publish("jobs", `1`)
	r.post("/v1/queue/consume", `{"queue":"jobs","visibility_timeout":1}`)
	var second []received
	first := r.get("/v1/queue/messages/jobs").ok(nil)
	eventually(t, "the lease is over", func() bool { second = r.consume("jobs", 1); return len(second) == 1 })
	m := second[0]
	if m.Count != 2 {
		t.Errorf("delivery_count = %d after two receives; %s", m.Count, first.Data)
	}

	says(act("extend", `"receipt_handle":"`+m.Receipt+`","visibility_timeout":600`), `{"extended":true,"reason":null,"visible_until":"2`)
	says(act("nack", `"receipt_handle":"`+m.Receipt+`","delay_seconds":0,"error":"try again"`), `{"nacked":true,"reason":null,"status":"available","visible_at":"2`)
	for verb, want := range map[string]string{
		"ack": `{"acked":false,"reason":"lease_lost"}`, "nack": `{"nacked":false,"reason":"lease_lost","status":null,"visible_at":null}`,
		"release": `{"released":false,"reason":"lease_lost","status":null,"visible_at":null}`,
	} {
		says(act(verb, `"receipt_handle":"`+m.Receipt+`"`), want)
	}
	says(act("extend", `"receipt_handle":"`+m.Receipt+`","visibility_timeout":5`), `{"extended":false,"reason":"lease_lost","visible_until":null}`)
	says(act("ack", `"message_id":"`+m.ID+`"`), `{"acked":false,"reason":"not_in_flight"}`)
	third := r.consume("jobs", 1)[0]
	if third.Count != 3 || third.LastError == nil || *third.LastError != "try again" {
		t.Errorf("%+v", third)
	}
	says(act("release", `"receipt_handle":"`+third.Receipt+`","delay_seconds":0.05`), `{"released":true,"reason":null,"status":"delayed","visible_at":"2`)
	var fourth []received
	eventually(t, "the delay is over", func() bool { fourth = r.consume("jobs", 1); return len(fourth) == 1 })
	if fourth[0].Count != 3 {
		t.Errorf("delivery_count = %d; a release gives it back", fourth[0].Count)
	}
	// A message's id in the receipt's place stands for the newest receipt.
	says(act("extend", `"receipt_handle":"`+m.ID+`","visibility_timeout":60`), `{"extended":true`)
	says(act("ack", `"receipt_handle":"`+fourth[0].Receipt+`","message_id":"`+m.ID+`"`), `{"acked":true,"reason":null}`)

	other := r.publish("jobs", `2`)
	mine := r.consume("jobs", 1)[0]
	r.publish("jobs", `3`)
	theirs := r.consume("jobs", 1)[0]
	act("ack", `"receipt_handle":"`+mine.Receipt+`","message_id":"`+theirs.ID+`"`).fails(400, "INVALID_ARGUMENT", "/message_id")
	says(act("ack", `"message_id":"`+other+`"`), `{"acked":true,"reason":null}`)
	for _, made := range []string{"", "x", "rct_", "rct_" + strings.Repeat("0", 29), theirs.Receipt + "0", theirs.Receipt[:len(theirs.Receipt)-1] + "_", strings.Repeat("r", 10_000)} {
		act("ack", `"receipt_handle":"`+made+`"`).fails(400, "RECEIPT_INVALID", "/receipt_handle")
	}
	// A receipt belongs to its queue.
	r.post("/v1/queue/ack", `{"queue":"strict","receipt_handle":"`+theirs.Receipt+`"}`).fails(400, "RECEIPT_INVALID", "/receipt_handle")
	for _, id := range []string{"qmsg_000000000000000000000000", "qmsg_", "qmsg_x"} {
		act("ack", `"message_id":"`+id+`"`).fails(404, "QUEUE_MESSAGE_NOT_FOUND", "/message_id")
		act("ack", `"receipt_handle":"`+id+`"`).fails(404, "QUEUE_MESSAGE_NOT_FOUND", "/receipt_handle")
	}
	act("ack", `"message_id":"evt_x"`).fails(404, "QUEUE_MESSAGE_NOT_FOUND", "/message_id")

	id := r.publish("strict", `1`)
	s := r.consume("strict", 1)[0]
	r.post("/v1/queue/ack", `{"queue":"strict","message_id":"`+id+`"}`).fails(400, "INVALID_ARGUMENT", "*")
	r.post("/v1/queue/ack", `{"queue":"strict","receipt_handle":"`+id+`"}`).fails(400, "INVALID_ARGUMENT", "*")
	r.post("/v1/queue/ack", `{"queue":"strict","receipt_handle":"`+s.Receipt+`"}`).ok(nil)
}

func TestDeadLettersAndRedrive(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	var dead []string
	for range 5 {
		dead = append(dead, r.kill("jobs", `{"n": 1}`))
	}
	if got := r.all("/v1/queue/dlq/list/jobs", 2, messageID); !equal(got, dead) {
		t.Errorf("dlq/list: %v; want %v, the oldest first", got, dead)
	}
	var l page
	r.get("/v1/queue/dlq/list/jobs?limit=1").ok(&l)
	if m := l.Items[0]; m.Status != "dead_lettered" || m.Count != 1 || m.DeadAt == nil || *m.LastError != "bad" || *m.Source != "jobs" || m.Queue != "jobs-dlq" {
		t.Errorf("dlq/list: %+v", m)
	}
	// It is consumed by its own name, and nothing there counts.
	m := r.consume("jobs-dlq", 1)[0]
	if m.Queue != "jobs-dlq" || m.Count != 1 || *m.Source != "jobs" {
		t.Errorf("consume of the DLQ: %+v", m)
	}
	r.post("/v1/queue/release", `{"queue":"jobs-dlq","receipt_handle":"`+m.Receipt+`"}`).ok(nil)

	type redrive struct {
		ID    string   `json:"redrive_id"`
		Queue *string  `json:"queue"`
		State string   `json:"state"`
		Dry   bool     `json:"dry_run"`
		Rate  *float64 `json:"rate_per_second"`
		Total int      `json:"total"`
		Moved int      `json:"moved"`
		Left  int      `json:"left"`
		End   *string  `json:"finished_at"`
	}
	r.get("/v1/queue/dlq/redrive/jobs").fails(404, "NOT_FOUND", "*")
	var d redrive
	if r.post("/v1/queue/dlq/redrive/jobs", `{"dry_run":true}`).ok(&d); d.Total != 5 || !d.Dry || d.Moved != 0 {
		t.Errorf("dry run: %+v", d)
	}
	r.post("/v1/queue/dlq/redrive/jobs", `{"message_ids":["qmsg_000000000000000000000000"]}`).fails(404, "QUEUE_MESSAGE_NOT_FOUND", "/message_ids/0")
	a := r.post("/v1/queue/dlq/redrive/jobs", `{"max_messages":2,"rate_per_second":1000}`, "Idempotency-Key", `"again"`).ok(&d)
	if d.State != "running" || *d.Queue != "jobs" || *d.Rate != 1000 || d.End != nil {
		t.Errorf("redrive: %s", a.Data)
	}
	r.post("/v1/queue/dlq/redrive/jobs", "").fails(409, "CONFLICT", "*")
	r.redrives()
	var e redrive
	if r.get("/v1/redrives/" + d.ID).ok(&e); e.State != "completed" || e.Moved != 2 || e.Left != 0 || e.End == nil {
		t.Errorf("progress: %+v", e)
	}
	b := r.post("/v1/queue/dlq/redrive/jobs", `{"rate_per_second":1e3,"max_messages":2,"dry_run":false,"idempotency_key":"again"}`).ok(nil)
	if !*b.Metadata.Replay || string(b.Data) != string(a.Data) {
		t.Errorf("replay: %s; want %s", b.raw, a.Data)
	}
	r.post("/v1/queue/dlq/redrive/jobs", `{"max_messages":3,"idempotency_key":"again"}`).fails(409, "IDEMPOTENCY_KEY_REUSED", "*")
	var f redrive
	if r.get("/v1/queue/dlq/redrive/jobs").ok(&f); f != e && f.ID != e.ID {
		t.Errorf("the queue's newest: %+v", f)
	}
	if r.get("/v1/queue/dlq/redrive/" + d.ID).ok(&f); f.ID != d.ID {
		t.Errorf("by its id: %+v", f)
	}
	// Slow enough to be cancelled; moved + left is what there was.
	r.post("/v1/queue/dlq/redrive/jobs", `{"rate_per_second":0.001}`).ok(&d)
	if r.post("/v1/redrives/"+d.ID+"/cancel", "").ok(&e); e.State != "cancelled" || e.Moved+e.Left != e.Total || e.Total != 3 {
		t.Errorf("cancel: %+v", e)
	}
	r.post("/v1/queue/dlq/redrive_cancel/"+d.ID, `{}`)
	r.post("/v1/queue/dlq/redrive/jobs", `{"message_ids":["`+dead[4]+`"]}`).ok(&d)
	r.redrives()
	if got := r.all("/v1/queue/dlq/list/jobs", 50, messageID); !equal(got, dead[2:4]) {
		t.Errorf("left: %v; want %v", got, dead[2:4])
	}
	if m := r.consume("jobs", 10); len(m) != 3 || m[0].Count != 1 {
		t.Errorf("came back: %+v", m)
	}
}

func equal(a, b []string) bool { return strings.Join(a, " ") == strings.Join(b, " ") }

// A queue's redrive is the one that moves something, not the dry run after it; and never one of a former queue of its name.
func TestRedriveOfAQueue(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	r.kill("jobs", "1")
	r.kill("jobs", "2")
	type redrive struct {
		ID    string `json:"redrive_id"`
		State string `json:"state"`
		Dry   bool   `json:"dry_run"`
	}
	of := func(want redrive) {
		t.Helper()
		var got redrive
		if r.get("/v1/queue/dlq/redrive/jobs").ok(&got); got != want {
			t.Errorf("the queue's redrive is %+v, want %+v", got, want)
		}
	}
	var dry, run redrive
	r.post("/v1/queue/dlq/redrive/jobs", `{"dry_run":true}`).ok(&dry)
	of(dry)
	r.post("/v1/queue/dlq/redrive/jobs", `{"rate_per_second":0.001}`).ok(&run)
	of(run)
	r.post("/v1/queue/dlq/redrive/jobs", `{"dry_run":true}`).ok(&dry)
	of(run)
	r.post("/v1/redrives/"+run.ID+"/cancel", "").ok(&run)
	of(run)
	r.do("DELETE", "/v1/queue/delete/jobs?force=true", "").ok(nil)
	r.queue("jobs")
	r.get("/v1/queue/dlq/redrive/jobs").fails(404, "NOT_FOUND", "*")
}
