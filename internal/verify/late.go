package verify

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// playLate (H-L03) answers the request, and keeps its outcome from being recorded until the delivery's lease is over: the message
// may be handed out again. Policy once, under which nothing may be sent a second time. One request, and the message is gone.
//
// On PostgreSQL every second run makes sure that it is handed out again: the holder is frozen at its settling, its
// connection cut, the other server is waited for until it has ruled on the message, and the holder is woken up to say its
// late word.
func playLate(ctx context.Context, r *run) error {
	s, q, err := r.first(ctx, "evt_late", "once", 1)
	if err != nil {
		return err
	}
	holder, err := r.holder(ctx)
	if err != nil {
		return err
	}
	release, err := r.ground.hold(ctx)
	if err != nil {
		return err
	}
	q.answer <- 200
	if d, ok := r.ground.(*database); ok && r.n%2 == 1 {
		err = r.frozen(ctx, d, holder, release)
	} else {
		err = errors.Join(pause(ctx, r.lease()+r.within(2*time.Second)), release())
	}
	if err != nil {
		return err
	}
	return r.rest(ctx, s, 1)
}

// frozen keeps the holder stopped, without its connection, until the other server has ruled on its message.
func (r *run) frozen(ctx context.Context, d *database, holder *server, release func() error) error {
	settling, err := until(ctx, r.lease(), func() (bool, error) {
		n, err := d.waiting(ctx, holder.Name, false)
		return n > 0, err
	})
	if err != nil || !settling {
		return errors.Join(err, release(), fmt.Errorf("server %s did not come to its settling within its lease", holder.Name))
	}
	if err := freeze(holder.Process); err != nil {
		return errors.Join(err, release())
	}
	defer thaw(holder.Process)
	if _, err := d.waiting(ctx, holder.Name, true); err != nil {
		return errors.Join(err, release())
	}
	if err := release(); err != nil {
		return err
	}
	ruled, err := until(ctx, r.lease()+10*time.Second, func() (bool, error) {
		state, _, err := claimState(ctx, d)
		return state == "stuck", err
	})
	if err == nil && !ruled {
		v := r.verdict
		v.note(&v.unfinished, "nobody took up the message of a frozen server within 10 s of its lease's end")
	}
	return err
}
