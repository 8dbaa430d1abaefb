// Package retryafter reads and writes the header by which an answer says when to try again. Whoever sends, webhooks and the Go client, reads it the
// same way.
package retryafter

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Max is the longest wait that a header can ask for.
const Max = 24 * time.Hour

// Seconds gives a wait as an answer has it: whole seconds, no less than was meant and at least 1.
func Seconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

// Set sets the header to a wait's [Seconds].
func Set(h http.Header, d time.Duration) { h.Set("Retry-After", strconv.FormatInt(Seconds(d), 10)) }

// Parse reads a Retry-After header (RFC 9110, 10.2.3): seconds, or a date. What is neither, or not ahead of now, is 0, and the sender's own
// pause alone decides; so no value makes a hot loop. A date counts from the answer's own Date where it has one, since it is the other side's
// clock that wrote both.
func Parse(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if strings.Trim(v, "0123456789") == "" {
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil || n > uint64(Max/time.Second) {
			return Max
		}
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if d, err := http.ParseTime(h.Get("Date")); err == nil {
		now = d
	}
	return min(Max, max(0, at.Sub(now)))
}
