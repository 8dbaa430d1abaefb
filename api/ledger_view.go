package api

import (
	"encoding/hex"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
)

// claimView is a key as it is listed.
type claimView struct {
	Scope       string        `json:"scope"`
	Key         string        `json:"key"`
	State       ledger.State  `json:"state"`
	Policy      ledger.Policy `json:"policy"`
	Fence       int64         `json:"fence"`
	Attempt     int           `json:"attempt"`
	Tries       int           `json:"tries"`
	MaxAttempts int           `json:"max_attempts"`
	Ambiguous   bool          `json:"ambiguous"`
	OpID        string        `json:"op_id"`
	Owner       *string       `json:"owner"`
	WorkHash    *string       `json:"work_hash"`
	Window      *float64      `json:"receiver_window_seconds"`
	MessageID   *string       `json:"message_id"`
	LeaseUntil  stamp         `json:"lease_until"`
	NextAt      stamp         `json:"next_attempt_at"`
	FinishedAt  stamp         `json:"finished_at"`
	OriginAt    stamp         `json:"origin_at"`
	CreatedAt   stamp         `json:"created_at"`
	LastError   *string       `json:"last_error"`
}

func (c *call) viewClaim(k ledger.Claim) claimView {
	v := claimView{
		Scope: k.Scope, Key: k.Key, State: k.State, Policy: k.Policy, Fence: k.Fence, Attempt: k.Attempt, Tries: k.Tries, MaxAttempts: k.MaxTries,
		Ambiguous: k.Ambiguous, OpID: k.OpID(), Owner: text(k.Owner), WorkHash: text(hex.EncodeToString(k.WorkHash)), LeaseUntil: stamp(k.LeaseUntil),
		NextAt: stamp(k.NextAt), FinishedAt: stamp(k.FinishedAt), OriginAt: stamp(k.OriginAt), CreatedAt: stamp(k.CreatedAt), LastError: text(k.LastError),
	}
	if k.Window > 0 {
		v.Window = new(k.Window.Seconds())
	}
	if k.MessageID != 0 {
		v.MessageID = new(c.IDs.Encode(ids.Message, c.project, k.MessageID))
	}
	return v
}

// noteView is a line of a key's history.
type noteView struct {
	At     stamp   `json:"at"`
	What   string  `json:"what"`
	Fence  int64   `json:"fence"`
	Who    *string `json:"who"`
	Detail *string `json:"detail"`
}

func viewNote(n ledger.Note) noteView {
	return noteView{stamp(n.At), n.What, n.Fence, text(n.Who), text(n.Detail)}
}

// claimWhole is a key with its history and its result.
type claimWhole struct {
	claimView
	History []noteView `json:"history"`

	result []byte
}
