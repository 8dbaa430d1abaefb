package wire

import (
	"strings"
	"testing"
)

// refusals are the calls that are refused, and in what words.
func (w *setting) refusals(t *testing.T) []refusal {
	var rows []refusal
	add := func(code, when string, field any, says []string, call func() answer) {
		rows = append(rows, refusal{code, when, field, says, call})
	}
	send := func(method, path string, body any, headers ...string) func() answer {
		return func() answer { return w.call(t, method, path, body, headers...) }
	}
	post := func(path string, body any, headers ...string) func() answer {
		return send("POST", path, body, headers...)
	}
	get := func(path string) func() answer { return send("GET", path, nil) }
	publish := func(body string, headers ...string) func() answer { return post("/v1/queue/publish", body, headers...) }
	const delivery, none = "/v1/webhooks/deliveries/", "dlv_000000000000000000000000"

	const invalid, bad = "INVALID_ARGUMENT", "the body is not what **bodies** says"
	add(invalid, bad, nil, []string{"ends too early", "byte 27"}, publish(`{"queue":"jobs","payload":1`))
	add(invalid, bad, nil, []string{"empty", "JSON object"}, publish(``))
	add(invalid, bad, nil, []string{"[1]", "JSON object"}, publish(`[1]`))
	add(invalid, bad, "/payload/a", []string{"twice"}, publish(`{"queue":"jobs","payload":{"a":1,"a":2}}`))
	add(invalid, bad, "/payload", []string{"UTF-8"}, publish("{\"queue\":\"jobs\",\"payload\":\"\xff\"}"))
	add(invalid, bad, "/payload", []string{"surrogate"}, publish(`{"queue":"jobs","payload":"\ud800"}`))
	add(invalid, bad, "/message_group_id", []string{"message_group_id", "U+0000"}, publish(`{"queue":"jobs","payload":1,"message_group_id":"a\u0000"}`))

	const field = "a field that the call does not have, or not with that type or value"
	add(invalid, field, "/delay", []string{`"delay"`, "not a field"}, publish(`{"queue":"jobs","payload":1,"delay":5}`))
	add(invalid, field, "/queue", []string{"queue", "7", "a string"}, publish(`{"queue":7,"payload":1}`))
	add(invalid, field, "/priority", []string{"priority", "1.5", "whole number"}, publish(`{"queue":"jobs","payload":1,"priority":1.5}`))
	add(invalid, field, "/priority", []string{"priority", "12", "0 to 9"}, publish(`{"queue":"jobs","payload":1,"priority":12}`))
	add(invalid, field, "/priority", []string{"priority", "1e30", "0 to 9"}, publish(`{"queue":"jobs","payload":1,"priority":1e30}`))
	add(invalid, field, "/delay_seconds", []string{"delay_seconds", "1e400", "0 to 604800"}, publish(`{"queue":"jobs","payload":1,"delay_seconds":1e400}`))
	add(invalid, field, "/delay_seconds", []string{"delay_seconds", "604801", "0 to 604800"}, publish(`{"queue":"jobs","payload":1,"delay_seconds":604801}`))
	add(invalid, field, "/delay_seconds", []string{"delay_seconds", "86400", `"jobs"`, "retention"}, publish(`{"queue":"jobs","payload":1,"delay_seconds":86400}`))
	add(invalid, field, "/origin_at", []string{"origin_at", "yesterday", "RFC 3339", "2026-"}, publish(`{"queue":"jobs","payload":1,"origin_at":"yesterday"}`))
	add(invalid, field, "/headers", []string{"headers", "21", "20"}, post("/v1/queue/publish", object{"queue": "jobs", "payload": 1, "headers": many(21)}))
	add(invalid, field, "/message_group_id", []string{"message_group_id", "128", "é"}, publish(`{"queue":"jobs","payload":1,"message_group_id":"é"}`))
	add(invalid, field, "/name", []string{`"no such!"`, "1 to 76"}, post("/v1/queue/create", object{"name": "no such!"}))
	add(invalid, field, "/max_retries", []string{"max_retries", "0", "1 to 1000"}, post("/v1/queue/create", object{"name": "new", "max_retries": 0}))
	add(invalid, field, "/visibility_timeout_default", []string{"visibility_timeout_default", "43201", "1 to 43200"}, post("/v1/queue/create", object{"name": "new", "visibility_timeout_default": 43201}))
	add(invalid, field, "/message_retention_days", []string{"message_retention_days", "31", "1 to 30"}, post("/v1/queue/create", object{"name": "new", "message_retention_days": 31}))
	add(invalid, field, "/max_messages", []string{"max_messages", "1001", "1 to 1000"}, post("/v1/queue/consume", object{"queue": "jobs", "max_messages": 1001}))
	add(invalid, field, "/wait_seconds", []string{"wait_seconds", "21", "0 to 20"}, post("/v1/queue/consume", object{"queue": "jobs", "wait_seconds": 21}))
	add(invalid, field, "/messages", []string{"messages", "1001", "1000"}, post("/v1/queue/publish_batch", `{"queue":"jobs","messages":[`+strings.Repeat(`{"payload":1},`, 1000)+`{"payload":1}]}`))
	add(invalid, field, "/message_ids", []string{"message_ids", "0", "1 to 1000", "leave it out"}, post("/v1/queue/dlq/redrive/jobs", object{"message_ids": []string{}}))
	add(invalid, field, "/rate_per_second", []string{"rate_per_second", "0", "100000"}, post("/v1/queue/dlq/redrive/jobs", object{"rate_per_second": 0}))
	add(invalid, field, "/confirm", []string{"confirm", `"job"`, `"jobs"`, "gone"}, post("/v1/queue/purge/jobs", object{"confirm": "job"}))
	endpoint := func(name string, v any) func() answer {
		return post(endpoints, with(object{"url": "http://127.0.0.1:9/"}, object{name: v}))
	}
	add(invalid, field, "/url", []string{`"ftp"`, "https://"}, endpoint("url", "ftp://x/"))
	add(invalid, field, "/tenant", []string{"tenant", `"a b"`, "1 to 128"}, endpoint("tenant", "a b"))
	add(invalid, field, "/event_types/0", []string{"event_types", `"a*"`, ".*"}, endpoint("event_types", []string{"a*"}))
	add(invalid, field, "/headers/Host", []string{"Host", "ours"}, endpoint("headers", object{"Host": "x"}))
	add(invalid, field, "/secret", []string{"secret", "whsec_", "24 to 64 bytes"}, endpoint("secret", "whsec_AAAA"))
	add(invalid, field, "/timeout_seconds", []string{"timeout_seconds", "31", "1 to 30"}, endpoint("timeout_seconds", 31))
	add(invalid, field, "/retry_ladder/1", []string{"retry_ladder", "0.5", "1 to 604800"}, endpoint("retry_ladder", []any{1, 0.5}))
	add(invalid, field, "/retry_ladder/0", []string{"retry_ladder/0", `"5"`, "a number of seconds"}, endpoint("retry_ladder", []any{"5"}))
	add(invalid, field, "/policy", []string{"policy", `"tx"`, `"idempotent"`, `"once"`}, endpoint("policy", "tx"))
	add(invalid, field, "/max_in_flight", []string{"max_in_flight", "0", "1 to 1000"}, endpoint("max_in_flight", 0))
	add(invalid, field, "/receiver_window_seconds", []string{"receiver_window_seconds", "0", "null"}, endpoint("receiver_window_seconds", 0))
	add(invalid, field, "/tenant", []string{"tenant", `"acme"`, "never changes"}, send("PATCH", endpoints+"/"+w.endpoint, object{"tenant": "other"}))
	add(invalid, field, "/secret", []string{"secret", "rotate_secret"}, send("PATCH", endpoints+"/"+w.endpoint, object{"secret": "whsec_"}))
	add(invalid, field, "/event_id", []string{"event_id", `"a b"`, "1 to 255"}, post(events, object{"event_id": "a b", "event_type": "a", "payload": 1}))
	add(invalid, field, "/event_type", []string{"event_type", `"a b"`, "1 to 128"}, post(events, object{"event_type": "a b", "payload": 1}))
	add(invalid, field, "/as", []string{"as", `"done"`, `"delivered"`, `"retry"`, `"failed"`}, post(delivery+w.pending+"/resolve", object{"as": "done"}))
	add(invalid, field, "/reason", []string{"reason", "1025", "1024"}, post(delivery+w.pending+"/cancel", object{"reason": strings.Repeat("x", 1025)}))
	add(invalid, field, "/states/0", []string{"states", `"gone"`, `"failed"`, `"stuck"`}, post("/v1/webhooks/redrive", object{"states": []string{"gone"}}))
	add(invalid, field, "/scopes/0", []string{`"write"`, "publish", "read"}, post("/v1/keys", object{"scopes": []string{"write"}}))
	add(invalid, field, "/expires_at", []string{"expires_at", "2020-", "past"}, post("/v1/keys", object{"scopes": []string{"read"}, "expires_at": "2020-01-01T00:00:00Z"}))

	const claim = "/v1/ledger/claim"
	key7 := func(more object) object { return with(object{"scope": "mail", "key": "7"}, more) }
	add(invalid, field, "/scope", []string{"scope", `"é"`, "1 to 128"}, post(claim, key7(object{"scope": "é"})))
	add(invalid, field, "/key", []string{"key", "513", "1 to 512", "hash"}, post(claim, key7(object{"key": strings.Repeat("k", 513)})))
	add(invalid, field, "/work_hash", []string{"work_hash", "513", "1 to 512"}, post(claim, key7(object{"work_hash": strings.Repeat("h", 513)})))
	add(invalid, field, "/policy", []string{"policy", `"tx"`, `"idempotent"`, `"once"`}, post(claim, key7(object{"policy": "tx"})))
	add(invalid, field, "/lease_seconds", []string{"lease_seconds", "43201", "1 to 43200"}, post(claim, key7(object{"lease_seconds": 43201})))
	add(invalid, field, "/max_attempts", []string{"max_attempts", "0", "1 to 1000"}, post(claim, key7(object{"max_attempts": 0})))
	add(invalid, field, "/receiver_window_seconds", []string{"receiver_window_seconds", "0", "1 to 315360000"}, post(claim, key7(object{"receiver_window_seconds": 0})))
	add(invalid, field, "/owner", []string{"owner", "256", "255"}, post(claim, key7(object{"owner": strings.Repeat("o", 256)})))
	add(invalid, field, "/grant_id", []string{"grant_id", `"1"`, "UUID", "fresh"}, post(claim, key7(object{"grant_id": "1"})))
	add(invalid, field, "/fence", []string{"fence", "0", "1 or more"}, post("/v1/ledger/begin", key7(object{"fence": 0})))
	add(invalid, field, "/kind", []string{"kind", `"bad"`, `"definite"`, `"ambiguous"`}, post("/v1/ledger/fail", key7(object{"fence": 1, "kind": "bad"})))
	add(invalid, field, "/kind", []string{`"done"`, "no failure", "/v1/ledger/complete"}, post("/v1/ledger/fail", key7(object{"fence": 1, "kind": "done"})))
	add(invalid, field, "/retry_in_seconds", []string{"retry_in_seconds", "604801", "604800"}, post("/v1/ledger/fail", key7(object{"fence": 1, "kind": "definite", "retry_in_seconds": 604801})))
	add(invalid, field, "/as", []string{"as", `"delivered"`, `"done"`, `"retry"`, `"failed"`}, post("/v1/ledger/resolve", key7(object{"as": "delivered"})))

	const missing = "a field that the call needs is missing"
	add(invalid, missing, "/queue", []string{"queue is required"}, publish(`{"payload":1}`))
	add(invalid, missing, "/payload", []string{"payload is required", "any JSON"}, publish(`{"queue":"jobs"}`))
	add(invalid, missing, "/name", []string{"name is required"}, post("/v1/queue/create", object{}))
	add(invalid, missing, "/receipt_handle", []string{"receipt_handle is required", "consume"}, post("/v1/queue/ack", object{"queue": "jobs"}))
	add(invalid, missing, "/visibility_timeout", []string{"visibility_timeout is required", "43200"}, post("/v1/queue/extend", object{"queue": "jobs", "receipt_handle": w.held}))
	add(invalid, missing, "/scope", []string{"scope is required"}, post(claim, object{"key": "7"}))
	add(invalid, missing, "/key", []string{"key is required", "payload"}, post(claim, object{"scope": "mail"}))
	add(invalid, missing, "/fence", []string{"fence is required", "claim"}, post("/v1/ledger/complete", key7(nil)))
	add(invalid, missing, "/kind", []string{"kind is required", "definite", "ambiguous"}, post("/v1/ledger/fail", key7(object{"fence": 1})))
	add(invalid, missing, "/receipt_handle", []string{"receipt_handle is required", "consume"}, post(claim, key7(object{"queue": "jobs"})))
	add(invalid, missing, "/queue", []string{"queue is required"}, post(claim, key7(object{"receipt_handle": w.held})))
	add(invalid, missing, "/url", []string{"url is required"}, post(endpoints, object{}))
	add(invalid, missing, "/event_type", []string{"event_type is required"}, post(events, object{"payload": 1}))
	add(invalid, missing, "/scopes", []string{"scopes is required"}, post("/v1/keys", object{}))

	const differ = "two fields that contradict each other"
	add(invalid, differ, "/body", []string{"body", "payload", "differ", "one of them"}, publish(`{"queue":"jobs","payload":1,"body":2}`))
	add(invalid, differ, "/max_retries", []string{"max_receive_count is 1", "max_retries", "is 2", "one of them"}, post("/v1/queue/create", object{"name": "new", "max_receive_count": 1, "max_retries": 2}))
	add(invalid, differ, "/work_hash", []string{"work_hash", "payload", "one of them"}, post(claim, key7(object{"payload": 1, "work_hash": strings.Repeat("0", 64)})))
	add(invalid, differ, "/message_id", []string{"message_id", "receipt_handle", "one of them"}, post("/v1/queue/ack", object{"queue": "jobs", "receipt_handle": w.held, "message_id": w.message}))
	add(invalid, differ, "/idempotency_key", []string{`"a"`, `"b"`, "one of them"}, publish(`{"queue":"jobs","payload":1,"idempotency_key":"a"}`, "Idempotency-Key", "b"))

	const parameter = "a query parameter that the call does not have, there twice, or out of range"
	add(invalid, parameter, "/lmit", []string{`"lmit"`, "cursor, limit"}, get("/v1/queue/list?lmit=1"))
	add(invalid, parameter, "/limit", []string{"limit", "twice"}, get("/v1/queue/list?limit=1&limit=2"))
	add(invalid, parameter, "/limit", []string{"limit", `"501"`, "1 to 500"}, get("/v1/queue/list?limit=501"))
	add(invalid, parameter, "/cursor", []string{`"x"`, "next_cursor"}, get("/v1/queue/list?cursor=x"))
	add(invalid, parameter, "/status", []string{`"gone"`, "available, delayed or in_flight"}, get("/v1/queue/messages/jobs?status=gone"))
	add(invalid, parameter, "/state", []string{`"gone"`, "pending", "stuck"}, get("/v1/webhooks/deliveries?state=gone"))
	add(invalid, parameter, "/state", []string{`"gone"`, "claimed", "stuck"}, get("/v1/ledger/claims?state=gone"))
	add(invalid, parameter, "/state", []string{"state", "scope and key"}, get("/v1/ledger/claims"))
	add(invalid, parameter, "/state", []string{"one", "the others"}, get("/v1/ledger/claims?state=stuck&key=7"))
	add(invalid, parameter, "/force", []string{"force", `"yes"`, "true or false"}, send("DELETE", "/v1/queue/delete/full?force=yes", nil))
	add(invalid, parameter, nil, []string{"%zz", "name=value"}, get("/v1/queue/list?limit=%zz"))

	const key = "an `Idempotency-Key` that is none"
	add(invalid, key, nil, []string{"idempotency key", `""`, "1 to 255"}, publish(`{"queue":"jobs","payload":1}`, "Idempotency-Key", ""))
	add(invalid, key, nil, []string{"2 Idempotency-Key headers", "one"}, publish(`{"queue":"jobs","payload":1}`, "Idempotency-Key", "a\nb"))
	add(invalid, key, "/idempotency_key", []string{"idempotency key", "é", "1 to 255"}, publish(`{"queue":"jobs","payload":1,"idempotency_key":"é"}`))

	const dlq = "a dead-letter queue that cannot be that one's"
	add(invalid, dlq, "/dlq", []string{`"new"`, "its own"}, post("/v1/queue/create", object{"name": "new", "dlq": "new"}))
	add(invalid, dlq, "/dlq", []string{`"jobs"`, "dead-letter queue of its own"}, post("/v1/queue/create", object{"name": "new", "dlq": "jobs"}))
	add(invalid, dlq, "/dlq", []string{`"jobs-dlq"`, "is standard", "fifo"}, post("/v1/queue/create", object{"name": "new", "type": "fifo", "dlq": "jobs-dlq"}))
	add(invalid, dlq, "/dlq", []string{`"jobs-dlq"`, "is a dead-letter queue"}, post("/v1/queue/update/jobs-dlq", object{"dlq": "full"}))

	add(invalid, "an act by `message_id` in a queue that requires receipts", "/receipt_handle", []string{`"strict"`, "receipt_handle"},
		func() answer {
			return w.post(t, "/v1/queue/ack", object{"queue": "strict", "message_id": items(t, w.do(t, "GET", "/v1/queue/messages/strict", nil))[0]["message_id"]})
		})
	const receivers = "an event for nobody, or for an endpoint of another tenant"
	add(invalid, receivers, "/endpoint_ids", []string{"endpoint_ids", "empty", "every subscriber"}, post(events, object{"event_type": "a", "payload": 1, "endpoint_ids": []string{}}))
	add(invalid, receivers, "/endpoint_ids/1", []string{"endpoint_ids", "another tenant"}, post(events, object{"event_type": "a", "payload": 1, "tenant": "acme", "endpoint_ids": []string{w.endpoint, w.foreign}}))
	add(invalid, receivers, "/endpoint_ids/0", []string{"another tenant"}, post(events, object{"event_type": "a", "payload": 1, "tenant": "acme", "endpoint_ids": []string{w.foreign, w.endpoint}}))
	const orders = "a publish that a fifo queue cannot order"
	add(invalid, orders, "/message_group_id", []string{`"line"`, "fifo", "required"}, publish(`{"queue":"line","payload":1}`))
	add(invalid, orders, "/priority", []string{`"line"`, "fifo", "2", "order"}, publish(`{"queue":"line","payload":1,"message_group_id":"a","priority":2}`))

	const receipt = "RECEIPT_INVALID"
	add(receipt, "a `receipt_handle` that `consume` did not give of this queue", "/receipt_handle", []string{`"made-up"`, "consume"}, post("/v1/queue/ack", object{"queue": "jobs", "receipt_handle": "made-up"}))
	add(receipt, "a `receipt_handle` that `consume` did not give of this queue", "/receipt_handle", []string{w.other, "queue"}, post("/v1/queue/nack", object{"queue": "jobs", "receipt_handle": w.other}))

	add(receipt, "a `receipt_handle` that `consume` did not give of this queue", "/receipt_handle", []string{`"made-up"`, "consume"}, post(claim, key7(object{"queue": "jobs", "receipt_handle": "made-up"})))

	const unauthenticated, noKey = "UNAUTHENTICATED", "no key, or one that is unknown, revoked or expired"
	for _, auth := range []string{"-", "Basic " + apiKey, "Bearer unknown-key-0123456789", "Bearer " + w.revoked} {
		add(unauthenticated, noKey, nil, []string{"no valid key", "Authorization: Bearer"}, publish(`{"queue":"jobs","payload":1}`, "Authorization", auth))
	}
	const forbidden = "FORBIDDEN"
	add(forbidden, "the key's scopes are too small", nil, []string{"publish"}, publish(`{"queue":"jobs","payload":1}`, "Authorization", "Bearer "+w.read))
	add(forbidden, "the key's scopes are too small", nil, []string{"admin"}, post("/v1/queue/purge/jobs", object{"confirm": "jobs"}, "Authorization", "Bearer "+w.read))

	const notFound, nothing = "NOT_FOUND", "no such path, or an id that names nothing of the key's project"
	add(notFound, nothing, nil, []string{`"/v1/queues"`, "docs/http-api.md"}, get("/v1/queues"))
	add(notFound, nothing, nil, []string{"delivery", none}, get(delivery+none))
	add(notFound, nothing, nil, []string{`"none"`}, get(events+"/none"))
	add(notFound, nothing, nil, []string{"ep_x"}, send("DELETE", endpoints+"/ep_x", nil))
	add(notFound, nothing, nil, []string{"rdv_x"}, get("/v1/redrives/rdv_x"))
	add(notFound, nothing, nil, []string{`"jobs"`, "redrive"}, get("/v1/queue/dlq/redrive/jobs"))
	add(notFound, nothing, nil, []string{"key_x"}, send("DELETE", "/v1/keys/key_x", nil))
	add(notFound, nothing, "/endpoint_ids/0", []string{"ep_x"}, post(events, object{"event_type": "a", "payload": 1, "endpoint_ids": []string{"ep_x"}}))
	add(notFound, nothing, "/project_id", []string{"prj_x"}, post("/v1/keys", object{"scopes": []string{"read"}, "project_id": "prj_x"}))

	add(notFound, nothing, nil, []string{`"none"`, `"mail"`}, get("/v1/ledger/claims?scope=mail&key=none"))
	add(notFound, nothing, nil, []string{`"none"`, `"mail"`}, post("/v1/ledger/begin", object{"scope": "mail", "key": "none", "fence": 1}))

	const noQueue, queueGone = "QUEUE_NOT_FOUND", "no such queue in the key's project"
	add(noQueue, queueGone, nil, []string{`"none"`, "/v1/queue/create"}, publish(`{"queue":"none","payload":1}`))
	add(noQueue, queueGone, nil, []string{`"none"`, "/v1/queue/create"}, post("/v1/queue/publish_batch", object{"queue": "none", "messages": []object{}}))
	add(noQueue, queueGone, nil, []string{`"none"`, "/v1/queue/create"}, post("/v1/queue/consume", object{"queue": "none"}))
	add(noQueue, queueGone, nil, []string{`"no such!"`, "/v1/queue/create"}, get("/v1/queue/stats/no%20such!"))
	const noMessage, messageGone = "QUEUE_MESSAGE_NOT_FOUND", "the message was acked, purged or expired, or never was"
	add(noMessage, messageGone, nil, []string{`"jobs"`, "acked"}, post("/v1/queue/ack", object{"queue": "jobs", "receipt_handle": w.gone}))
	add(noMessage, messageGone, "/message_id", []string{"qmsg_x", "acked"}, post("/v1/queue/ack", object{"queue": "jobs", "message_id": "qmsg_x"}))

	add(noMessage, messageGone, nil, []string{"acked"}, post(claim, key7(object{"queue": "jobs", "receipt_handle": w.gone})))

	add("METHOD_NOT_ALLOWED", "a path that takes other methods", nil, []string{`"GET"`, "POST"}, get("/v1/queue/publish"))

	const reused = "IDEMPOTENCY_KEY_REUSED"
	add(reused, "the key was used for another request", nil, []string{`"order-7"`, `"jobs"`, "new key"}, publish(`{"queue":"jobs","payload":3,"idempotency_key":"order-7"}`))
	add(reused, "the payload was published to a queue with `content_dedup`, with other fields", nil, []string{`"line"`, "content_dedup", "idempotency_key"}, publish(`{"queue":"line","payload":7,"message_group_id":"b"}`))
	add(reused, "the key was used for another request", nil, []string{`"rotate-1"`, "new key"}, post(endpoints+"/"+w.endpoint+"/rotate_secret", object{"grace_seconds": 1}, "Idempotency-Key", "rotate-1"))
	add("EVENT_ID_REUSED", "the `event_id` was used for other content", nil, []string{`"e-1"`, "other content"}, post(events, object{"event_id": "e-1", "event_type": "a", "payload": 2, "tenant": "acme"}))
	add("QUEUE_EXISTS", "a queue of that name has other settings", nil, []string{`"jobs"`, "max_receive_count is 3, not 9", "/v1/queue/update/jobs"}, post("/v1/queue/create", object{"name": "jobs", "max_receive_count": 9}))
	add("QUEUE_NOT_EMPTY", "a queue with messages is deleted without `force`", nil, []string{`"full"`, "force=true"}, send("DELETE", "/v1/queue/delete/full", nil))

	const conflict = "CONFLICT"
	const state = "the delivery's state does not allow it, or its endpoint is gone"
	add(conflict, state, nil, []string{"pending", "cancel it"}, post(delivery+w.pending+"/resend", object{}))
	add(conflict, state, nil, []string{"pending", "stuck"}, post(delivery+w.pending+"/resolve", object{"as": "retry"}))
	add(conflict, state, nil, []string{"cancelled", "pending or retrying"}, post(delivery+w.cancelled+"/cancel", nil))
	add(conflict, state, nil, []string{"endpoint was deleted"}, post(delivery+w.orphan+"/resend", object{}))
	const ofKey = "the key's state does not allow it, or the message cannot carry it"
	add(conflict, ofKey, nil, []string{"failed", "done"}, post("/v1/ledger/resolve", object{"scope": "mail", "key": "failed", "as": "done"}))
	add(conflict, ofKey, nil, []string{"another key", "one key"}, post(claim, key7(object{"queue": "jobs", "receipt_handle": w.held})))
	add("CLAIM_CHANGED", "the key was granted again since the `fence` that was seen", nil, []string{"fence is 1, not 2", "look at the key again"}, post("/v1/ledger/resolve", object{"scope": "mail", "key": "failed", "as": "retry", "fence": 2}))
	add(conflict, "a redrive of that is running", nil, []string{"redrive", "running"}, post("/v1/queue/dlq/redrive/busy", object{}))
	add(conflict, "the queue takes the dead letters of another", nil, []string{`"jobs-dlq"`, "dead letters", "another dlq"}, send("DELETE", "/v1/queue/delete/jobs-dlq?force=true", nil))
	add(conflict, "the endpoint has as many secrets as it may", nil, []string{"5 secrets"}, post(endpoints+"/"+w.foreign+"/rotate_secret", object{}))
	add(conflict, "the name is taken", "/name", []string{`"default"`, "another name"}, post("/v1/projects", object{"name": "default"}))

	add("INSUFFICIENT_CREDIT", "the message costs more than is left of the project's credit limit", nil, []string{"0.00002 USD", "credit_limit_usd of 0", "PATCH"}, publish(`{"queue":"jobs","payload":1}`, "Authorization", "Bearer "+w.poor))
	const large = "PAYLOAD_TOO_LARGE"
	add(large, "a body of more than 16 MiB", nil, []string{"16777216", "parts"}, publish(`{"queue":"jobs","payload":"`+strings.Repeat("x", 16<<20)+`"}`))
	add(large, "an event's payload of more than 1 MiB", "/payload", []string{"1048577", "1048576"}, post(events, `{"event_type":"a","payload":"`+strings.Repeat("x", 1<<20-1)+`"}`))
	add(large, "a key's result of more than 262,144 bytes", "/result", []string{"262145", "262144"}, post("/v1/ledger/complete", key7(object{"fence": 1, "result": strings.Repeat("x", 262143)})))
	add("QUEUE_MESSAGE_TOO_LARGE", "a message's payload of more than 262,144 bytes", "/payload", []string{"262145", "262144"}, publish(`{"queue":"jobs","payload":"`+strings.Repeat("x", 262143)+`"}`))
	const media = "UNSUPPORTED_MEDIA_TYPE"
	add(media, "a body that does not call itself JSON in UTF-8, or is compressed", nil, []string{`"text/plain"`, "application/json"}, publish(`{"queue":"jobs","payload":1}`, "Content-Type", "text/plain"))
	add(media, "a body that does not call itself JSON in UTF-8, or is compressed", nil, []string{`"gzip"`, "Content-Encoding"}, publish(`{"queue":"jobs","payload":1}`, "Content-Encoding", "gzip"))
	add("HEADERS_TOO_LARGE", "address and headers of more than 32 KiB", nil, []string{"32768", `"X-Long"`}, publish(`{"queue":"jobs","payload":1}`, "X-Long", strings.Repeat("x", 40<<10)))
	return rows
}

func many(n int) object {
	o := object{}
	for i := range n {
		o["x-"+strings.Repeat("x", i)] = "v"
	}
	return o
}
