package api_test

import (
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/queue"
)

func TestQueueCalls(t *testing.T) {
	t.Parallel()
	r := open(t)
	const settings = `"dlq":"jobs-dead","max_receive_count":5,"visibility_timeout_default":60.5,"message_retention_days":7,"dedup_window_seconds":120,"require_receipt":false,"enable_priority":true,"content_dedup":false`
	a := r.post("/v1/queue/create", `{"name":"jobs","type":"standard",`+settings+`}`).ok(nil)
	want := `{"name":"jobs","type":"standard","dlq":"jobs-dead","is_dlq":false,"max_receive_count":5,"visibility_timeout_default":60.5,"message_retention_days":7,` +
		`"dedup_window_seconds":120,"content_dedup":false,"require_receipt":false,"enable_priority":true,"paused":false,"created_at":`
	if !strings.HasPrefix(string(a.Data), want) {
		t.Errorf("create: %s; want %s…", a.Data, want)
	}
	var q struct {
		Created string `json:"created_at"`
	}
	if a.ok(&q); len(q.Created) != len("2026-07-26T00:38:42.320888Z") {
		t.Errorf("created_at = %s", q.Created)
	}
	// The same again, and by other names, and naming less.
	for _, body := range []string{`{"name":"jobs",` + settings + `}`, `{"name":"jobs","dead_letter_queue":"jobs-dead","max_retries":5}`, `{"name":"jobs"}`} {
		if b := r.post("/v1/queue/create", body).ok(nil); string(b.Data) != string(a.Data) {
			t.Errorf("%s: %s", body, b.Data)
		}
	}
	r.post("/v1/queue/create", `{"name":"jobs","max_retries":6}`).fails(409, "QUEUE_EXISTS", "")
	if b := r.get("/v1/queue/get/jobs").ok(nil); string(b.Data) != string(a.Data) {
		t.Errorf("get: %s", b.Data)
	}
	b := r.post("/v1/queue/update/jobs", `{"max_retries":2,"require_receipt":true,"idempotency_key":"ignored"}`).ok(nil)
	if !strings.Contains(string(b.Data), `"max_receive_count":2`) || !strings.Contains(string(b.Data), `"require_receipt":true`) || !strings.Contains(string(b.Data), `60.5`) {
		t.Errorf("update: %s", b.Data)
	}
	if b := r.get("/v1/queue/get/jobs-dead").ok(nil); !strings.Contains(string(b.Data), `"dlq":null,"is_dlq":true,"max_receive_count":null`) {
		t.Errorf("the DLQ: %s", b.Data)
	}
	if b := r.post("/v1/queue/pause/jobs", "").ok(nil); !strings.Contains(string(b.Data), `"paused":true`) {
		t.Errorf("pause: %s", b.Data)
	}
	r.publish("jobs", `1`)
	if m := r.consume("jobs", 1); len(m) != 0 {
		t.Errorf("a paused queue gave %v", m)
	}
	if b := r.post("/v1/queue/resume/jobs", `{}`).ok(nil); !strings.Contains(string(b.Data), `"paused":false`) {
		t.Errorf("resume: %s", b.Data)
	}
	r.do("DELETE", "/v1/queue/delete/jobs", "").fails(409, "QUEUE_NOT_EMPTY", "")
	r.do("DELETE", "/v1/queue/delete/jobs?force=maybe", "").fails(400, "INVALID_ARGUMENT", "/force")
	r.post("/v1/queue/purge/jobs", `{"confirm":"job"}`).fails(400, "INVALID_ARGUMENT", "/confirm")
	r.post("/v1/queue/purge/jobs", `{}`).fails(400, "INVALID_ARGUMENT", "/confirm")
	if b := r.post("/v1/queue/purge/jobs", `{"confirm":"jobs"}`).ok(nil); string(b.Data) != `{"purged":1}` {
		t.Errorf("purge: %s", b.Data)
	}
	r.do("DELETE", "/v1/queue/delete/jobs-dead", "").fails(409, "CONFLICT", "")
	r.publish("jobs", `2`)
	if b := r.do("DELETE", "/v1/queue/delete/jobs?force=true", "").ok(nil); string(b.Data) != `{"deleted":true}` {
		t.Errorf("delete: %s", b.Data)
	}
	r.get("/v1/queue/get/jobs").fails(404, "QUEUE_NOT_FOUND", "")
}

