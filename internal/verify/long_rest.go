package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/history"
)

// longRest is how long a round may take to come to rest after its last kill: leases, rungs, and a machine with more to do.
const longRest = 90 * time.Second

const unrest = `SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM claims WHERE state <> 'done')
  + (SELECT CAST(coalesce(sum(in_flight), 0) AS bigint) FROM groups)`

// rest lets the callers be answered, waits until all is at rest, and judges. What nobody can know is ruled on meanwhile, as the receiver saw it.
func (l *long) rest(ctx context.Context) error {
	close(l.stop)
	if err := l.answeredAll(ctx); err != nil {
		return err
	}
	s := l.one()
	over, err := until(ctx, longRest, func() (bool, error) {
		if err := l.rule(ctx, s); err != nil {
			return false, err
		}
		n, err := column[int](ctx, l.ground, unrest)
		return err == nil && n[0] == 0, err
	})
	if err != nil {
		return err
	}
	l.worker.kill()
	l.worker = nil
	var stops []error
	for _, s := range l.servers {
		stops = append(stops, s.Stop(ctx))
	}
	l.servers = nil
	if err := errors.Join(stops...); err != nil {
		return err
	}
	return l.judge(ctx, over)
}

// answeredAll waits until the callers have their answers. The neighbour takes as long as a round may, to empty its queue.
func (l *long) answeredAll(ctx context.Context) error {
	all := make(chan struct{})
	go func() {
		defer close(all)
		l.callers.Wait()
	}()
	ctx, end := context.WithTimeoutCause(ctx, 2*longRest, fmt.Errorf("a call was not answered within %v of the last kill", 2*longRest))
	defer end()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// rule rules on keys and deliveries of policy once that are stuck, as a person would who asks the receiver.
func (l *long) rule(ctx context.Context, s *server) error {
	var claims struct {
		Items []struct {
			Scope string `json:"scope"`
			Key   string `json:"key"`
			Fence int64  `json:"fence"`
		} `json:"items"`
	}
	if _, err := s.call(ctx, "GET", "/v1/ledger/claims?state=stuck&limit=500", nil, &claims); err != nil {
		return err
	}
	var o object
	var errs []error
	for _, c := range claims.Items {
		if c.Scope != "work" {
			continue
		}
		as := "retry"
		if l.receiver.saw(c.Key) {
			as = "done"
		}
		end := l.log.Begin(history.Event{Do: history.Resolve, Key: c.Key, Fence: c.Fence})
		_, err := s.call(ctx, "POST", "/v1/ledger/resolve", object{"scope": c.Scope, "key": c.Key, "as": as, "fence": c.Fence, "note": "the receiver was asked"}, &o)
		if err == nil {
			end(history.Event{Answer: fmt.Sprint(o["state"])})
		}
		errs = append(errs, l.ruled(err))
	}
	var deliveries struct {
		Items []struct {
			ID    string `json:"delivery_id"`
			Event string `json:"event_id"`
		} `json:"items"`
	}
	if _, err := s.call(ctx, "GET", "/v1/webhooks/deliveries?state=stuck&limit=500", nil, &deliveries); err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, d := range deliveries.Items {
		as := "retry"
		if l.receiver.saw(d.Event) {
			as = "delivered"
		}
		errs = append(errs, l.ruled(s.resolve(ctx, d.ID, as)))
	}
	return errors.Join(errs...)
}

// ruled counts a ruling; one that came too late, after a late word of the holder's, is none.
func (l *long) ruled(err error) error {
	if no, ok := errors.AsType[*refusal](err); ok && no.status == 409 {
		return nil
	}
	if err == nil {
		l.round.Ruled++
	}
	return err
}

// judge holds what the receiver saw against what was handed over.
func (l *long) judge(ctx context.Context, rested bool) error {
	r := l.round
	say := func(n *int, format string, args ...any) {
		if *n++; len(r.Reasons) < mostReasons {
			r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...))
		}
	}
	l.count()
	l.receiver.mu.Lock() // a request of one that was killed may still be under way
	defer l.receiver.mu.Unlock()
	for _, name := range sortedKeys(l.handed) {
		switch keys := l.receiver.of[name]; {
		case len(keys) == 0:
			say(&r.Lost, "%s was answered and never came", name)
		case len(keys) > 1:
			say(&r.Doubled, "%s came under %d keys", name, len(keys))
		}
	}
	for _, name := range sortedKeys(l.receiver.of) {
		if !l.handed[name] {
			say(&r.Doubled, "%s came and was never answered", name)
		}
	}
	if !rested {
		for _, q := range []string{"SELECT CAST(count(*) AS text) || ' messages' FROM messages", "SELECT CAST(count(*) AS text) || ' keys ' || state FROM claims GROUP BY state"} {
			found, err := column[string](ctx, l.ground, q)
			if err != nil {
				return err
			}
			slices.Sort(found)
			say(&r.Unfinished, "%v after the last kill: %v", longRest, found)
			r.Unfinished--
		}
		r.Unfinished++
	}
	h, err := l.history(ctx, rested)
	if err != nil {
		return err
	}
	for _, f := range history.Check(h) {
		say(&r.Broken, "%s", f)
	}
	return nil
}
