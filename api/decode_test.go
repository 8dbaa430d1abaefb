package api

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// H-L13, H-L18: what is not JSON as we take it is refused with where it stands, and nothing is done.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body, field string
		says              []string
	}{
		{"empty", ``, "", []string{"empty"}},
		{"space", " \n", "", []string{"empty"}},
		{"null", `null`, "", []string{"null", "JSON object"}},
		{"list", `[1]`, "", []string{"[1]", "JSON object"}},
		{"text", `"a"`, "", []string{"JSON object"}},
		{"number", `7`, "", []string{"7", "JSON object"}},
		{"cut", `{"queue":`, "", []string{"not JSON"}},
		{"trailing", `{"queue":"a"} {}`, "", []string{"not JSON", "byte 14"}},
		{"byte order mark", "\xef\xbb\xbf{}", "", []string{"not JSON"}},
		{"unknown field", `{"queue":"a","pay":1}`, "/pay", []string{"pay", "not a field"}},
		{"another case", `{"Queue":"a"}`, "/Queue", []string{"not a field"}},
		{"name twice", `{"queue":"a","queue":"a"}`, "/queue", []string{"twice"}},
		{"name twice in the payload", `{"payload":{"a":[0,{"b":1,"b":1}]}}`, "/payload/a/1/b", []string{"twice"}},
		{"bad UTF-8", "{\"queue\":\"\xff\"}", "/queue", []string{"UTF-8"}},
		{"bad UTF-8 in the payload", "{\"payload\":[\"\xc3\"]}", "/payload/0", []string{"UTF-8"}},
		{"lone surrogate", `{"queue":"\ud800"}`, "/queue", []string{"surrogate"}},
		{"lone surrogate in the payload", `{"payload":{"a":"\udc00"}}`, "/payload/a", []string{"surrogate"}},
		{"bare control character", "{\"queue\":\"a\x01\"}", "/queue", []string{"not JSON"}},
		{"U+0000", `{"queue":"a\u0000"}`, "/queue", []string{"U+0000"}},
		{"U+0000 in a header", `{"payload":1,"headers":{"a":"\u0000"}}`, "/headers/a", []string{"U+0000"}},
		{"U+0000 in a name", `{"payload":1,"headers":{"a\u0000":"x"}}`, "", []string{"U+0000"}},
		{"too deep", `{"payload":` + deep(10_000) + `}`, "", []string{"not JSON", "depth"}},
		{"string for a number", `{"priority":"high"}`, "/priority", []string{`"high"`, "whole number"}},
		{"fraction", `{"priority":1.5}`, "/priority", []string{"1.5", "whole number"}},
		{"number for a string", `{"queue":7}`, "/queue", []string{"7", "a string"}},
		{"object for a string", `{"queue": {"a": 1}}`, "/queue", []string{`{"a": 1}`, "a string"}},
		{"number in the headers", `{"headers":{"a":1}}`, "/headers/a", []string{"1", "a string"}},
		{"null in the headers", `{"headers":{"a":null}}`, "/headers/a", []string{"null", "a string"}},
		{"list for an object", `{"headers":["a"]}`, "/headers", []string{"an object"}},
		{"text for seconds", `{"delay_seconds":"5"}`, "/delay_seconds", []string{`"5"`, "a number of seconds"}},
		{"no time", `{"origin_at":"yesterday"}`, "/origin_at", []string{"yesterday", "RFC 3339"}},
		{"a time before all", `{"origin_at":"1066-10-14T09:00:00Z"}`, "/origin_at", []string{"1066", "1970"}},
		{"a time with a comma", `{"origin_at":"2026-07-26T00:38:42,5Z"}`, "/origin_at", []string{"2026-07-26T00:38:42,5Z", "RFC 3339"}},
		{"number for a time", `{"origin_at":5}`, "/origin_at", []string{"5", "RFC 3339"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var r publishRequest
			err := decode([]byte(test.body), &r)
			e, ok := errors.AsType[*fault.Error](err)
			if !ok || e.Code != fault.InvalidArgument {
				t.Fatalf("decode = %v; want INVALID_ARGUMENT", err)
			}
			if test.field != "" && e.Field != test.field {
				t.Errorf("field = %q; want %q", e.Field, test.field)
			}
			for _, s := range test.says {
				if !strings.Contains(e.Message, s) {
					t.Errorf("message = %q; want %q in it", e.Message, s)
				}
			}
			if len(e.Message) > 600 || len(e.Field) > 210 {
				t.Errorf("message has %d bytes, field %d: a hostile body must not come back at length", len(e.Message), len(e.Field))
			}
		})
	}
}

