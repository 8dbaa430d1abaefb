package ledger_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/onceward/onceward/ledger"
)

// FuzzFingerprint holds our fingerprints against another implementation of RFC 8785, which is given each number by its exact value: two payloads have one
// fingerprint if and only if they have one form there. A payload that is told in another way keeps its fingerprint, one with a leaf changed does not.
func FuzzFingerprint(f *testing.F) {
	for _, p := range [][2]string{
		{`{"b":1,"a":2}`, `{"a":2.0,"b":1e0}`},
		{`{"data":{"id":1}}`, `{"data":{"id":2}}`},
		{"9007199254740993", "9007199254740992"},
		{`["\u00e9"]`, `["é"]`},
		{`["e\u0301"]`, `["é"]`},
		{`{"\ufb33":1,"😀":[true,null]}`, `{"\ud83d\ude00":[true,null],"\ufb33":1}`},
		{`[1,[2]]`, `[1,2]`},
		{`["1",1]`, `[1,"1"]`},
		{`[1e400]`, `[10e399]`},
		{`{"":{"":""}}`, `{"":{"a":""}}`},
		{`[-0.0,"\n\u0001/"]`, `[0,"\u000a\u0001\/"]`},
	} {
		f.Add([]byte(p[0]), []byte(p[1]), uint64(1))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, seed uint64) {
		x, okX := form(a)
		y, okY := form(b)
		if !okX {
			return
		}
		print := func(payload []byte) string {
			sum, err := ledger.Fingerprint(payload)
			if err != nil {
				t.Fatalf("%q has a form and no fingerprint: %v", payload, err)
			}
			return string(sum)
		}
		if okY && (print(a) == print(b)) != (x == y) {
			t.Errorf("%q and %q: one fingerprint %v; the other implementation has %s and %s", a, b, x != y, x, y)
		}
		dice := rand.New(rand.NewPCG(seed, 1))
		v, _ := decode(a)
		if again := retold(dice, v); print(again) != print(a) {
			t.Errorf("%q, told as %q, has another fingerprint", a, again)
		}
		if other := retold(dice, changed(dice, v)); print(other) == print(a) {
			t.Errorf("%q and %q have one fingerprint", a, other)
		}
	})
}

// form is what the other implementation makes of a payload, its numbers by their exact values; false for what is no JSON of one meaning, or larger than a test needs.
func form(payload []byte) (string, bool) {
	if _, err := ledger.Fingerprint(payload); err != nil || len(payload) > 2000 {
		return "", false // what is refused has no fingerprint to be shared; that the right things are is canon's test
	}
	v, ok := decode(payload)
	if !ok {
		return "", false
	}
	b, err := json.Marshal(map[string]any{"v": exact(v)})
	if err != nil {
		return "", false
	}
	out, err := jcs.Transform(b)
	return string(out), err == nil
}

func decode(payload []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	return v, d.Decode(&v) == nil && !huge(v)
}

// huge reports whether v has a number whose exponent makes exact arithmetic long.
func huge(v any) bool {
	switch v := v.(type) {
	case json.Number:
		_, e, _ := strings.Cut(strings.ToLower(string(v)), "e")
		n, err := strconv.Atoi(strings.TrimPrefix(e, "+"))
		return e != "" && (err != nil || n > 1000 || n < -1000)
	case []any:
		return slices.ContainsFunc(v, huge)
	case map[string]any:
		for _, e := range v {
			if huge(e) {
				return true
			}
		}
	}
	return false
}

// exact puts each number's value in its place as a text that no other value has.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(string(v))
		return []any{"number", r.RatString()}
	case []any:
		out := []any{"array"}
		for _, e := range v {
			out = append(out, exact(e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = exact(e)
		}
		return out
	}
	return v
}

// retold writes v in another way that means the same: members in another order, space between, letters escaped, numbers with an exponent.
func retold(dice *rand.Rand, v any) []byte {
	space := strings.Repeat(" ", dice.IntN(2))
	switch v := v.(type) {
	case json.Number:
		if strings.ContainsAny(string(v), "eE") {
			return []byte(v)
		}
		return []byte(string(v) + []string{"", "e0", "E+00"}[dice.IntN(3)])
	case string:
		return escaped(dice, v)
	case []any:
		var l []string
		for _, e := range v {
			l = append(l, string(retold(dice, e)))
		}
		return []byte("[" + space + strings.Join(l, space+",") + "]")
	case map[string]any:
		var l []string
		for k, e := range v {
			l = append(l, string(escaped(dice, k))+space+":"+string(retold(dice, e)))
		}
		dice.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		return []byte("{" + strings.Join(l, ","+space) + space + "}")
	}
	b, _ := json.Marshal(v)
	return b
}

func escaped(dice *rand.Rand, s string) []byte {
	b, _ := json.Marshal(s)
	if dice.IntN(2) == 0 || len(b) < 3 || b[1] < 'a' || b[1] > 'z' {
		return b
	}
	return append([]byte(`"\u00`+strconv.FormatInt(int64(b[1]), 16)), b[2:]...)
}

// changed gives v with one leaf changed.
func changed(dice *rand.Rand, v any) any {
	switch v := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(string(v))
		r.Add(r, new(big.Rat).SetFrac64(1, 8)) // a value that has an end in decimals
		return json.Number(r.FloatString(1100))
	case string:
		return v + "x"
	case bool:
		return !v
	case []any:
		if len(v) == 0 {
			return []any{nil}
		}
		out := slices.Clone(v)
		i := dice.IntN(len(v))
		out[i] = changed(dice, v[i])
		return out
	case map[string]any:
		out := map[string]any{}
		var names []string
		for k, e := range v {
			out[k], names = e, append(names, k)
		}
		if len(names) == 0 {
			return map[string]any{"x": nil}
		}
		slices.Sort(names)
		k := names[dice.IntN(len(names))]
		out[k] = changed(dice, v[k])
		return out
	}
	return "null"
}

func TestFingerprintRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{``, `{`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `1 2`} {
		if sum, err := ledger.Fingerprint([]byte(bad)); err == nil {
			t.Errorf("H-L13, %q: %x", bad, sum)
		}
	}
}
