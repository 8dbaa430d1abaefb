package webhook

import (
	"strings"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

// Sentinels of this package, for errors.Is.
var (
	ErrNotFound      = fault.Sentinel(fault.NotFound)
	ErrConflict      = fault.Sentinel(fault.Conflict)
	ErrEventIDReused = fault.Sentinel(fault.EventIDReused)
)

// Endpoint is where a tenant's events go.
type Endpoint struct {
	ID          int64
	Project     int64
	Tenant      string // empty: events without a tenant
	URL         string
	EventTypes  []string // exact names, "prefix.*", or "*"
	Description string
	Headers     map[string]string
	Secrets     []Secret      // the newest first; the others are signed with until they expire
	Timeout     time.Duration // of an attempt
	Ladder      []time.Duration
	Retry4xx    bool
	Policy      ledger.Policy
	Window      time.Duration // how long the receiver remembers our key; 0 is for ever
	MaxInFlight int
	Rate        float64 // a second; 0 is no limit
	Disabled    bool
	Reason      string // why it is disabled
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Secret is a signing secret, sealed with the server's key.
type Secret struct {
	Sealed    []byte
	ExpiresAt time.Time // zero: does not expire
}

// Subscribes reports whether the endpoint wants events of a type.
func (e *Endpoint) Subscribes(eventType string) bool {
	for _, t := range e.EventTypes {
		if t == "*" || t == eventType {
			return true
		}
		if p, ok := strings.CutSuffix(t, "*"); ok && strings.HasSuffix(p, ".") && strings.HasPrefix(eventType, p) {
			return true
		}
	}
	return false
}
