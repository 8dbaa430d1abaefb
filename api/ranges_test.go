package api_test

import (
	"encoding/json/jsontext"
	"strconv"
	"strings"
	"testing"
)

// A number out of its field's range is refused with the field, the value as it came and the range, however far out it is.
func TestRangesAreNamed(t *testing.T) {
	t.Parallel()
	tried := 0
	eachField(t, func(route, name string, field map[string]any, ask func(v any) *answer) {
		pointer, list := "/"+name, false
		if items, ok := field["items"].(map[string]any); ok {
			field, pointer, list = items, pointer+"/0", true
		}
		var ends []string
		for _, key := range []string{"minimum", "exclusiveMinimum", "maximum"} {
			if n, ok := field[key].(float64); ok {
				ends = append(ends, strconv.FormatFloat(n, 'f', -1, 64))
			}
		}
		if ends == nil {
			return
		}
		values := []string{"1e30", "1e400", "-10000000000", "-1e30", "-1e400", "1e99999999999999999999", "1" + strings.Repeat("0", 5000)}
		if most, ok := field["maximum"].(float64); ok && most < 1e10 {
			values = append(values, "10000000000")
		}
		for _, v := range values {
			tried++
			in := v
			if list {
				in = "[" + v + "]"
			}
			a := ask(jsontext.Value(in))
			if a.status != 400 || a.Error == nil || a.Error.Field == nil || *a.Error.Field != pointer {
				t.Errorf("%s with %s %.40s: %d %.300s; want 400 at %s", route, name, v, a.status, a.raw, pointer)
				continue
			}
			for _, says := range append(ends, v[:min(len(v), 80)]) {
				if !strings.Contains(a.Error.Message, says) || len(a.Error.Message) > 300 {
					t.Errorf("%s with %s %.40s: %q does not say %s", route, name, v, a.Error.Message, says)
				}
			}
		}
	})
	if tried < 200 {
		t.Errorf("only %d values were tried: are the ranges still there?", tried)
	}
}

func TestUpdateNamesTheLimitOfADLQsName(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	a := r.post("/v1/queue/update/jobs", `{"dlq":"`+strings.Repeat("d", 81)+`"}`)
	a.fails(400, "INVALID_ARGUMENT", "/dlq")
	if !strings.Contains(a.Error.Message, "1 to 80") {
		t.Errorf("%q does not say 1 to 80", a.Error.Message)
	}
	a = r.post("/v1/queue/update/jobs", `{"dead_letter_queue":"_d"}`)
	a.fails(400, "INVALID_ARGUMENT", "/dead_letter_queue")
	r.post("/v1/queue/update/jobs", `{"dlq":"`+strings.Repeat("d", 80)+`"}`).ok(nil)
}
