package verify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// playFrozen freezes the holder while its request is out, until its leases are over. On PostgreSQL the other server has sent the delivery
// and closed its key before the holder is woken; on SQLite the holder wakes to find its own lease over. By turns the request is answered
// meanwhile with 200, with a refusal, or with 200 once the holder is awake. The late word of one that was fenced out is recorded and changes
// nothing: two requests under one key at most, and one effect.
func playFrozen(ctx context.Context, r *run) error {
	s, q, err := r.first(ctx, "evt_frozen", "idempotent", 1)
	if err != nil {
		return err
	}
	holder, err := r.holder(ctx)
	if err == nil {
		err = pause(ctx, r.within(r.timeout*3/10))
	}
	if err != nil {
		return err
	}
	defer thaw(holder.Process)
	if err := r.freezeHolder(ctx, holder); err != nil {
		return err
	}
	status := 200
	if r.n%3 == 1 {
		status = 410
		if !r.ground.shared() {
			status = 503 // nobody else has the key, so its word may count
		}
	}
	if r.n%3 < 2 {
		q.answer <- status
	}
	if !r.ground.shared() {
		err = pause(ctx, r.lease()+slack+r.within(time.Second))
	} else {
		for _, o := range r.servers {
			if o != holder {
				s = o
			}
		}
		var over bool
		if over, err = r.takenOver(ctx); err == nil && !over {
			return nil // nothing that follows could be right, and would bury what is noted
		}
	}
	if err == nil {
		err = thaw(holder.Process)
	}
	if err != nil {
		return err
	}
	if r.n%3 == 2 {
		q.answer <- status
	}
	fenced := true
	if r.ground.shared() {
		fenced, err = r.fencedNoted(ctx, r.lease()+10*time.Second)
	}
	if err != nil {
		return err
	}
	if v := r.verdict; !fenced {
		v.note(&v.doubled, "the late word of a holder that was fenced out was not refused, or not recorded")
	}
	return r.rest(ctx, s, 2)
}

