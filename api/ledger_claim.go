package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"uuid"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/retryafter"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// claimRequest asks for a key.
type claimRequest struct {
	keyed
	Scope       *string        `json:"scope"`
	WorkKey     *string        `json:"key"`
	Payload     jsontext.Value `json:"payload"`
	WorkHash    *string        `json:"work_hash"`
	Policy      *ledger.Policy `json:"policy"`
	Owner       *string        `json:"owner"`
	Lease       seconds        `json:"lease_seconds"`
	MaxAttempts *whole         `json:"max_attempts"`
	Window      seconds        `json:"receiver_window_seconds"`
	OriginAt    moment         `json:"origin_at"`
	GrantID     *string        `json:"grant_id"`
	Queue       *string        `json:"queue"`
	Receipt     *string        `json:"receipt_handle"`
}

// claimKey asks for a key, with the message that is to carry it.
func (c *call) claimKey() (any, error) {
	var r claimRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	k, err := c.callFor(&r)
	if err != nil {
		return nil, err
	}
	out, err := c.Store.Claim(c.ctx, k)
	if err != nil {
		return nil, err
	}
	if out[0].Err != nil {
		return nil, out[0].Err
	}
	return c.viewAnswer(&k, &out[0]), nil
}

// callFor gives what a request asks the ledger.
func (c *call) callFor(r *claimRequest) (k ledger.Call, err error) {
	k = ledger.Call{
		Project: c.project, Scope: or(r.Scope, ""), Key: or(r.WorkKey, ""), Policy: or(r.Policy, ledger.Idempotent),
		Window: r.Window.d, OriginAt: r.OriginAt.Time, Grant: ledger.Grant{Owner: or(r.Owner, ""), Lease: ledger.DefaultLease},
	}
	if k.MaxTries, err = attempts(r.MaxAttempts); err != nil {
		return k, err
	}
	if err := r.Window.in("/receiver_window_seconds", ledger.MinWindow, ledger.MaxWindow); err != nil {
		return k, err // 0 is not for ever, which is null
	}
	if err := r.Lease.in("/lease_seconds", ledger.MinLease, ledger.MaxLease); err != nil {
		return k, err
	}
	if r.Lease.given {
		k.Grant.Lease = r.Lease.d
	}
	if err := setWork(&k, r); err != nil {
		return k, err
	}
	if r.Scope == nil {
		return k, fault.Invalid("/scope", "scope is required: what kind of work the key names")
	}
	if err := k.Check(); err != nil {
		return k, err
	}
	if k.Grant.GrantID, err = grantID(r.GrantID); err != nil {
		return k, err
	}
	return k, c.setCarrier(&k, r)
}

func attempts(v *whole) (int, error) {
	if v == nil {
		return ledger.DefaultAttempts, nil
	}
	return int(v.n), wholeIn("/max_attempts", v, 1, ledger.MaxAttempts)
}

const mostWorkHash = 512 // bytes

// workHash reads a hash of the caller's making: a SHA-256 in hex is itself; another text (a revision, an ETag) is hashed.
func workHash(s string) []byte {
	if b, err := hex.DecodeString(s); err == nil && len(b) == sha256.Size {
		return b
	}
	h := sha256.Sum256([]byte("work_hash:" + s))
	return h[:]
}

// setWork gives the call the hash of its work, and its key where that is to be made of the payload.
func setWork(k *ledger.Call, r *claimRequest) error {
	if r.WorkHash != nil {
		if n := len(*r.WorkHash); n < 1 || n > mostWorkHash {
			return fault.Invalid("/work_hash", "work_hash has %d bytes; it must have 1 to %d: a SHA-256 of the work's content in hex, or another text that changes with it", n, mostWorkHash)
		}
		k.Grant.WorkHash = workHash(*r.WorkHash)
	}
	if r.Payload == nil {
		if r.WorkKey == nil {
			return fault.Invalid("/key", "key is required: the work's own name, 1 to %d bytes", ledger.MaxKey).WithHint("or payload, whose canonical hash is then the key")
		}
		return nil
	}
	h, err := ledger.Fingerprint(r.Payload)
	if err != nil {
		return err
	}
	switch {
	case r.WorkHash == nil:
		k.Grant.WorkHash = h
	case r.WorkKey != nil && !bytes.Equal(h, k.Grant.WorkHash):
		return fault.Invalid("/work_hash", "work_hash is %s and payload's canonical hash is %s: both are the content of the work", *r.WorkHash, hex.EncodeToString(h)).WithHint("send one of them")
	}
	if r.WorkKey == nil {
		k.Key = hex.EncodeToString(h)
	}
	return nil
}

