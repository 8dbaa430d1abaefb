package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

type ledgerCmd struct {
	Claims   ledgerClaimsCmd   `cmd:"" help:"List the keys in a state, the newest first."`
	Get      ledgerGetCmd      `cmd:"" help:"Show a key with its history."`
	Claim    ledgerClaimCmd    `cmd:"" help:"Ask for a key: exit code 0 says that the work is yours."`
	Begin    ledgerBeginCmd    `cmd:"" help:"Say that the effect begins, or keep the lease."`
	Complete ledgerCompleteCmd `cmd:"" help:"Say that the work is done."`
	Fail     ledgerFailCmd     `cmd:"" help:"Say that a try failed, and how."`
	Resolve  ledgerResolveCmd  `cmd:"" help:"Say what came of a stuck key, or that a failed one is to be tried again."`
}

const ledgerPath = "/v1/ledger/"

type ledgerClaimsCmd struct {
	lister
	State string `enum:"claimed,started,retry,done,failed,stuck" default:"stuck" help:"claimed, started, retry, done, failed or stuck (stuck)."`
}

func (ledgerClaimsCmd) Help() string {
	return examples("ledger claims", "ledger claims --state failed --limit 500 --json", "ledger claims --state started --watch")
}

func (c *ledgerClaimsCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, query(ledgerPath+"claims", "state", c.State),
		"key", "scope", "state", "policy", "fence", "tries", "lease_until", "next_attempt_at", "last_error", "message_id")
}

// ledgerKey names a key.
type ledgerKey struct {
	Scope string `arg:"" help:"What kind of work the key names."`
	Key   string `arg:"" help:"The work's own name."`
}

func (k *ledgerKey) body() object { return object{"scope": k.Scope, "key": k.Key} }

type ledgerGetCmd struct {
	looker
	ledgerKey
}

func (ledgerGetCmd) Help() string {
	return examples("ledger get receipt order-7", "ledger get receipt order-7 --watch")
}

// Run shows a key; a watch ends when it waits for nothing but a person.
func (c *ledgerGetCmd) Run(ctx context.Context, out output) error {
	return c.look(ctx, out, func(out output) (bool, error) {
		var o object
		if _, err := c.call(ctx, "GET", query(ledgerPath+"claims", "scope", c.Scope, "key", c.Key), nil, &o); err != nil {
			return false, err
		}
		rest := slices.Contains([]string{"done", "failed", "stuck"}, line(o["state"]))
		if err := c.fields(out, o, "scope", "key", "state", "policy", "fence"); err != nil || c.JSON {
			return rest, err
		}
		return rest, c.below(out, o, "history", "at", "what", "fence", "who", "detail")
	})
}

type ledgerClaimCmd struct {
	remote
	Scope          string         `arg:"" help:"What kind of work the key names."`
	Key            string         `arg:"" optional:"" help:"The work's own name; without it the payload's hash is."`
	Payload        *string        `help:"The work's content, any JSON: a key known with other content is a mismatch. - reads standard input."`
	WorkHash       *string        `help:"Its SHA-256 in hex, or another text that changes with it, in the payload's place."`
	Policy         *string        `help:"idempotent, or once where the receiver of the effect does not know the key (idempotent)."`
	Owner          *string        `help:"Who asks, for the record."`
	Lease          *time.Duration `help:"How long the key is held without a word (1m)."`
	MaxAttempts    *int           `help:"How often a new key may be tried (5)."`
	ReceiverWindow *time.Duration `help:"How long the receiver remembers the key (for ever)."`
	OriginAt       *string        `help:"When the work began, RFC 3339 (the message's, or now)."`
	GrantID        *string        `name:"grant-id" help:"A UUID of this one call: the same again asks for its lost answer."`
	Queue          *string        `help:"Of the message that is to carry the key."`
	Receipt        *string        `help:"And its receipt handle, rct_…"`
}

func (ledgerClaimCmd) Help() string {
	return examples("ledger claim receipt order-7 --queue jobs --receipt "+exampleReceipt,
		`ledger claim receipt order-7 --payload '{"amount": 5}' --policy once --lease 5m`) +
		"\n\nGranted, the command exits 0 and shows the fence, which begin, complete and fail want; else it exits 1. What a worker does then: done: ack · busy: release for the seconds given · " +
		"failed, stuck, mismatch, too_old: nack --dead with the reason."
}

