package webhook

import (
	"encoding/json/jsontext"
	"math"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

const (
	maxURL         = 2048
	maxName        = 128 // of a tenant, of an event type
	maxEventID     = 255
	maxSubject     = 255
	maxDescription = 1024
	maxEventTypes  = 100
	maxHeaders     = 20
	maxHeaderBytes = 8 << 10
	maxRungs       = 20
	minTimeout     = time.Second
	maxRate        = 100_000
	maxEndpoints   = 1000 // that one event may name
)

// Limits of an endpoint. A rung and a time-out have a second at least.
const (
	MaxRung     = 7 * 24 * time.Hour // of a retry ladder
	MaxTimeout  = 30 * time.Second   // of an attempt
	MaxInFlight = 1000               // attempts
)

func (s EndpointSpec) check(e *Endpoint, r Rules) error {
	switch {
	case s.Secret != nil:
		return fault.Invalid("/secret", "the secret of an endpoint is not changed with its other fields").
			WithHint("POST …/rotate_secret: the former secret then stays valid for a while")
	case s.Tenant != nil && *s.Tenant != e.Tenant:
		return fault.Invalid("/tenant", "the tenant of an endpoint never changes: it is %q", e.Tenant).
			WithHint("make another endpoint")
	case s.Description != nil && len(*s.Description) > maxDescription:
		return fault.Invalid("/description", "description has %d bytes; at most %d", len(*s.Description), maxDescription)
	case s.Timeout != nil && (*s.Timeout < minTimeout || *s.Timeout > MaxTimeout):
		return fault.Invalid("/timeout_seconds", "timeout_seconds is %v; it must be 1 to 30", s.Timeout.Seconds())
	case s.Policy != nil && *s.Policy != ledger.Idempotent && *s.Policy != ledger.Once:
		return fault.Invalid("/policy", "policy is %s; it must be %q or %q", fault.Quote(string(*s.Policy)), ledger.Idempotent, ledger.Once)
	case s.Window != nil && s.WindowForever:
		return fault.Invalid("/receiver_window_seconds", "receiver_window_seconds is a number or null, not both")
	case s.Window != nil && (*s.Window < ledger.MinWindow || *s.Window > ledger.MaxWindow):
		return fault.Invalid("/receiver_window_seconds", "receiver_window_seconds is %v; it must be 1 to %d, or null (for ever)", s.Window.Seconds(), int(ledger.MaxWindow.Seconds()))
	case s.MaxInFlight != nil && (*s.MaxInFlight < 1 || *s.MaxInFlight > MaxInFlight):
		return fault.Invalid("/max_in_flight", "max_in_flight is %d; it must be 1 to %d", *s.MaxInFlight, MaxInFlight)
	case s.Rate != nil && s.RateNone:
		return fault.Invalid("/rate_per_second", "rate_per_second is a number or null, not both")
	case s.Rate != nil && !(*s.Rate > 0 && *s.Rate <= maxRate):
		return fault.Invalid("/rate_per_second", "rate_per_second is %v; it must be above 0 and at most %d, or null (no limit)", *s.Rate, maxRate)
	}
	if s.URL != nil {
		if err := checkURL(*s.URL, r); err != nil {
			return err
		}
	}
	if s.EventTypes != nil {
		if err := checkEventTypes(*s.EventTypes); err != nil {
			return err
		}
	}
	if s.Headers != nil {
		if err := checkHeaders(*s.Headers); err != nil {
			return err
		}
	}
	if s.Ladder != nil {
		return checkLadder(*s.Ladder)
	}
	return nil
}

// sendable refuses an address at its sending that would not be taken any more for its scheme. What it leads to is the Guard's to say.
func (r Rules) sendable(address string) error {
	if scheme, _, _ := strings.Cut(address, ":"); !r.AllowPrivate && !strings.EqualFold(scheme, "https") {
		return errNotHTTPS
	}
	return nil
}

func checkURL(s string, r Rules) error {
	bad := func(why string, args ...any) error { return fault.Invalid("/url", "url "+why, args...) }
	if len(s) > maxURL {
		return bad("has %d bytes; at most %d", len(s), maxURL)
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "" || strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return bad("%q is not an absolute URL in ASCII, like https://example.com/hooks", s)
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return bad("begins with %q; it must begin with https://", u.Scheme)
	case u.Scheme == "http" && !r.AllowPrivate:
		return fault.Invalid("/url", "url begins with http://; it must begin with https://").WithHint("a server that runs with --allow-private-networks also takes http://")
	case u.User != nil:
		return fault.Invalid("/url", "url holds a user or a password").WithHint("give them as a header: Authorization")
	case u.Fragment != "" || strings.HasSuffix(s, "#"):
		return bad("has a fragment (#…), which is never sent")
	}
	if p := u.Port(); p != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > math.MaxUint16 {
			return bad("has the port %q; a port is 1 to 65535", p)
		}
	}
	if r.AllowPrivate {
		return nil
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	ip, err := netip.ParseAddr(host)
	if err != nil && isNumber(host) {
		return bad("leads to %q, which is a number, and no address as it is usually written", u.Hostname())
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && public.SafeAddr(ip) != nil {
		return fault.Invalid("/url", "url leads to %s, which is not a public address", u.Hostname()).
			WithHint("private addresses are taken by a server that runs with --allow-private-networks")
	}
	return nil
}

// isNumber reports whether a host's last part is a number, decimal, octal or hexadecimal: no name ends so, and what is no address either is one only to
// those who resolve it generously: 127.1, 0x7f.1, 2130706433, 0177.0.0.1.
func isNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return only(hex, "0123456789abcdef")
	}
	return last != "" && only(last, "0123456789")
}

