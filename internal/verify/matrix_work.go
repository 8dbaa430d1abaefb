package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/failpoint"
)

var (
	doneOnce  = end{1, 1, "done"}
	doneAgain = end{2, 2, "done"}
)

// workStops are the instants of a worker over HTTP, as docs/ledger-http.md has it, and its ends by policy: of one that is killed, and of one that is woken after its
// lease, when another has done what it can. The beginning is the line of policy once: before it nothing happened, after it nobody knows until the word.
var workStops = []struct {
	point, at                  string
	idempotent, once           end
	idempotentWoken, onceWoken end
	onlyOnce                   bool
	byAck                      bool
	fenced                     string // the policies whose woken worker is told that another has the key, and recorded
}{
	{"consume, its reply lost", failpoint.ReplyLost + ": /v1/queue/consume", doneOnce, doneOnce, doneOnce, doneOnce, false, false, ""},
	{"received, before the claim", failpoint.Work + ": received", doneOnce, doneOnce, doneOnce, doneOnce, false, false, ""}, // woken: by its old receipt it is granted nothing
	{"claim, its reply lost", failpoint.ReplyLost + ": /v1/ledger/claim", doneOnce, doneOnce, doneOnce, doneOnce, false, false, ""},
	{"before it begins", failpoint.Work + ": granted", end{}, doneOnce, end{}, doneOnce, true, false, "once"},
	{"begin, its reply lost", failpoint.ReplyLost + ": /v1/ledger/begin", end{}, unknown0, end{}, unknown0, true, false, ""},
	{"before the effect", failpoint.Work + ": begun", doneOnce, unknown0, doneAgain, doneOnce, false, false, "idempotent"},
	{"effect done", failpoint.Work + ": effect done", doneAgain, unknown1, doneAgain, doneOnce, false, false, "idempotent"},
	{"complete and settle, its reply lost", failpoint.ReplyLost + ": /v1/ledger/complete", doneOnce, doneOnce, doneOnce, doneOnce, false, false, ""},
	{"complete, its reply lost", failpoint.ReplyLost + ": /v1/ledger/complete", doneOnce, doneOnce, doneOnce, doneOnce, false, true, ""},
	{"before the ack", failpoint.Work + ": completed", doneOnce, doneOnce, doneOnce, doneOnce, false, true, ""},
	{"ack, its reply lost", failpoint.ReplyLost + ": /v1/queue/ack", doneOnce, doneOnce, doneOnce, doneOnce, false, true, ""},
}

func workCells(h how) (all []kase) {
	for _, p := range workStops {
		for _, policy := range []string{"idempotent", "once"} {
			if p.onlyOnce && policy != "once" {
				continue
			}
			want := endOf(policy, h, p.idempotent, p.once, p.idempotentWoken, p.onceWoken)
			fenced := h == woken && p.fenced == policy
			all = append(all, named(cell{at: p.at, how: h, work: true, want: want.String()}, func(ctx context.Context, r *run, c *cell) error {
				return playWork(ctx, r, c, policy, p.byAck, fenced, want)
			}, "worker", p.point, policy))
		}
	}
	return all
}