func TestQueueCallsRefuse(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	for _, test := range []struct{ path, body, field string }{
		{"create", `{}`, "/name"},
		{"create", `{"name":""}`, "/name"},
		{"create", `{"name":"_jobs"}`, "/name"},
		{"create", `{"name":".jobs"}`, "/name"},
		{"create", `{"name":"a/b"}`, "/name"},
		{"create", `{"name":"` + strings.Repeat("q", 77) + `"}`, "/name"},
		{"create", `{"name":"q\n"}`, "/name"},
		{"create", `{"name":"q","type":"lifo"}`, "/type"},
		{"create", `{"name":"q","type":"fifo","dlq":"jobs-dlq"}`, "/dlq"},
		{"create", `{"name":"q","dlq":"q"}`, "/dlq"},
		{"create", `{"name":"q","dead_letter_queue":"q"}`, "/dead_letter_queue"},
		{"create", `{"name":"q","dlq":"_d"}`, "/dlq"},
		{"create", `{"name":"q","dlq":"a","dead_letter_queue":"b"}`, "/dead_letter_queue"},
		{"create", `{"name":"q","max_retries":3,"max_receive_count":4}`, "/max_retries"},
		{"create", `{"name":"q","dlq":"jobs"}`, "/dlq"},
		{"create", `{"name":"q","dead_letter_queue":"jobs"}`, "/dead_letter_queue"},
		{"create", `{"name":"q","max_receive_count":0}`, "/max_receive_count"},
		{"create", `{"name":"q","max_retries":1001}`, "/max_retries"},
		{"create", `{"name":"q","visibility_timeout_default":0}`, "/visibility_timeout_default"},
		{"create", `{"name":"q","visibility_timeout_default":43200.5}`, "/visibility_timeout_default"},
		{"create", `{"name":"q","message_retention_days":0}`, "/message_retention_days"},
		{"create", `{"name":"q","message_retention_days":31}`, "/message_retention_days"},
		{"create", `{"name":"q","dedup_window_seconds":59}`, "/dedup_window_seconds"},
		{"create", `{"name":"q","dedup_window_seconds":3888001}`, "/dedup_window_seconds"},
		{"create", `{"name":"q","fifo":true}`, "/fifo"},
		{"update/jobs", `{"name":"q"}`, "/name"},
		{"update/jobs", `{"type":"standard"}`, "/type"},
		{"update/jobs", `{"max_retries":-1}`, "/max_retries"},
		{"update/jobs", `{"dlq":"jobs"}`, "/dlq"},
		{"update/jobs-dlq", `{"dlq":"x"}`, "/dlq"},
		{"update/jobs", ``, ""},
		{"pause/jobs", `{"for":1}`, "/for"},
		{"publish", `{"payload":1}`, "/queue"},
		{"publish", `{"queue":"","payload":1}`, "/queue"},
		{"publish", `{"queue":"jobs"}`, "/payload"},
		{"publish", `{"queue":"jobs","payload":1,"body":2}`, "/body"},
		{"publish", `{"queue":"jobs","payload":1,"delay_seconds":-1}`, "/delay_seconds"},
		{"publish", `{"queue":"jobs","payload":1,"delay_seconds":604801}`, "/delay_seconds"},
		{"publish", `{"queue":"jobs","payload":1,"priority":10}`, "/priority"},
		{"publish", `{"queue":"jobs","payload":1,"priority":-1}`, "/priority"},
		{"publish", `{"queue":"jobs","payload":1,"message_group_id":""}`, "/message_group_id"},
		{"publish", `{"queue":"jobs","payload":1,"message_group_id":"é"}`, "/message_group_id"},
		{"publish", `{"queue":"jobs","payload":1,"message_group_id":"` + strings.Repeat("g", 129) + `"}`, "/message_group_id"},
		{"publish", `{"queue":"jobs","payload":1,"headers":{"a":"` + strings.Repeat("h", 8192) + `"}}`, "/headers"},
		{"publish", `{"queue":"jobs","payload":1,"idempotency_key":""}`, "/idempotency_key"},
		{"publish_batch", `{"queue":"jobs"}`, "/messages"},
		{"publish_batch", `{"messages":[]}`, "/queue"},
		{"publish_batch", `{"queue":"jobs","messages":[` + strings.Repeat("{},", 1000) + `{}]}`, "/messages"},
		{"publish_batch", `{"queue":"jobs","messages":[{"payload":1},{"payload":2,"pri":1}]}`, "/messages/1/pri"},
		{"publish_batch", `{"queue":"jobs","messages":[{"payload":1},{"payload":2,"priority":"1"}]}`, "/messages/1/priority"},
		{"consume", `{}`, "/queue"},
		{"consume", `{"queue":"jobs","max_messages":0}`, "/max_messages"},
		{"consume", `{"queue":"jobs","max_messages":1001}`, "/max_messages"},
		{"consume", `{"queue":"jobs","visibility_timeout":0}`, "/visibility_timeout"},
		{"consume", `{"queue":"jobs","visibility_timeout":43201}`, "/visibility_timeout"},
		{"consume", `{"queue":"jobs","wait_seconds":21}`, "/wait_seconds"},
		{"consume", `{"queue":"jobs","wait_seconds":-1}`, "/wait_seconds"},
		{"ack", `{"queue":"jobs"}`, "/receipt_handle"},
		{"ack", `{"receipt_handle":"x"}`, "/queue"},
		{"ack", `{"queue":"jobs","receipt_handle":"x","delay_seconds":1}`, "/delay_seconds"},
		{"nack", `{"queue":"jobs","receipt_handle":"x","delay_seconds":604801}`, "/delay_seconds"},
		{"nack", `{"queue":"jobs","receipt_handle":"x","requeue":"no"}`, "/requeue"},
		{"extend", `{"queue":"jobs","receipt_handle":"x"}`, "/visibility_timeout"},
		{"extend", `{"queue":"jobs","receipt_handle":"x","visibility_timeout":43201}`, "/visibility_timeout"},
		{"ack_batch", `{"queue":"jobs"}`, "/items"},
		{"ack_batch", `{"queue":"jobs","items":[{"queue":"jobs","receipt_handle":"x"}]}`, "/items/0/queue"},
		{"dlq/redrive/jobs", `{"max_messages":0}`, "/max_messages"},
		{"dlq/redrive/jobs", `{"rate_per_second":0}`, "/rate_per_second"},
		{"dlq/redrive/jobs", `{"message_ids":[]}`, "/message_ids"},
		{"dlq/redrive/jobs", `{"dry_run":"yes"}`, "/dry_run"},
	} {
		r.post("/v1/queue/"+test.path, test.body).fails(400, "INVALID_ARGUMENT", test.field)
	}
	for _, test := range []struct{ path, field string }{
		{"/v1/queue/list?limit=0", "/limit"},
		{"/v1/queue/list?limit=501", "/limit"},
		{"/v1/queue/list?limit=ten", "/limit"},
		{"/v1/queue/list?cursor=abc", "/cursor"},
		{"/v1/queue/list?cursor=cur_000000000000000000000000", "/cursor"},
		{"/v1/queue/list?lmit=10", "/lmit"},
		{"/v1/queue/list?limit=1&limit=2", "/limit"},
		{"/v1/queue/list?a=%zz", ""},
		{"/v1/queue/messages/jobs?status=dead", "/status"},
		{"/v1/webhooks/deliveries?from=2026-07-26T0:38:42Z", "/from"},
		{"/v1/webhooks/deliveries?to=2026-07-26T00:38:42,5Z", "/to"},
		{"/v1/queue/messages/jobs?status=%00", "/status"},
	} {
		r.get(test.path).fails(400, "INVALID_ARGUMENT", test.field)
	}
	for _, path := range []string{"get/none", "stats/none", "messages/none", "dlq/list/none", "get/_deliveries", "stats/_deliveries", "messages/_deliveries-dlq", "get/%00", "get/%ff", "get/a%2Fb", "dlq/redrive/none"} {
		r.get("/v1/queue/"+path).fails(404, "QUEUE_NOT_FOUND", "*")
	}
	for path, body := range map[string]string{
		"publish": `{"queue":"none","payload":1}`, "consume": `{"queue":"none"}`, "update/none": `{"max_retries":3}`, "pause/none": ``, "resume/none": ``,
		"purge/none": `{"confirm":"none"}`, "dlq/redrive/none": ``,
	} {
		r.post("/v1/queue/"+path, body).fails(404, "QUEUE_NOT_FOUND", "*")
	}
	for _, messages := range []string{``, `{"payload":1}`, `{"payload":1,"priority":10}`, `{"payload":1,"priority":10},{"payload":2}`} {
		r.post("/v1/queue/publish_batch", `{"queue":"none","messages":[`+messages+`]}`).fails(404, "QUEUE_NOT_FOUND", "*")
	}
	if a := r.post("/v1/queue/publish_batch", `{"queue":"jobs","messages":[]}`).ok(nil); string(a.Data) != `{"items":[]}` {
		t.Errorf("a batch of none: %s", a.Data)
	}
	r.do("DELETE", "/v1/queue/delete/none", "").fails(404, "QUEUE_NOT_FOUND", "*")
	r.get("/v1/redrives/rdv_000000000000000000000000").fails(404, "NOT_FOUND", "*")
	r.post("/v1/redrives/none/cancel", "").fails(404, "NOT_FOUND", "*")
	var s struct {
		Messages int `json:"message_count"`
	}
	if r.get("/v1/queue/stats/jobs").ok(&s); s.Messages != 0 {
		t.Errorf("%d messages were stored by what was refused", s.Messages)
	}
	if names := r.all("/v1/queue/list", 2, func(q received) string { return q.Name }); !slices.Equal(names, []string{"jobs", "jobs-dlq"}) && !slices.Equal(names, []string{"jobs-dlq", "jobs"}) {
		t.Errorf("queues %v were made by what was refused", names)
	}
}