func checkEventTypes(types []string) error {
	if n := len(types); n < 1 || n > maxEventTypes {
		return fault.Invalid("/event_types", "event_types has %d names; 1 to %d", n, maxEventTypes)
	}
	for i, t := range types {
		name := t
		if p, ok := strings.CutSuffix(t, ".*"); ok {
			name = p
		}
		if t != "*" && !isName(name) {
			return fault.Invalid("/event_types/"+strconv.Itoa(i), "event_types has %s; each must be \"*\", or 1 to %d of A-Za-z0-9._-, or such and \".*\"", fault.Quote(t), maxName)
		}
	}
	return nil
}

func checkLadder(rungs []time.Duration) error {
	if len(rungs) > maxRungs {
		return fault.Invalid("/retry_ladder", "retry_ladder has %d rungs; at most %d", len(rungs), maxRungs)
	}
	for i, d := range rungs {
		if d < time.Second || d > MaxRung {
			return fault.Invalid("/retry_ladder/"+strconv.Itoa(i), "retry_ladder has a rung of %v seconds; each must be 1 to %d", d.Seconds(), int(MaxRung.Seconds()))
		}
	}
	return nil
}

func checkTenant(t string) error {
	if t != "" && !isName(t) {
		return fault.Invalid("/tenant", "tenant is %s; it must be 1 to %d of A-Za-z0-9._-", fault.Quote(t), maxName)
	}
	return nil
}

func isName(s string) bool { return len(s) >= 1 && len(s) <= maxName && only(s, nameChars) }

const (
	idChars   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	nameChars = idChars + "."
)

func only(s, chars string) bool {
	for i := range len(s) {
		if strings.IndexByte(chars, s[i]) < 0 {
			return false
		}
	}
	return true
}

// IsEventID reports whether s can be an event's id.
func IsEventID(s string) bool { return len(s) >= 1 && len(s) <= maxEventID && only(s, idChars) }

// Check reports what is wrong with an event as the contract writes it, with the JSON pointer of the field.
func (n *NewEvent) Check() error {
	switch {
	case !IsEventID(n.EventID):
		return fault.Invalid("/event_id", "event_id is %s; it must be 1 to %d of A-Za-z0-9_-", fault.Quote(n.EventID), maxEventID)
	case n.Type == "":
		return fault.Invalid("/event_type", "event_type is required, like ticket.resolved")
	case !isName(n.Type):
		return fault.Invalid("/event_type", "event_type is %s; it must be 1 to %d of A-Za-z0-9._-", fault.Quote(n.Type), maxName)
	case len(n.Subject) > maxSubject || !utf8.ValidString(n.Subject) || strings.ContainsFunc(n.Subject, unicode.IsControl):
		return fault.Invalid("/subject", "subject is %s; it must be at most %d bytes of UTF-8 without control characters", fault.Quote(n.Subject), maxSubject)
	case n.Endpoints != nil && len(n.Endpoints) == 0:
		return fault.Invalid("/endpoint_ids", "endpoint_ids is empty; name at least one, or leave it out for every subscriber")
	case len(n.Endpoints) > maxEndpoints:
		return fault.Invalid("/endpoint_ids", "endpoint_ids has %d ids; at most %d", len(n.Endpoints), maxEndpoints)
	case len(n.Payload) == 0:
		return fault.Invalid("/payload", "payload is required: any JSON")
	case len(n.Payload) > MaxPayload:
		e := fault.New(fault.PayloadTooLarge, "payload has %d bytes; at most %d", len(n.Payload), MaxPayload).WithHint("keep the content elsewhere, and send where it is")
		e.Field = "/payload"
		return e
	case !jsontext.Value(n.Payload).IsValid():
		return fault.Invalid("/payload", "payload is not JSON in UTF-8 with each name once")
	}
	if err := canon.CheckDepth("/payload", n.Payload); err != nil {
		return err
	}
	return checkTenant(n.Tenant)
}
