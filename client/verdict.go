package client

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/onceward/onceward/internal/batch"
)

// verdict is an error of a handler that says what becomes of its message.
type verdict struct {
	err     error
	release bool
	leave   bool
	nack    Nack
	delay   time.Duration // of a release
}

func (v *verdict) Error() string { return v.err.Error() }
func (v *verdict) Unwrap() error { return v.err }

// RetryIn has a handler's message nacked with err's text, to come again after d, at most 7 days. The receive counts.
func RetryIn(d time.Duration, err error) error {
	return &verdict{err: orText(err, "to be tried again"), nack: Nack{Delay: &d}}
}

// DeadLetter has a handler's message dead-lettered with err's text: no other try can go better.
func DeadLetter(err error) error {
	return &verdict{err: orText(err, "given up"), nack: Nack{DeadLetter: true}}
}

// GiveBack has a handler's message released, to come again after d, at most 7 days. The receive does not count: for what another worker is at, or what must wait for
// its time.
func GiveBack(d time.Duration) error {
	return &verdict{err: errors.New("given back"), release: true, delay: d}
}

// Leave has nothing done to a handler's message: another worker has its work, or it was settled otherwise. Should it still be ours, it comes again when its lease is over.
func Leave(err error) error {
	return &verdict{err: orText(err, "left"), leave: true}
}

func orText(err error, otherwise string) error {
	if err == nil {
		return errors.New(otherwise)
	}
	return err
}

// panicked is a handler's panic.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("the handler panicked: %v", p.value) }

// handle calls the handler; a panic is its error.
func (r *consuming) handle(ctx context.Context, m *Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &panicked{v, debug.Stack()}
			r.Logger.ErrorContext(ctx, p.Error(), "message_id", m.ID, "stack", string(p.stack))
			err = p
		}
	}()
	return r.Handle(ctx, m)
}

// settle acts on a message by what its handler said. What was broken off by the stop is given back: it costs no receive.
func (r *consuming) settle(handler context.Context, m *Message, err error) {
	v, said := errors.AsType[*verdict](err)
	if said && v.leave {
		r.Logger.InfoContext(handler, "a message is left as it is", "message_id", m.ID, "reason", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(handler), settleWithin)
	defer cancel()
	var done *Settled
	verb := "nack"
	switch {
	case err == nil:
		verb = "ack"
		done, err = r.ackOne(ctx, m.Receipt)
	case said && v.release:
		verb = "release"
		done, err = r.patient.Release(ctx, r.Queue, m.Receipt, v.delay)
	case said:
		n := v.nack
		n.Error = err.Error()
		done, err = r.patient.Nack(ctx, r.Queue, m.Receipt, n)
	case handler.Err() != nil:
		verb = "release"
		done, err = r.patient.Release(ctx, r.Queue, m.Receipt, 0)
	default:
		done, err = r.patient.Nack(ctx, r.Queue, m.Receipt, Nack{Error: err.Error()})
	}
	switch {
	case errors.Is(err, MessageNotFound): // a first answer was lost, or a person took it away
	case err != nil:
		r.Logger.WarnContext(ctx, "a message could not be settled, and comes again when its lease is over", "verb", verb, "message_id", m.ID, "error", err)
	case !done.Applied:
		r.Logger.WarnContext(ctx, "a message was another worker's when it was settled", "verb", verb, "message_id", m.ID, "reason", done.Reason)
	}
}

// ackOne acks in company: what is done while a call is under way shares the next one.
func (r *consuming) ackOne(ctx context.Context, receipt string) (*Settled, error) {
	out, err := r.acks.Do(ctx, receipt)
	if err != nil {
		return nil, err
	}
	return &out[0].Value, out[0].Err
}

func (r *consuming) ack(ctx context.Context, receipts []string) ([]batch.Result[Settled], error) {
	results, err := r.patient.AckBatch(ctx, r.Queue, receipts)
	if err != nil {
		return nil, err
	}
	out := make([]batch.Result[Settled], len(results))
	for i, res := range results {
		out[i] = batch.Result[Settled]{Value: res.Value, Err: res.Err}
	}
	return out, nil
}
