package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// seen is what a stretch of a stream showed: latencies in milliseconds, and pages for each message.
type seen struct{ publish, arrive, pages float64 }

// held keeps a snapshot open under 500 messages a second. What calls take at its end is compared with a stretch before it; what statements touch, with its
// beginning: what was consumed in the last second stays in sight however long it goes on, and no more.
func (r *run) held(ctx context.Context, kind string) (err error) {
	g, err := r.newGround(ctx, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.leave(ctx)) }()
	s, err := r.stream(ctx, g)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop(ctx)) }()
	look := r.stretch(20 * time.Second)
	var before, early, after seen
	watch := func(to *seen) error {
		was, of, err := g.blocks(ctx)
		if err != nil {
			return err
		}
		done := s.consumed.Load()
		s.look()
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return ctx.Err()
		}
		publishes, arrived := s.look()
		now, by, err := g.blocks(ctx)
		messages := float64(max(1, s.consumed.Load()-done))
		*to = seen{publishes.p99(), arrived.p99(), float64(now-was) / messages}
		for text, n := range by {
			if pages := float64(n-of[text]) / messages; pages > 10 {
				note("%.0f pages a message: %.60s", pages, strings.Join(strings.Fields(text), " "))
			}
		}
		return err
	}
	flow := make(chan error, 1)
	go func() { flow <- s.flow(ctx, 500, 2*look+r.hold) }()
	holder, err := pgx.Connect(ctx, g.at)
	if err != nil {
		return err
	}
	defer holder.Close(context.WithoutCancel(ctx))
	time.Sleep(look / 2) // the first calls are planned
	if err := watch(&before); err != nil {
		return err
	}
	if _, err := holder.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM messages"); err != nil {
		return err
	}
	if err := watch(&early); err != nil {
		return err
	}
	select {
	case <-time.After(max(0, r.hold-2*look)):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := watch(&after); err != nil {
		return err
	}
	if err := errors.Join(holder.Close(ctx), <-flow); err != nil {
		return err
	}
	held := r.hold.Seconds()
	r.tell(figure{What: "held for", Unit: "seconds", Value: held})
	r.tell(figure{What: "p99 of a publish at 500 a second", Unit: "ms", Value: after.publish}.than(before.publish).within(2 * before.publish))
	r.tell(figure{What: "p99 from publish to received at 500 a second", Unit: "ms", Value: after.arrive}.than(before.arrive).within(2 * before.arrive))
	r.tell(figure{What: "all statements, for each message, before anything is held", Unit: "pages", Value: before.pages})
	r.tell(figure{What: "all statements, for each message, at the hold's end, against its beginning", Unit: "pages", Value: after.pages}.than(early.pages).within(2 * early.pages))
	return nil
}