func TestDecodeTakes(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{}`, "\t\r\n {} \n", `{"queue":null,"priority":null,"headers":null,"delay_seconds":null,"origin_at":null}`,
		`{"payload":null}`, `{"payload":"\u0000"}`, `{"payload":{"a\u0000":["\u0000"]}}`, `{"queue":"\\u0000"}`, `{"body":{"x":"\u0000"}}`,
		`{"payload":` + deep(9_990) + `}`, `{"delay_seconds":0.5}`, `{"delay_seconds":1e3}`, `{"origin_at":"2026-07-26T02:38:42.320888123+02:00"}`,
	} {
		var r publishRequest
		if err := decode([]byte(body), &r); err != nil {
			t.Errorf("decode(%.60s) = %v", body, err)
		}
	}
	var b publishBatchRequest
	if err := decode([]byte(`{"messages":[{"payload":"\u0000"},{"body":["\u0000"]}]}`), &b); err != nil {
		t.Errorf("a payload of a batch = %v", err)
	}
	if err := decode([]byte(`{"messages":[{"payload":1,"message_group_id":"\u0000"}]}`), &b); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a group of a batch = %v; want INVALID_ARGUMENT", err)
	}
}

func TestDecodedValues(t *testing.T) {
	t.Parallel()
	var r publishRequest
	if err := decode([]byte(`{"queue":"a", "payload": {"b": 1.0} ,"delay_seconds":1.0000004,"origin_at":"2026-07-26T02:38:42.3208889+02:00"}`), &r); err != nil {
		t.Fatal(err)
	}
	if got := string(r.Payload); got != `{"b": 1.0}` {
		t.Errorf("payload = %s; want the bytes that came", got)
	}
	if r.Delay.d != time.Second {
		t.Errorf("delay = %v; want it to the microsecond", r.Delay.d)
	}
	if want := time.Date(2026, 7, 26, 0, 38, 42, 320888000, time.UTC); !r.OriginAt.Equal(want) {
		t.Errorf("origin = %v; want %v", r.OriginAt, want)
	}
	if err := (seconds{given: true, d: 8 * 24 * time.Hour, raw: "691200"}).in("/delay_seconds", 0, queue.MaxDelay); err == nil ||
		!strings.Contains(err.Error(), "691200; it must be 0 to 604800") {
		t.Errorf("in = %v; want the value and the range", err)
	}
}

// Whatever comes, the decoder answers: a value that holds what the contract says, or a refusal that a client can be sent.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"queue":"jobs","payload":{"a":1}}`, `{"queue":"jobs","body":[1,2,3],"delay_seconds":1.5,"priority":9,"headers":{"a":"b"}}`,
		`{"queue":"jobs","messages":[{"payload":1,"idempotency_key":"k"},{"body":"x"}]}`, `{"queue":"q","payload":"\u0000"}`,
		`{"queue":"q\u0000","payload":1}`, `{"queue":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":1,"a":2}`, `{"payload":1e999999999}`, `{"payload":-0.0}`,
		`{"origin_at":"2026-07-26T00:38:42.320888Z","payload":null}`, `{"delay_seconds":1e400}`, `{"delay_seconds":-1}`, `[`, `null`, ``, `{"":{"":""}}`,
		`{"payload":{"é":"é","𝄞":1}}`, `{"payload":[[[[[[]]]]]]}`, `{"message_group_id":"~0~1/"}`, `{"headers":{"a/b~c":1}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, v := range []any{&publishRequest{}, &publishBatchRequest{}, &endpointRequest{}, &eventRequest{}, &nackItem{}, &createRequest{}} {
			err := decode(body, v)
			if err != nil {
				e, ok := errors.AsType[*fault.Error](err)
				if !ok || e.Code != fault.InvalidArgument || e.Message == "" || !utf8.ValidString(e.Message) || !utf8.ValidString(e.Field) {
					t.Fatalf("decode(%q) = %#v", body, err)
				}
				var buf bytes.Buffer
				if writeError(&buf, e); !jsontext.Value(buf.Bytes()).IsValid() {
					t.Fatalf("the refusal of %q is no JSON: %s", body, buf.Bytes())
				}
				continue
			}
			r, ok := v.(*publishRequest)
			if !ok || r.Payload == nil {
				continue
			}
			if !utf8.Valid(r.Payload) || !r.Payload.IsValid() || !bytes.Contains(body, r.Payload) {
				t.Fatalf("payload %q of %q", r.Payload, body)
			}
			p, err := r.message(1, "q")
			if err != nil {
				continue
			}
			again := p
			again.Body = []byte(" " + string(p.Body) + "\n")
			err, err2 := p.SetKey("k"), again.SetKey("k")
			x, y := p.Hash, again.Hash
			if err != nil || err2 != nil || !bytes.Equal(x, y) {
				t.Fatalf("hashes of %q: %x %v, %x %v", body, x, err, y, err2)
			}
			var buf bytes.Buffer
			published{&call{server: testServer()}, &p, &queue.Published{ID: 1, PublishedAt: time.Unix(0, 0), VisibleAt: time.Unix(0, 0)}}.writeJSON(&buf)
			var back struct {
				Payload jsontext.Value `json:"payload"`
			}
			if err := json.Unmarshal(buf.Bytes(), &back); err != nil || !bytes.Equal(back.Payload, p.Body) {
				t.Fatalf("answer to %q: %s: %v", body, buf.Bytes(), err)
			}
		}
	})
}

func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"7": 7, "7.0": 7, "70e-1": 7, "0.7E+1": 7, "-7.000": -7, "0": 0, "-0": 0, "0.0": 0, "0e99999999999999999999": 0, "1e18": 1e18,
		"9223372036854775807": 1<<63 - 1, "9223372036854775807.0": 1<<63 - 1, "-9223372036854775808": -1 << 63, "1" + strings.Repeat("0", 18) + ".0": 1e18,
	} {
		var r struct{ N *whole }
		if err := decode([]byte(`{"N":`+text+`}`), &r); err != nil || r.N == nil || *r.N != (whole{n: want}) {
			t.Errorf("%s is read as %v, %v; want %d", text, r.N, err, want)
		}
	}
	// Beyond 64 bits it is out of any range.
	for _, text := range []string{"1e19", "-1e19", "1e400", "-12e400", "1e99999999999999999999", "9223372036854775808", "-9223372036854775809", "10000000000000000000.0"} {
		var r struct{ N *whole }
		if err := decode([]byte(`{"N":`+text+`}`), &r); err != nil || r.N == nil {
			t.Errorf("%s is read as %v, %v", text, r.N, err)
		} else if err := wholeIn("/N", r.N, -1<<63, 1<<63-1); err == nil || !strings.Contains(err.Error(), "N is "+text+"; it must be -9223372036854775808 to 9223372036854775807") {
			t.Errorf("%s: %v; want it refused", text, err)
		}
	}
	for _, text := range []string{"1.5", "7.00000000000000000001", "1e-1", "1e-99999999999999999999", `"7"`, "true", "[7]"} {
		var r struct{ N *whole }
		err := decode([]byte(`{"N":`+text+`}`), &r)
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Code != fault.InvalidArgument || e.Field != "/N" || !strings.Contains(e.Message, text) || !strings.Contains(e.Message, "whole number") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 7, 26, 0, 38, 42, 500000000, time.UTC)
	for _, s := range []string{
		"2026-07-26T00:38:42.5Z", "2026-07-26t00:38:42.500z", "2026-07-26T00:38:42.500000000000001Z", "2026-07-26T02:38:42.5+02:00", "2026-07-25T00:39:42.5-23:59", "2026-07-26T00:38:42.5-00:00",
	} {
		if got, ok := parseTime(s); !ok || !got.Equal(want) {
			t.Errorf("%s is read as %v, %v; want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"", "now", "2026-07-26", "2026-07-26T0:38:42Z", "2026-07-26T00:38:42,5Z", "2026-07-26T00:38:42", "2026-07-26 00:38:42Z", "2026-07-26T00:38:42.Z", "2026-07-26T00:38Z",
		"2026-07-26T00:38:42+24:00", "2026-07-26T00:38:42+02:60", "2026-07-26T00:38:42+0200", "2026-07-26T00:38:42+02", "2026-02-30T00:38:42Z", "2026-07-26T24:00:00Z", "2026-07-26T00:38:60Z",
		"26-07-26T00:38:42Z", "02026-07-26T00:38:42Z", "2026-7-26T00:38:42Z", "1969-12-31T23:59:59Z", " 2026-07-26T00:38:42Z", "2026-07-26T00:38:42Z\n", "２026-07-26T00:38:42Z",
	} {
		if got, ok := parseTime(s); ok {
			t.Errorf("%q is read as %v; it is no time of RFC 3339 since 1970", s, got)
		}
	}
}

// What is shown of a queue is what was asked for.
func TestRetentionIsEchoed(t *testing.T) {
	t.Parallel()
	for tenths := 10; tenths <= 300; tenths++ {
		days := float64(tenths) / 10
		s := queueSettings{RetentionDays: optionalNumber{given: true, f: days}}
		spec, _, err := s.spec(1, "jobs")
		if err != nil {
			t.Fatal(err)
		}
		if got := viewQueue(spec.New(time.Time{})).RetentionDays; got != days {
			t.Errorf("message_retention_days %v is shown as %v", days, got)
		}
	}
}