func TestPublishAndConsume(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	// The bytes that came, whatever an encoder would make of them.
	const payload = `{"b": 1.0,"a":[ 1e2, "\u00e9\/", -0 ],  "n":9007199254740993}`
	a := r.post("/v1/queue/publish", `{"queue":"jobs","payload":`+payload+`,"priority":7,"headers":{"b":"2","a":"é\n"},"message_group_id":"g 1","origin_at":"2026-07-26T02:38:42.5+02:00"}`).ok(nil)
	var p map[string]any
	a.ok(&p)
	if len(p) != 7 || !strings.Contains(string(a.raw), `"payload":`+payload+`,"status":"available","delivery_count":0,"published_at":"`) || p["queue"] != "jobs" || p["visible_at"] != p["published_at"] {
		t.Errorf("publish: %s", a.raw)
	}
	if a.Metadata.Replay == nil || *a.Metadata.Replay || a.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("publish: %s %v", a.raw, a.header)
	}
	if d := r.post("/v1/queue/publish", `{"queue":"jobs","body":null,"delay_seconds":60.25}`).ok(nil); !strings.Contains(string(d.raw), `"payload":null,"status":"delayed"`) {
		t.Errorf("publish: %s", d.raw)
	}
	if l := r.get("/v1/queue/messages/jobs?status=available").ok(nil); !strings.Contains(string(l.raw), payload) || !strings.Contains(string(l.raw), `"delivery_count":0`) {
		t.Errorf("messages: %s", l.raw)
	}
	c := r.post("/v1/queue/consume", `{"queue":"jobs","max_messages":10,"visibility_timeout":30}`).ok(nil)
	var got page
	c.ok(&got)
	if len(got.Items) != 1 || got.Next != nil || !strings.Contains(string(c.raw), `"payload":`+payload+`,`) || !strings.Contains(string(c.raw), `"next_cursor":null`) {
		t.Fatalf("consume: %s", c.raw)
	}
	m := got.Items[0]
	if m.ID != p["message_id"] || m.Queue != "jobs" || m.Status != "in_flight" || m.Count != 1 || m.Priority != 7 || m.Headers["a"] != "é\n" || m.Headers["b"] != "2" || *m.Group != "g 1" ||
		m.Published != p["published_at"] || m.Origin != "2026-07-26T00:38:42.500000Z" || m.DeadAt != nil || m.Source != nil || m.LastError != nil {
		t.Errorf("consume: %+v", m)
	}
	until, err := time.Parse(time.RFC3339Nano, m.Until)
	if d := time.Until(until); err != nil || d < 20*time.Second || d > 31*time.Second {
		t.Errorf("visible_until = %s: %v, %v", m.Until, d, err)
	}
	if s := r.get("/v1/queue/stats/jobs").ok(nil); !strings.HasPrefix(string(s.Data), `{"queue":"jobs","message_count":2,"available_count":0,"in_flight_count":1,"delayed_count":1,"dlq_count":0,"oldest_message_age_seconds":`) {
		t.Errorf("stats: %s", s.Data)
	}
	if b := r.post("/v1/queue/ack", `{"queue":"jobs","receipt_handle":"`+m.Receipt+`"}`, "Idempotency-Key", "ignored").ok(nil); string(b.Data) != `{"acked":true,"reason":null}` {
		t.Errorf("ack: %s", b.Data)
	}
	r.post("/v1/queue/ack", `{"queue":"jobs","receipt_handle":"`+m.Receipt+`"}`).fails(404, "QUEUE_MESSAGE_NOT_FOUND", "*")
	r.post("/v1/queue/ack", `{"queue":"jobs","message_id":"`+m.ID+`"}`).fails(404, "QUEUE_MESSAGE_NOT_FOUND", "*")
	r.queue("empty")
	if s := r.get("/v1/queue/stats/empty").ok(nil); string(s.Data) != `{"queue":"empty","message_count":0,"available_count":0,"in_flight_count":0,"delayed_count":0,"dlq_count":0,"oldest_message_age_seconds":0}` {
		t.Errorf("stats: %s", s.Data)
	}
}

