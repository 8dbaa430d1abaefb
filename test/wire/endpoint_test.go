package wire

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

const endpointFields = `endpoint_id url tenant event_types description headers timeout_seconds retry_ladder retry_4xx policy receiver_window_seconds
	max_in_flight rate_per_second disabled disabled_reason created_at updated_at`

const (
	events    = "/v1/webhooks/events"
	endpoints = "/v1/webhooks/endpoints"
)

func checkEndpoints(t *testing.T, s *server) {
	e := s.endpoint(t, "http://127.0.0.1:9/x", nil)
	fields(t, "an endpoint", e, endpointFields+" secret")
	is(t, "an endpoint", e, object{
		"url": "http://127.0.0.1:9/x", "tenant": nil, "event_types": []string{"*"}, "headers": object{}, "timeout_seconds": 15, "retry_ladder": []int{30, 120, 600, 3600, 21600, 86400},
		"retry_4xx": true, "policy": "idempotent", "receiver_window_seconds": nil, "max_in_flight": 10, "rate_per_second": nil, "disabled": false, "disabled_reason": nil,
	})
	stamp(t, e, "created_at")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text(e["secret"]), "whsec_"))
	if err != nil || len(raw) < 24 || len(raw) > 64 {
		t.Errorf("the secret made is %v", e["secret"])
	}
	path := endpoints + "/" + text(e["endpoint_id"])
	delete(e, "secret")
	for _, a := range []object{s.do(t, "GET", path, nil), s.do(t, "PATCH", path, object{}), s.do(t, "POST", path+"/disable", nil), s.do(t, "POST", path+"/enable", object{})} {
		fields(t, "an endpoint shown again", a, endpointFields)
	}
	d := s.do(t, "PATCH", path, object{
		"description": "d", "event_types": []string{"a.*", "b"}, "headers": object{"X-A": "b"}, "timeout_seconds": 2.5, "retry_ladder": []any{1, 2.5}, "retry_4xx": false, "policy": "once",
		"receiver_window_seconds": 3600, "max_in_flight": 3, "rate_per_second": 1.5, "url": "http://127.0.0.1:9/y",
	})
	is(t, "patched", d, object{
		"description": "d", "event_types": []string{"a.*", "b"}, "headers": object{"X-A": "b"}, "timeout_seconds": 2.5, "retry_ladder": []any{1, 2.5}, "retry_4xx": false, "policy": "once",
		"receiver_window_seconds": 3600, "max_in_flight": 3, "rate_per_second": 1.5, "url": "http://127.0.0.1:9/y", "created_at": e["created_at"],
	})
	is(t, "null takes away", s.do(t, "PATCH", path, object{"receiver_window_seconds": nil, "rate_per_second": nil}), object{"receiver_window_seconds": nil, "rate_per_second": nil, "max_in_flight": 3})
	for _, bad := range []object{{"tenant": "other"}, {"timeout_seconds": 31}, {"colour": 1}, {"url": "ftp://x"}} {
		s.call(t, "PATCH", path, bad).refused(t, 400, "INVALID_ARGUMENT")
	}
	is(t, "refused patches", s.do(t, "GET", path, nil), object{"tenant": nil, "timeout_seconds": 2.5})
	// Lists: the newest first, by tenant.
	var want []any
	for range 3 {
		want = append([]any{s.endpoint(t, "http://127.0.0.1:9/", object{"tenant": "ep-list"})["endpoint_id"]}, want...)
	}
	page := s.do(t, "GET", endpoints+"?tenant=ep-list&limit=2", nil)
	list := append(items(t, page), items(t, s.do(t, "GET", endpoints+"?tenant=ep-list&limit=2&cursor="+text(page["next_cursor"]), nil))...)
	if len(list) != 3 || list[0]["endpoint_id"] != want[0] || list[2]["endpoint_id"] != want[2] {
		t.Errorf("the list is %v, want %v", list, want)
	}
	fields(t, "a listed endpoint", list[0], endpointFields)
	for _, verb := range []string{"/rotate_secret", "/enable", "/disable", "/test"} {
		s.post(t, endpoints+"/ep_000000000000000000000000"+verb, object{}).refused(t, 404, "NOT_FOUND")
	}
	s.call(t, "PATCH", endpoints+"/ep_x", object{}).refused(t, 404, "NOT_FOUND")
	s.call(t, "DELETE", endpoints+"/ep_x", nil).refused(t, 404, "NOT_FOUND")
}

