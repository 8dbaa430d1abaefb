package postgres

import (
	"context"
	"fmt"

	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

var (
	_ webhook.Endpoints  = (*DB)(nil)
	_ webhook.Deliveries = (*DB)(nil)
	_ webhook.Sender     = (*DB)(nil)
	_ ledger.Store       = (*DB)(nil)
)

// lanes gather the calls of one process that share commits: events and their deliveries, outcomes, and workers' keys.
// Each has one commit under way at a time: a second would wait for the first's groups.
type lanes struct {
	send    *batch.Batcher[webhook.NewEvent, webhook.Sent]
	begin   *batch.Batcher[*webhook.Job, ledger.Applied]
	outcome *batch.Batcher[webhook.Outcome, ledger.Applied]
	claim   *batch.Batcher[ledger.Call, ledger.Answer]
	beat    *batch.Batcher[ledger.Beat, ledger.Applied]
	word    *batch.Batcher[ledger.Word, ledger.Applied]
}

// Most items of a commit. An event may have as many deliveries as there are endpoints, so of those fewer go together.
const (
	maxLane   = 1000
	maxEvents = 256
)

func (l *lanes) open(db *DB) {
	l.send = batch.New(batch.Config[webhook.NewEvent, webhook.Sent]{
		Commit: db.commitSends, Split: badItem, MaxItems: maxEvents, Size: func(e webhook.NewEvent) int { return 512 + len(e.Payload) },
	})
	l.begin = batch.New(batch.Config[*webhook.Job, ledger.Applied]{Commit: db.commitBegins, Split: badItem, MaxItems: maxLane})
	l.outcome = batch.New(batch.Config[webhook.Outcome, ledger.Applied]{
		Commit: db.commitOutcomes, Split: badItem, MaxItems: maxLane, Size: func(o webhook.Outcome) int { return 256 + len(o.Response) },
	})
	l.claim = batch.New(batch.Config[ledger.Call, ledger.Answer]{Commit: db.commitClaims, Split: badItem, MaxItems: maxLane})
	l.beat = batch.New(batch.Config[ledger.Beat, ledger.Applied]{Commit: db.commitBeats, Split: badItem, MaxItems: maxLane})
	l.word = batch.New(batch.Config[ledger.Word, ledger.Applied]{
		Commit: db.commitWords, Split: badItem, MaxItems: maxLane, Size: func(w ledger.Word) int { return 128 + len(w.Result) },
	})
}

// close finishes what was accepted.
func (l *lanes) close() {
	l.send.Close()
	l.begin.Close()
	l.outcome.Close()
	l.claim.Close()
	l.beat.Close()
	l.word.Close()
}

// all runs a verb whose items have no errors of their own: the first is the call's.
func all[In, Out any](ctx context.Context, db *DB, op string, lane *batch.Batcher[In, Out], do func(context.Context, []In) ([]Out, error), items []In) ([]Out, error) {
	out := make([]Out, len(items))
	var failed error
	var held []int
	err := through(ctx, db, op, lane, do, items, func(i int, v Out, err error) {
		switch out[i] = v; {
		case err == errHeld:
			held = append(held, i)
		case err != nil && failed == nil:
			failed = fmt.Errorf("%s: %w", op, err)
		}
	})
	if len(held) > 0 {
		db.apart(ctx, held, func(ctx context.Context, i int) error {
			one, err := do(ctx, items[i:i+1])
			if err == nil {
				out[i] = one[0]
			}
			return err
		}, func(_ int, err error, late bool) {
			if late {
				err = ledger.KeyHeld()
			}
			if err != nil && failed == nil {
				failed = fmt.Errorf("%s: %w", op, err)
			}
		})
	}
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}
