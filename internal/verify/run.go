package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// run is one run of a case: its store, its servers, its receiver.
type run struct {
	config   Config
	ground   ground
	timeout  time.Duration // of its endpoint
	verdict  *verdict
	n        int
	dice     *rand.Rand
	servers  []*server
	workers  []*workerProcess
	started  int
	kills    int
	receiver *receiver
	tally    *tally   // of what the receiver read
	ids      []string // of the deliveries that were answered
	dir      string   // of its own
	mark     string   // the file that says that its armed server has come to its point
	held     held     // by the client of a call
	resolved int      // of them ruled delivered by hand, as a person would who asks the receiver
}

// restTime is how long a run may take to come to rest by itself after its fault: a lease, the sweep, a few rungs of a second.
const restTime = 30 * time.Second

// lease is that of the run's deliveries.
func (r *run) lease() time.Duration { return r.timeout + slack }

// start starts a server on the run's store.
func (r *run) start(ctx context.Context, env ...string) (*server, error) {
	r.started++
	name := fmt.Sprintf("onceward-verify-%d-%d", r.n, r.started)
	s, err := startServer(ctx, r.config.Program, name, r.ground.url(name), env...)
	if err == nil {
		r.servers = append(r.servers, s)
	}
	return s, err
}

// receive starts the receiver; the first byHand requests wait for the run's word.
func (r *run) receive(l net.Listener, byHand int) *receiver {
	r.receiver = newReceiver(l, byHand)
	r.tally = r.receiver.tally
	return r.receiver
}

// serve starts what every case needs: a server, a second one where the store is shared, and the triggers.
func (r *run) serve(ctx context.Context) (*server, error) {
	s, err := r.start(ctx)
	if err != nil {
		return nil, err
	}
	if err := watch(ctx, r.ground); err != nil {
		return nil, err
	}
	return s, r.second(ctx)
}

// second starts a second server where the store is shared and there is but one.
func (r *run) second(ctx context.Context) error {
	if !r.ground.shared() || len(r.servers) > 1 {
		return nil
	}
	_, err := r.start(ctx)
	return err
}

// open serves, with an endpoint at address.
func (r *run) open(ctx context.Context, address, policy string) (*server, error) {
	s, err := r.serve(ctx)
	if err != nil {
		return nil, err
	}
	return s, s.makeEndpoint(ctx, "http://"+address, policy, r.timeout)
}

// send hands the run's event over and notes its delivery.
func (r *run) send(ctx context.Context, s *server, id string) error {
	e, _, err := s.send(ctx, id)
	if err == nil {
		r.ids = append(r.ids, e.Deliveries[0].ID)
	}
	return err
}

// holder gives the server that has the claim, the first one if nobody has it.
func (r *run) holder(ctx context.Context) (*server, error) {
	_, pid, err := claimState(ctx, r.ground)
	if err != nil {
		return nil, err
	}
	for _, s := range r.servers {
		if s.Process.Pid == pid {
			return s, nil
		}
	}
	return r.servers[0], nil
}

// killed kills a server and gives the one that goes on: the other one, or itself started again.
func (r *run) killed(ctx context.Context, s *server) (*server, error) {
	s.Kill()
	r.kills++
	for i, o := range r.servers {
		if o == s {
			r.servers = append(r.servers[:i], r.servers[i+1:]...)
			break
		}
	}
	if len(r.servers) > 0 {
		return r.servers[0], nil
	}
	return r.start(ctx)
}

// within gives a random duration below limit.
func (r *run) within(limit time.Duration) time.Duration {
	return time.Duration(r.dice.Int64N(int64(limit)))
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// until asks again and again until yes, an error, or the limit; it reports whether it came to yes.
func until(ctx context.Context, limit time.Duration, yes func() (bool, error)) (bool, error) {
	for end := time.Now().Add(limit); ; {
		if ok, err := yes(); ok || err != nil {
			return ok, err
		}
		if time.Now().After(end) {
			return false, nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// rest waits until every delivery is delivered as s tells it, stops the servers, and judges what the receiver saw and what
// stands in the database: one event, one delivery and one finished claim each, no message, no slot in use, at most
// mostRequests under one key.
func (r *run) rest(ctx context.Context, s *server, mostRequests int) error {
	var last delivery
	done, err := until(ctx, restTime, func() (bool, error) {
		for _, id := range r.ids {
			d, err := s.delivery(ctx, id)
			if err != nil {
				return false, err
			}
			if last = d; d.State != "delivered" {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	v := r.verdict
	if !done {
		v.note(&v.unfinished, "after %v a delivery is %s: %+v", restTime, last.State, last)
	}
	if err := r.stopAll(ctx); err != nil {
		return err
	}
	f, err := readFacts(ctx, r.ground)
	if err != nil {
		return err
	}
	r.judge(f, mostRequests)
	return nil
}

// stopAll stops the servers, each within the time that it promises.
func (r *run) stopAll(ctx context.Context) error {
	var stops []error
	for _, s := range r.servers {
		stops = append(stops, s.Stop(ctx))
	}
	return errors.Join(stops...)
}

func (r *run) judge(f facts, mostRequests int) {
	v, want := r.verdict, len(r.ids)
	r.judgeEffects(want, mostRequests)
	r.judgeHistory(f, want)
	for what, n := range map[string]int{"events": f.Events, "deliveries": f.Deliveries, "claims": f.Claims} {
		switch {
		case n < want:
			v.note(&v.lost, "%d %s of %d", n, what, want)
		case n > want:
			v.note(&v.doubled, "%d %s instead of %d", n, what, want)
		}
	}
	if f.Done != f.Claims {
		v.note(&v.unfinished, "%d of %d claims are done", f.Done, f.Claims)
	}
	if f.Messages != 0 || f.InFlight != 0 {
		v.note(&v.unfinished, "%d messages and %d slots in use are left", f.Messages, f.InFlight)
	}
	if f.Delivered+r.resolved != want {
		v.note(&v.doubled, "%d attempts are recorded as delivered, of %d", f.Delivered, want-r.resolved)
	}
	if f.Attempts < v.requests {
		v.note(&v.lost, "%d requests and only %d attempts in the history", v.requests, f.Attempts)
	}
}

// judgeEffects holds what was read against so many things handed over.
func (r *run) judgeEffects(want, mostRequests int) {
	v := r.verdict
	requests, effects := r.tally.seen()
	for _, key := range sortedKeys(requests) {
		n := requests[key]
		v.requests += n
		v.repeated += n - 1
		if n > mostRequests {
			v.note(&v.doubled, "%d requests under the key %s; at most %d", n, key, mostRequests)
		}
	}
	for _, key := range sortedKeys(effects) {
		v.effects += effects[key]
	}
	switch {
	case v.effects < want:
		v.note(&v.lost, "%d effects of %d", v.effects, want)
	case v.effects > want:
		v.note(&v.doubled, "%d effects of %d: the same one came under several keys", v.effects, want)
	}
}

// judgeHistory holds what the store went through against so many things handed over.
func (r *run) judgeHistory(f facts, want int) {
	v := r.verdict
	switch {
	case f.Made < want:
		v.note(&v.lost, "%d messages were made of %d", f.Made, want)
	case f.Made > want:
		v.note(&v.doubled, "%d messages were made instead of %d", f.Made, want)
	}
	if f.Early > 0 {
		v.note(&v.lost, "%d messages were gone before their key was closed", f.Early)
	}
	for _, what := range f.Broken {
		v.note(&v.doubled, "%s", what)
	}
}
