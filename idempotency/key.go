package idempotency

import (
	"net/http"
	"strings"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

// Header carries a request's key.
const Header = "Idempotency-Key"

// HeaderKey gives the key of a request by its headers, "" if it has none. A request has one key: two lines are refused, even if they are equal.
func HeaderKey(h http.Header) (string, error) {
	switch v := h.Values(Header); len(v) {
	case 0:
		return "", nil
	case 1:
		return ParseKey(v[0])
	default:
		return "", fault.New(fault.InvalidArgument, "there are %d %s headers; one request has one key", len(v), Header)
	}
}

// ParseKey reads a key: 1 to 255 printable ASCII characters, bare or quoted as a string of RFC 9651, of which the inside counts.
func ParseKey(s string) (string, error) {
	key, ok := s, true
	if strings.HasPrefix(s, `"`) {
		key, ok = unquote(s)
	}
	if !ok || queue.CheckKey("", key) != nil {
		return "", fault.New(fault.InvalidArgument, "the idempotency key %s is not 1 to %d printable ASCII characters, bare or quoted", fault.Quote(s), queue.MaxKey)
	}
	return key, nil
}

func unquote(s string) (string, bool) {
	if len(s) < 2 || s[len(s)-1] != '"' {
		return "", false
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return "", false
		case s[i] == '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), true
}
