package client

import (
	"context"
	"encoding/json/jsontext"
	"iter"
	"time"
	"uuid"
)

// The ledger's verdicts on a call for a key.
const (
	Granted     = "granted"  // do the work, then Complete or Fail
	KeyDone     = "done"     // it happened: ack
	Busy        = "busy"     // somebody is at it, or its time has not come: release for RetryAfter
	KeyFailed   = "failed"   // nack as a dead letter, with the reason; so too the rest
	KeyStuck    = "stuck"    // nobody can know whether it happened
	KeyMismatch = "mismatch" // the key is known with other content
	TooOld      = "too_old"  // older than the ledger's memory, 90 days
)

// NewClaim asks the ledger for a key of work.
type NewClaim struct {
	Scope       string        `json:"scope"`                            // what kind of work: 1 to 128 printable ASCII
	Key         string        `json:"key,omitzero"`                     // 1 to 512 bytes; without it the payload's canonical hash
	Payload     any           `json:"-"`                                // the work's content, compared; nil: not
	WorkHash    string        `json:"work_hash,omitzero"`               // its SHA-256 in hex, or another text that changes with it, in the payload's place
	Policy      string        `json:"policy,omitzero"`                  // [Idempotent] (default) or [Once]
	Owner       string        `json:"owner,omitzero"`                   // for the record
	Lease       time.Duration `json:"lease_seconds,omitzero"`           // 1 s to 12 h (60 s)
	MaxAttempts int           `json:"max_attempts,omitzero"`            // 1 to 1000 (5)
	Window      time.Duration `json:"receiver_window_seconds,omitzero"` // how long the receiver of the effect remembers the key: 1 s to 10 years (zero: for ever)
	OriginAt    time.Time     `json:"origin_at,omitzero"`               // when the work began; the message's, or now
	Queue       string        `json:"queue,omitzero"`                   // of the message that is to carry the key,
	Receipt     string        `json:"receipt_handle,omitzero"`          // and its receipt
}

// Verdict is the ledger's answer to a [NewClaim].
type Verdict struct {
	Verdict    string         `json:"verdict"` // [Granted], [KeyDone], [Busy], …
	Key        string         `json:"key"`
	Fence      int64          `json:"fence"`       // of Granted, as the next three: the grant, which its words name
	Attempt    int            `json:"attempt"`     // 1, 2, …
	Ambiguous  bool           `json:"ambiguous"`   // a try before may have taken effect
	LeaseUntil time.Time      `json:"lease_until"` // by the server's clock
	OpID       string         `json:"op_id"`       // one under every fence: an Idempotency-Key for what the work calls
	RetryAfter time.Duration  `json:"retry_after_seconds"`
	Reason     string         `json:"reason"` // of Busy "lease_lost": the message is another's by now
	Result     jsontext.Value `json:"result"` // of KeyDone: the bytes that Complete was given
}

// Claim asks for a key. To ask again where the answer was lost is safe: the call has an id of its own.
func (c *Client) Claim(ctx context.Context, n NewClaim) (*Verdict, error) {
	var more []member
	if n.Payload != nil {
		payload, err := payloadOf(n.Payload)
		if err != nil {
			return nil, err
		}
		more = append(more, payload)
	}
	body, err := with(struct {
		NewClaim
		GrantID string `json:"grant_id"`
	}{n, uuid.NewV7().String()}, more...)
	if err != nil {
		return nil, err
	}
	out := new(Verdict)
	return some(out, c.post(ctx, "/v1/ledger/claim", body, out))
}

// Held names a key and the grant of its holder.
type Held struct {
	Scope string `json:"scope"`
	Key   string `json:"key"`
	Fence int64  `json:"fence"`
}

// Word is what became of a holder's word.
type Word struct {
	Applied    bool      `json:"applied"`
	State      string    `json:"state"`
	Reason     string    `json:"reason"`      // where it did not count: "fenced", "not_begun", or the state
	LeaseUntil time.Time `json:"lease_until"` // of Begin
}

// Begin says that the effect begins, or keeps the lease of a key and its message: 1 s to 12 h, zero being 60 s.
func (c *Client) Begin(ctx context.Context, h Held, lease time.Duration) (*Word, error) {
	out := new(Word)
	return some(out, c.post(ctx, "/v1/ledger/begin", struct {
		Held
		Lease time.Duration `json:"lease_seconds,omitzero"`
	}{h, lease}, out))
}