func TestWaitedForMessage(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	for _, delay := range []string{"0", "0.4"} {
		got := make(chan page)
		go func() {
			var p page
			r.post("/v1/queue/consume", `{"queue":"jobs","wait_seconds":10}`).ok(&p)
			got <- p
		}()
		r.post("/v1/queue/publish", `{"queue":"jobs","payload":1,"delay_seconds":`+delay+`}`).ok(nil)
		select {
		case p := <-got:
			if len(p.Items) != 1 {
				t.Errorf("delay %s: %v", delay, p)
			}
		case <-time.After(8 * time.Second):
			t.Fatalf("delay %s: the poll did not see the message", delay)
		}
	}
}

func TestBatch(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	type item struct {
		ID     string `json:"message_id"`
		Replay *bool  `json:"idempotent_replay"`
		Acked  *bool  `json:"acked"`
		Error  *struct {
			Code  string `json:"code"`
			Field string `json:"field"`
		} `json:"error"`
	}
	type items struct {
		Items []item `json:"items"`
	}
	big := `"` + strings.Repeat("x", 256<<10) + `"`
	var out items
	a := r.post("/v1/queue/publish_batch", `{"queue":"jobs","messages":[{"payload":{"a": 1}},{"payload":1,"priority":10},{"body":`+big+`},{"payload":2,"idempotency_key":"k"},{"payload":3,"idempotency_key":"k"},{"payload":2,"idempotency_key":"k"},{}]}`).ok(&out)
	want := []string{"", "INVALID_ARGUMENT /messages/1/priority", "QUEUE_MESSAGE_TOO_LARGE /messages/2/body", "", "IDEMPOTENCY_KEY_REUSED ", "", "INVALID_ARGUMENT /messages/6/payload"}
	if len(out.Items) != len(want) {
		t.Fatalf("%s", a.raw)
	}
	for i, it := range out.Items {
		got := ""
		if it.Error != nil {
			got = it.Error.Code + " " + it.Error.Field
		}
		if strings.TrimSuffix(got, " /messages/4/idempotency_key") != strings.TrimSpace(want[i]) && got != want[i] {
			t.Errorf("item %d: %q; want %q", i, got, want[i])
		}
	}
	if out.Items[3].ID != out.Items[5].ID || *out.Items[3].Replay || !*out.Items[5].Replay || !strings.Contains(string(a.raw), `"payload":{"a": 1},`) || *a.Metadata.Replay {
		t.Errorf("%s", a.raw)
	}
	// The batch's key, in header or body, stands for one of each message.
	body := `{"queue":"jobs","messages":[{"payload":"x"},{"payload":"y"}]`
	first := r.post("/v1/queue/publish_batch", body+`}`, "Idempotency-Key", "batch").ok(nil)
	second := r.post("/v1/queue/publish_batch", body+`,"idempotency_key":"batch"}`).ok(nil)
	if !*second.Metadata.Replay || second.header.Get("Idempotent-Replayed") != "true" || strings.ReplaceAll(string(first.Data), `"idempotent_replay":false`, `"idempotent_replay":true`) != string(second.Data) {
		t.Errorf("replay: %s; first %s", second.raw, first.raw)
	}
	if one := r.post("/v1/queue/publish", `{"queue":"jobs","payload":"y"}`, "Idempotency-Key", "batch:1").ok(nil); !*one.Metadata.Replay {
		t.Errorf("one key space: %s", one.raw)
	}
	r.post("/v1/queue/publish_batch", body+`}`, "Idempotency-Key", "a", "Idempotency-Key", "a").fails(400, "INVALID_ARGUMENT", "")
	if out.Items = nil; true {
		r.post("/v1/queue/publish_batch", `{"queue":"jobs","messages":[{"payload":1,"idempotency_key":"own"}]}`, "Idempotency-Key", "batch2").ok(&out)
		if e := out.Items[0].Error; e == nil || e.Code != "INVALID_ARGUMENT" || e.Field != "/messages/0/idempotency_key" {
			t.Errorf("a key of its own beside the batch's: %+v", out.Items)
		}
	}
	r.post("/v1/queue/publish_batch", `{"queue":"none","messages":[{"payload":1},{}]}`).fails(404, "QUEUE_NOT_FOUND", "")
	if e := r.post("/v1/queue/publish_batch", `{"queue":"jobs","messages":[]}`).ok(nil); string(e.Data) != `{"items":[]}` {
		t.Errorf("an empty batch: %s", e.Data)
	}

	// Acts on many: each has its own result.
	m := r.consume("jobs", 10)
	if len(m) != 4 {
		t.Fatalf("%d messages", len(m))
	}
	acts, _ := json.Marshal(map[string]any{"queue": "jobs", "items": []map[string]string{
		{"receipt_handle": m[0].Receipt}, {"receipt_handle": "made-up"}, {"message_id": m[1].ID}, {"receipt_handle": m[0].Receipt}, {"message_id": "qmsg_000000000000000000000000"}, {},
	}})
	out.Items = nil
	r.post("/v1/queue/ack_batch", string(acts)).ok(&out)
	wants := []string{"acked", "RECEIPT_INVALID /items/1/receipt_handle", "acked", "QUEUE_MESSAGE_NOT_FOUND ", "QUEUE_MESSAGE_NOT_FOUND /items/4/message_id", "INVALID_ARGUMENT /items/5/receipt_handle"}
	for i, it := range out.Items {
		got := "acked"
		if it.Error != nil {
			got = it.Error.Code + " " + it.Error.Field
		} else if it.Acked == nil || !*it.Acked {
			got = "not acked"
		}
		if got != wants[i] {
			t.Errorf("act %d: %q; want %q", i, got, wants[i])
		}
	}
	for _, verb := range []string{"nack", "release", "extend"} {
		more := ""
		if verb == "extend" {
			more = `,"visibility_timeout":5`
		}
		a := r.post("/v1/queue/"+verb+"_batch", fmt.Sprintf(`{"queue":"jobs","items":[{"receipt_handle":"%s"%s}]}`, m[2].Receipt, more)).ok(nil)
		if n := map[string]bool{"nack": true}[verb]; strings.Contains(string(a.Data), `ed":true`) != n || !strings.HasSuffix(string(a.Data), `"error":null}]}`) {
			t.Errorf("%s_batch: %s", verb, a.Data)
		}
	}
}

// I14: what a message is is reckoned by the database's clock, though the server's is an hour off.
func TestStatusIsByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	s, now := newStub(), time.Now()
	s.messages = func() []queue.Message {
		at := func(seen, visible time.Duration, leased bool) queue.Message {
			return queue.Message{
				Row:   queue.Row{ID: 1, MaxReceives: 3, Leased: leased, VisibleAt: now.Add(visible), PublishedAt: now, OriginAt: now},
				Queue: "jobs", Body: []byte("1"), LookedAt: now.Add(seen),
			}
		}
		return []queue.Message{at(-2*time.Hour, -time.Hour, false), at(-2*time.Hour, -time.Hour, true), at(2*time.Hour, time.Hour, false), at(2*time.Hour, time.Hour, true)}
	}
	var p page
	serve(t, api.Config{Store: s}).do("GET", "/v1/queue/messages/jobs", "").ok(&p)
	var got []string
	for _, m := range p.Items {
		got = append(got, m.Status)
	}
	if want := []string{"delayed", "in_flight", "available", "available"}; !slices.Equal(got, want) {
		t.Errorf("shown as %v; by the database's clock they are %v", got, want)
	}
}