// grantID gives the id of one call, a fresh one if it came without.
func grantID(given *string) (string, error) {
	if given == nil {
		return uuid.NewV7().String(), nil
	}
	id, err := uuid.Parse(*given)
	if err != nil {
		return "", fault.Invalid("/grant_id", "grant_id is %s; it must be a UUID", fault.Quote(*given)).WithHint("make a fresh one for each call, and repeat it only to ask again for that call's lost answer")
	}
	return id.String(), nil
}

// setCarrier gives the call the message that its receipt is of.
func (c *call) setCarrier(k *ledger.Call, r *claimRequest) error {
	if r.Queue == nil && r.Receipt == nil {
		return nil
	}
	name, err := bodyQueue(r.Queue)
	if err != nil {
		return err
	}
	if r.Receipt == nil {
		return fault.Invalid("/receipt_handle", "receipt_handle is required with queue, as consume gave it")
	}
	k.MessageID, k.Lease, err = c.receipt(name, *r.Receipt)
	return err
}

// answered is the answer to a call for a key.
type answered struct {
	Verdict    ledger.Verdict `json:"verdict"`
	Key        string         `json:"key"`
	Fence      *int64         `json:"fence"` // this and the next three: of granted
	Attempt    *int           `json:"attempt"`
	Ambiguous  *bool          `json:"ambiguous"`
	LeaseUntil stamp          `json:"lease_until"`
	OpID       *string        `json:"op_id"`
	RetryAfter *int64         `json:"retry_after_seconds"`
	Reason     *string        `json:"reason"`

	result []byte
}

func (c *call) viewAnswer(k *ledger.Call, a *ledger.Answer) answered {
	v := answered{Verdict: a.Verdict, Key: k.Key}
	if a.Claim.ID != 0 {
		v.OpID = new(a.Claim.OpID())
	}
	switch a.Verdict {
	case ledger.Granted:
		v.Fence, v.Attempt, v.Ambiguous, v.LeaseUntil = &a.Claim.Fence, &a.Claim.Attempt, &a.Claim.Ambiguous, stamp(a.Claim.LeaseUntil)
	case ledger.WasDone:
		v.result = a.Claim.Result
	case ledger.Busy:
		v.RetryAfter = new(retryafter.Seconds(a.Wait))
		if a.Lost {
			v.Reason = new(queue.LeaseLost)
		}
	case ledger.Mismatch:
		v.Reason = new(fmt.Sprintf("the key was claimed for the work %x, and this is %x", a.Claim.WorkHash, k.Grant.WorkHash))
	default:
		v.Reason = text(a.Claim.LastError)
	}
	return v
}

func (a answered) writeJSON(buf *bytes.Buffer) { writeWithResult(buf, a, a.result) }

// writeWithResult writes an object and in it a result byte for byte, which an encoder would put in another form.
func writeWithResult(buf *bytes.Buffer, v any, result []byte) {
	b, _ := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	buf.Write(b[:len(b)-1])
	buf.WriteString(`,"result":`)
	switch {
	case result == nil:
		buf.WriteString("null")
	case jsontext.Value(result).IsValid() && canon.CheckDepth("/result", result) == nil:
		buf.Write(result)
	default: // of a program that keeps something else beside the server: in base64
		b, _ = json.Marshal(result)
		buf.Write(b)
	}
	buf.WriteByte('}')
}
