package ledger_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
)

func TestDo(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		var tries []ledger.Try
		errLost := errors.New("no answer")
		o, err := l.Do(t.Context(), work("k"), func(_ context.Context, y ledger.Try) ([]byte, error) {
			tries = append(tries, y)
			return nil, errLost
		})
		if !errors.Is(err, errLost) || o.State != ledger.Retry || o.Done() || !strings.Contains(err.Error(), "try 1 of 5") {
			t.Errorf("a try whose outcome is not known: %v, %s", err, o.State)
		}
		time.Sleep(time.Millisecond)
		o, err = l.Do(t.Context(), work("k"), func(_ context.Context, y ledger.Try) ([]byte, error) {
			tries = append(tries, y)
			return []byte("sent"), nil
		})
		if err != nil || string(o.Result) != "sent" || o.Verdict != ledger.Granted {
			t.Errorf("the try that did it: %v, %+v", err, o)
		}
		o, err = l.Do(t.Context(), work("k"), never(t))
		if err != nil || string(o.Result) != "sent" || o.Verdict != ledger.WasDone {
			t.Errorf("a duplicate: %v, %+v", err, o)
		}
		if len(tries) != 2 || tries[0].OpID != tries[1].OpID || tries[0].Ambiguous || !tries[1].Ambiguous || tries[1].Attempt != 2 || tries[1].Fence != 2 {
			t.Errorf("%+v", tries)
		}
	})
}

// TestOutcomes is the table of what an effect's end means: for the key, and for the message that carries it.
func TestOutcomes(t *testing.T) {
	boom := errors.New("boom")
	const end = 2 // tries
	for name, c := range map[string]struct {
		policy ledger.Policy
		effect ledger.Effect
		state  ledger.State
		action ledger.Action
		is     error
		then   ledger.State // after the last try
	}{
		"done":                 {ledger.Idempotent, says("x", nil), ledger.Done, ledger.Ack, nil, ledger.Done},
		"once: done":           {ledger.Once, says("x", nil), ledger.Done, ledger.Ack, nil, ledger.Done},
		"not done":             {ledger.Idempotent, says("", ledger.NotDone(boom)), ledger.Retry, ledger.Release, boom, ledger.Failed},
		"once: not done":       {ledger.Once, says("", ledger.NotDone(boom)), ledger.Retry, ledger.Release, boom, ledger.Failed},
		"refused":              {ledger.Idempotent, says("", ledger.Refused(boom)), ledger.Failed, ledger.DeadLetter, ledger.ErrFailed, ledger.Failed},
		"once: refused":        {ledger.Once, says("", ledger.Refused(boom)), ledger.Failed, ledger.DeadLetter, ledger.ErrFailed, ledger.Failed},
		"not known":            {ledger.Idempotent, says("", boom), ledger.Retry, ledger.Release, boom, ledger.Stuck},
		"H-L04, once: unknown": {ledger.Once, says("", boom), ledger.Stuck, ledger.DeadLetter, ledger.ErrStuck, ledger.Stuck},
		"panic":                {ledger.Idempotent, func(context.Context, ledger.Try) ([]byte, error) { panic("oh") }, ledger.Retry, ledger.Release, nil, ledger.Stuck},
		"once: panic":          {ledger.Once, func(context.Context, ledger.Try) ([]byte, error) { panic("oh") }, ledger.Stuck, ledger.DeadLetter, ledger.ErrStuck, ledger.Stuck},
		"given back": {
			ledger.Once, says("", &ledger.Failure{Kind: ledger.GivenBack, Err: boom}), ledger.Retry, ledger.Release, boom, ledger.Retry,
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, b base) {
				l := b.ledger(t, func(c *ledger.Config) { c.MaxTries = end })
				w := work("k")
				w.Policy = c.policy
				d := l.Handle(t.Context(), w, c.effect)
				err := d.Outcome.Err()
				if d.Outcome.State != c.state || d.Action != c.action || c.is != nil && !errors.Is(err, c.is) || (err == nil) != (c.state == ledger.Done) {
					t.Errorf("state %s, action %s, error %v", d.Outcome.State, d.Action, err)
				}
				if d.Action == ledger.Release && d.Wait < time.Second || (d.Action == ledger.Ack) != (d.Reason == "") {
					t.Errorf("released for %v, because %q", d.Wait, d.Reason)
				}
				for range end {
					time.Sleep(time.Millisecond)
					d = l.Handle(t.Context(), w, c.effect)
				}
				check(t, "state at the end", d.Outcome.State, c.then)
				k, _, err := l.Find(t.Context(), "k")
				if err != nil || k.State != c.then || k.Policy != c.policy {
					t.Errorf("kept as %s, %s: %v", k.State, k.Policy, err)
				}
			})
		})
	}
}

