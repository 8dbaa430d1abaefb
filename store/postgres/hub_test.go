package postgres

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// Many wake-ups, two who wait: they look lookEvery apart at the least, and somebody looks after the last.
func TestWaitersLookTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		defer h.close()
		ctx, stop := context.WithCancel(t.Context())
		looks := make(chan time.Time, 1000)
		for range 2 {
			go func() {
				for {
					h.waitFor(ctx, 1, queue.Receive{})
					if ctx.Err() != nil {
						return
					}
					looks <- time.Now()
				}
			}()
		}
		synctest.Wait()
		var last time.Time
		for range 100 {
			last = time.Now()
			h.wake(1, 0)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * lookEvery) // in the bubble: whoever is on the way arrives
		stop()
		synctest.Wait()
		n, before := len(looks), time.Time{}
		for range n {
			at := <-looks
			if at.Sub(before) < lookEvery {
				t.Errorf("two looks %v apart", at.Sub(before))
			}
			before = at
		}
		if most := int(100*time.Millisecond/lookEvery) + 2; n > most || before.Before(last) {
			t.Errorf("%d looks, want at most %d; the last %v after the last wake-up", n, most, before.Sub(last))
		}
	})
}

// One who was on his way and leaves gives his turn to the next.
func TestWaiterLeavesOnTheWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		defer h.close()
		h.wake(1, 0)
		h.waitFor(t.Context(), 1, queue.Receive{}) // looks now
		leaving, leave := context.WithCancel(t.Context())
		go h.waitFor(leaving, 1, queue.Receive{})
		synctest.Wait()
		looked := make(chan time.Time, 1)
		go func() {
			h.waitFor(t.Context(), 1, queue.Receive{})
			looked <- time.Now()
		}()
		synctest.Wait()
		woken := time.Now()
		h.wake(1, 0)
		synctest.Wait()
		leave()
		if at := <-looked; at.Sub(woken) > 2*lookEvery {
			t.Errorf("looked %v after the wake-up: its turn was lost, and a poll came", at.Sub(woken))
		}
	})
}

// Nothing is believed to be there for a moment after a look that found nothing, and not once something was heard of, during it or since.
func TestStillNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		defer h.close()
		look := func(during func()) bool {
			seen := h.seen(1)
			during()
			h.nothing(1, seen)
			return h.still(1)
		}
		if h.still(1) {
			t.Error("still nothing, before any look")
		}
		if look(func() { h.wake(1, 0) }) {
			t.Error("still nothing, though a wake-up came during the look")
		}
		if !look(func() {}) {
			t.Error("looked in vain, and it is not believed")
		}
		if h.wake(1, 0); h.still(1) {
			t.Error("still nothing after a wake-up")
		}
		look(func() {})
		if time.Sleep(emptyFor); h.still(1) {
			t.Error("still nothing, long after the look")
		}
	})
}

// One who rides on a commit that gives it nothing waits on, the first in line; if it leaves meanwhile it is let go.
func TestRideInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		defer h.close()
		for _, leaves := range []bool{false, true} {
			ctx, leave := context.WithCancel(t.Context())
			order := make(chan string, 2)
			for _, name := range []string{"first", "second"} {
				ctx := ctx
				if name == "second" {
					ctx = t.Context()
				}
				go func() {
					h.waitFor(ctx, 1, queue.Receive{Max: 1})
					order <- name
				}()
				synctest.Wait()
			}
			me, _ := h.rider(1)
			if leaves {
				leave()
				synctest.Wait()
			}
			given := time.Now()
			h.rode(1, me)
			if synctest.Wait(); !leaves {
				h.wake(1, 0)
			}
			if got := <-order; got != "first" || time.Since(given) > 2*lookEvery {
				t.Errorf("leaves: %v: the %s went first, %v after its ride", leaves, got, time.Since(given))
			}
			h.wake(1, 0)
			<-order
			leave()
		}
	})
}

// A slot that comes free while the only worker is on a ride is not lost: its next wait sends it to look, once.
func TestFreedWhileNobodyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		defer h.close()
		go h.wait(t.Context(), 1, &waiter{take: aTake})
		synctest.Wait()
		me, _ := h.rider(1)
		h.more(1)
		me.taken = webhook.Taken{Jobs: make([]webhook.Job, 1)}
		h.rode(1, me)
		synctest.Wait()
		began := time.Now()
		h.wait(t.Context(), 1, &waiter{take: aTake})
		if took := time.Since(began); took > lookEvery {
			t.Errorf("waited %v for a slot that was free: the wake-up was lost, and a poll came", took)
		}
		rests, stop := context.WithTimeout(t.Context(), pollEvery/4)
		defer stop()
		if h.wait(rests, 1, &waiter{take: aTake}); rests.Err() == nil {
			t.Error("sent to look again, and nothing has happened since")
		}
	})
}

// A sweep polls the deliveries in passing: who waits looks then, and not again soon after. Without sweeps the hub's own poll comes.
func TestPolledBySweeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		defer h.close()
		h.polled(deliveriesQueue) // nobody waits: nothing is missed by it
		ctx, stop := context.WithCancel(t.Context())
		var looks []time.Duration
		start := time.Now()
		var ended sync.WaitGroup
		defer ended.Wait()
		defer stop()
		ended.Go(func() {
			for {
				h.waitFor(ctx, deliveriesQueue, queue.Receive{})
				if ctx.Err() != nil {
					return
				}
				looks = append(looks, time.Since(start))
			}
		})
		synctest.Wait()
		if len(looks) != 0 {
			t.Fatalf("looked at %v for a poll that nobody waited for", looks)
		}
		for range 10 {
			h.polled(deliveriesQueue)
			synctest.Wait()
			h.polled(deliveriesQueue) // a sweep that goes on at once
			time.Sleep(pollEvery)
			synctest.Wait()
		}
		if len(looks) != 10 {
			t.Errorf("ten sweeps, looks at %v", looks)
		}
		time.Sleep(polledFor + 3*pollEvery)
		synctest.Wait()
		if n := len(looks); n < 13 || n > 18 {
			t.Errorf("%d looks within three polls without a sweep: %v", n-10, looks[10:])
		}
	})
}
