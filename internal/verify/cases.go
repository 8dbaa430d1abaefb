package verify

import (
	"context"
	"errors"
	"sync"
	"time"
)

// kase is a way to go wrong, and what must come of it.
type kase struct {
	name    string
	timeout time.Duration // of the endpoint
	play    func(ctx context.Context, r *run) error
	cell    *cell // of the matrix: its instant is exact, and what must come of it is written down
}

var cases = []kase{
	{name: "handed over twice", timeout: quick, play: playTwice},
	{name: "handed out again while it is sent", timeout: ample, play: playAgain},
	{name: "taken over while it is sent", timeout: ample, play: playFenced},
	{name: "lease over before the settling", timeout: ready, play: playLate},
	{name: "killed before the POST", timeout: quick, play: playBefore},
	{name: "killed between POST and record", timeout: ready, play: playBetween},
	{name: "killed before a publish is answered", timeout: quick, play: playPublish},
	{name: "killed before an event is answered", timeout: ready, play: playEvent},
	{name: "frozen while its request is out", timeout: ready, play: playFrozen},
	{name: "frozen at any instant", timeout: ready, play: playAnyInstant},
}

// playTwice hands the same event over from two callers at once, the second one a retry of the first as far as the server
// can know. One event, one message, one request.
func playTwice(ctx context.Context, r *run) error {
	s, err := r.open(ctx, r.receive(nil, 0).server.Listener.Addr().String(), "idempotent")
	if err != nil {
		return err
	}
	type answer struct {
		sent
		replay bool
		err    error
	}
	var answers [2]answer
	var both sync.WaitGroup
	for i := range answers {
		to := r.servers[i%len(r.servers)]
		wait := r.within(20 * time.Millisecond)
		both.Go(func() {
			a := &answers[i]
			if a.err = pause(ctx, wait); a.err == nil {
				a.sent, a.replay, a.err = to.send(ctx, "evt_twice")
			}
		})
	}
	both.Wait()
	a, b := answers[0], answers[1]
	if err := errors.Join(a.err, b.err); err != nil {
		return err
	}
	v := r.verdict
	if a.Deliveries[0] != b.Deliveries[0] {
		v.note(&v.doubled, "two deliveries: %s and %s", a.Deliveries[0].ID, b.Deliveries[0].ID)
	}
	if a.replay == b.replay {
		v.note(&v.doubled, "replay was answered as %v twice; once it must be true", a.replay)
	}
	r.ids = append(r.ids, a.Deliveries[0].ID)
	return r.rest(ctx, s, 1)
}

// playBefore kills the holder after the event's answer and before a byte reached the receiver: the connection is held.
func playBefore(ctx context.Context, r *run) error {
	shy, err := newShy()
	if err != nil {
		return err
	}
	s, err := r.open(ctx, shy.address, "idempotent")
	if err != nil {
		shy.close()
		return err
	}
	if err = r.send(ctx, s, "evt_before"); err == nil {
		err = pause(ctx, r.within(r.timeout*8/10))
	}
	if err == nil {
		s, err = r.holder(ctx)
	}
	if err == nil {
		s, err = r.killed(ctx, s)
	}
	if err != nil {
		shy.close()
		return err
	}
	l, err := shy.open()
	if err != nil {
		return err
	}
	r.receive(l, 0)
	return r.rest(ctx, s, 1)
}

// playBetween kills the holder between the POST and its record, in three ways by turns: while the answer is held; after the
// answer, with the store held so that the record cannot be made; right after the answer, when the record may have been
// made or not. The outcome is unknown, so the same key comes a second time, and the receiver makes one effect of it.
func playBetween(ctx context.Context, r *run) error {
	_, q, err := r.first(ctx, "evt_between", "idempotent", 1)
	if err != nil {
		return err
	}
	holder, err := r.holder(ctx)
	if err != nil {
		return err
	}
	release := func() error { return nil }
	wait := r.within(r.timeout * 3 / 10)
	recorded := false
	switch r.n % 3 {
	case 0: // the answer is held
	case 1:
		if release, err = r.ground.hold(ctx); err != nil {
			return err
		}
		q.answer <- 200
	case 2:
		recorded = true
		wait = r.within(5 * time.Millisecond)
		q.answer <- 200
	}
	err = pause(ctx, wait)
	if err == nil {
		holder.Kill()
	}
	if err = errors.Join(err, release()); err != nil {
		return err
	}
	s, err := r.killed(ctx, holder)
	if err != nil {
		return err
	}
	if err := r.rest(ctx, s, 2); err != nil {
		return err
	}
	if v := r.verdict; !recorded && v.requests < 2 {
		v.note(&v.lost, "a try whose outcome nobody knew was not made again")
	}
	return nil
}
