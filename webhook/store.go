package webhook

import (
	"context"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// Filter picks from a list, newest first by id: Page.After is the id before which to go on. The zero value of a field
// picks all.
type Filter struct {
	Project    int64
	Tenant     string
	State      State
	EndpointID int64
	EventType  string
	EventID    string
	Subject    string
	From, To   time.Time // of creation: from inclusive, to exclusive
	queue.Page
}

// Endpoints keeps endpoints. Each method is one transaction.
type Endpoints interface {
	CreateEndpoint(ctx context.Context, e Endpoint) (Endpoint, error)
	Endpoint(ctx context.Context, project, id int64) (Endpoint, error)
	Endpoints(ctx context.Context, f Filter) ([]Endpoint, error)
	// UpdateEndpoint applies change to the endpoint under its lock. Disabled and MaxInFlight hold at once for what waits.
	UpdateEndpoint(ctx context.Context, project, id int64, change func(now time.Time, e *Endpoint) error) (Endpoint, error)
	// DeleteEndpoint removes it from view and cancels what waits, in the background where that is much. The one being
	// sent is finished and recorded.
	DeleteEndpoint(ctx context.Context, project, id int64) error
}

// Act is a person's act on a delivery, recorded.
type Act struct {
	Project int64
	ID      int64
	Who     string
	Note    string
}

// Deliveries keeps events and deliveries.
type Deliveries interface {
	// Send stores events, each with its request key, its deliveries, their claims and their messages in one transaction.
	// Batched: one result for each event, in order.
	Send(ctx context.Context, events ...NewEvent) ([]Sent, error)
	Event(ctx context.Context, project int64, eventID string) (Event, error)
	// Events and Deliveries answer where to go on, 0 at the end. A page may be short and still have a next: the rows
	// looked at are bounded.
	Events(ctx context.Context, f Filter) (e []Event, next int64, err error)
	Delivery(ctx context.Context, project, id int64) (Delivery, error)
	Deliveries(ctx context.Context, f Filter) (d []Delivery, next int64, err error)
	// Resend makes a new send of the same delivery: a new claim, the key's next send number, and a new message; a dead
	// letter of the former send is removed. ErrConflict while it is pending, sending or retrying, or where its endpoint
	// is gone.
	Resend(ctx context.Context, a Act, newKey bool) (Delivery, error)
	// Resolve is a person's word on a stuck delivery, else ErrConflict: Done removes its dead letter, Retry sends it back
	// with its claim reopened, Failed leaves it for a redrive.
	Resolve(ctx context.Context, a Act, as ledger.State) (Delivery, error)
	// Cancel ends a delivery that is pending or retrying, else ErrConflict. It is never redriven.
	Cancel(ctx context.Context, a Act) (Delivery, error)
	// RedriveDeliveries begins a redrive, which queue.Redriver moves on. ErrConflict while another is at one of the endpoints that it
	// concerns.
	RedriveDeliveries(ctx context.Context, c RedriveCall) (queue.Redrive, error)
	// RedriveParts lists a redrive's endpoints, newest first by id.
	RedriveParts(ctx context.Context, project, redrive int64, p queue.Page) ([]RedrivePart, error)
}

// Take asks for deliveries to attempt.
type Take struct {
	Owner string
	Max   int
	Each  int           // an endpoint that has so many in flight is passed by, others get no more than that; 0: its own max_in_flight alone
	Slack time.Duration // a job's lease is its endpoint's time-out and this
}

// Taken is what a Take got. What it received and could not grant it has settled in the same transaction: done is
// acked, busy released, failed, stuck and too old dead-lettered.
type Taken struct {
	Jobs     []Job
	Verdicts map[ledger.Verdict]int
	Asked    time.Time // of what was taken while it waited: when, by this process's clock
}

// Sender moves deliveries from the store to the wire and their outcomes back.
type Sender interface {
	// TakeDeliveries receives and claims at most t.Max deliveries of all projects, endpoints taking turns, at most an
	// endpoint's free slots, none of a disabled one. A holder found dead gets its attempt (unknown, "worker died").
	TakeDeliveries(ctx context.Context, t Take) (Taken, error)
	// BeginDeliveries makes the line before the effect durable (policy once), and extends the lease of claim and message
	// together: one answer for each, in order. One that is not Applied must not be sent, or its attempt ended.
	BeginDeliveries(ctx context.Context, jobs []*Job) ([]ledger.Applied, error)
	// SettleDeliveries applies outcomes: the claim, the attempt's row, the message and the endpoint's slot in one
	// transaction. A fenced-out outcome changes nothing and is recorded.
	SettleDeliveries(ctx context.Context, outcomes ...Outcome) ([]ledger.Applied, error)
	// WaitDeliveries returns when there may be something to take, or when ctx ends. It may return early and for nothing; or with what was taken for t
	// meanwhile, even if ctx has ended.
	WaitDeliveries(ctx context.Context, t Take) Taken
}
