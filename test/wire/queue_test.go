package wire

import (
	"fmt"
	"strings"
	"testing"
)

const queueFields = `name type dlq is_dlq max_receive_count visibility_timeout_default message_retention_days dedup_window_seconds content_dedup
	require_receipt enable_priority paused created_at`

func (s *server) queue(t testing.TB, name string, more object) object {
	t.Helper()
	return s.do(t, "POST", "/v1/queue/create", with(object{"name": name}, more))
}

func (s *server) publish(t testing.TB, queue string, payload any, more object, headers ...string) object {
	t.Helper()
	return s.do(t, "POST", "/v1/queue/publish", with(object{"queue": queue, "payload": payload}, more), headers...)
}

func (s *server) consume(t testing.TB, queue string, more object) []object {
	t.Helper()
	d := s.do(t, "POST", "/v1/queue/consume", with(object{"queue": queue}, more))
	fields(t, "consume", d, "items next_cursor")
	is(t, "consume", d, object{"next_cursor": nil})
	return items(t, d)
}

// one receives exactly one message, waiting for it.
func (s *server) one(t testing.TB, queue string, more object) object {
	t.Helper()
	m := s.consume(t, queue, with(object{"wait_seconds": 20}, more))
	if len(m) != 1 {
		t.Fatalf("consume of %s gave %d messages, want 1", queue, len(m))
	}
	return m[0]
}

func (s *server) stats(t testing.TB, queue string) object {
	t.Helper()
	return s.do(t, "GET", "/v1/queue/stats/"+queue, nil)
}

func (s *server) settle(t testing.TB, verb, queue string, m object, more object) object {
	t.Helper()
	return s.do(t, "POST", "/v1/queue/"+verb, with(object{"queue": queue, "receipt_handle": m["receipt_handle"]}, more))
}

func with(o, more object) object {
	for k, v := range more {
		o[k] = v
	}
	return o
}

func checkQueues(t *testing.T, s *server) {
	q := s.queue(t, "qs", nil)
	fields(t, "a queue", q, queueFields)
	is(t, "a queue", q, object{
		"name": "qs", "type": "standard", "dlq": "qs-dlq", "is_dlq": false, "max_receive_count": 3, "visibility_timeout_default": 300, "message_retention_days": 30,
		"dedup_window_seconds": 86400, "content_dedup": false, "require_receipt": false, "enable_priority": true, "paused": false,
	})
	stamp(t, q, "created_at")
	is(t, "get", s.do(t, "GET", "/v1/queue/get/qs", nil), q)
	dlq := s.do(t, "GET", "/v1/queue/get/qs-dlq", nil)
	fields(t, "a DLQ", dlq, queueFields)
	is(t, "a DLQ", dlq, object{"name": "qs-dlq", "is_dlq": true, "dlq": nil})

	// Again: only the fields that the call names are compared.
	s.do(t, "POST", "/v1/queue/update/qs", object{"max_receive_count": 7, "visibility_timeout_default": 1.5})
	is(t, "made again", s.queue(t, "qs", nil), object{"max_receive_count": 7, "visibility_timeout_default": 1.5})
	s.queue(t, "qs", object{"max_retries": 7, "type": "standard", "dlq": "qs-dlq", "enable_priority": true})
	s.post(t, "/v1/queue/create", object{"name": "qs", "max_retries": 3}).refused(t, 409, "QUEUE_EXISTS")
	s.post(t, "/v1/queue/create", object{"name": "qs", "message_retention_days": 2}).refused(t, 409, "QUEUE_EXISTS")
	s.post(t, "/v1/queue/create", object{"name": "qs", "dlq": "qs-other"}).refused(t, 409, "QUEUE_EXISTS")

	// Update concerns messages published after it.
	s.queue(t, "qs-up", object{"max_receive_count": 5})
	s.publish(t, "qs-up", "before", nil)
	s.do(t, "POST", "/v1/queue/update/qs-up", object{"max_receive_count": 1})
	s.publish(t, "qs-up", "after", nil)
	for _, m := range s.consume(t, "qs-up", object{"max_messages": 2}) {
		want := object{"before": "available", "after": "dead_lettered"}[text(m["payload"])]
		got := s.settle(t, "nack", "qs-up", m, object{"delay_seconds": 0})["status"]
		if (got == "available") != (want == "available") {
			t.Errorf("%v after its nack is %v", m["payload"], got)
		}
	}
	for _, bad := range []object{{"name": "x"}, {"type": "standard"}} {
		s.post(t, "/v1/queue/update/qs", bad).refused(t, 400, "INVALID_ARGUMENT")
	}
	s.post(t, "/v1/queue/update/none", object{}).refused(t, 404, "QUEUE_NOT_FOUND")

	// Pause.
	s.publish(t, "qs", 1, nil)
	is(t, "pause", s.do(t, "POST", "/v1/queue/pause/qs", nil), object{"name": "qs", "paused": true})
	s.publish(t, "qs", 2, nil)
	if n := len(s.consume(t, "qs", object{"max_messages": 10})); n != 0 {
		t.Errorf("a paused queue hands out %d", n)
	}
	is(t, "resume", s.do(t, "POST", "/v1/queue/resume/qs", object{}), object{"paused": false})
	if n := len(s.consume(t, "qs", object{"max_messages": 10, "visibility_timeout": 43200})); n != 2 {
		t.Errorf("a resumed queue hands out %d of 2", n)
	}

	// Purge.
	s.publish(t, "qs", 3, nil)
	for _, bad := range []object{{}, {"confirm": "other"}, {"confirm": true}} {
		s.post(t, "/v1/queue/purge/qs", bad).refused(t, 400, "INVALID_ARGUMENT", "/confirm")
	}
	purged := s.do(t, "POST", "/v1/queue/purge/qs", object{"confirm": "qs"})
	fields(t, "purge", purged, "purged")
	if n, _ := purged["purged"].(float64); n < 1 {
		t.Errorf("purged is %v", purged["purged"])
	}

	// Delete.
	s.call(t, "DELETE", "/v1/queue/delete/none", nil).refused(t, 404, "QUEUE_NOT_FOUND")
	s.publish(t, "qs", 4, nil)
	s.call(t, "DELETE", "/v1/queue/delete/qs", nil).refused(t, 409, "QUEUE_NOT_EMPTY")
	s.call(t, "DELETE", "/v1/queue/delete/qs?force=yes", nil).refused(t, 400, "INVALID_ARGUMENT")
	gone := s.do(t, "DELETE", "/v1/queue/delete/qs?force=true", nil)
	fields(t, "delete", gone, "deleted")
	is(t, "delete", gone, object{"deleted": true})
	for _, a := range []answer{
		s.call(t, "GET", "/v1/queue/get/qs", nil), s.call(t, "GET", "/v1/queue/stats/qs", nil), s.post(t, "/v1/queue/publish", object{"queue": "qs", "payload": 1}),
		s.post(t, "/v1/queue/consume", object{"queue": "qs"}),
		s.post(t, "/v1/queue/consume", object{"queue": "qs", "wait_seconds": 5}), s.call(t, "GET", "/v1/queue/dlq/list/qs", nil), s.post(t, "/v1/queue/pause/qs", nil),
		s.post(t, "/v1/queue/dlq/redrive/qs", nil), s.post(t, "/v1/queue/purge/qs", object{"confirm": "qs"}), s.call(t, "DELETE", "/v1/queue/delete/qs", nil),
	} {
		a.refused(t, 404, "QUEUE_NOT_FOUND")
	}
	s.queue(t, "qs-empty", nil)
	s.do(t, "DELETE", "/v1/queue/delete/qs-empty", nil)
}

