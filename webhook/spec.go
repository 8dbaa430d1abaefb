package webhook

import (
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

// Defaults of an endpoint.
const (
	DefaultTimeout     = 15 * time.Second
	DefaultMaxInFlight = 10
	DefaultGrace       = 24 * time.Hour // of a rotated secret
)

// DefaultLadder gives the waits between tries of an endpoint that names none: about 31 hours in all.
func DefaultLadder() []time.Duration {
	return []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}
}

// Rules are a server's own for endpoints.
type Rules struct {
	// AllowPrivate allows http:// and addresses of private networks, loopback included. For tests and intranets.
	AllowPrivate bool
	// Sealer encrypts secrets. Required wherever one is made or read.
	Sealer *Sealer
}

// EndpointSpec is what a client says of an endpoint. A nil field was not given.
type EndpointSpec struct {
	URL           *string            // https, or http with Rules.AllowPrivate; at most 2048 bytes, no user or fragment
	Tenant        *string            // 1 to 128 of A-Za-z0-9._-; empty: none. Never changes
	Description   *string            // at most 1024 bytes
	EventTypes    *[]string          // 1 to 100 exact names, "prefix.*", or "*" (the default)
	Headers       *map[string]string // at most 20, 8 KiB in all
	Secret        *string            // "whsec_" and base64 of 24 to 64 bytes; else one is made. Changes by Rotate
	Timeout       *time.Duration     // of an attempt: 1 s to 30 s (15 s)
	Ladder        *[]time.Duration   // at most 20 rungs of 1 s to 7 days (DefaultLadder)
	Retry4xx      *bool              // true
	Policy        *ledger.Policy     // ledger.Idempotent
	Window        *time.Duration     // how long the receiver remembers our key: 1 s to 10 years
	WindowForever bool               // or that it does for ever (the default): null given
	MaxInFlight   *int               // 1 to 1000 (10)
	Rate          *float64           // a second: above 0, at most 100,000
	RateNone      bool               // or no limit (the default): null given
}

// New makes an endpoint of a project, not yet stored, and its secret, to be shown this once. What is wrong with the
// spec is answered as INVALID_ARGUMENT with the JSON pointer of the field.
func (s EndpointSpec) New(project int64, r Rules) (e Endpoint, secret string, err error) {
	if s.URL == nil {
		return Endpoint{}, "", fault.Invalid("/url", "url is required: where the events are to be sent")
	}
	e = Endpoint{
		Project: project, EventTypes: []string{"*"}, Timeout: DefaultTimeout, Ladder: DefaultLadder(),
		Retry4xx: true, Policy: ledger.Idempotent, MaxInFlight: DefaultMaxInFlight,
	}
	if s.Tenant != nil {
		e.Tenant = *s.Tenant
		if err := checkTenant(e.Tenant); err != nil {
			return Endpoint{}, "", err
		}
	}
	given := s.Secret
	s.Secret = nil
	if err := s.Apply(&e, r); err != nil {
		return Endpoint{}, "", err
	}
	sealed, secret, err := sealSecret(project, given, r)
	if err != nil {
		return Endpoint{}, "", err
	}
	e.Secrets = []Secret{sealed}
	return e, secret, nil
}

// Apply changes the fields that were given and leaves the others, or changes nothing and says which field is wrong.
// The tenant of an endpoint never changes, and its secret changes by [Rotate].
func (s EndpointSpec) Apply(e *Endpoint, r Rules) error {
	if err := s.check(e, r); err != nil {
		return err
	}
	set(&e.URL, s.URL)
	set(&e.Description, s.Description)
	set(&e.Timeout, s.Timeout)
	set(&e.Retry4xx, s.Retry4xx)
	set(&e.Policy, s.Policy)
	set(&e.Window, s.Window)
	set(&e.MaxInFlight, s.MaxInFlight)
	set(&e.Rate, s.Rate)
	if s.EventTypes != nil {
		e.EventTypes = slices.Clone(*s.EventTypes)
	}
	if s.Headers != nil {
		if e.Headers = nil; len(*s.Headers) > 0 { // none is none, however it was said
			e.Headers = maps.Clone(*s.Headers)
		}
	}
	if s.Ladder != nil {
		e.Ladder = append([]time.Duration{}, *s.Ladder...)
	}
	if s.WindowForever {
		e.Window = 0
	}
	if s.RateNone {
		e.Rate = 0
	}
	return nil
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
