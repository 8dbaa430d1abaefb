package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// Memory is how long the ledger remembers what ended, and so how old work may be and still be run: no redelivery can
// come after it. Older work is [TooOld].
const Memory = 90 * 24 * time.Hour

// Policy says whether the receiver of an effect knows our key.
type Policy string

const (
	// Idempotent: the receiver knows our key, so a try whose outcome is unknown may be made again under it.
	Idempotent Policy = "idempotent"
	// Once: the receiver does not, so there is never a second try after one whose outcome is unknown.
	Once Policy = "once"
)

// State is where a claim stands.
type State string

const (
	New     State = "new"     // made with its delivery; nobody has tried
	Claimed State = "claimed" // Once only: held, the effect cannot have begun
	Started State = "started" // held, the effect may have happened
	Retry   State = "retry"   // waits for NextAt
	Done    State = "done"    // it did
	Failed  State = "failed"  // it certainly did not
	Stuck   State = "stuck"   // nobody can know
)

// Terminal reports whether a claim in s waits for nothing but a person.
func (s State) Terminal() bool { return s == Done || s == Failed || s == Stuck }

// Held reports whether somebody has a claim in s.
func (s State) Held() bool { return s == Claimed || s == Started }

// Verdict answers an attempt to claim a key.
type Verdict string

const (
	Granted   Verdict = "granted"  // do the work; Fence names the grant
	WasDone   Verdict = "done"     // it happened; ack
	Busy      Verdict = "busy"     // somebody is at it, or its time has not come; release for Wait
	WasFailed Verdict = "failed"   // dead-letter
	WasStuck  Verdict = "stuck"    // dead-letter
	Mismatch  Verdict = "mismatch" // the key is known with other content; dead-letter
	TooOld    Verdict = "too_old"  // older than the ledger's memory; dead-letter
)

// Kind says how a try ended.
type Kind string

const (
	Succeeded Kind = "done"       // it did
	Definite  Kind = "definite"   // refused, or it never left us: another try is safe
	Permanent Kind = "permanent"  // refused for good
	Ambiguous Kind = "ambiguous"  // nobody can know
	GivenBack Kind = "given_back" // the try was not begun, because we stopped: it is not counted
)

// Claim is the record of one work key. The zero time means none.
type Claim struct {
	ID      int64
	Project int64
	Scope   string   // what kind of work; "webhook" for deliveries
	Key     string   // the key's own text; empty for a delivery, whose key is made of its endpoint, event and send number
	Hash    [32]byte // of project, scope and key: unique

	WorkHash []byte // of the content, 32 bytes; nil is not compared
	Policy   Policy
	State    State
	Fence    int64 // of the newest grant; only grows
	Begun    int64 // the fence of the last grant whose effect may have begun
	Attempt  int   // grants so far, less those given back; never begins anew
	Tries    int   // the same since the last reopening
	MaxTries int

	Ambiguous bool // some try may have taken effect
	GrantID   string
	Owner     string

	LeaseUntil time.Time     // while held
	NextAt     time.Time     // in Retry
	FinishedAt time.Time     // in Done and Failed
	FirstAt    time.Time     // the first try that may have taken effect, since the last reopening
	Window     time.Duration // how long the receiver remembers our key, from FirstAt; 0 is for ever
	Keep       time.Duration // how long the key is remembered once it is done or failed; 0 is Memory
	OriginAt   time.Time     // when the work began
	CreatedAt  time.Time

	MessageID int64 // the message that carries this key; 0 if none
	Lease     int   // and the lease number under which it was claimed
	Result    []byte
	LastError string
}

// OpID names the work of the key to others: the same under every fence, so that it can go along as the Idempotency-Key of calls that the work
// makes. A key that was forgotten and is made anew has another. It is "op_" and 32 hex digits, made of what a claim never changes: Hash, and
// CreatedAt to the microsecond.
func (c *Claim) OpID() string {
	b := append(make([]byte, 0, 48), "op"...)
	b = binary.BigEndian.AppendUint64(append(b, c.Hash[:]...), uint64(c.CreatedAt.UnixMicro()))
	h := sha256.Sum256(b)
	return "op_" + hex.EncodeToString(h[:16])
}

// Hash makes a key's hash from its parts. Each part is length-prefixed, so that no two lists of parts are one.
func Hash(project int64, scope string, parts ...string) [32]byte {
	b := make([]byte, 0, 160)
	b = append(b, 1) // the form's version
	b = binary.BigEndian.AppendUint64(b, uint64(project))
	for _, p := range append([]string{scope}, parts...) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return sha256.Sum256(b)
}
