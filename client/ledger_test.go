package client_test

import (
	"encoding/json/jsontext"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/onceward/onceward/client"
)

func walkLedger(t *testing.T, c *client.Client) {
	ctx := t.Context()
	do[*client.Queue](t)(c.CreateQueue(ctx, client.NewQueue{Name: "work"}))
	do[*client.Published](t)(c.Publish(ctx, "work", client.NewMessage{Payload: 7}))
	m := do[[]*client.Message](t)(c.Consume(ctx, "work", client.Receive{}))[0]
	ask := client.NewClaim{Scope: "receipt", Key: "order-7", Payload: 7, Owner: "one", Lease: 90 * time.Second, MaxAttempts: 3, Window: time.Hour, Queue: "work", Receipt: m.Receipt}
	v := do[*client.Verdict](t)(c.Claim(ctx, ask))
	if v.Verdict != client.Granted || v.Fence != 1 || v.Attempt != 1 || v.Ambiguous || v.OpID == "" || time.Until(v.LeaseUntil) < 80*time.Second {
		t.Fatalf("%+v", v)
	}
	if b := do[*client.Verdict](t)(c.Claim(ctx, client.NewClaim{Scope: "receipt", Key: "order-7"})); b.Verdict != client.Busy || b.RetryAfter < time.Minute || b.OpID != v.OpID {
		t.Errorf("%+v", b)
	}
	if b := do[*client.Verdict](t)(c.Claim(ctx, client.NewClaim{Scope: "receipt", Key: "order-7", Payload: 8})); b.Verdict != client.KeyMismatch || b.Reason == "" {
		t.Errorf("%+v", b)
	}
	held := client.Held{Scope: "receipt", Key: "order-7", Fence: 1}
	if w := do[*client.Word](t)(c.Begin(ctx, held, 10*time.Minute)); !w.Applied || w.State != "started" || time.Until(w.LeaseUntil) < 9*time.Minute {
		t.Errorf("%+v", w)
	}
	if w := do[*client.Word](t)(c.Fail(ctx, held, client.Failure{Kind: "definite", Error: "503", Settle: true})); !w.Applied || w.State != "retry" {
		t.Errorf("%+v", w)
	}
	m = do[[]*client.Message](t)(c.Consume(ctx, "work", client.Receive{Wait: 20 * time.Second}))[0]
	ask.Receipt = m.Receipt
	v = do[*client.Verdict](t)(c.Claim(ctx, ask))
	if w := do[*client.Word](t)(c.Complete(ctx, held, nil, true)); w.Applied || w.Reason != "fenced" {
		t.Errorf("%+v", w)
	}
	held.Fence = v.Fence
	if w := do[*client.Word](t)(c.Complete(ctx, held, jsontext.Value(`{"sent":  1.0}`), true)); !w.Applied || w.State != "done" {
		t.Errorf("%+v", w)
	}
	if _, err := c.Claim(ctx, ask); !errors.Is(err, client.MessageNotFound) {
		t.Errorf("its message is acked: %v", err)
	}
	if d := do[*client.Verdict](t)(c.Claim(ctx, client.NewClaim{Scope: "receipt", Key: "order-7", Payload: 7})); d.Verdict != client.KeyDone || string(d.Result) != `{"sent":  1.0}` {
		t.Errorf("%+v", d)
	}
	k := do[*client.Claim](t)(c.FindClaim(ctx, "receipt", "order-7"))
	if k.State != "done" || k.Fence != 2 || k.MessageID != m.ID || k.Window != time.Hour || k.MaxAttempts != 3 || len(k.History) != 5 || k.History[0].Who != "one" || k.FinishedAt.IsZero() {
		t.Errorf("%+v", k)
	}

	v = do[*client.Verdict](t)(c.Claim(ctx, client.NewClaim{Scope: "charge", Payload: 5, Policy: client.Once}))
	held = client.Held{Scope: "charge", Key: v.Key, Fence: v.Fence}
	do[*client.Word](t)(c.Begin(ctx, held, 0))
	do[*client.Word](t)(c.Fail(ctx, held, client.Failure{Kind: "ambiguous", Error: "time-out"}))
	if s := all(t, c.Claims(ctx, "stuck")); !slices.ContainsFunc(s, func(k client.Claim) bool { return k.Key == v.Key && k.LastError == "time-out" }) {
		t.Errorf("%+v", s)
	}
	if _, _, err := c.ResolveClaim(ctx, client.Resolution{Scope: "charge", Key: v.Key, As: "done", Fence: 7}); !errors.Is(err, client.ClaimChanged) {
		t.Error(err)
	}
	if state, requeued, err := c.ResolveClaim(ctx, client.Resolution{Scope: "charge", Key: v.Key, As: "done", Note: "they have it", Fence: 1}); err != nil || state != "done" || requeued {
		t.Errorf("%s, %v, %v", state, requeued, err)
	}
}
