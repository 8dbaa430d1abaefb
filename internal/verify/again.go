package verify

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// playAgain ends the message's lease from outside, again and again, while the receiver holds its answer: the message is
// handed out a second time though the first holder is still at it. The claim must say busy: one request, and once that is
// answered the message is gone.
func playAgain(ctx context.Context, r *run) error {
	s, q, err := r.first(ctx, "evt_again", "idempotent", 2)
	if err != nil {
		return err
	}
	for end := time.Now().Add(2 * quick); time.Now().Before(end); {
		if err := errors.Join(r.ground.lapse(ctx, false), pause(ctx, r.within(100*time.Millisecond))); err != nil {
			return err
		}
	}
	q.answer <- 200
	return r.rest(ctx, s, 1)
}

// playFenced ends the leases of message and claim from outside while the receiver holds its answer, so that the delivery is
// taken over. Then the first holder hears 410, and the second one 200: the word of a holder that was fenced out changes
// nothing.
func playFenced(ctx context.Context, r *run) error {
	s, q, err := r.first(ctx, "evt_fenced", "idempotent", 2)
	if err != nil {
		return err
	}
	var second *request
	over, err := until(ctx, quick+10*time.Second, func() (bool, error) {
		if err := r.ground.lapse(ctx, true); err != nil {
			return false, err
		}
		select {
		case second = <-r.receiver.arrived:
			return true, nil
		default:
			return false, nil
		}
	})
	if err == nil && !over {
		err = errors.New("nobody took over a delivery whose lease was over")
	}
	if err != nil {
		return err
	}
	q.answer <- 410
	state := ""
	_, err = until(ctx, r.timeout/3, func() (bool, error) {
		var noted int
		state, _, err = claimState(ctx, r.ground)
		if err == nil {
			err = r.ground.db().QueryRowContext(ctx, "SELECT count(*) FROM claim_notes WHERE what = 'fenced'").Scan(&noted)
		}
		return noted > 0 || state != "started", err
	})
	if err != nil {
		return err
	}
	if v := r.verdict; state != "started" {
		v.note(&v.doubled, "the word of a holder that was fenced out made the claim %s", state)
	}
	second.answer <- 200
	return r.rest(ctx, s, 2)
}

// first sends an event and waits for its first request. The answers of so many requests are the run's to give.
func (r *run) first(ctx context.Context, event, policy string, byHand int) (*server, *request, error) {
	s, err := r.open(ctx, r.receive(nil, byHand).server.Listener.Addr().String(), policy)
	if err != nil {
		return nil, nil, err
	}
	if err := r.send(ctx, s, event); err != nil {
		return nil, nil, err
	}
	q, err := r.receiver.next(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("no request came: %w", err)
	}
	return s, q, nil
}
