package idempotency

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"k": "k", `"k"`: "k", `"a \"b\" \\"`: `a "b" \`, "a b": "a b", `a"b`: `a"b`, strings.Repeat("x", queue.MaxKey): strings.Repeat("x", queue.MaxKey),
		`"` + strings.Repeat("x", queue.MaxKey) + `"`: strings.Repeat("x", queue.MaxKey),
		"": "", `""`: "", `"`: "", `"k`: "", `"k"x`: "", `"k\x"`: "", `"k\"`: "", "é": "", "a\tb": "", strings.Repeat("x", queue.MaxKey+1): "", "\x7f": "",
	} {
		if got, err := ParseKey(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

// FuzzParseKey: a key that is taken has the form that the contract says, is taken bare as quoted, and no two quoted texts are one key.
func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"k", `"k"`, `"a\"b"`, `"a\\"`, "", `"`, "a b", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := ParseKey(s)
		if err != nil {
			if key != "" {
				t.Errorf("%q: refused, and %q", s, key)
			}
			return
		}
		if len(key) < 1 || len(key) > queue.MaxKey || strings.Trim(key, " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") != "" {
			t.Errorf("%q: took %q", s, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if s != key && s != quoted {
			t.Errorf("%q and %q are one key, %q", s, quoted, key)
		}
		if again, err := ParseKey(quoted); again != key || err != nil {
			t.Errorf("%q, quoted %q: %q, %v", key, quoted, again, err)
		}
	})
}

// FuzzFingerprint holds fingerprints of two bodies against those of the ledger for them as payloads, which are held against another implementation there: equal values, and
// nothing else, have one.
func FuzzFingerprint(f *testing.F) {
	for _, p := range [][2]string{
		{`{"b":1,"a":2}`, `{"a":2.0,"b":1e0}`},
		{`{"data":{"id":1}}`, `{"data":{"id":2}}`},
		{"9007199254740993", "9007199254740992"},
		{"1.0", "1"},
		{`"\u00e9"`, `"é"`},
		{`"e\u0301"`, `"é"`},
		{`{"😀":1}`, `{"\ud83d\ude00":1}`},
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`"\ud800"`, `"\ufffd"`},
		{"\"\xff\"", `"\ufffd"`},
		{"[1,2]", "[12]"},
		{"null", `"null"`},
		{"", " "},
		{`[0]`, `[-0.0]`},
		{`1e400`, `10e399`},
	} {
		f.Add([]byte(p[0]), []byte(p[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a) > 1000 || len(b) > 1000 {
			return
		}
		x, errX := mark(a, "application/json")
		y, errY := mark(b, "application/json")
		if (errX == nil) != hasForm(a) || (errY == nil) != hasForm(b) {
			t.Fatalf("%q: %v; %q: %v", a, errX, b, errY)
		}
		if errX != nil || errY != nil || len(a) == 0 || len(b) == 0 {
			return
		}
		if same := bytes.Equal(payload(t, a), payload(t, b)); (x == y) != same {
			t.Errorf("%q and %q: one fingerprint %v, equal %v", a, b, x == y, same)
		}
		x, _ = mark(a, "text/plain")
		y, _ = mark(b, "text/plain")
		if (x == y) != bytes.Equal(a, b) {
			t.Errorf("as bytes %q and %q: one fingerprint %v", a, b, x == y)
		}
	})
}

func payload(t *testing.T, body []byte) []byte {
	sum, err := ledger.Fingerprint(body)
	if err != nil {
		t.Fatalf("%q has a fingerprint, and as a payload none: %v", body, err)
	}
	return sum
}

func mark(body []byte, content string) ([32]byte, error) {
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Content-Type", content)
	return fingerprint(r, body)
}

// hasForm reports, by another reader than the fingerprint's, whether b is JSON with one meaning.
func hasForm(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	return utf8.Valid(b) && json.Valid(b) && !loneSurrogate(b) && !twice(json.NewDecoder(bytes.NewReader(b))) && depth(b) < 1000
}

func depth(b []byte) int { return bytes.Count(b, []byte("[")) + bytes.Count(b, []byte("{")) }

// loneSurrogate reports whether an escape in b is half of a pair.
func loneSurrogate(b []byte) bool {
	s := string(b)
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		if s[i+1] != 'u' {
			i++
			continue
		}
		switch hex := strings.ToLower(s[i+2 : i+6]); {
		case hex >= "d800" && hex < "dc00":
			rest := strings.ToLower(s[i+6 : min(len(s), i+12)])
			if len(rest) < 6 || rest[:2] != `\u` || rest[2:] < "dc00" || rest[2:] > "dfff" {
				return true
			}
			i += 11
		case hex >= "dc00" && hex <= "dfff":
			return true
		default:
			i += 5
		}
	}
	return false
}

// twice reports whether some object of the next value has a name twice.
func twice(d *json.Decoder) bool {
	t, _ := d.Token()
	if t != json.Delim('{') && t != json.Delim('[') {
		return false
	}
	found, names := false, map[string]bool{}
	for d.More() {
		if t == json.Delim('{') {
			name, _ := d.Token()
			found = found || names[name.(string)]
			names[name.(string)] = true
		}
		found = twice(d) || found
	}
	d.Token()
	return found
}
