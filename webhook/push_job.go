package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/worker"
)

const (
	pushBase = 30 * time.Second
	// pushTries is no limit: how often a message is received is the queue's to say.
	pushTries = 1 << 30
)

// pushTo is the source, the effect and the outcomes of a subscription.
type pushTo struct {
	*Pusher
	sub Subscription
}

// pushJob is a message whose key we were granted.
type pushJob struct {
	queue.Message
	id     string // the message's, as its receiver sees it
	key    string // in the ledger
	fence  int64
	linked bool // the key is the message's: settling the one settles the other
}

// pushed is what became of it.
type pushed struct {
	*pushJob
	kind    ledger.Kind
	status  int
	latency time.Duration
	why     string
}

// Receive takes messages and claims their keys. What may not be sent is settled at once: what was done before is acked.
func (t *pushTo) Receive(ctx context.Context, n int) ([]*pushJob, error) {
	got, err := t.c.Store.Receive(ctx, queue.Receive{Project: t.sub.Project, Queue: t.sub.Queue, Max: n, Visibility: t.lease()})
	if errors.Is(err, queue.ErrQueueNotFound) {
		return nil, nil // its subscriptions go with it
	}
	if err != nil || len(got) == 0 {
		return nil, err
	}
	jobs := make([]*pushJob, len(got))
	for i, m := range got {
		id := t.c.IDs.Encode(ids.Message, m.Project, m.ID)
		jobs[i] = &pushJob{Message: m, id: id, key: id, linked: true}
		if !m.DeadAt.IsZero() { // its key of before is over with it
			jobs[i].key, jobs[i].linked = id+"/"+strconv.FormatInt(m.DeadAt.UnixMicro(), 10), false
		}
	}
	answers, err := t.claim(ctx, jobs)
	if err != nil {
		t.c.Store.Settle(ctx, each(jobs, func(j *pushJob) queue.Settle { return j.act(queue.Release) })...) // else their leases bring them back
		return nil, err
	}
	var granted []*pushJob
	var rest []queue.Settle
	for i, j := range jobs {
		if a := answers[i]; a.Err == nil && a.Verdict == ledger.Granted {
			j.fence = a.Claim.Fence
			granted = append(granted, j)
			continue
		}
		rest = append(rest, j.without(answers[i]))
	}
	if len(rest) > 0 {
		if _, err := t.c.Store.Settle(ctx, rest...); err != nil {
			t.c.Logger.Warn("messages that are not to be pushed could not be settled; their leases bring them back", "error", err)
		}
	}
	return granted, nil
}

// claim asks for the keys. A message that carries another key keeps that, and has this one beside it.
func (t *pushTo) claim(ctx context.Context, jobs []*pushJob) ([]ledger.Answer, error) {
	call := func(j *pushJob) ledger.Call {
		c := ledger.Call{
			Project: j.Project, Scope: PushScope, Key: j.key, Policy: ledger.Idempotent, MaxTries: pushTries, OriginAt: j.OriginAt,
			Grant: ledger.Grant{GrantID: t.c.Owner + "/" + strconv.Itoa(j.Lease), Owner: t.c.Owner, Lease: t.lease()},
		}
		if j.linked {
			c.MessageID, c.Lease = j.ID, j.Lease
		}
		return c
	}
	answers, err := t.c.Store.Claim(ctx, each(jobs, call)...)
	if err != nil {
		return nil, err
	}
	var again []*pushJob
	for i, j := range jobs {
		if answers[i].Err != nil && j.linked {
			j.linked = false
			again = append(again, j)
		}
	}
	if len(again) == 0 {
		return answers, nil
	}
	more, err := t.c.Store.Claim(ctx, each(again, call)...)
	if err != nil {
		return nil, err
	}
	for i, j := range jobs {
		if n := slices.Index(again, j); n >= 0 {
			answers[i] = more[n]
		}
	}
	return answers, nil
}

func each[T, V any](items []T, f func(T) V) []V {
	out := make([]V, len(items))
	for i, it := range items {
		out[i] = f(it)
	}
	return out
}

// act is an act of the job's receipt.
func (j *pushJob) act(v queue.Verb) queue.Settle {
	return queue.Settle{Verb: v, Project: j.Project, Queue: j.Queue, ID: j.ID, Lease: j.Lease}
}

// without settles a message that is not to be sent.
func (j *pushJob) without(a ledger.Answer) queue.Settle {
	switch {
	case a.Err != nil:
		s := j.act(queue.Nack)
		s.Error = a.Err.Error()
		return s
	case a.Verdict == ledger.WasDone:
		return j.act(queue.Ack)
	case a.Verdict == ledger.Busy:
		s := j.act(queue.Release)
		s.Delay = a.Wait
		return s
	}
	s := j.act(queue.Nack)
	s.DeadLetter, s.Error = true, "its key is "+string(a.Verdict)
	s.Delay, s.HasDelay = queue.MaxDelay, true // of what is in a dead-letter queue already, and would be the same at once
	return s
}

// Wait returns when the queue may have something.
func (t *pushTo) Wait(ctx context.Context, _ int) ([]*pushJob, time.Time) {
	t.c.Store.WaitMessages(ctx, queue.Receive{Project: t.sub.Project, Queue: t.sub.Queue})
	return nil, time.Time{}
}

func (t *pushTo) lease() time.Duration { return t.sub.Timeout + t.c.Slack }

