package main

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/internal/fault"
)

func TestTableFits(t *testing.T) {
	t.Parallel()
	items := []object{
		{"message_id": "qmsg_1", "status": "available", "published_at": "2026-11-30T02:36:48.730304Z", "payload": jsontext.Value(`{"text": "a long one, far too long"}`)},
		{"message_id": "qmsg_22", "status": "delayed", "published_at": nil, "payload": jsontext.Value(`"日本語の文字は幅が二つ分"`)},
	}
	for _, c := range []struct {
		name    string
		columns int
		want    string
	}{
		{"no terminal", 0, `
MESSAGE ID  STATE      PUBLISHED AT          PAYLOAD
qmsg_1      available  2026-11-30T02:36:48Z  {"text": "a long one, far too long"}
qmsg_22     delayed    -                     "日本語の文字は幅が二つ分"
`},
		{"the payload is cut", 60, `
MESSAGE ID  STATE      PUBLISHED AT          PAYLOAD
qmsg_1      available  2026-11-30T02:36:48Z  {"text": "a lo…
qmsg_22     delayed    -                     "日本語の文字…
`},
		{"columns are left out", 45, `
MESSAGE ID  STATE      PAYLOAD
qmsg_1      available  {"text": "a long one,…
qmsg_22     delayed    "日本語の文字は幅が二…
(not shown, for want of room: published_at; --json has all)
`},
		{"no narrower than this", 10, `
MESSAGE ID  PAYLOAD
qmsg_1      {"text": "a…
qmsg_22     "日本語の文…
(not shown, for want of room: status, published_at; --json has all)
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			if err := table(output{Writer: &b, columns: c.columns}, items, "message_id", "status=STATE", "published_at", "payload"); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want[1:], b.String()); d != "" {
				t.Error(d)
			}
			if c.columns < 30 {
				return
			}
			for l := range strings.Lines(b.String()) {
				if n := cells(strings.TrimSuffix(l, "\n")); n > c.columns && !strings.HasPrefix(l, "(") {
					t.Errorf("%d cells wide on a terminal of %d: %q", n, c.columns, l)
				}
			}
		})
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "-"},
		{"", "-"},
		{"a\n\tb  c", "a b c"},
		{true, "true"},
		{[]any{"a", jsontext.Value("1.50")}, "a,1.50"},
		{object{"b": "x", "a": jsontext.Value("1")}, `{"a":1,"b":"x"}`},
		{"red\x1b[31m \u202egnp.exe", "red�[31m �gnp.exe"}, // neither colours nor text that runs backwards
	} {
		if got := line(c.v); got != c.want {
			t.Errorf("line(%q) = %q, want %q", c.v, got, c.want)
		}
	}
}

// What a person gave as a payload goes out as it is: spaces, order and numbers.
func TestWithPayload(t *testing.T) {
	t.Parallel()
	payload := []byte(`{"b":  1.50, "a": [1e400] }`)
	for _, c := range []struct {
		body object
		want string
	}{
		{object{}, `{"payload":` + string(payload) + `}`},
		{object{"queue": "jobs"}, `{"queue":"jobs","payload":` + string(payload) + `}`},
	} {
		got, err := withPayload(c.body, payload)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
}

// A watch shows each look on a terminal, and below each other only what changed where there is none; it ends when what is looked at
// is at rest, outlives a server that is away, and not a refusal.
func TestLook(t *testing.T) {
	t.Parallel()
	away := &fault.Error{Code: fault.Unavailable, Message: "away"}
	type step struct {
		text string
		err  error
	}
	for _, c := range []struct {
		name    string
		columns int
		steps   []step
		want    string
		err     error
	}{
		{"plain", 0, []step{{"a", nil}, {"a", nil}, {"", away}, {"b", nil}}, "a\n\nb\n", nil},
		{"the first look must succeed", 0, []step{{"", away}}, "", fault.Sentinel(fault.Unavailable)},
		{"a refusal ends it", 0, []step{{"a", nil}, {"", fault.Sentinel(fault.NotFound)}}, "a\n", fault.Sentinel(fault.NotFound)},
		{"terminal", 80, []step{{"a", nil}, {"1\n2\n3\n4\n5", nil}}, "\x1b[Ha\x1b[K\n\x1b[J\x1b[H1\x1b[K\n2\x1b[K\n… and 3 lines more\x1b[K\n\x1b[J", nil},
		{"terminal, away", 80, []step{{"a", nil}, {"", away}, {"b", nil}}, "\x1b[Ha\x1b[K\n\x1b[J\x1b[Ha\x1b[K\nonceward: away; looking again\x1b[K\n\x1b[J\x1b[Hb\x1b[K\n\x1b[J", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			l, i := looker{Watch: true, Every: leastEvery}, 0
			err := l.look(context.Background(), output{&b, c.columns, 5}, func(out output) (bool, error) {
				s := c.steps[i]
				i++
				if s.err != nil {
					return false, s.err
				}
				_, err := out.Write([]byte(s.text + "\n"))
				return i == len(c.steps), err
			})
			if !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			got := b.String()
			if c.columns > 0 { // without the head, which has the time
				parts := strings.SplitAfter(got, "\x1b[H")
				for i, p := range parts {
					if _, rest, ok := strings.Cut(p, "Ctrl-C ends\x1b[K\n"); ok {
						parts[i] = rest
					}
				}
				got = strings.Join(parts, "")
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		var b bytes.Buffer
		p := &progress{w: &b, live: live, from: time.Now(), end: make(chan struct{}), say: func(_ time.Duration, lines int) string {
			return []string{"at work", "one line"}[lines]
		}}
		p.show()
		p.show()
		if _, err := p.Write([]byte("case ok\n")); err != nil {
			t.Fatal(err)
		}
		p.show()
		p.stop()
		want := "at work\ncase ok\none line\n"
		if live {
			want = "\rat work\x1b[K\rat work\x1b[K\r\x1b[Kcase ok\n\rone line\x1b[K\r\x1b[K"
		}
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Errorf("live %v: %s", live, d)
		}
	}
}
