package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the longest wait that a receiver can ask for.
const MaxRetryAfter = 24 * time.Hour

// retryAfter reads a Retry-After header (RFC 9110, 10.2.3): seconds, or a date. What is neither, or not ahead of now, is 0, and the ladder
// alone decides; so no value makes a hot loop. A date counts from the answer's own Date where it has one, since it is the receiver's clock
// that wrote both.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if only(v, "0123456789") {
		n, err := strconv.ParseUint(v, 10, 32)
		if err != nil || n > uint64(MaxRetryAfter/time.Second) {
			return MaxRetryAfter
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
	return min(MaxRetryAfter, max(0, at.Sub(now)))
}
