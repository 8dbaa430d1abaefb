package ledger_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/ledger"
)

var errAway = fault.New(fault.Unavailable, "the store is away")

// flaky is a store that is away when it says so.
type flaky struct {
	ledger.Store
	claiming, beating, settling func() error
	claimed                     func() error // once it took place
	lostAnswers                 bool         // a claim that is away took place all the same
}

func ask(say func() error) error {
	if say == nil {
		return nil
	}
	return say()
}

func (f *flaky) Claim(ctx context.Context, c ...ledger.Call) ([]ledger.Answer, error) {
	if f.lostAnswers {
		if _, err := f.Store.Claim(ctx, c...); err != nil {
			return nil, err
		}
	}
	if err := ask(f.claiming); err != nil {
		return nil, err
	}
	out, err := f.Store.Claim(ctx, c...)
	return out, errors.Join(err, ask(f.claimed))
}

func (f *flaky) Begin(ctx context.Context, b ...ledger.Beat) ([]ledger.Applied, error) {
	if err := ask(f.beating); err != nil {
		return nil, err
	}
	return f.Store.Begin(ctx, b...)
}

func (f *flaky) SettleClaims(ctx context.Context, w ...ledger.Word) ([]ledger.Applied, error) {
	if err := ask(f.settling); err != nil {
		return nil, err
	}
	return f.Store.SettleClaims(ctx, w...)
}

// failing says err n times, then nothing.
func failing(n int, err error) func() error {
	return func() error {
		if n--; n >= 0 {
			return err
		}
		return nil
	}
}

// inBubble runs a test whose time is that of the bubble, on SQLite.
func inBubble(t *testing.T, test func(t *testing.T, f *flaky, l *ledger.Ledger)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := onSQLite(t)
		f := &flaky{Store: b.store}
		test(t, f, open(t, f, func(c *ledger.Config) { c.Lease = 30 * time.Second }))
	})
}

// An effect that takes longer than the lease keeps it, and the message's with it.
func TestHeartbeat(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		var extended atomic.Int64
		w := work("k")
		w.Extend = func(_ context.Context, d time.Duration) error {
			extended.Add(1)
			check(t, "extended by", d, 30*time.Second)
			return errors.New("the broker is away") // which is not the work's matter
		}
		_, err := l.Do(t.Context(), w, func(ctx context.Context, _ ledger.Try) ([]byte, error) {
			for range 10 {
				time.Sleep(29 * time.Second)
				if d := l.Handle(t.Context(), work("k"), never(t)); d.Action != ledger.Release {
					t.Errorf("while it runs: %s", d.Action)
				}
			}
			return nil, ctx.Err()
		})
		if err != nil || extended.Load() < 20 {
			t.Errorf("%v, %d heartbeats", err, extended.Load())
		}
	})
}

// H-L05: a worker that lost its lease is told by its context, and what it says afterwards changes nothing.
func TestLeaseLost(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		f.beating = func() error { return errAway }
		began := time.Now()
		d := l.Handle(t.Context(), work("k"), func(ctx context.Context, _ ledger.Try) ([]byte, error) {
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, ledger.ErrLeaseLost) || time.Since(began) > 30*time.Second {
				t.Errorf("ended by %v after %v", cause, time.Since(began))
			}
			time.Sleep(time.Second)
			o, err := l.Do(t.Context(), work("k"), says("the other", nil))
			if err != nil || !o.Claim.Ambiguous {
				t.Errorf("another: %v, %+v", err, o)
			}
			return []byte("the first"), nil
		})
		if d.Action != ledger.Leave || !errors.Is(d.Outcome.Err(), ledger.ErrFenced) {
			t.Errorf("%s, %v", d.Action, d.Outcome.Err())
		}
		if c, _, err := l.Find(t.Context(), "k"); err != nil || string(c.Result) != "the other" {
			t.Errorf("kept is %q, %v", c.Result, err)
		}
	})
}

// A late success counts as long as nobody else was granted the key, however long the store was away: the receiver is spared a second effect.
func TestStoreAwayAfterTheEffect(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		back := time.Now().Add(15 * time.Minute)
		f.settling = func() error {
			if time.Now().Before(back) {
				return errAway
			}
			return nil
		}
		f.beating = f.settling
		if o, err := l.Do(t.Context(), work("k"), says("sent", nil)); err != nil || string(o.Result) != "sent" {
			t.Errorf("%v, %+v", err, o)
		}
		if time.Now().Before(back) {
			t.Error("it did not wait")
		}
	})
}

// Whoever stops meanwhile has some seconds for its last word; then the message is given back until the lease is over.
func TestStoppedWhileTheStoreIsAway(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		ctx, stop := context.WithCancel(t.Context())
		f.settling = func() error { return errAway }
		began := time.Now()
		d := l.Handle(ctx, work("k"), func(context.Context, ledger.Try) ([]byte, error) { stop(); return nil, nil })
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("last words took %v", took)
		}
		if d.Action != ledger.Release || d.Wait < 15*time.Second || d.Outcome.Done() {
			t.Errorf("%s for %v: %v", d.Action, d.Wait, d.Outcome.Err())
		}
	})
}

