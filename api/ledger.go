package api

import (
	"bytes"
	"encoding/json/jsontext"
	"slices"
	"strings"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

// heldKey names a key, and the grant that a holder speaks of.
type heldKey struct {
	keyed
	Scope   *string `json:"scope"`
	WorkKey *string `json:"key"`
	Fence   *whole  `json:"fence"`
}

// name gives the scope and the key; they are required.
func (k *heldKey) name() (scope, key string, err error) {
	switch {
	case k.Scope == nil:
		err = fault.Invalid("/scope", "scope is required: that of the claim")
	case k.WorkKey == nil:
		err = fault.Invalid("/key", "key is required: that of the claim")
	default:
		err = ledger.CheckKey(*k.Scope, *k.WorkKey)
	}
	return or(k.Scope, ""), or(k.WorkKey, ""), err
}

// held is name with the fence, which is required too.
func (k *heldKey) held() (scope, key string, fence int64, err error) {
	scope, key, err = k.name()
	switch {
	case err != nil:
	case k.Fence == nil:
		err = fault.Invalid("/fence", "fence is required: that of the grant, as claim answered it")
	case k.Fence.raw != "":
		err = fault.Invalid("/fence", "fence is %v; it must be that of a grant, 1 or more and of at most 64 bits", *k.Fence)
	}
	return scope, key, or(k.Fence, whole{}).n, err
}

type beginRequest struct {
	heldKey
	Lease seconds `json:"lease_seconds"`
}

type completeRequest struct {
	heldKey
	Result jsontext.Value `json:"result"`
	Settle bool           `json:"settle"`
}

type failRequest struct {
	heldKey
	Kind    *ledger.Kind `json:"kind"`
	Error   *string      `json:"error"`
	RetryIn seconds      `json:"retry_in_seconds"`
	Settle  bool         `json:"settle"`
}

type resolveKeyRequest struct {
	heldKey
	As   *ledger.State `json:"as"`
	Note *string       `json:"note"`
}

// begun is the answer to begin.
type begun struct {
	Applied    bool    `json:"applied"`
	State      *string `json:"state"`
	Reason     *string `json:"reason"`
	LeaseUntil stamp   `json:"lease_until"`
}

// beginKey makes the line before the effect durable, or goes on with a lease.
func (c *call) beginKey() (any, error) {
	var r beginRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	b := ledger.Beat{Project: c.project, Lease: ledger.DefaultLease}
	var err error
	if b.Scope, b.Key, b.Fence, err = r.held(); err != nil {
		return nil, err
	}
	if r.Lease.given {
		b.Lease = r.Lease.d
	}
	if err := r.Lease.in("/lease_seconds", ledger.MinLease, ledger.MaxLease); err != nil {
		return nil, err
	}
	if err := b.Check(); err != nil {
		return nil, err
	}
	out, err := c.Store.Begin(c.ctx, b)
	if err != nil {
		return nil, err
	}
	a := out[0]
	if a.Reason == ledger.NoKey {
		return nil, ledger.NoClaim(b.Scope, b.Key)
	}
	return begun{a.Applied, text(string(a.State)), text(a.Reason), stamp(a.LeaseUntil)}, nil
}

// said is the answer to a holder's word.
type said struct {
	Applied bool    `json:"applied"`
	State   *string `json:"state"`
	Reason  *string `json:"reason"`
}

func (c *call) completeKey() (any, error) {
	var r completeRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	return c.say(&r.heldKey, ledger.Word{Kind: ledger.Succeeded, Result: r.Result, Settle: r.Settle})
}

func (c *call) failKey() (any, error) {
	var r failRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	switch or(r.Kind, "") {
	case "":
		return nil, fault.Invalid("/kind", "kind is required: %q, %q or %q", ledger.Definite, ledger.Permanent, ledger.Ambiguous).
			WithHint("%s where the effect cannot have happened; %s where nobody can know", ledger.Definite, ledger.Ambiguous)
	case ledger.Succeeded:
		return nil, fault.Invalid("/kind", "kind is %q, which is no failure", ledger.Succeeded).WithHint("POST /v1/ledger/complete says that it succeeded")
	}
	if err := r.RetryIn.in("/retry_in_seconds", 0, ledger.MaxRetryIn); err != nil {
		return nil, err
	}
	return c.say(&r.heldKey, ledger.Word{Kind: *r.Kind, Error: clipped(r.Error), RetryIn: r.RetryIn.d, Settle: r.Settle})
}

// say applies a holder's word.
func (c *call) say(k *heldKey, w ledger.Word) (any, error) {
	w.Project = c.project
	var err error
	if w.Scope, w.Key, w.Fence, err = k.held(); err != nil {
		return nil, err
	}
	if err := w.Check(); err != nil {
		return nil, err
	}
	out, err := c.Store.SettleClaims(c.ctx, w)
	if err != nil {
		return nil, err
	}
	a := out[0]
	if a.Reason == ledger.NoKey {
		return nil, ledger.NoClaim(w.Scope, w.Key)
	}
	return said{a.Applied, text(string(a.State)), text(a.Reason)}, nil
}

type resolvedView struct {
	State    ledger.State `json:"state"`
	Requeued bool         `json:"requeued"`
}

// resolveKey applies a person's word on a key.
func (c *call) resolveKey() (any, error) {
	var r resolveKeyRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	act := ledger.Resolution{Project: c.project, As: or(r.As, ""), Fence: or(r.Fence, whole{}).n, Who: c.who(), Note: or(r.Note, "")}
	var err error
	if act.Scope, act.Key, err = r.name(); err != nil {
		return nil, err
	}
	if err := wholeIn("/fence", r.Fence, 1, 1<<62); err != nil {
		return nil, err
	}
	if !slices.Contains([]ledger.State{ledger.Done, ledger.Retry, ledger.Failed}, act.As) {
		return nil, fault.Invalid("/as", "as is %s; it must be \"done\", \"retry\" or \"failed\"", fault.Quote(string(act.As)))
	}
	if len(act.Note) > maxNote {
		return nil, fault.Invalid("/note", "note has %d bytes; at most %d", len(act.Note), maxNote)
	}
	out, err := c.Store.ResolveClaim(c.ctx, act)
	return resolvedView{out.Claim.State, out.Requeued}, err
}

var keyStates = []string{
	string(ledger.Claimed), string(ledger.Started), string(ledger.Retry), string(ledger.Done), string(ledger.Failed), string(ledger.Stuck),
}

// claims shows a key with its history, or lists those in a state.
func (c *call) claims() (any, error) {
	scope, key, state := c.query.get("scope"), c.query.get("key"), c.query.get("state")
	switch {
	case state == "" && scope == "" && key == "":
		return nil, parameter("state", "state is required, or scope and key: a state's keys are listed, one key is shown")
	case state != "" && (scope != "" || key != ""):
		return nil, parameter("state", "state lists keys, scope and key show one: send the one or the others")
	case state != "":
		return c.listClaims(state)
	}
	if err := ledger.CheckKey(scope, key); err != nil {
		return nil, err
	}
	k, notes, err := c.Store.FindClaim(c.ctx, c.project, scope, key)
	if err != nil {
		return nil, err
	}
	return claimWhole{c.viewClaim(k), views(notes, viewNote), k.Result}, nil
}

func (c *call) listClaims(state string) (any, error) {
	if !slices.Contains(keyStates, state) {
		return nil, parameter("state", "state is %s; it must be %s", fault.Quote(state), strings.Join(keyStates, ", "))
	}
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	rows, err := c.Store.Claims(c.ctx, c.project, ledger.State(state), p.After, p.Limit+1)
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, p.Limit, func(k ledger.Claim) int64 { return k.ID })
	return list[claimView]{views(rows, c.viewClaim), c.query.next(next)}, nil
}

func (w claimWhole) writeJSON(buf *bytes.Buffer) { writeWithResult(buf, w, w.result) }
