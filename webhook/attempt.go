package webhook

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/internal/jitter"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/worker"
)

// errOurs is what a tenant may read of a panic.
var errOurs = errors.New("the server's own code failed during the attempt")

// effect is the POST of a delivery.
type effect struct{ w *Worker }

func (effect) Terms(j *Job) worker.Terms {
	return worker.Terms{Lease: j.LeaseFor, Begin: j.Policy == ledger.Once}
}

// Do makes one attempt.
func (e effect) Do(ctx context.Context, j *Job) Outcome {
	began := time.Now()
	now := j.now(began)
	var r reply
	if err := e.w.c.Rules.sendable(j.Endpoint.URL); err != nil {
		r.err = err
	} else if secrets, err := secretsOf(&j.Endpoint, e.w.c.Rules.Sealer, now); err != nil {
		r.err = err
	} else {
		_, key := e.w.names(j)
		h := header(j, key, secrets, now)
		r = e.w.post.post(ctx, j.Policy == ledger.Once, j.Endpoint.URL, h, j.Payload, timeout(j))
	}
	f := judge(r.answer, j.terms(), jitter.Roll(j.ClaimID))
	return Outcome{
		Job: j, Kind: f.kind, RetryIn: f.retryIn, Result: f.result, Status: r.status, began: began,
		Latency: r.latency, Response: r.body, Error: f.why, Disable: f.disable,
	}
}

// now is the database's time as far as the job knows it, given ours.
func (j *Job) now(ours time.Time) time.Time {
	if j.TakenAt.IsZero() {
		return ours
	}
	return j.TakenAt.Add(ours.Sub(j.received))
}

// timeout ends an attempt before its lease, whatever the endpoint says.
func timeout(j *Job) time.Duration {
	if j.LeaseFor > minSlack {
		return min(j.Endpoint.Timeout, j.LeaseFor-minSlack/2)
	}
	return min(j.Endpoint.Timeout, j.LeaseFor/2)
}

// GiveBack is of a delivery that was not begun: another worker may have it at once, and no try is counted.
func (effect) GiveBack(j *Job) Outcome {
	return Outcome{Job: j, Kind: ledger.GivenBack, began: time.Now()}
}

// Panicked is of an attempt in which our own code failed: a byte may have been sent.
func (e effect) Panicked(j *Job, value any, stack []byte) Outcome {
	e.w.c.Logger.Error("panic in a delivery attempt", "panic", value, "stack", string(stack))
	f := judge(answer{sent: true, err: errOurs}, j.terms(), jitter.Roll(j.ClaimID))
	return Outcome{Job: j, Kind: f.kind, RetryIn: f.retryIn, Result: f.result, Error: f.why, began: time.Now()}
}

func (j *Job) terms() terms {
	return terms{policy: j.Policy, ladder: j.Ladder, tries: j.Tries, retry4xx: j.Endpoint.Retry4xx}
}

// names fills in what a job's endpoint and delivery are called outside.
func (w *Worker) names(j *Job) (endpoint, key string) {
	if j.key == "" {
		if j.endpointID == "" {
			j.endpointID = w.c.IDs.Encode(ids.Endpoint, j.Project, j.Endpoint.ID)
		}
		j.key = DeliveryKey(j.endpointID, j.EventID, j.KeySend)
	}
	return j.endpointID, j.key
}

// settled writes the wide line of an attempt, and tells the observer.
func (w *Worker) settled(o Outcome, a ledger.Applied, err error) {
	j := o.Job
	level, what := slog.LevelInfo, "delivery attempt"
	switch {
	case err != nil:
		level = slog.LevelError
	case o.Kind == ledger.GivenBack:
		level, what = slog.LevelDebug, "delivery given back"
	}
	if w.c.Logger.Enabled(context.Background(), level) {
		endpoint, key := w.names(j)
		attrs := []slog.Attr{
			slog.String("delivery_id", w.c.IDs.Encode(ids.Delivery, j.Project, j.DeliveryID)),
			slog.String("event_id", j.EventID), slog.String("event_type", j.EventType),
			slog.String("endpoint_id", endpoint), slog.String("tenant", j.Endpoint.Tenant),
			slog.Int("attempt", j.Attempt), slog.String("cause", string(j.Cause)), slog.String("policy", string(j.Policy)),
			slog.String("outcome", string(o.Result)), slog.String("kind", string(o.Kind)), slog.Int("status", o.Status),
			slog.Float64("latency_ms", float64(o.Latency.Microseconds())/1000), slog.Int("bytes", len(j.Payload)),
			slog.String("error", o.Error), slog.Float64("retry_in_seconds", o.RetryIn.Seconds()),
			slog.Bool("applied", a.Applied), slog.String("state", string(a.State)), slog.String("reason", a.Reason),
			slog.String("trace_id", key[:32]),
		}
		if err != nil {
			attrs = append(attrs, slog.String("not_recorded", err.Error()))
		}
		w.c.Logger.LogAttrs(context.Background(), level, what, attrs...)
	}
	if err == nil {
		w.c.Observe(o, a)
	}
}