// freezeHolder freezes a server; on PostgreSQL, by turns, inside a transaction, whose locks must not keep the others out.
func (r *run) freezeHolder(ctx context.Context, s *server) error {
	d, shared := r.ground.(*database)
	for end := time.Now().Add(r.timeout * 3 / 10); ; {
		if err := freeze(s.Process); err != nil || !shared || r.n%2 == 0 {
			return err
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil { // the answer to its last statement is there
			return err
		}
		if in, err := d.inTransaction(ctx, s.Name); err != nil || in || time.Now().After(end) {
			return err
		}
		thaw(s.Process)
		if err := pause(ctx, r.within(3*time.Millisecond)); err != nil {
			return err
		}
	}
}

// takenOver waits until another server has closed the key of the run's one delivery, and reports whether one did; else it notes how the claim stands.
func (r *run) takenOver(ctx context.Context) (bool, error) {
	var state, owner string
	var fence int
	over, err := until(ctx, r.lease()+10*time.Second, func() (bool, error) {
		err := r.ground.db().QueryRowContext(ctx, "SELECT state, fence, coalesce(owner, '') FROM claims").Scan(&state, &fence, &owner)
		return state == "done", err
	})
	if err == nil && !over {
		v := r.verdict
		v.note(&v.unfinished, "nobody took over from a frozen server within 10 s of its lease's end: the claim is %s with fence %d and owner %q", state, fence, owner)
	}
	return over, err
}

// playAnyInstant freezes a server at any instant of its work on several events: while it stores or answers them, takes, sends or records
// their deliveries. It is woken when its leases have long been over. What it had not answered is handed over again meanwhile, to the other
// server on PostgreSQL, where that has taken over what it can; to itself on SQLite. Policy once by turns: then no key may come twice, and
// what nobody can know is ruled by hand, as a person would who asks the receiver.
func playAnyInstant(ctx context.Context, r *run) error {
	policy, most := "idempotent", 2
	if r.n%2 == 1 {
		policy, most = "once", 1
	}
	in := r.receive(nil, 0)
	in.linger = func() { time.Sleep(20 * time.Millisecond) } // a request is out for a while
	s, err := r.open(ctx, in.server.Listener.Addr().String(), policy)
	if err != nil {
		return err
	}
	to := r.servers[len(r.servers)-1] // itself, where it is alone
	var calls, again []*call
	var callers sync.WaitGroup
	defer callers.Wait()
	hand := func(s *server, n int) *call {
		c := &call{n: n}
		callers.Go(func() {
			c.answer, c.err = s.handEvent(ctx, n)
			c.over.Store(true)
		})
		return c
	}
	for n := range burst {
		calls = append(calls, hand(s, n))
	}
	if err := r.anyInstant(ctx); err != nil {
		return err
	}
	if err := freeze(s.Process); err != nil {
		return err
	}
	defer thaw(s.Process)
	if err := pause(ctx, r.within(r.lease())); err != nil {
		return err
	}
	for _, c := range calls {
		if !c.over.Load() {
			again = append(again, hand(to, c.n))
		}
	}
	if err := pause(ctx, r.lease()+slack+r.within(time.Second)); err != nil {
		return err
	}
	if err := thaw(s.Process); err != nil {
		return err
	}
	callers.Wait()
	v := r.verdict
	for _, c := range calls {
		if c.err != nil {
			return fmt.Errorf("event %d: %w", c.n, c.err)
		}
		r.ids = append(r.ids, c.answer.delivery)
	}
	for _, c := range again {
		if c.err != nil {
			return fmt.Errorf("event %d, handed over again: %w", c.n, c.err)
		}
		first := calls[c.n].answer
		if c.answer.id != first.id || c.answer.delivery != first.delivery {
			v.note(&v.doubled, "event %d was answered as %s %s and as %s %s", c.n, first.id, first.delivery, c.answer.id, c.answer.delivery)
		}
		if c.answer.replay == first.replay {
			v.note(&v.doubled, "event %d: replay was answered as %v twice; once it must be true", c.n, first.replay)
		}
	}
	if policy == "once" {
		if err := r.ruleOnStuck(ctx, to); err != nil {
			return err
		}
	}
	return r.rest(ctx, to, most)
}

// anyInstant waits for an instant between the first call and the last record. How far the work has come is drawn, and not only the time, since
// a loaded machine is slow.
func (r *run) anyInstant(ctx context.Context) error {
	reached := []func() (int, error){
		func() (int, error) { return burst, nil },
		func() (int, error) { return r.countOf(ctx, "SELECT count(*) FROM events") },
		func() (int, error) { return r.countOf(ctx, "SELECT count(*) FROM claims WHERE state <> 'new'") },
		func() (int, error) { requests, _ := r.tally.seen(); return len(requests), nil },
		func() (int, error) { return r.countOf(ctx, "SELECT count(*) FROM claims WHERE state = 'done'") },
	}[r.dice.IntN(5)]
	least := 1 + r.dice.IntN(burst)
	far, err := r.soon(ctx, func() (bool, error) {
		n, err := reached()
		return n >= least, err
	})
	if err == nil && !far {
		err = errors.New("the work did not come as far as this within 20 s")
	}
	if err != nil {
		return err
	}
	return pause(ctx, r.within(10*time.Millisecond))
}

// fencedNoted waits for the record of a word by one who was fenced out.
func (r *run) fencedNoted(ctx context.Context, long time.Duration) (bool, error) {
	return until(ctx, long, func() (bool, error) {
		n, err := r.countOf(ctx, "SELECT count(*) FROM claim_notes WHERE what = 'fenced'")
		return n > 0, err
	})
}

func (r *run) countOf(ctx context.Context, query string) (int, error) {
	n, err := column[int](ctx, r.ground, query)
	if err != nil {
		return 0, err
	}
	return n[0], nil
}

// ruleOnStuck waits until each delivery is at an end, and rules on those of which nobody could know: as the receiver saw it.
func (r *run) ruleOnStuck(ctx context.Context, s *server) error {
	var stuck []delivery
	_, err := until(ctx, restTime, func() (bool, error) {
		stuck = stuck[:0]
		for _, id := range r.ids {
			d, err := s.delivery(ctx, id)
			if err != nil {
				return false, err
			}
			switch d.State {
			case "delivered":
			case "stuck":
				stuck = append(stuck, d)
			default:
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil || len(stuck) == 0 {
		return err
	}
	if err := pause(ctx, r.lease()); err != nil { // whoever was awake too late to send has given up by now
		return err
	}
	requests, _ := r.tally.seen()
	var acts []error
	for _, d := range stuck {
		if now, err := s.delivery(ctx, d.ID); err != nil || now.State != "stuck" {
			acts = append(acts, err) // a late success closed it
			continue
		}
		as := "retry"
		if requests[d.Key] > 0 {
			as = "delivered"
			r.resolved++
		}
		acts = append(acts, s.resolve(ctx, d.ID, as))
	}
	return errors.Join(acts...)
}
