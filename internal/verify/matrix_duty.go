package verify

import (
	"context"

	"github.com/onceward/onceward/internal/failpoint"
)

// duties are what servers do by themselves, and what must have come of it once, whoever did it.
var duties = []struct {
	name, commit string
	before       func(ctx context.Context, r *run, s *server) error
	counts       map[string]int
	want         string
}{
	{
		"reaper: a last try's lease is over", "job:sweep_leases|tx:sweepLastTries", aLastTry,
		map[string]int{made: 1, left: 1, "SELECT count(*) FROM messages m JOIN queues q ON q.id = m.queue WHERE q.name = 'jobs-dlq' AND m.lease_no = 1": 1},
		"one dead letter",
	},
	{
		"reaper: a holder of a key is gone", "job:reap_claims|tx:ReapClaims", aLostHolder,
		map[string]int{"SELECT count(*) FROM claims WHERE state = 'stuck' AND fence = 1": 1},
		"one stuck key",
	},
	{
		"redrive: its step", "job:step_redrives|tx:StepRedrives", aRedrive,
		map[string]int{made: 1, left: 1, "SELECT count(*) FROM messages m JOIN queues q ON q.id = m.queue WHERE q.name = 'jobs'": 1, "SELECT count(*) FROM redrives WHERE moved = 1": 1},
		"moved once",
	},
}

func dutyCells(h how) (all []kase) {
	for _, d := range duties {
		for _, p := range []string{failpoint.BeforeCommit, failpoint.AfterCommit} {
			all = append(all, named(cell{at: p + ": " + d.commit, how: h, want: d.want}, func(ctx context.Context, r *run, c *cell) error {
				s, err := r.armed(ctx, c.at)
				if err == nil {
					err = d.before(ctx, r, s)
				}
				if err == nil {
					err = r.reached(ctx)
				}
				if err == nil {
					_, err = r.goOn(ctx, c, s, func(*server) error { return pause(ctx, r.lease()) })
				}
				if err != nil {
					return err
				}
				if err = r.counted(ctx, d.counts); err == nil && len(r.verdict.reasons) == 0 {
					r.verdict.seen = d.want
				}
				return err
			}, d.name, p))
		}
	}
	return all
}

func aLastTry(ctx context.Context, _ *run, s *server) error {
	var d object
	if _, err := s.call(ctx, "POST", "/v1/queue/create", object{"name": jobs, "max_receive_count": 1}, &d); err != nil {
		return err
	}
	if _, err := s.handMessage(ctx, 1); err != nil {
		return err
	}
	_, err := s.call(ctx, "POST", "/v1/queue/consume", object{"queue": jobs, "visibility_timeout": 1}, &d)
	return err
}

// aLostHolder is one of a key of policy once, that began and says nothing more.
func aLostHolder(ctx context.Context, r *run, s *server) error {
	body := claimBody(r)
	body["policy"], body["lease_seconds"] = "once", 1
	var d object
	if _, err := s.call(ctx, "POST", "/v1/ledger/claim", body, &d); err != nil {
		return err
	}
	_, err := s.call(ctx, "POST", "/v1/ledger/begin", byFence(object{"lease_seconds": 1})(r), &d)
	return err
}

func aRedrive(ctx context.Context, r *run, s *server) error {
	if err := aDeadLetter(ctx, r, s); err != nil {
		return err
	}
	var d object
	_, err := s.call(ctx, "POST", "/v1/queue/dlq/redrive/"+jobs, object{}, &d)
	return err
}
