package webhook

import (
	"maps"
	"slices"
	"strings"

	"github.com/onceward/onceward/internal/fault"
)

// reserved are the headers that an endpoint cannot set: those we sign or make, and those that frame the request. A "*" stands for what
// follows.
var reserved = []string{
	"host", "content-*", "connection", "transfer-encoding", "webhook-*", "idempotency-key",
	"expect", "keep-alive", "proxy-connection", "te", "trailer", "upgrade",
}

const tokenChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~" // RFC 9110, 5.6.2

func checkHeaders(h map[string]string) error {
	if len(h) > maxHeaders {
		return fault.Invalid("/headers", "headers has %d; at most %d", len(h), maxHeaders)
	}
	size, seen := 0, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := h[name]
		at := "/headers/" + pointer.Replace(name)
		lower := strings.ToLower(name)
		switch {
		case name == "" || !only(name, tokenChars):
			return fault.Invalid(at, "%s is not a header's name", fault.Quote(name))
		case isReserved(lower):
			return fault.Invalid(at, "the header %s is ours to set", name).WithHint("leave it out")
		case seen[lower]:
			return fault.Invalid(at, "the header %s is there twice, in another case", name)
		case strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
			return fault.Invalid(at, "the value of %s has a control character", name)
		case strings.TrimSpace(value) != value:
			return fault.Invalid(at, "the value of %s begins or ends with a space", name)
		}
		seen[lower] = true
		size += len(name) + len(value)
	}
	if size > maxHeaderBytes {
		return fault.Invalid("/headers", "headers has %d bytes; at most %d", size, maxHeaderBytes)
	}
	return nil
}

func isReserved(lower string) bool {
	for _, r := range reserved {
		if p, ok := strings.CutSuffix(r, "*"); ok && strings.HasPrefix(lower, p) || r == lower {
			return true
		}
	}
	return false
}

// pointer escapes a name for use in a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")