// playWork stops a worker at a point of its one message. What nobody can know is ruled on as the receiver saw it; then all is at rest.
func playWork(ctx context.Context, r *run, c *cell, policy string, byHand, fenced bool, want end) error {
	s, err := r.start(ctx)
	if err == nil {
		err = errors.Join(watch(ctx, r.ground), s.makeQueue(ctx), r.serversAre(s))
	}
	if err != nil {
		return err
	}
	key, settles := "order-1", ""
	if policy == "once" {
		key = "order-7"
	}
	if byHand {
		settles = byAck
	}
	to := r.receive(nil, 0).server.URL
	var o object
	if _, err := s.call(ctx, "POST", "/v1/queue/publish", object{"queue": jobs, "payload": thing{key}}, &o); err != nil {
		return err
	}
	if err := r.follow(ctx, c, WorkerWord, to, settles); err != nil {
		return err
	}
	if err := r.ended(ctx); err != nil {
		return err
	}
	v := r.verdict
	if fenced {
		noted, err := r.fencedNoted(ctx, 5*time.Second)
		if err != nil {
			return err
		}
		if !noted {
			v.note(&v.doubled, "the late word of a worker that was fenced out was not refused, or not recorded")
		}
	}
	if c.how == woken { // what it still says or sends has been heard
		if err := pause(ctx, workerLease/2); err != nil {
			return err
		}
	}
	state, _, err := claimState(ctx, r.ground)
	if err != nil {
		return err
	}
	n, keys := r.tally.sum()
	v.seen = end{n, n, state}.String()
	switch {
	case n > want.most || keys > 1:
		v.note(&v.doubled, "%s, under %d keys; expected %s", v.seen, keys, want)
	case n < want.least:
		v.note(&v.lost, "%s; expected %s", v.seen, want)
	case !slices.Contains(strings.Split(want.states, "|"), state):
		v.note(&v.unfinished, "%s; expected %s", v.seen, want)
	}
	if state == "stuck" { // a person rules on what has come to rest: who was told that it is stuck may be about to say so of the message
		dead, err := until(ctx, 15*time.Second, func() (bool, error) {
			n, err := r.countOf(ctx, "SELECT count(*) FROM messages WHERE dead_at IS NOT NULL")
			return n == 1, err
		})
		if err != nil {
			return err
		}
		if !dead {
			v.note(&v.unfinished, "the message of a stuck key was not dead-lettered within 15 s")
		}
		fence, err := r.countOf(ctx, "SELECT fence FROM claims")
		if err != nil {
			return err
		}
		as := "done"
		if n == 0 {
			as, n = "retry", 1 // it is done once more, and that is all
		}
		if _, err := s.call(ctx, "POST", "/v1/ledger/resolve", object{"scope": "work", "key": key, "fence": fence, "as": as, "note": "the receiver was asked"}, &o); err != nil {
			return err
		}
	}
	err = r.counted(ctx, map[string]int{made: 1, left: 0, "SELECT count(*) FROM claims WHERE state = 'done'": 1, "SELECT count(*) FROM claims": 1})
	switch in, keys := r.tally.sum(); {
	case err != nil:
	case in < n || keys == 0:
		v.note(&v.lost, "%d requests in the end, under %d keys; expected %d under one", in, keys, n)
	case in > n || keys > 1:
		v.note(&v.doubled, "%d requests in the end, under %d keys; expected %d under one", in, keys, n)
	}
	return err
}

// serversAre tells the workers where the servers are.
func (r *run) serversAre(s *server) error {
	name := filepath.Join(r.dir, "servers")
	if err := os.WriteFile(name+".new", []byte(s.URL), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// work starts a process that is no server: word, the run's folder, a name of its own, and args.
func (r *run) work(env []string, word string, args ...string) (*workerProcess, error) {
	r.started++
	w, err := startWorker(r.config.Program, env, append([]string{word, r.dir, fmt.Sprint("worker-", r.started)}, args...)...)
	if err == nil {
		r.workers = append(r.workers, w)
	}
	return w, err
}

// follow starts a worker that stops at the cell's point, and does what follows: then another like it is at work.
func (r *run) follow(ctx context.Context, c *cell, word string, args ...string) error {
	first, err := r.arm(ctx, c, word, args...)
	if err != nil {
		return err
	}
	if c.how == restarted {
		r.kill(first)
	}
	if _, err := r.work(nil, word, args...); err != nil {
		return err
	}
	switch c.how {
	case takenOver: // it may wait for what the first one holds
		err = pause(ctx, r.within(500*time.Millisecond))
		r.kill(first)
	case woken:
		err = errors.Join(pause(ctx, workerLease+slack), r.ended(ctx), thaw(first.cmd.Process))
	}
	return err
}

// arm starts a worker that is to stop at the cell's point, and waits until it has come there.
func (r *run) arm(ctx context.Context, c *cell, word string, args ...string) (*workerProcess, error) {
	r.mark = filepath.Join(r.dir, "reached")
	w, err := r.work([]string{failpoint.AtVariable + "=" + c.at, failpoint.FileVariable + "=" + r.mark}, word, args...)
	if err == nil {
		err = r.reached(ctx)
	}
	return w, err
}

func (r *run) kill(w *workerProcess) {
	w.kill()
	r.kills++
	r.workers = slices.DeleteFunc(r.workers, func(o *workerProcess) bool { return o == w })
}
