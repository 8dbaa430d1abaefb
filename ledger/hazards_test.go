package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
)

// What a consumer with its own table gets wrong (docs/hazards.md), through the front door: what the ledger says to do with the message.

func is(t testing.TB, d ledger.Disposition, want ledger.Action) {
	t.Helper()
	if d.Action != want {
		t.Errorf("%s: %s, want %s", d.Action, d.Reason, want)
	}
}

// The receiver refused once; the message comes again while the key is somebody's, and then while its next try is not due.
func TestRefusedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t, func(c *ledger.Config) { c.Retry = func(int) time.Duration { return time.Hour } })
		d := l.Handle(t.Context(), work("H-L01"), func(ctx context.Context, _ ledger.Try) ([]byte, error) {
			d := l.Handle(ctx, work("H-L01"), never(t))
			if is(t, d, ledger.Release); d.Wait < 50*time.Second {
				t.Errorf("while another is at it: again in %v", d.Wait)
			}
			return nil, ledger.NotDone(errors.New("503"))
		})
		is(t, d, ledger.Release)
		d = l.Handle(t.Context(), work("H-L01"), never(t))
		if is(t, d, ledger.Release); d.Wait < 59*time.Minute {
			t.Errorf("before its next try: again in %v", d.Wait)
		}
	})
}

// A key that waits to be tried again can be claimed again, to the last try.
func TestLastRung(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l, tries := b.ledger(t, func(c *ledger.Config) { c.MaxTries = 6 }), 0
		for range 6 {
			time.Sleep(time.Millisecond) // longer than the pause
			l.Handle(t.Context(), work("H-L02"), func(context.Context, ledger.Try) ([]byte, error) {
				tries++
				return nil, ledger.NotDone(errors.New("503"))
			})
		}
		check(t, "tries", tries, 6)
		is(t, l.Handle(t.Context(), work("H-L02"), never(t)), ledger.DeadLetter)
	})
}

// The effect succeeded, and the ack of its message failed: the copy is acked without an effect.
func TestAckFailed(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		is(t, l.Handle(t.Context(), work("H-L03"), says("mailed", nil)), ledger.Ack)
		d := l.Handle(t.Context(), work("H-L03"), never(t))
		is(t, d, ledger.Ack)
		check(t, "what it answered then", string(d.Outcome.Result), "mailed")
	})
}

// A batch is handled one by one, and the leases of its last messages run out meanwhile: whoever gets them has the keys, and the first, coming late, no effect.
func TestTenthOfABatch(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		for i := range 10 {
			is(t, l.Handle(t.Context(), work(fmt.Sprint("H-L06 ", i)), func(ctx context.Context, _ ledger.Try) ([]byte, error) {
				if i == 0 { // the others' leases are over: another consumer has received them
					for j := 1; j < 10; j++ {
						is(t, l.Handle(ctx, work(fmt.Sprint("H-L06 ", j)), says("of the other", nil)), ledger.Ack)
					}
				}
				if i > 0 {
					t.Errorf("the effect of message %d was made again", i)
				}
				return nil, nil
			}), ledger.Ack)
		}
	})
}

// The database is away: the message is given back, no try is used up, and nothing is dead-lettered.
func TestDatabaseOfTheLedgerAway(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		gone := &flaky{Store: b.store, claiming: failing(1<<30, errAway)}
		l := open(t, gone, func(c *ledger.Config) { c.MaxTries = 1 })
		for range 5 {
			if d := l.Handle(t.Context(), work("H-L07"), never(t)); d.Wait < time.Second {
				t.Errorf("again in %v", d.Wait)
			} else {
				is(t, d, ledger.Release)
			}
		}
		is(t, b.ledger(t, func(c *ledger.Config) { c.MaxTries = 1 }).Handle(t.Context(), work("H-L07"), says("", nil)), ledger.Ack)
	})
}

// A dead letter is handed over once more while its key still says failed: only with the person's word on the key is it tried again.
func TestRedrivenOntoItsFailedKey(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		is(t, l.Handle(t.Context(), work("H-L08"), says("", ledger.Refused(errors.New("410")))), ledger.DeadLetter)
		is(t, l.Handle(t.Context(), work("H-L08"), never(t)), ledger.DeadLetter)
		if _, err := l.Resolve(t.Context(), ledger.Resolution{Key: "H-L08", As: ledger.Retry, Who: "anna"}); err != nil {
			t.Fatal(err)
		}
		is(t, l.Handle(t.Context(), work("H-L08"), says("", nil)), ledger.Ack)
	})
}

// The same key with a corrected amount is no duplicate.
func TestCorrectedAmount(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		l := b.ledger(t)
		amount := func(payload string) ledger.Work {
			hash, err := ledger.Fingerprint([]byte(payload))
			if err != nil {
				t.Fatal(err)
			}
			return ledger.Work{Key: "H-L14", Hash: hash}
		}
		is(t, l.Handle(t.Context(), amount(`{"cents":4900}`), says("", nil)), ledger.Ack)
		is(t, l.Handle(t.Context(), amount(`{ "cents": 4.9e3 }`), never(t)), ledger.Ack)
		d := l.Handle(t.Context(), amount(`{"cents":5900}`), never(t))
		is(t, d, ledger.DeadLetter)
		check(t, "mismatch", errors.Is(d.Outcome.Err(), ledger.ErrMismatch), true)
	})
}

// The receiver forgets our key before the last try: one whose outcome is not known is not made again then.
func TestReceiverForgets(t *testing.T) {
	onBoth(t, func(t *testing.T, b base) {
		at := time.Millisecond
		l := b.ledger(t, func(c *ledger.Config) {
			c.Window, c.Retry = 500*time.Millisecond, func(int) time.Duration { return at }
		})
		is(t, l.Handle(t.Context(), work("H-L19"), says("", errors.New("no answer"))), ledger.Release)
		c, _, err := l.Find(t.Context(), "H-L19")
		if err != nil {
			t.Fatal(err)
		}
		b.past(t, c.FirstAt.Add(c.Window))
		d := l.Handle(t.Context(), work("H-L19"), never(t))
		is(t, d, ledger.DeadLetter)
		check(t, "stuck", d.Outcome.State, ledger.Stuck)
		// Nor is it waited for, if it comes only then.
		at = time.Hour
		d = l.Handle(t.Context(), work("H-L19 beyond"), says("", errors.New("no answer")))
		is(t, d, ledger.DeadLetter)
		check(t, "stuck at once", d.Outcome.State, ledger.Stuck)
	})
}