// What an answer that is no grant means for the message.
func TestFound(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		inside := func(context.Context, ledger.Try) ([]byte, error) {
			d := l.Handle(t.Context(), work("busy"), never(t))
			if d.Action != ledger.Release || d.Wait < 50*time.Second || !errors.Is(d.Outcome.Err(), ledger.ErrBusy) {
				t.Errorf("H-L01, while another is at it: %s for %v, %v", d.Action, d.Wait, d.Outcome.Err())
			}
			return nil, nil
		}
		if _, err := l.Do(t.Context(), work("busy"), inside); err != nil {
			t.Fatal(err)
		}
		one, _ := ledger.Fingerprint([]byte(`{"amount":1}`))
		two, _ := ledger.Fingerprint([]byte(`{"amount":2}`))
		if _, err := l.Do(t.Context(), ledger.Work{Key: "pay", Hash: one}, says("", nil)); err != nil {
			t.Fatal(err)
		}
		d := l.Handle(t.Context(), ledger.Work{Key: "pay", Hash: two}, never(t))
		if d.Action != ledger.DeadLetter || !errors.Is(d.Outcome.Err(), ledger.ErrMismatch) {
			t.Errorf("H-L14, the same key with another amount: %s, %v", d.Action, d.Outcome.Err())
		}
		d = l.Handle(t.Context(), ledger.Work{Key: "old", OriginAt: time.Now().Add(-ledger.Memory - time.Hour)}, never(t))
		if d.Action != ledger.DeadLetter || !errors.Is(d.Outcome.Err(), ledger.ErrTooOld) {
			t.Errorf("older than the memory: %s, %v", d.Action, d.Outcome.Err())
		}
		for _, bad := range []string{"", strings.Repeat("k", 513), "\xff"} {
			if d = l.Handle(t.Context(), work(bad), never(t)); d.Action != ledger.DeadLetter {
				t.Errorf("H-L12, the key %.10q: %s, %v", bad, d.Action, d.Outcome.Err())
			}
		}
	})
}

// An effect that ends its goroutine leaves nobody to answer, and a key that says so.
func TestEffectEndsItsGoroutine(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Once(t.Context(), work("k"), func(context.Context, ledger.Try) ([]byte, error) { runtime.Goexit(); return nil, nil })
			t.Error("it came back")
		}()
		<-done
		k, _, err := l.Find(t.Context(), "k")
		if err != nil || k.State != ledger.Stuck {
			t.Errorf("%s, %v", k.State, err)
		}
	})
}

// A person resolves what is stuck, and its duplicates follow.
func TestResolve(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		for i, as := range []ledger.State{ledger.Done, ledger.Failed, ledger.Retry} {
			w := work(key(t, i))
			o, _ := l.Once(t.Context(), w, says("", errors.New("cut off")))
			check(t, "before", o.State, ledger.Stuck)
			if _, err := l.Resolve(t.Context(), ledger.Resolution{Key: w.Key, As: as, Fence: o.Claim.Fence + 1}); !errors.Is(err, ledger.ErrChanged) {
				t.Errorf("by an old look: %v", err)
			}
			if c, err := l.Resolve(t.Context(), ledger.Resolution{Key: w.Key, As: as, Fence: o.Claim.Fence, Who: "anna"}); err != nil || c.State != as {
				t.Errorf("as %s: %s, %v", as, c.State, err)
			}
			made := 0
			o, _ = l.Once(t.Context(), w, func(context.Context, ledger.Try) ([]byte, error) { made++; return nil, nil })
			want := map[ledger.State]ledger.State{ledger.Done: ledger.Done, ledger.Failed: ledger.Failed, ledger.Retry: ledger.Done}[as]
			check(t, "after it was resolved as "+string(as), o.State, want)
			check(t, "made again", made == 1, as == ledger.Retry)
			_, notes, err := l.Find(t.Context(), w.Key)
			if err != nil || len(notes) < 4 {
				t.Errorf("%+v, %v", notes, err)
			}
		}
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	s := onSQLite(t).store
	for field, c := range map[string]ledger.Config{
		"Store":      {Scope: "mail"},
		"Scope":      {Store: s},
		"Lease":      {Store: s, Scope: "mail", Lease: time.Millisecond},
		"MaxTries":   {Store: s, Scope: "mail", MaxTries: -1},
		"2147483647": {Store: s, Scope: "mail", MaxTries: math.MaxInt32 + 1}, // no column holds more
		"Policy":     {Store: s, Scope: "mail", Policy: "twice"},
		"Window":     {Store: s, Scope: "mail", Window: -1},
	} {
		if _, err := ledger.NewLedger(c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
