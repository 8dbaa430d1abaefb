package webhook

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onceward/onceward/internal/retryafter"
	"github.com/onceward/onceward/ledger"
)

// TestJudge is the contract's table of answers, row by row.
func TestJudge(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	status := func(s int) answer { return answer{status: s, sent: true} }
	type want struct {
		kind    ledger.Kind
		result  Result
		disable bool
	}
	var (
		delivered = want{ledger.Succeeded, WasDelivered, false}
		refused   = want{ledger.Definite, Refused, false}
		unknown   = want{ledger.Ambiguous, Unknown, false}
		notSent   = want{ledger.Definite, NotSent, false}
	)
	for name, c := range map[string]struct {
		a                answer
		idempotent, once want
		no4xx            want // idempotent with retry_4xx false, where it differs
	}{
		"200":                     {a: status(200), idempotent: delivered, once: delivered},
		"204":                     {a: status(204), idempotent: delivered, once: delivered},
		"299":                     {a: status(299), idempotent: delivered, once: delivered},
		"a 200 cut off":           {a: answer{status: 200, sent: true, cut: true}, idempotent: delivered, once: delivered},
		"301":                     {a: status(301), idempotent: refused, once: refused},
		"302":                     {a: status(302), idempotent: refused, once: refused},
		"304":                     {a: status(304), idempotent: refused, once: refused},
		"307":                     {a: status(307), idempotent: refused, once: refused},
		"400":                     {a: status(400), idempotent: refused, once: refused, no4xx: want{ledger.Permanent, Refused, false}},
		"404":                     {a: status(404), idempotent: refused, once: refused, no4xx: want{ledger.Permanent, Refused, false}},
		"499":                     {a: status(499), idempotent: refused, once: refused, no4xx: want{ledger.Permanent, Refused, false}},
		"408":                     {a: status(408), idempotent: refused, once: refused},
		"409":                     {a: status(409), idempotent: refused, once: refused},
		"425":                     {a: status(425), idempotent: refused, once: refused},
		"429":                     {a: status(429), idempotent: refused, once: refused},
		"410":                     {a: status(410), idempotent: want{ledger.Permanent, Refused, true}, once: want{ledger.Permanent, Refused, true}},
		"500":                     {a: status(500), idempotent: refused, once: unknown},
		"501":                     {a: status(501), idempotent: refused, once: refused},
		"502":                     {a: status(502), idempotent: refused, once: unknown},
		"503":                     {a: status(503), idempotent: refused, once: refused},
		"504":                     {a: status(504), idempotent: refused, once: unknown},
		"599":                     {a: status(599), idempotent: refused, once: refused},
		"a 503 cut off":           {a: answer{status: 503, sent: true, cut: true}, idempotent: unknown, once: unknown},
		"a 404 cut off":           {a: answer{status: 404, sent: true, cut: true}, idempotent: refused, once: refused, no4xx: want{ledger.Permanent, Refused, false}},
		"101":                     {a: status(101), idempotent: unknown, once: unknown},
		"600":                     {a: status(600), idempotent: unknown, once: unknown},
		"999":                     {a: status(999), idempotent: unknown, once: unknown},
		"never left":              {a: answer{err: boom}, idempotent: notSent, once: notSent},
		"left, no answer":         {a: answer{err: boom, sent: true}, idempotent: unknown, once: unknown},
		"stopped, left":           {a: answer{err: boom, sent: true, stop: true}, idempotent: unknown, once: unknown},
		"stopped, never left":     {a: answer{err: boom, stop: true}, idempotent: want{ledger.GivenBack, "", false}, once: want{ledger.GivenBack, "", false}},
		"stopped after an answer": {a: answer{status: 200, sent: true, stop: true}, idempotent: delivered, once: delivered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(what string, tm terms, w want) {
				tm.ladder, tm.tries = []time.Duration{10 * time.Second}, 1
				f := judge(c.a, tm, 0.5)
				if f.kind != w.kind || f.result != w.result || (f.disable != "") != w.disable {
					t.Errorf("%s: got %+v, want %+v", what, f, w)
				}
				again := f.kind == ledger.Definite || f.kind == ledger.Ambiguous
				if d := f.retryIn; again && d != 10*time.Second || !again && d != 0 {
					t.Errorf("%s: %s again in %v", what, f.kind, d)
				}
				if bad := f.kind != ledger.Succeeded && f.kind != ledger.GivenBack; bad != (f.why != "") {
					t.Errorf("%s: why is %q", what, f.why)
				}
			}
			check("idempotent", terms{policy: ledger.Idempotent, retry4xx: true}, c.idempotent)
			check("once", terms{policy: ledger.Once, retry4xx: true}, c.once)
			if c.no4xx.kind == "" {
				c.no4xx = c.idempotent
			}
			check("no retry of 4xx", terms{policy: ledger.Idempotent}, c.no4xx)
		})
	}
}