func checkEndpointFields(t *testing.T, s *server) {
	whsec := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	headers := func(n int) object {
		h := object{}
		for i := range n {
			h[fmt.Sprintf("X-%d", i)] = "v"
		}
		return h
	}
	rungs := func(n int) []int {
		r := make([]int, n)
		for i := range r {
			r[i] = 1
		}
		return r
	}
	for _, good := range []object{
		{"tenant": strings.Repeat("t", 128)},
		{"tenant": "A.b_c-9"},
		{"event_types": []string{"a.b", "c.*"}},
		{"headers": headers(20)},
		{"headers": object{"X": strings.Repeat("v", 8191)}},
		{"headers": object{"Authorization": "x", "Webhook": "x", "Content": "x"}},
		{"secret": whsec(24)},
		{"secret": whsec(64)},
		{"timeout_seconds": 1},
		{"timeout_seconds": 30},
		{"retry_ladder": []int{}},
		{"retry_ladder": rungs(20)},
		{"retry_ladder": []int{604800}},
		{"policy": "once"},
		{"receiver_window_seconds": nil},
		{"receiver_window_seconds": 60},
		{"max_in_flight": 1},
		{"rate_per_second": 0.5},
		{"rate_per_second": nil},
		{"description": "ä"},
		{"url": "https://example.com/x?y=z"},
		{"url": "http://10.0.0.1/"},
	} {
		e := s.endpoint(t, "http://127.0.0.1:9/", with(object{"tenant": "ep-good"}, good))
		want := with(object{}, good)
		is(t, "an endpoint", e, want)
	}
	for _, c := range []struct {
		body  object
		field string
	}{
		{object{"url": nil}, "/url"},
		{object{"url": ""}, "/url"},
		{object{"url": "x"}, "/url"},
		{object{"url": "ftp://a/"}, "/url"},
		{object{"url": "http:///x"}, "/url"},
		{object{"tenant": ""}, "/tenant"},
		{object{"tenant": "a b"}, "/tenant"},
		{object{"tenant": strings.Repeat("t", 129)}, "/tenant"},
		{object{"event_types": []string{}}, "/event_types"},
		{object{"event_types": []string{"a", "*b"}}, "/event_types/1"},
		{object{"event_types": []string{"a*"}}, "/event_types/0"},
		{object{"headers": headers(21)}, "/headers"},
		{object{"headers": object{"X": strings.Repeat("v", 8192)}}, "/headers"},
		{object{"headers": object{"X": nil}}, "/headers/X"},
		{object{"headers": object{"Host": "x"}}, "/headers/Host"},
		{object{"headers": object{"Content-Type": "x"}}, "/headers/Content-Type"},
		{object{"headers": object{"content-anything": "x"}}, "/headers/content-anything"},
		{object{"headers": object{"Connection": "x"}}, "/headers/Connection"},
		{object{"headers": object{"transfer-encoding": "x"}}, "/headers/transfer-encoding"},
		{object{"headers": object{"WEBHOOK-ID": "x"}}, "/headers/WEBHOOK-ID"},
		{object{"headers": object{"webhook-x": "x"}}, "/headers/webhook-x"},
		{object{"headers": object{"Idempotency-Key": "x"}}, "/headers/Idempotency-Key"},
		{object{"headers": object{"X": "a\r\nb"}}, "/headers/X"},
		{object{"headers": object{"X Y": "a"}}, "/headers/X Y"},
		{object{"secret": whsec(23)}, "/secret"},
		{object{"secret": whsec(65)}, "/secret"},
		{object{"secret": strings.TrimPrefix(whsec(32), "whsec_")}, "/secret"},
		{object{"secret": "whsec_!!"}, "/secret"},
		{object{"timeout_seconds": 0.9}, "/timeout_seconds"},
		{object{"timeout_seconds": 31}, "/timeout_seconds"},
		{object{"retry_ladder": rungs(21)}, "/retry_ladder"},
		{object{"retry_ladder": []any{0.5}}, "/retry_ladder/0"},
		{object{"retry_ladder": []any{1, 604801}}, "/retry_ladder/1"},
		{object{"retry_ladder": []any{1, nil}}, "/retry_ladder/1"},
		{object{"policy": "tx"}, "/policy"},
		{object{"receiver_window_seconds": 0}, "/receiver_window_seconds"},
		{object{"receiver_window_seconds": -1}, "/receiver_window_seconds"},
		{object{"max_in_flight": 0}, "/max_in_flight"},
		{object{"rate_per_second": 0}, "/rate_per_second"},
		{object{"rate_per_second": -1}, "/rate_per_second"},
		{object{"retry_4xx": 1}, "/retry_4xx"},
		{object{"disabled": true}, "/disabled"},
	} {
		s.post(t, endpoints, with(object{"url": "http://127.0.0.1:9/", "tenant": "ep-bad"}, c.body)).refused(t, 400, "INVALID_ARGUMENT", c.field)
	}
	if n := len(items(t, s.do(t, "GET", endpoints+"?tenant=ep-bad", nil))); n != 0 {
		t.Errorf("%d refused endpoints are there", n)
	}
}