// Complete says that the work is done; result, any JSON or nil, is what duplicates are told. settle acks the key's message with it.
func (c *Client) Complete(ctx context.Context, h Held, result any, settle bool) (*Word, error) {
	var more []member
	if result != nil {
		m, err := payloadOf(result)
		if err != nil {
			return nil, err
		}
		more = append(more, member{"result", m.value})
	}
	body, err := with(struct {
		Held
		Settle bool `json:"settle"`
	}{h, settle}, more...)
	if err != nil {
		return nil, err
	}
	out := new(Word)
	return some(out, c.post(ctx, "/v1/ledger/complete", body, out))
}

// Failure says how a try failed.
type Failure struct {
	Kind    string        `json:"kind"`                      // "definite" (refused, or it never left), "permanent" (refused for good) or "ambiguous"
	Error   string        `json:"error,omitzero"`            // its first 4,096 bytes are kept
	RetryIn time.Duration `json:"retry_in_seconds,omitzero"` // at most 7 days
	Settle  bool          `json:"settle"`                    // gives the key's message back until then, or dead-letters it where no try is left
}

// Fail says that a try failed. One that was sent again since its answer was lost may be told that it did not count: the first one did.
func (c *Client) Fail(ctx context.Context, h Held, f Failure) (*Word, error) {
	out := new(Word)
	return some(out, c.post(ctx, "/v1/ledger/fail", struct {
		Held
		Failure
	}{h, f}, out))
}

// Claim is a key of work as the ledger has it.
type Claim struct {
	Scope       string         `json:"scope"`
	Key         string         `json:"key"`
	State       string         `json:"state"` // claimed, started, retry, done, failed or stuck
	Policy      string         `json:"policy"`
	Fence       int64          `json:"fence"`
	Attempt     int            `json:"attempt"`
	Tries       int            `json:"tries"` // since it was last opened
	MaxAttempts int            `json:"max_attempts"`
	Ambiguous   bool           `json:"ambiguous"` // a try may have taken effect
	OpID        string         `json:"op_id"`
	Owner       string         `json:"owner"`
	WorkHash    string         `json:"work_hash"`
	Window      time.Duration  `json:"receiver_window_seconds"`
	MessageID   string         `json:"message_id"`
	LeaseUntil  time.Time      `json:"lease_until"`
	NextAt      time.Time      `json:"next_attempt_at"`
	FinishedAt  time.Time      `json:"finished_at"`
	OriginAt    time.Time      `json:"origin_at"`
	CreatedAt   time.Time      `json:"created_at"`
	LastError   string         `json:"last_error"`
	Result      jsontext.Value `json:"result"`  // of one that was asked for by its key
	History     []ClaimNote    `json:"history"` // of the same: its last 50 lines, the oldest first
}

// ClaimNote is a line of a key's history: a grant, an outcome, a person's act, or a word that did not count.
type ClaimNote struct {
	At     time.Time `json:"at"`
	What   string    `json:"what"`
	Fence  int64     `json:"fence"`
	Who    string    `json:"who"`
	Detail string    `json:"detail"`
}

// FindClaim gives a key with its result and its history; [NotFound] where there is none.
func (c *Client) FindClaim(ctx context.Context, scope, key string) (*Claim, error) {
	out := new(Claim)
	return some(out, c.get(ctx, address("/v1/ledger/claims", "scope", scope, "key", key), out))
}

// Claims lists the keys in a state, the newest first.
func (c *Client) Claims(ctx context.Context, state string) iter.Seq2[Claim, error] {
	return list[Claim](ctx, c, "/v1/ledger/claims", "state", state)
}

// Resolution is a person's word on a key.
type Resolution struct {
	Scope string `json:"scope"`
	Key   string `json:"key"`
	As    string `json:"as"`             // "done", "retry" or "failed"; of a failed one "retry" alone
	Note  string `json:"note,omitzero"`  // at most 1024 bytes, for the record
	Fence int64  `json:"fence,omitzero"` // that was seen: if the key was granted again since, [ClaimChanged]
}

// ResolveClaim says what came of a stuck key, or that a failed one is to be tried again; another: [Conflict]. requeued tells that its dead letter
// went back to its queue. It is not sent again where its answer is lost.
func (c *Client) ResolveClaim(ctx context.Context, r Resolution) (state string, requeued bool, err error) {
	var out struct {
		State    string `json:"state"`
		Requeued bool   `json:"requeued"`
	}
	_, err = c.Call(ctx, Request{Method: "POST", Path: "/v1/ledger/resolve", Body: r, Once: true}, &out)
	return out.State, out.Requeued, err
}
