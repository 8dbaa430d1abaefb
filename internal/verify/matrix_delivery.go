package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/onceward/onceward/internal/failpoint"
)

// end is how a delivery may end: with so many requests read, in one of these states.
type end struct {
	least, most int
	states      string
}

func (e end) String() string {
	n := fmt.Sprint(e.least)
	if e.most > e.least {
		n += "–" + fmt.Sprint(e.most)
	}
	return n + " requests, " + strings.ReplaceAll(e.states, "|", " or ")
}

var (
	sentOnce   = end{1, 1, "delivered"}
	sentAgain  = end{2, 2, "delivered"}
	maybeAgain = end{1, 2, "delivered"}
	unknown0   = end{0, 0, "stuck"} // nobody can know, though nothing came
	unknown1   = end{1, 1, "stuck"}
	maybe      = end{0, 1, "delivered|stuck"}
	lateWord   = end{1, 1, "delivered|stuck"} // a late success of the same fence closes it, if the holder still says it
)

// stops are the instants of a delivery, in its order, and its ends by policy: of a holder that is killed, and of one that is woken after its lease. The first
// byte is the line: before it nothing happened, after it nobody knows until the record.
var stops = []struct {
	point, at                  string
	idempotent, once           end
	idempotentWoken, onceWoken end
	onlyOnce                   bool
}{
	{"claim, before its commit", failpoint.BeforeCommit + ": job:take_deliveries|(*taking)|(*sendRide)", sentOnce, sentOnce, sentOnce, sentOnce, false},
	{"claim, its reply lost", failpoint.AfterCommit + ": job:take_deliveries|(*taking)|(*sendRide)", sentOnce, sentOnce, sentOnce, sentOnce, false},
	{"begin, before its commit", failpoint.BeforeCommit + ": job:begin_deliveries|commitBegins", end{}, sentOnce, end{}, sentOnce, true},
	{"begun", failpoint.AfterCommit + ": job:begin_deliveries|commitBegins", end{}, unknown0, end{}, maybe, true},
	{"before the first byte", failpoint.BeforeFirstByte + ": POST", sentOnce, unknown0, maybeAgain, maybe, false},
	{"first byte sent", failpoint.FirstByteSent + ": POST", sentOnce, unknown0, maybeAgain, maybe, false},
	{"request sent", failpoint.RequestSent + ": POST", sentAgain, unknown1, maybeAgain, lateWord, false},
	{"reply read", failpoint.ReplyRead + ": POST", sentAgain, unknown1, maybeAgain, lateWord, false},
	{"settle, before its commit", failpoint.BeforeCommit + ": job:settle_deliveries|commitOutcomes", sentAgain, unknown1, maybeAgain, lateWord, false},
	{"settle, its reply lost", failpoint.AfterCommit + ": job:settle_deliveries|commitOutcomes", sentOnce, sentOnce, sentOnce, sentOnce, false},
}

// endOf picks the end that a policy has after what follows.
func endOf(policy string, h how, idempotent, once, idempotentWoken, onceWoken end) end {
	switch {
	case policy == "once" && h == woken:
		return onceWoken
	case policy == "once":
		return once
	case h == woken:
		return idempotentWoken
	}
	return idempotent
}

func deliveryCells(h how) (all []kase) {
	for _, p := range stops {
		for _, policy := range []string{"idempotent", "once"} {
			if p.onlyOnce && policy != "once" {
				continue
			}
			want := endOf(policy, h, p.idempotent, p.once, p.idempotentWoken, p.onceWoken)
			add := func(only string, want end) {
				all = append(all, named(cell{at: p.at, how: h, only: only, want: want.String()}, func(ctx context.Context, r *run, c *cell) error {
					return playDelivery(ctx, r, c, policy, want)
				}, "delivery", p.point, policy))
			}
			if h == woken && p.onlyOnce && want == sentOnce { // on SQLite nobody takes over meanwhile: its begin commits when it wakes, beyond its lease
				add("postgres", want)
				add("sqlite", maybe)
				continue
			}
			add("", want)
		}
	}
	return all
}

// playDelivery stops the sender of one delivery at a point. What nobody can know is ruled on as the receiver saw it; then all is at rest.
func playDelivery(ctx context.Context, r *run, c *cell, policy string, want end) error {
	s, err := r.armed(ctx, c.at)
	if err != nil {
		return err
	}
	in := r.receive(nil, 0)
	if err := s.makeEndpoint(ctx, in.server.URL, policy, r.timeout); err != nil {
		return err
	}
	answered := make(chan error, 1) // a claim may be in the event's own commit, and hold up its answer
	go func() {
		_, _, err := s.send(ctx, "evt_point")
		answered <- err
	}()
	if err := r.reached(ctx); err != nil {
		return err
	}
	s, err = r.goOn(ctx, c, s, func(*server) error {
		n, err := r.countOf(ctx, "SELECT count(*) FROM claims")
		if err != nil || n > 0 {
			return errors.Join(err, r.ended(ctx))
		}
		return pause(ctx, r.lease()+slack) // nothing was stored, so there is nothing to take over
	})
	if err != nil {
		return err
	}
	<-answered
	if err := r.send(ctx, s, "evt_point"); err != nil { // whose answer may be lost
		return err
	}
	if err := r.ended(ctx); err != nil {
		return err
	}
	if c.how == woken { // what it still says or sends has been heard
		if err := pause(ctx, r.lease()); err != nil {
			return err
		}
	}
	d, err := s.delivery(ctx, r.ids[0])
	if err != nil {
		return err
	}
	requests, _ := r.tally.seen()
	n := requests[d.Key]
	v := r.verdict
	v.seen = end{n, n, d.State}.String()
	switch {
	case n > want.most:
		v.note(&v.doubled, "%s; expected %s", v.seen, want)
	case n < want.least:
		v.note(&v.lost, "%s; expected %s", v.seen, want)
	case !slices.Contains(strings.Split(want.states, "|"), d.State):
		v.note(&v.unfinished, "%s; expected %s", v.seen, want)
	}
	if err := r.ruleOnStuck(ctx, s); err != nil {
		return err
	}
	most := 1
	if policy == "idempotent" {
		most = 2
	}
	return r.rest(ctx, s, most)
}

// ended waits until the key of the run's one delivery is closed.
func (r *run) ended(ctx context.Context) error {
	over, err := until(ctx, restTime, func() (bool, error) {
		state, _, err := claimState(ctx, r.ground)
		if errors.Is(err, sql.ErrNoRows) { // of a message that nobody has claimed yet
			return false, nil
		}
		return state == "done" || state == "stuck" || state == "failed", err
	})
	if err == nil && !over {
		v := r.verdict
		v.note(&v.unfinished, "the key of a delivery was not closed within %v", restTime)
	}
	return err
}