// Terms of a job: the receiver knows its key, so nothing waits for a line before it.
func (t *pushTo) Terms(*pushJob) worker.Terms { return worker.Terms{Lease: t.lease()} }

// Do makes one attempt.
func (t *pushTo) Do(ctx context.Context, j *pushJob) pushed {
	var r reply
	if err := t.c.Rules.sendable(t.sub.URL); err != nil {
		r.err = err
	} else if secret, err := t.c.Rules.Sealer.Open(t.sub.Project, t.sub.Sealed); err != nil {
		r.err = fmt.Errorf("the subscription's secret cannot be read: %w", err)
	} else {
		sum := sha256.Sum256([]byte(j.id))
		h := signed(message{id: j.id, key: j.id, trace: hex.EncodeToString(sum[:]), attempt: max(1, j.Receives), body: j.Body}, [][]byte{secret}, time.Now(), nil)
		r = t.post.post(ctx, false, t.sub.URL, h, j.Body, t.sub.Timeout)
	}
	return j.judged(r)
}

// judged is what follows from an answer: 2xx acks, and all else is tried again.
func (j *pushJob) judged(r reply) pushed {
	f := verdict(r.answer, terms{policy: ledger.Idempotent, retry4xx: true})
	if f.kind == ledger.Permanent {
		f.kind = ledger.Definite
	}
	return pushed{pushJob: j, kind: f.kind, status: r.status, latency: r.latency, why: f.why}
}

// GiveBack is of a message that was not sent: its receive is not counted.
func (t *pushTo) GiveBack(j *pushJob) pushed { return pushed{pushJob: j, kind: ledger.GivenBack} }

// Panicked is of an attempt in which our own code failed.
func (t *pushTo) Panicked(j *pushJob, value any, stack []byte) pushed {
	t.c.Logger.Error("panic in a push", "panic", value, "stack", string(stack))
	return j.judged(reply{answer: answer{sent: true, err: errOurs}})
}

// PushBackoff is how long a message waits that was received so many times and not taken: 30 s × 2ⁿ, at most the longest delay of a queue.
func PushBackoff(receives int) time.Duration {
	n := max(0, receives-1)
	if n > 20 {
		return queue.MaxDelay
	}
	return min(queue.MaxDelay, pushBase<<n)
}

// Begin is the heartbeat: of the key, and of the message that carries it.
func (t *pushTo) Begin(ctx context.Context, jobs []*pushJob) ([]ledger.Applied, error) {
	out, err := t.c.Store.Begin(ctx, each(jobs, func(j *pushJob) ledger.Beat {
		return ledger.Beat{Project: j.Project, Scope: PushScope, Key: j.key, Fence: j.fence, Lease: t.lease()}
	})...)
	if err != nil {
		return nil, err
	}
	var beside []queue.Settle
	for i, j := range jobs {
		if !j.linked && out[i].Applied {
			s := j.act(queue.Extend)
			s.Visibility = t.lease()
			beside = append(beside, s)
		}
	}
	if len(beside) > 0 {
		_, err = t.c.Store.Settle(ctx, beside...)
	}
	return out, err
}

// Settle keeps outcomes. A success and its ack are one transaction; a failure is the key's first and then the message's, which is counted there, and
// between the two a message that comes again finds its key not due yet.
func (t *pushTo) Settle(ctx context.Context, outcomes []pushed) ([]ledger.Applied, error) {
	words := each(outcomes, func(o pushed) ledger.Word {
		w := ledger.Word{Project: o.Project, Scope: PushScope, Key: o.key, Fence: o.fence, Kind: o.kind, Error: o.why, Settle: o.linked && o.settles()}
		if !o.settles() {
			w.RetryIn = PushBackoff(o.Receives)
		}
		return w
	})
	out, err := t.c.Store.SettleClaims(ctx, words...)
	if err != nil {
		return nil, err
	}
	var acts []queue.Settle
	for i, o := range outcomes {
		if words[i].Settle || out[i].Reason == ledger.Fenced {
			continue
		}
		a := o.act(queue.Ack)
		switch o.kind {
		case ledger.Succeeded:
		case ledger.GivenBack:
			a.Verb = queue.Release
		default:
			a.Verb, a.Delay, a.HasDelay, a.Error = queue.Nack, PushBackoff(o.Receives), true, o.why
		}
		acts = append(acts, a)
	}
	if len(acts) > 0 {
		_, err = t.c.Store.Settle(ctx, acts...)
	}
	return out, err
}

// settles reports whether the key's word says what becomes of the message, too.
func (o pushed) settles() bool { return o.kind == ledger.Succeeded || o.kind == ledger.GivenBack }

// settled writes the wide line of an attempt.
func (t *pushTo) settled(o pushed, a ledger.Applied, err error) {
	level := slog.LevelInfo
	switch {
	case err != nil:
		level = slog.LevelError
	case o.kind == ledger.GivenBack:
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("message_id", o.id), slog.String("queue", o.Queue), slog.Int("delivery_count", o.Receives), slog.String("kind", string(o.kind)),
		slog.Int("status", o.status), slog.Float64("latency_ms", float64(o.latency.Microseconds())/1000), slog.Int("bytes", len(o.Body)),
		slog.String("error", o.why), slog.Bool("applied", a.Applied), slog.String("state", string(a.State)), slog.String("reason", a.Reason),
	}
	if err != nil {
		attrs = append(attrs, slog.String("not_recorded", err.Error()))
	}
	t.c.Logger.LogAttrs(context.Background(), level, "push attempt", attrs...)
}
