package queue

import (
	"strings"
	"time"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
)

// Publish is one message to publish.
type Publish struct {
	Project  int64
	Queue    string
	Body     []byte // any JSON, the bytes that came
	Headers  map[string]string
	Delay    time.Duration
	Priority int
	Group    string    // of fairness; empty is the ungrouped
	OriginAt time.Time // when the work began; zero: now
	Key      string    // the publish key; empty is none
	Hash     []byte    // of the request, 32 bytes; compared where the key is known

	// Price is what the message is charged if it is stored; a replay is free. The charge commits with the message.
	Price account.USD
}

// Check refuses what is out of range.
func (p *Publish) Check() error {
	if err := CheckName("/queue", p.Queue); err != nil {
		return err
	}
	if len(p.Body) > MaxPayload {
		e := fault.New(fault.MessageTooLarge, "the payload has %d bytes; the limit is %d", len(p.Body), MaxPayload)
		e.Field, e.Hint = "/payload", "store the content elsewhere and publish its id"
		return e
	}
	if err := canon.CheckDepth("/payload", p.Body); err != nil {
		return err
	}
	if strings.HasPrefix(p.Key, contentKey) {
		return fault.Invalid("/idempotency_key", "the idempotency key %s is not printable", fault.Quote(p.Key))
	}
	if p.Delay < 0 || p.Delay > MaxDelay {
		return fault.Invalid("/delay_seconds", "delay_seconds is %v; it must be 0 to 604800", p.Delay.Seconds())
	}
	if p.Priority < 0 || p.Priority > MaxPriority {
		return fault.Invalid("/priority", "priority is %d; it must be 0 to 9", p.Priority)
	}
	if y := p.OriginAt.UTC().Year(); !p.OriginAt.IsZero() && (y < 1970 || y > 9999) {
		return fault.Invalid("/origin_at", "origin_at is of the year %d; it must be a time since 1970, of a year of four digits", y)
	}
	if p.Group != "" && !groupRule.MatchString(p.Group) {
		return fault.Invalid("/message_group_id", "message_group_id %s is not 1 to 128 printable ASCII characters", fault.Quote(p.Group))
	}
	if len(p.Headers) > MaxHeaders {
		return fault.Invalid("/headers", "headers has %d members; at most %d", len(p.Headers), MaxHeaders)
	}
	n := 0
	for k, v := range p.Headers {
		n += len(k) + len(v)
	}
	if n > MaxHeaderBytes {
		return fault.Invalid("/headers", "headers has %d bytes of names and values; at most %d", n, MaxHeaderBytes)
	}
	return nil
}

// Published is what became of a Publish. With Err nothing was stored.
type Published struct {
	ID          int64
	Replay      bool // the key was known: this is the first message's answer
	PublishedAt time.Time
	VisibleAt   time.Time
	Cost        account.USD // that it was charged: its price, of a replay nothing
	Err         error       // ErrQueueNotFound, ErrKeyReused, account.ErrInsufficient, or a bad argument (delay at or past the queue's retention)
}

// Receive asks for messages.
type Receive struct {
	Project    int64
	Queue      string
	Max        int
	Visibility time.Duration // of the lease; zero: the queue's default
	Waits      bool          // whoever asks waits on if there is nothing, and looks again: a store that found nothing a moment ago, and heard of nothing since, need not look, nor far back each time
}

// Message is a message as a consumer or a list sees it.
type Message struct {
	Row
	Queue   string // the name of the queue it is in
	Source  string // dead-lettered: the name of the queue it came from; empty if that is gone or there is none
	Group   string
	Body    []byte
	Headers map[string]string

	LookedAt time.Time // of a list: when, by the database's clock, it was seen so; its status then is Status(LookedAt)
}

// Status of a message.
type Status string

const (
	Available Status = "available"
	Delayed   Status = "delayed"
	InFlight  Status = "in_flight"
	Dead      Status = "dead_lettered"
)

// Verb is what a receipt can do.
type Verb string

const (
	Ack     Verb = "ack"
	Nack    Verb = "nack"
	Release Verb = "release"
	Extend  Verb = "extend"
)

// Settle is one act with a receipt.
type Settle struct {
	Verb    Verb
	Project int64
	Queue   string
	ID      int64
	Lease   int // of the receipt; 0: by the message's id, so the newest receipt whoever has it

	Delay      time.Duration // Nack with HasDelay, Release
	HasDelay   bool          // Nack: false waits 2^(receives-1) s, at most 300
	DeadLetter bool          // Nack: requeue false
	Error      string        // Nack: kept as the message's last error
	Visibility time.Duration // Extend: from now; 0 is a time-out now
}

// Settled is what became of a Settle.
type Settled struct {
	Applied   bool
	Reason    string // why not: lease_lost, not_in_flight
	Status    Status
	VisibleAt time.Time // Nack, Release, Extend
	Err       error     // ErrMessageNotFound, ErrQueueNotFound, or by id where the queue requires receipts
}

// Reasons of a Settle that changes nothing.
const (
	LeaseLost   = "lease_lost"
	NotInFlight = "not_in_flight"
)

// Stats counts a queue's messages.
type Stats struct {
	Messages, Available, InFlight, Delayed, Dead int64
	OldestAge                                    time.Duration
}