func checkQueueFields(t *testing.T, s *server) {
	long := strings.Repeat("n", 76)
	for i, good := range []object{
		{"name": long},
		{"name": "A.b_c-9"},
		{"name": "-x"},
		{"max_receive_count": 1},
		{"max_retries": 1000},
		{"max_retries": 5, "max_receive_count": 5},
		{"visibility_timeout_default": 1},
		{"visibility_timeout_default": 43200},
		{"message_retention_days": 1},
		{"message_retention_days": 30},
		{"dedup_window_seconds": 60},
		{"dedup_window_seconds": 3888000},
		{"content_dedup": false},
		{"require_receipt": true},
		{"enable_priority": false},
		{"type": "standard"},
		{"dlq": "fields-dead"},
		{"dead_letter_queue": "fields-dead"},
		{"dlq": "fields-dead2", "dead_letter_queue": "fields-dead2"},
		{"dlq": strings.Repeat("d", 80)},
		{"max_receive_count": nil, "dlq": nil},
	} {
		s.queue(t, fmt.Sprintf("fields-%d", i), good)
	}
	is(t, "its DLQ", s.do(t, "GET", "/v1/queue/get/"+long, nil), object{"dlq": long + "-dlq"})
	for _, c := range []struct {
		body  object
		field string
	}{
		{object{"name": ""}, "/name"},
		{object{"name": long + "n"}, "/name"},
		{object{"name": "_x"}, "/name"},
		{object{"name": ".x"}, "/name"},
		{object{"name": "a b"}, "/name"},
		{object{"name": "ä"}, "/name"},
		{object{"name": nil}, "/name"},
		{object{"type": "lifo"}, "/type"},
		{object{"max_receive_count": 0}, "/max_receive_count"},
		{object{"max_receive_count": 1001}, "/max_receive_count"},
		{object{"max_retries": 0}, "/max_retries"},
		{object{"max_retries": 1, "max_receive_count": 2}, "/max_retries"},
		{object{"visibility_timeout_default": 0}, "/visibility_timeout_default"},
		{object{"visibility_timeout_default": 43201}, "/visibility_timeout_default"},
		{object{"message_retention_days": 0}, "/message_retention_days"},
		{object{"message_retention_days": 31}, "/message_retention_days"},
		{object{"dedup_window_seconds": 59}, "/dedup_window_seconds"},
		{object{"dedup_window_seconds": 3888001}, "/dedup_window_seconds"},
		{object{"dlq": "bad"}, "/dlq"},
		{object{"dead_letter_queue": "bad"}, "/dead_letter_queue"},
		{object{"dlq": "a", "dead_letter_queue": "b"}, "/dead_letter_queue"},
		{object{"dlq": strings.Repeat("d", 81)}, "/dlq"},
		{object{"dlq": "_deliveries"}, "/dlq"},
		{object{"dlq": ".x"}, "/dlq"},
		{object{"require_receipt": "yes"}, "/require_receipt"},
		{object{"enable_priority": 1}, "/enable_priority"},
	} {
		s.post(t, "/v1/queue/create", with(object{"name": "bad"}, c.body)).refused(t, 400, "INVALID_ARGUMENT", c.field)
	}
	s.call(t, "GET", "/v1/queue/get/bad", nil).refused(t, 404, "QUEUE_NOT_FOUND")
}
