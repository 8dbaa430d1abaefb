package verify

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// work is what clients hand over, and how the store shows from outside that it has it.
type work struct {
	hand    func(s *server, ctx context.Context, n int) (answer, error)
	count   string // of what is stored
	payload string // of each that is stored
}

var (
	publishing = work{(*server).handMessage, "SELECT count(*) FROM bodies", "SELECT body FROM bodies"}
	sending    = work{(*server).handEvent, "SELECT count(*) FROM events", "SELECT payload FROM events"}
)

// call is one thing that a client hands over, again and again under the same key until it is answered.
type call struct {
	n      int
	over   atomic.Bool // answered or cut
	answer answer
	err    error
	stored bool // when the server was killed
}

const (
	burst  = 8   // callers at once
	bursts = 200 // until a kill has come between commit and answer
)

// playPublish kills the server after a publish's commit and before its answer. The client publishes again under the same key: one
// message, the same id, and one consumer that sees it once.
func playPublish(ctx context.Context, r *run) error {
	s, err := r.serve(ctx)
	if err == nil {
		err = s.makeQueue(ctx)
	}
	if err != nil {
		return err
	}
	r.tally = newTally()
	s, calls, err := r.unanswered(ctx, s, publishing)
	if err != nil {
		return err
	}
	v := r.verdict
	err = s.consume(ctx, func(m message) {
		r.tally.read(fmt.Sprint("key-", m.Payload.N))
		if want := calls[m.Payload.N].answer.id; m.ID != want {
			v.note(&v.doubled, "message %d was answered as %s and came as %s", m.Payload.N, want, m.ID)
		}
	})
	if err = errors.Join(err, r.stopAll(ctx)); err != nil {
		return err
	}
	f, err := readFacts(ctx, r.ground)
	if err != nil {
		return err
	}
	r.judgeEffects(len(calls), 1)
	r.judgeHistory(f, len(calls))
	if f.Messages != 0 {
		v.note(&v.unfinished, "%d messages are left", f.Messages)
	}
	return nil
}

// playEvent does the same with events, whose deliveries may be on their way when the server is killed.
func playEvent(ctx context.Context, r *run) error {
	s, err := r.open(ctx, r.receive(nil, 0).server.Listener.Addr().String(), "idempotent")
	if err != nil {
		return err
	}
	s, calls, err := r.unanswered(ctx, s, sending)
	if err != nil {
		return err
	}
	for _, c := range calls {
		r.ids = append(r.ids, c.answer.delivery)
	}
	return r.rest(ctx, s, 1+r.kills) // each kill may leave one whose outcome nobody knows
}

// unanswered hands things over until the server was killed after the commit of one and before its answer; then each of them is handed over
// once more, by two callers at once, to the server that goes on, which is given.
func (r *run) unanswered(ctx context.Context, s *server, w work) (*server, []*call, error) {
	var calls []*call
	for caught := false; !caught; {
		if len(calls) == burst*bursts {
			return nil, nil, fmt.Errorf("in %d bursts no call was caught between its commit and its answer", bursts)
		}
		these, killed, err := r.burst(ctx, s, w, len(calls))
		if err != nil {
			return nil, nil, err
		}
		calls = append(calls, these...)
		if !killed {
			continue
		}
		for _, c := range these {
			caught = caught || c.stored && c.err != nil
		}
		if s, err = r.killed(ctx, s); err == nil && !caught {
			err = r.second(ctx)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return s, calls, r.handAgain(ctx, s, w, calls)
}

// burst lets callers hand new things over at once. As soon as the store has some of them the server is frozen and the store looked at: if
// any that it has is not answered, the server is killed, else it goes on.
func (r *run) burst(ctx context.Context, s *server, w work, from int) (calls []*call, killed bool, err error) {
	before, err := r.countOf(ctx, w.count)
	if err != nil {
		return nil, false, err
	}
	var callers sync.WaitGroup
	for i := range burst {
		c := &call{n: from + i}
		calls = append(calls, c)
		callers.Go(func() {
			c.answer, c.err = w.hand(s, ctx, c.n)
			c.over.Store(true)
		})
	}
	defer func() {
		thaw(s.Process)
		callers.Wait()
		for _, c := range calls {
			if !killed && err == nil {
				err = c.err
			}
		}
	}()
	least := 1 + r.dice.IntN(2) // the first comes alone, the others share the next commit
	some, err := r.soon(ctx, func() (bool, error) {
		now, err := r.countOf(ctx, w.count)
		return now >= before+least, err
	})
	if err == nil && !some {
		err = errors.New("nothing was stored within 20 s")
	}
	if err != nil {
		return calls, false, err
	}
	if err := pause(ctx, r.within(200*time.Microsecond)); err != nil {
		return calls, false, err
	}
	if err := freeze(s.Process); err != nil {
		return calls, false, err
	}
	stored, err := column[[]byte](ctx, r.ground, w.payload)
	if err == nil {
		err = pause(ctx, time.Millisecond+r.within(10*time.Millisecond)) // what was answered before arrives
	}
	if err != nil {
		return calls, false, err
	}
	for _, b := range stored {
		var p payload
		if err := json.Unmarshal(b, &p); err != nil {
			return calls, false, fmt.Errorf("a stored payload is not the one handed over: %w", err)
		}
		if p.N >= from && p.N < from+burst {
			c := calls[p.N-from]
			c.stored = true
			killed = killed || !c.over.Load()
		}
	}
	if killed {
		s.Kill()
	}
	return calls, killed, nil
}

// soon asks for an instant that must not be missed, at most 20 s long.
func (r *run) soon(ctx context.Context, yes func() (bool, error)) (bool, error) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if ok, err := yes(); ok || err != nil {
			return ok, err
		}
		if err := pause(ctx, 50*time.Microsecond); err != nil {
			return false, err
		}
	}
	return false, nil
}

// handAgain hands each thing over again, from two callers at once, and holds their answers against each other and the first one.
func (r *run) handAgain(ctx context.Context, s *server, w work, calls []*call) error {
	v := r.verdict
	for _, c := range calls {
		var again [2]call
		var both sync.WaitGroup
		for i := range again {
			both.Go(func() { again[i].answer, again[i].err = w.hand(s, ctx, c.n) })
		}
		both.Wait()
		a, b := again[0].answer, again[1].answer
		if err := errors.Join(again[0].err, again[1].err); err != nil {
			return fmt.Errorf("handed over again: %w", err)
		}
		if c.err != nil {
			c.answer.id, c.answer.delivery = a.id, a.delivery
		}
		if ids := []string{c.answer.id + c.answer.delivery, a.id + a.delivery, b.id + b.delivery}; ids[0] != ids[1] || ids[0] != ids[2] {
			v.note(&v.doubled, "%d was answered with several ids: %s", c.n, strings.Join(ids, ", "))
		}
		if known := c.stored || c.err == nil; known && !(a.replay && b.replay) {
			v.note(&v.doubled, "%d was stored, and a repeat of it was answered as new", c.n)
		}
		if !a.replay && !b.replay {
			v.note(&v.doubled, "two repeats of %d were both answered as new", c.n)
		}
	}
	return nil
}
