package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/ledger"
)

// Scope is the ledger's scope of deliveries.
const Scope = "webhook"

// MaxPayload is the most bytes of an event's payload.
const MaxPayload = 1 << 20

// NewEvent is an event to send.
type NewEvent struct {
	Project   int64
	EventID   string // made by the caller where the client gave none
	Type      string
	Tenant    string
	Subject   string               // whose data it is
	Payload   []byte               // any JSON, sent byte for byte
	Endpoints []int64              // these, subscribed or not; nil: every subscriber of the tenant
	Hash      []byte               // of the content by its canonical form, 32 bytes: compared where EventID is known
	Request   *idempotency.Request // kept with the event in one transaction; nil: none
}

// Sent is what became of a NewEvent. With Err nothing was stored.
type Sent struct {
	EventID    string
	CreatedAt  time.Time
	Replay     bool // this is the first call's answer
	Deliveries []SentTo
	Err        error // EVENT_ID_REUSED, IDEMPOTENCY_KEY_REUSED, a bad argument (an endpoint that is not there or of another tenant)
}

// SentTo is a delivery that an event made.
type SentTo struct {
	ID         int64
	EndpointID int64
}

// Event is an event as a list shows it.
type Event struct {
	ID         int64
	Project    int64
	EventID    string
	Type       string
	Tenant     string
	Subject    string
	Payload    []byte // of a single event, not in a list
	CreatedAt  time.Time
	Deliveries []Delivery // of a single event, without attempts
}

// State of a delivery, as a person sees it.
type State string

const (
	Pending   State = "pending"
	Sending   State = "sending"
	Retrying  State = "retrying"
	Delivered State = "delivered"
	Failed    State = "failed" // certainly not delivered; dead-lettered
	Stuck     State = "stuck"  // nobody can know; dead-lettered
	Cancelled State = "cancelled"
)

// StateOf gives a delivery's state from its newest send's claim.
func StateOf(c ledger.State, attempt int, cancelled bool) State {
	switch {
	case cancelled:
		return Cancelled
	case c == ledger.New, c == ledger.Retry && attempt == 0:
		return Pending
	case c.Held():
		return Sending
	case c == ledger.Retry:
		return Retrying
	case c == ledger.Done:
		return Delivered
	}
	return State(c)
}

// Delivery is one event for one endpoint.
type Delivery struct {
	ID            int64
	Project       int64
	EventID       string
	EventType     string
	EndpointID    int64
	Tenant        string
	Subject       string
	State         State
	Policy        ledger.Policy
	KeySend       int // the send whose number is part of the delivery key; 0: none is
	CreatedAt     time.Time
	NextAttemptAt time.Time
	DeliveredAt   time.Time
	LastError     string
	Attempts      []Attempt // of a single delivery and in lists, oldest first
}

// Cause says why an attempt was made.
type Cause string

const (
	ByEvent   Cause = "event"
	ByRetry   Cause = "retry"
	ByResend  Cause = "resend"
	ByRedrive Cause = "redrive"
	ByCanary  Cause = "canary"
)

// Result is what an attempt came to.
type Result string

const (
	WasDelivered Result = "delivered"
	Refused      Result = "refused"
	Unknown      Result = "unknown"
	NotSent      Result = "not_sent"
)

// Attempt is one try at a delivery.
type Attempt struct {
	ID            int64
	Attempt       int
	Cause         Cause
	StartedAt     time.Time
	FinishedAt    time.Time
	Result        Result
	Class         ledger.Kind // definite, permanent, ambiguous; empty when delivered
	StatusCode    int         // 0: no answer
	Latency       time.Duration
	ResponseStart []byte
	Error         string
	NextAttemptAt time.Time
}

// Job is a delivery received and claimed: one attempt to make.
type Job struct {
	ClaimID    int64
	Fence      int64
	MessageID  int64
	Lease      int           // the message's
	LeaseFor   time.Duration // of message and claim, from the receive; the endpoint's time-out ends before it
	DeliveryID int64
	Project    int64
	Attempt    int
	Tries      int // since the last redrive or resend, this one included
	Cause      Cause
	Policy     ledger.Policy
	Ladder     []time.Duration
	KeySend    int
	EventID    string
	EventType  string
	Payload    []byte
	Endpoint   Endpoint

	// TakenAt is the database's time of the receive, so that a request is dated and signed right though the worker's clock is
	// not. Zero: the worker's clock is used.
	TakenAt time.Time

	received time.Time // the same moment by the worker's monotonic clock

	// Made once, of the goroutine that has the job: each is a hash.
	endpointID, key string // as the receiver sees them
}

// Outcome is how a job's attempt ended.
type Outcome struct {
	Job     *Job
	Kind    ledger.Kind
	RetryIn time.Duration // Definite, Ambiguous, GivenBack
	// The attempt as it was; no row is made of one given back.
	Result   Result
	Status   int
	Ago      time.Duration // from its start to the settling, by the worker's monotonic clock: the database's dates it
	Latency  time.Duration
	Response []byte
	Error    string
	Disable  string // why the endpoint is to be disabled with it; empty: it is not

	began time.Time // Ago is told from it
}

// DeliveryKey is the Idempotency-Key that a receiver gets: the same on every attempt, resend and redrive of a
// delivery. keySend is the number of a send that asked for a new key, else 0.
func DeliveryKey(endpointID, eventID string, keySend int) string {
	s := endpointID + ":" + eventID
	if keySend > 0 {
		s += ":" + strconv.Itoa(keySend)
	}
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}
