package api

import (
	"cmp"
	"encoding/json/jsontext"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
)

// A number that is beyond what its type holds is read as the end of that, with its raw text: to refuse it is for the field's own range, which every
// field has.

// seconds is a duration in a request, whole or decimal. Null is the same as not given, save where a call says otherwise.
type seconds struct {
	given, null bool
	d           time.Duration
	raw         string
}

const maxSeconds = 1e9 // above every field's range

// UnmarshalJSONFrom reads a number, to the microsecond.
func (s *seconds) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case 'n':
		*s = seconds{null: true}
		return nil
	case '0':
		f, _ := strconv.ParseFloat(string(v), 64) // infinite if no double holds it
		f = max(-maxSeconds, min(f, maxSeconds))
		*s = seconds{given: true, d: time.Duration(math.Round(f*1e6)) * time.Microsecond, raw: clipped80(v)}
		return nil
	}
	return valueError(v, "a number of seconds")
}

// in refuses a value out of range.
func (s seconds) in(field string, low, high time.Duration) error {
	if s.given && (s.d < low || s.d > high) {
		return fault.Invalid(field, "%s is %s; it must be %v to %v seconds", lastName(field), s.raw, number(low.Seconds()), number(high.Seconds()))
	}
	return nil
}

// ptr is nil for what was not given.
func (s seconds) ptr() *time.Duration {
	if !s.given {
		return nil
	}
	return &s.d
}

// number writes a float without an exponent, as people write one.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// moment is a time in a request.
type moment struct{ time.Time }

// UnmarshalJSONFrom reads RFC 3339, with any offset.
func (m *moment) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == 'n' {
		*m = moment{}
		return nil
	}
	var s string
	if v.Kind() == '"' {
		b, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return err
		}
		s = string(b)
	}
	t, ok := parseTime(s)
	if !ok {
		return valueError(v, wantTime)
	}
	*m = moment{t}
	return nil
}

const wantTime = "a time of RFC 3339 since 1970, like 2026-07-26T00:38:42.320888Z"

// timeForm is the form of RFC 3339, section 5.6, whose T and Z may be small. Which day a month has is for the parser, which alone would take other forms
// too: an hour of one digit, a comma, an offset of 24 hours.
var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// parseTime reads a time.
func parseTime(s string) (time.Time, bool) {
	if !timeForm.MatchString(s) {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	return t.UTC().Truncate(time.Microsecond), err == nil && t.Year() >= 1970
}

// decimal takes a number apart into its digits, without zeros at the end, and the power of ten of the last; false if that is beyond 18.
func decimal(v jsontext.Value) (digits string, power int, ok bool) {
	form, _ := canon.Append(nil, v)
	digits, e, _ := strings.Cut(string(form), "e")
	power, err := strconv.Atoi(cmp.Or(e, "0")) // 0 has none
	return digits, power, err == nil && -18 <= power && power <= 18
}

// whole is a whole number in a request, in any form that JSON has for one: 7, 7.0 and 70e-1 are the same.
type whole struct {
	n   int64
	raw string // of a number beyond 64 bits
}

func (w whole) String() string {
	if w.raw != "" {
		return w.raw
	}
	return strconv.FormatInt(w.n, 10)
}

// UnmarshalJSONFrom reads a number that has no fraction.
func (w *whole) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() != '0' {
		return valueError(v, wantWhole)
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		digits, power, _ := decimal(v)
		if power < 0 {
			return valueError(v, wantWhole)
		}
		n, err = strconv.ParseInt(digits+strings.Repeat("0", min(power, 19)), 10, 64) // of 19 zeros it is beyond 64 bits, as with more
	}
	*w = whole{n: n}
	if err != nil {
		w.raw = clipped80(v)
	}
	return nil
}

const wantWhole = "a whole number, without a fraction"

// wholeIn refuses a number out of range.
func wholeIn(field string, v *whole, low, high int64) error {
	if v != nil && (v.raw != "" || v.n < low || v.n > high) {
		return fault.Invalid(field, "%s is %v; it must be %d to %d", lastName(field), *v, low, high)
	}
	return nil
}

// stringMap is an object of strings in a request, none of them null.
type stringMap map[string]notNull

func (m stringMap) plain() map[string]string {
	if m == nil {
		return nil
	}
	p := make(map[string]string, len(m))
	for name, v := range m {
		p[name] = string(v)
	}
	return p
}

// notNull is a string that null is not the same as: of a map's value it cannot mean that it was not given.
type notNull string

// UnmarshalJSONFrom reads a string.
func (s *notNull) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() != '"' {
		return valueError(v, "a string")
	}
	b, err := jsontext.AppendUnquote(nil, v)
	*s = notNull(b)
	return err
}

// notEmpty refuses a tenant of no name: a slip that would mean none, or all.
func notEmpty(tenant *string) error {
	if tenant != nil && *tenant == "" {
		return fault.Invalid("/tenant", "tenant is empty; it must be 1 to 128 of A-Za-z0-9._-").WithHint("leave it out where no tenant is meant")
	}
	return nil
}

// rateIn refuses what is no rate.
func rateIn(field string, v optionalNumber) error {
	if v.given && !(v.f > 0 && v.f <= maxRate) {
		return fault.Invalid(field, "%s is %s; it must be above 0 and at most %v", lastName(field), v.raw, maxRate)
	}
	return nil
}

const maxRate = 100_000

func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}
