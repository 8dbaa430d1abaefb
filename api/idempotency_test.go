package api

import (
	"bytes"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/ids"
)

func testServer() *server { return &server{Config: Config{IDs: ids.New(bytes.Repeat([]byte{7}, 32))}} }

func TestParseKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 255)
	for _, test := range []struct {
		in, want string
		ok       bool
	}{
		{"k", "k", true},
		{long, long, true},
		{`"` + long + `"`, long, true},
		{"a b", "a b", true},
		{`"a\"b\\c"`, `a"b\c`, true},
		{`a"b`, `a"b`, true},
		{"publish:evt_1", "publish:evt_1", true},
		{"8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324", true},
		{"", "", false},
		{`""`, "", false},
		{`"`, "", false},
		{`"a`, "", false},
		{`"a"b"`, "", false},
		{`"a\b"`, "", false},
		{`"a\"`, "", false},
		{long + "k", "", false},
		{"é", "", false},
		{"a\tb", "", false},
		{"a\x7f", "", false},
		{"a\x00", "", false},
	} {
		got, err := parseKey("/idempotency_key", test.in)
		if (err == nil) != test.ok || got != test.want {
			t.Errorf("parseKey(%q) = %q, %v; want %q, ok %v", test.in, got, err, test.want, test.ok)
		}
	}
}

// H-L13: what counts as the same request, and what does not.
func TestPublishHash(t *testing.T) {
	t.Parallel()
	hash := func(body string) string {
		var r publishRequest
		if err := decode([]byte(body), &r); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		p, err := r.message(1, "jobs")
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		err = p.SetKey("k")
		h := p.Hash
		if err != nil || len(h) != 32 {
			t.Fatalf("%s: %x %v", body, h, err)
		}
		return string(h)
	}
	same := [][]string{
		{`{"payload":{"b":1,"a":2}}`, `{"body":{"a":2,"b":1}}`, `{"payload":{"a":2.0,"b":1e0},"delay_seconds":0}`, `{"payload":{"a":2,"b":1},"priority":0,"headers":{}}`, `{"queue":"jobs","payload":{"a":2,"b":1},"idempotency_key":"k"}`},
		{`{"payload":"\u00e9"}`, `{"payload":"é"}`},
		{`{"payload":"e\u0301"}`},
		{`{"payload":9007199254740993}`, `{"payload":9007199254740993.0}`},
		{`{"payload":9007199254740992}`},
		{`{"payload":1e400}`},
		{`{"payload":1e500}`},
		{`{"payload":null}`},
		{`{"payload":{}}`},
		{`{"payload":{"data":{"id":1}}}`},
		{`{"payload":{"data":{"id":2}}}`},
		{`{"payload":1,"delay_seconds":1}`, `{"payload":1,"delay_seconds":1.0}`},
		{`{"payload":1,"priority":1}`},
		{`{"payload":1,"message_group_id":"a"}`},
		{`{"payload":1,"headers":{"a":"b"}}`},
		{`{"payload":1,"headers":{"a":"bc"}}`},
		{`{"payload":1,"headers":{"ab":"c"}}`},
		{`{"payload":1,"origin_at":"2026-07-26T00:00:00Z"}`, `{"payload":1,"origin_at":"2026-07-26T02:00:00+02:00"}`, `{"payload":1,"origin_at":"2026-07-26t00:00:00z"}`},
		{`{"payload":1}`, `{"payload":1,"origin_at":null}`},
	}
	seen := map[string]string{}
	for _, class := range same {
		h := hash(class[0])
		if other := seen[h]; other != "" {
			t.Errorf("%s and %s match", other, class[0])
		}
		seen[h] = class[0]
		for _, body := range class[1:] {
			if hash(body) != h {
				t.Errorf("%s and %s differ", class[0], body)
			}
		}
	}
}
