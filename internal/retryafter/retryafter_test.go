package retryafter_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/retryafter"
)

// H-L10.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		value, date string
		want        time.Duration
	}{
		{"", "", 0},
		{"0", "", 0},
		{"1", "", time.Second},
		{" 120 ", "", 2 * time.Minute},
		{"86400", "", 24 * time.Hour},
		{"86401", "", 24 * time.Hour},
		{"99999999999", "", 24 * time.Hour},
		{strings.Repeat("9", 400), "", 24 * time.Hour},
		{"-1", "", 0},
		{"+5", "", 0},
		{"1.5", "", 0},
		{"abc", "", 0},
		{"5, 6", "", 0},
		{date(time.Minute), "", time.Minute},
		{date(-time.Minute), "", 0},
		{date(0), "", 0},
		{date(48 * time.Hour), "", 24 * time.Hour},
		{date(time.Hour), date(59 * time.Minute), time.Minute}, // the receiver's clock is an hour ahead
		{date(time.Hour), "abc", time.Hour},
		{"Sunday, 01-Mar-26 12:01:00 GMT", "", time.Minute}, // RFC 850
		{"Sun Mar  1 12:01:00 2026", "", time.Minute},       // asctime
		{"9999-12-31T00:00:00Z", "", 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", 24 * time.Hour},
	} {
		h := http.Header{"Retry-After": {c.value}, "Date": {c.date}}
		if got := retryafter.Parse(h, now); got != c.want {
			t.Errorf("%q (date %q): %v, want %v", c.value, c.date, got, c.want)
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		-time.Minute: "1", 0: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 90 * time.Second: "90",
	} {
		h := http.Header{}
		if retryafter.Set(h, wait); h.Get("Retry-After") != want {
			t.Errorf("%v: %s, want %s", wait, h.Get("Retry-After"), want)
		}
	}
}