func TestRungs(t *testing.T) {
	t.Parallel()
	ladder := DefaultLadder()
	for _, c := range []struct {
		tries       int
		roll        float64
		after, want time.Duration
	}{
		{1, 0.5, 0, 30 * time.Second},
		{1, 0, 0, 27 * time.Second},
		{2, 0.5, 0, 2 * time.Minute},
		{6, 0.5, 0, 24 * time.Hour},
		{7, 0.5, 0, 24 * time.Hour}, // the ledger ends it; were it tried, not at once
		{0, 0.5, 0, 30 * time.Second},
		{1, 0.5, time.Minute, time.Minute},
		{1, 0.5, time.Second, 30 * time.Second},
		{6, 0, 24 * time.Hour, 24 * time.Hour},
	} {
		f := judge(answer{status: 503, sent: true, after: c.after}, terms{ladder: ladder, tries: c.tries}, c.roll)
		if d := f.retryIn - c.want; d.Abs() > time.Microsecond {
			t.Errorf("try %d, roll %v, Retry-After %v: %v, want %v", c.tries, c.roll, c.after, f.retryIn, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		ladder := rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 604800), func(s int) time.Duration { return time.Duration(s) * time.Second }), 0, 20).Draw(t, "ladder")
		tries, roll := rapid.IntRange(-1, 30).Draw(t, "tries"), rapid.Float64Range(0, 0.999999).Draw(t, "roll")
		d := rung(ladder, tries, roll)
		if d < 900*time.Millisecond {
			t.Fatalf("a hot loop: %v", d)
		}
		if n := len(ladder); tries >= 1 && tries <= n {
			if r := float64(d) / float64(ladder[tries-1]); r < 0.8999 || r > 1.1001 {
				t.Fatalf("%v of %v", d, ladder[tries-1])
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, v := range []string{"", "0", "-1", "120", "99999999999", "abc", "Sun, 01 Mar 2026 12:01:00 GMT", "1e9", "\x00", "١"} {
		f.Add(v, "Sun, 01 Mar 2026 12:00:00 GMT", int64(1772366400))
	}
	f.Fuzz(func(t *testing.T, value, date string, now int64) {
		h := http.Header{"Retry-After": {value}, "Date": {date}}
		d := retryafter.Parse(h, time.Unix(now%(1<<40), 0))
		if d < 0 || d > retryafter.Max {
			t.Fatalf("%q, %q: %v", value, date, d)
		}
		if n, err := strconv.Atoi(value); err == nil && n > 0 && n < 86400 && value[0] != '+' && d != time.Duration(n)*time.Second {
			t.Fatalf("%q: %v", value, d)
		}
		// Whatever it says, the next try is a rung away at least.
		f := judge(answer{status: 503, sent: true, after: d}, terms{ladder: []time.Duration{time.Second}, tries: 1}, 0)
		if f.kind != ledger.Definite || f.retryIn < 900*time.Millisecond || f.retryIn > retryafter.Max {
			t.Fatalf("%q: %+v", value, f)
		}
	})
}
