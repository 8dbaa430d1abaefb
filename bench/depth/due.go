package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// due compares 500 messages a second, published and received, with the same around the second in which a great many others fall due, of a lower priority.
func (r *run) due(ctx context.Context, kind string) (err error) {
	g, err := r.newGround(ctx, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.leave(ctx)) }()
	span := r.stretch(20 * time.Second)
	none, _, err := r.around(ctx, g, span, time.Now())
	if err != nil {
		return err
	}
	if err := g.open(ctx); err != nil {
		return err
	}
	due := time.Now().Add(span + 5*time.Second + time.Duration(r.rows)*40*time.Microsecond).Truncate(time.Second)
	if err := g.fill(ctx, waiting{queue: "jobs", n: r.rows, due: due}); err != nil {
		return err
	}
	if late := time.Since(due.Add(-span / 2)); late > 0 {
		return fmt.Errorf("filling in %d messages took %v too long: they were due meanwhile", r.rows, late)
	}
	all, consumed, err := r.around(ctx, g, span, due)
	if err != nil {
		return err
	}
	rest, worked, err := r.around(ctx, g, span, time.Now())
	if err != nil {
		return err
	}
	r.tell(figure{What: "p99 of a publish at 500 a second, while the consumers work on what is left of them", Unit: "ms", Value: rest.publish}.than(none.publish))
	r.tell(figure{What: "of those that had been due before, received meanwhile", Unit: "messages", Value: float64(max(0, worked))})
	r.tell(figure{What: "p99 of a publish at 500 a second", Unit: "ms", Value: all.publish}.than(none.publish).within(2 * none.publish))
	r.tell(figure{What: "p99 from publish to received at 500 a second", Unit: "ms", Value: all.arrive}.than(none.arrive)) // the consumers work on the others too, as fast as they can
	r.tell(figure{What: "of those that fell due, received meanwhile", Unit: "messages", Value: float64(max(0, consumed))})
	return nil
}

// around keeps the stream going from half a span before a time on, and gives what was seen then.
func (r *run) around(ctx context.Context, g *ground, span time.Duration, at time.Time) (p99 seen, others int64, err error) {
	s, err := r.stream(ctx, g)
	if err != nil {
		return p99, 0, err
	}
	defer func() { err = errors.Join(err, s.stop(ctx)) }()
	for warm := true; warm || time.Until(at) > span; warm = false {
		if err := s.flow(ctx, 500, max(time.Second, time.Until(at)-span/2)); err != nil {
			return p99, 0, err
		}
	}
	s.consumed.Store(0)
	err = s.flow(ctx, 500, span)
	publishes, arrived := s.look()
	return seen{publish: publishes.p99(), arrive: arrived.p99()}, s.consumed.Load() - arrived.h.TotalCount(), err
}
