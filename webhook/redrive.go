package webhook

import (
	"slices"
	"time"

	"github.com/onceward/onceward/ledger"
)

// RedriveCall begins a redrive of dead deliveries.
type RedriveCall struct {
	Project    int64
	EndpointID int64
	Tenant     string
	States     []State // Failed, Stuck; policy once leaves stuck ones
	From, To   time.Time
	Max        int64 // the oldest, of all endpoints; 0: no limit
	Rate       float64
	DryRun     bool
	Canary     bool // one goes first per endpoint; if it is refused the endpoint's others are left
	Who        string
}

// RedriveFilter is what a redrive of deliveries concerns, as its row keeps it.
type RedriveFilter struct {
	EndpointID int64     `json:"endpoint_id,omitempty"`
	Tenant     string    `json:"tenant,omitempty"`
	States     []State   `json:"states,omitempty"` // none: all that are dead
	From       time.Time `json:"from,omitzero"`    // of the delivery's creation
	To         time.Time `json:"to,omitzero"`
	Max        int64     `json:"max,omitempty"`
	Through    int64     `json:"through,omitempty"` // the youngest dead letter of those: nothing is looked for behind it
}

// Filter gives what the call concerns.
func (c *RedriveCall) Filter() RedriveFilter {
	utc := func(t time.Time) time.Time {
		if t.IsZero() {
			return time.Time{}
		}
		return t.UTC()
	}
	return RedriveFilter{EndpointID: c.EndpointID, Tenant: c.Tenant, States: c.States, From: utc(c.From), To: utc(c.To), Max: c.Max}
}

// Has reports whether a dead delivery whose claim is in state, made then for that tenant, is one of those.
func (f *RedriveFilter) Has(state ledger.State, madeAt time.Time, tenant string) bool {
	return (f.Tenant == "" || tenant == f.Tenant) && (len(f.States) == 0 || slices.Contains(f.States, State(state))) &&
		(f.From.IsZero() || !madeAt.Before(f.From)) && (f.To.IsZero() || madeAt.Before(f.To))
}

// PartState says how far a redrive is with one endpoint.
type PartState string

// The states of a part.
const (
	PartWaiting   PartState = "waiting"   // for its canary to be sent
	PartCanary    PartState = "canary"    // its canary is out: the others wait for what comes of it
	PartOpen      PartState = "open"      // the others go
	PartEnded     PartState = "ended"     // nothing is left to look at
	PartRefused   PartState = "refused"   // the canary was not delivered: the others are left
	PartDisabled  PartState = "disabled"  // so is the endpoint, and no canary can tell: the others are left
	PartDeleted   PartState = "deleted"   // so is the endpoint: the others are left
	PartCancelled PartState = "cancelled" // with its redrive
)

// Over reports whether nothing more is done for the endpoint.
func (s PartState) Over() bool { return s != PartWaiting && s != PartCanary && s != PartOpen }

// RedrivePart is one endpoint's part of a redrive: Moved + Left never exceeds Total, and is Total at its end.
type RedrivePart struct {
	EndpointID int64
	State      PartState
	CanaryID   int64 // the delivery that went first; 0: none did
	Total      int64
	Moved      int64
	Left       int64
}

// NewPart begins one.
func NewPart(endpoint, total int64, canary bool) RedrivePart {
	p := RedrivePart{EndpointID: endpoint, State: PartOpen, Total: total}
	if canary {
		p.State = PartWaiting
	}
	return p
}

// PartNews is what a part hears of its endpoint and its canary.
type PartNews struct {
	Gone      bool // the endpoint was deleted
	Disabled  bool // the endpoint
	Canaries  bool // the redrive has them
	Claim     ledger.State
	Tries     int  // since the redrive
	Cancelled bool // the canary, by a person
}

// Hear moves the part on by what is known now, and ends it where nothing can come of it any more: whoever waits for a canary waits for
// something that comes. Whatever was tried once and was not delivered is a refusal.
func (p *RedrivePart) Hear(n PartNews) {
	switch {
	case p.State.Over():
	case n.Gone:
		p.End(PartDeleted)
	case p.State == PartCanary && n.refused():
		p.End(PartRefused)
	case p.State == PartCanary && n.Claim.Held(): // disabled or not, what is being sent is finished and recorded
	case n.Canaries && n.Disabled:
		p.End(PartDisabled)
	case p.State == PartCanary && n.Claim == ledger.Done:
		p.State = PartOpen
	}
}

func (n *PartNews) refused() bool {
	return n.Cancelled || n.Claim == "" || n.Claim.Terminal() && n.Claim != ledger.Done || n.Claim == ledger.Retry && n.Tries > 0
}

// Move counts one that went.
func (p *RedrivePart) Move(delivery int64) {
	p.Moved++
	p.Total = max(p.Total, p.Moved+p.Left)
	if p.State == PartWaiting {
		p.State, p.CanaryID = PartCanary, delivery
	}
}

// Leave counts one that is left.
func (p *RedrivePart) Leave() {
	p.Left++
	p.Total = max(p.Total, p.Moved+p.Left)
}

// End ends the part: what it did not move is left.
func (p *RedrivePart) End(s PartState) {
	p.State, p.Left = s, p.Total-p.Moved
}

// WouldLeave gives how many of n dead deliveries of one endpoint, whose claims are in that state under that policy, a redrive leaves whatever
// its canary says.
func (n *PartNews) WouldLeave(c ledger.Claim, count int64) int64 {
	if n.Gone || n.Canaries && n.Disabled || !c.Reopens() {
		return count
	}
	return 0
}