// A word that the store will never take ends with the lease.
func TestStoreRefusesTheWord(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		f.settling = func() error { return errors.New("no such table") }
		began := time.Now()
		_, err := l.Do(t.Context(), work("k"), says("", nil))
		if took := time.Since(began); err == nil || took < 29*time.Second || took > 36*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// An answer that was lost is asked for again as the same call, so that no grant is held by nobody.
func TestLostAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		f.lostAnswers, f.claiming = true, failing(2, errAway)
		o, err := l.Do(t.Context(), work("k"), says("", nil))
		if err != nil || o.Claim.Fence != 1 {
			t.Errorf("%v, fence %d", err, o.Claim.Fence)
		}
		f.claiming = func() error { return errAway }
		if d := l.Handle(t.Context(), work("l"), never(t)); d.Action != ledger.Release || d.Wait < time.Second {
			t.Errorf("H-L07, the store is away: %s for %v", d.Action, d.Wait)
		}
	})
}

// H-L04: a once whose beginning could not be written is not made, and not spent.
func TestNotBegun(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		f.beating = failing(1, errAway)
		o, err := l.Once(t.Context(), work("k"), never(t))
		if !errors.Is(err, errAway) || o.State != ledger.Retry {
			t.Errorf("%v, %s", err, o.State)
		}
		time.Sleep(time.Second)
		if o, err = l.Once(t.Context(), work("k"), says("", nil)); err != nil || o.Claim.Tries != 1 {
			t.Errorf("%v, tries %d", err, o.Claim.Tries)
		}
	})
}

// A caller that is gone before the effect begins gives its try back.
func TestGoneBefore(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		ctx, stop := context.WithCancel(t.Context())
		f.claiming = func() error { stop(); return nil }
		f.Store = &deafToTheEnd{f.Store}
		if _, err := l.Do(ctx, work("k"), never(t)); err == nil {
			t.Error("done")
		}
		if c, _, err := l.Find(t.Context(), "k"); err != nil || c.Tries != 0 || c.State != ledger.Retry {
			t.Errorf("%v, %s, tries %d", err, c.State, c.Tries)
		}
	})
}

// Who was granted a key and stood still for as long as the lease does not begin: another may be at it.
func TestStoodStill(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		f.claimed = func() error { time.Sleep(31 * time.Second); return nil }
		f.beating = func() error { return errAway } // a heartbeat that is heard takes the lease again
		o, err := l.Do(t.Context(), work("k"), never(t))
		if err == nil || o.State != ledger.Retry {
			t.Errorf("%v, %s", err, o.State)
		}
		f.claimed = nil
		time.Sleep(time.Second)
		if o, err := l.Do(t.Context(), work("k"), says("", nil)); err != nil || o.Claim.Tries != 1 {
			t.Errorf("%v, tries %d", err, o.Claim.Tries)
		}
	})
}

// deafToTheEnd is a store whose claim is committed though its caller is gone.
type deafToTheEnd struct{ ledger.Store }

func (d *deafToTheEnd) Claim(ctx context.Context, c ...ledger.Call) ([]ledger.Answer, error) {
	return d.Store.Claim(context.WithoutCancel(ctx), c...)
}

// Run moves what nobody asks for any more, and forgets what ended long ago.
func TestRun(t *testing.T) {
	inBubble(t, func(t *testing.T, f *flaky, l *ledger.Ledger) {
		f.settling = func() error { return errAway }
		gone, leave := context.WithCancel(t.Context())
		leave()
		f.Store = &deafToTheEnd{f.Store}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { l.Run(ctx) })
		defer wg.Wait()
		defer stop()
		if o, _ := l.Once(gone, work("dead"), never(t)); o.Done() {
			t.Error("done")
		}
		f.settling = nil
		brief := open(t, f, func(c *ledger.Config) { c.Keep = time.Hour })
		for key, l := range map[string]*ledger.Ledger{"old": brief, "young": l} {
			if _, err := l.Do(t.Context(), work(key), says("", nil)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(40 * time.Second)
		if c, _, err := l.Find(t.Context(), "dead"); err != nil || c.State != ledger.Retry || c.Ambiguous {
			t.Errorf("of a worker that died before it began: %s, %v", c.State, err)
		}
		time.Sleep(time.Hour + 2*time.Minute)
		if _, _, err := l.Find(t.Context(), "old"); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("of an hour's memory: %v", err)
		}
		if _, _, err := l.Find(t.Context(), "young"); err != nil {
			t.Errorf("to be remembered: %v", err)
		}
	})
}