func (c *ledgerClaimCmd) Run(ctx context.Context, out output) error {
	body := object{"scope": c.Scope}
	if c.Key != "" {
		body["key"] = c.Key
	}
	with(body, "work_hash", c.WorkHash)
	with(body, "policy", c.Policy)
	with(body, "owner", c.Owner)
	with(body, "lease_seconds", seconds(c.Lease))
	with(body, "max_attempts", c.MaxAttempts)
	with(body, "receiver_window_seconds", seconds(c.ReceiverWindow))
	with(body, "origin_at", c.OriginAt)
	with(body, "grant_id", c.GrantID)
	with(body, "queue", c.Queue)
	with(body, "receipt_handle", c.Receipt)
	raw, err := withJSON(body, "payload", c.Payload)
	if err != nil {
		return err
	}
	var o object
	if _, err := c.call(ctx, "POST", ledgerPath+"claim", raw, &o); err != nil {
		return err
	}
	if err := c.fields(out, o, "verdict", "key", "fence", "attempt", "ambiguous", "op_id", "lease_until", "retry_after_seconds", "reason", "result"); err != nil {
		return err
	}
	switch o["verdict"] {
	case "granted":
		return nil
	case "busy":
		return fmt.Errorf("ledger claim: not granted: busy, again in %s s", line(o["retry_after_seconds"]))
	}
	return fmt.Errorf("ledger claim: not granted: %s", line(o["verdict"]))
}

// ledgerHeld names a key and the grant of its holder.
type ledgerHeld struct {
	remote
	ledgerKey
	Fence int64 `arg:"" help:"Of the grant, as claim showed it."`
}

// say sends a holder's word. One that changed nothing is an error, after the answer was printed.
func (c *ledgerHeld) say(ctx context.Context, out output, verb string, body any) error {
	var o object
	if _, err := c.call(ctx, "POST", ledgerPath+verb, body, &o); err != nil {
		return err
	}
	if err := c.fields(out, o, "applied", "state", "reason"); err != nil {
		return err
	}
	if o["applied"] != true {
		return fmt.Errorf("ledger %s changed nothing: %s", verb, line(o["reason"]))
	}
	return nil
}

func (c *ledgerHeld) body() object {
	o := c.ledgerKey.body()
	o["fence"] = c.Fence
	return o
}

type ledgerBeginCmd struct {
	ledgerHeld
	Lease *time.Duration `help:"From now on, of the key and its message (1m)."`
}

func (ledgerBeginCmd) Help() string {
	return examples("ledger begin receipt order-7 1 --lease 5m") +
		"\n\nOf policy once it is the line before the effect: before it a dead worker's key is another's, behind it it is stuck. Of both policies it is the heartbeat."
}

func (c *ledgerBeginCmd) Run(ctx context.Context, out output) error {
	body := c.body()
	with(body, "lease_seconds", seconds(c.Lease))
	return c.say(ctx, out, "begin", body)
}

type ledgerCompleteCmd struct {
	ledgerHeld
	Result *string `help:"What duplicates are told, any JSON; - reads standard input."`
	Settle bool    `help:"Ack the key's message with it."`
}

func (ledgerCompleteCmd) Help() string {
	return examples("ledger complete receipt order-7 1 --settle", `ledger complete receipt order-7 1 --result '{"sent": true}'`)
}

func (c *ledgerCompleteCmd) Run(ctx context.Context, out output) error {
	body := c.body()
	body["settle"] = c.Settle
	raw, err := withJSON(body, "result", c.Result)
	if err != nil {
		return err
	}
	return c.say(ctx, out, "complete", raw)
}

type ledgerFailCmd struct {
	ledgerHeld
	Kind    string         `arg:"" enum:"definite,permanent,ambiguous" help:"definite (it cannot have happened), permanent (refused for good) or ambiguous (nobody can know)."`
	Error   *string        `help:"What went wrong, kept with the key."`
	RetryIn *time.Duration `help:"Before it may be tried again (at once)."`
	Settle  bool           `help:"Give the key's message back until then, or dead-letter it where no try is left."`
}

func (ledgerFailCmd) Help() string {
	return examples("ledger fail receipt order-7 1 definite --error 'the bank is closed' --retry-in 10m --settle", "ledger fail receipt order-7 1 ambiguous --error timeout")
}

func (c *ledgerFailCmd) Run(ctx context.Context, out output) error {
	body := c.body()
	body["kind"], body["settle"] = c.Kind, c.Settle
	with(body, "error", c.Error)
	with(body, "retry_in_seconds", seconds(c.RetryIn))
	return c.say(ctx, out, "fail", body)
}

type ledgerResolveCmd struct {
	remote
	ledgerKey
	As    string `arg:"" enum:"done,retry,failed" help:"done, retry or failed."`
	Note  string `help:"Why, for the record."`
	Fence *int64 `help:"That you saw: refused if the key was granted again since."`
}

func (ledgerResolveCmd) Help() string {
	return examples("ledger resolve receipt order-7 done --note 'the customer has it' --fence 1", "ledger resolve receipt order-7 retry")
}

func (c *ledgerResolveCmd) Run(ctx context.Context, out output) error {
	body := c.body()
	body["as"], body["note"] = c.As, c.Note
	with(body, "fence", c.Fence)
	var o object
	if _, err := c.call(ctx, "POST", ledgerPath+"resolve", body, &o); err != nil {
		return err
	}
	return c.fields(out, o, "state", "requeued")
}
