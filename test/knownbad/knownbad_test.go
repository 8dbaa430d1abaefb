package knownbad

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/leak"
	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/sqldb"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var (
	refusals = faults{refused: 0.1}
	storm    = faults{refused: 0.1, timeout: 0.05, slow: 0.03, ackLost: 0.05, crash: 0.02}
)

// mortal is the ledger as a process sees it: a dead one says nothing more.
type mortal struct {
	ledger.Store
	p *process
}

func (m mortal) word() error {
	if m.p.dead.Load() {
		return fault.New(fault.Unavailable, "the process is dead")
	}
	return nil
}

func (m mortal) Claim(ctx context.Context, c ...ledger.Call) ([]ledger.Answer, error) {
	if err := m.word(); err != nil {
		return nil, err
	}
	return m.Store.Claim(ctx, c...)
}

func (m mortal) Begin(ctx context.Context, b ...ledger.Beat) ([]ledger.Applied, error) {
	if err := m.word(); err != nil {
		return nil, err
	}
	return m.Store.Begin(ctx, b...)
}

func (m mortal) SettleClaims(ctx context.Context, w ...ledger.Word) ([]ledger.Applied, error) {
	if err := m.word(); err != nil {
		return nil, err
	}
	return m.Store.SettleClaims(ctx, w...)
}

// guarded is the same consumer with the ledger as its guard, and its rule for the message.
func guarded(w *world, store ledger.Store, policy ledger.Policy) consumer {
	return func(p *process, m queue.Message, job int) {
		l, err := ledger.NewLedger(ledger.Config{Store: mortal{store, p}, Scope: "jobs", Policy: policy, MaxTries: 1000, Owner: "worker"})
		w.ok(err)
		p.step(job)
		d := l.Handle(p.ctx, ledger.Work{
			Key: fmt.Sprint(job),
			Extend: func(ctx context.Context, _ time.Duration) error {
				_, err := p.queue.Settle(ctx, queue.Settle{Verb: queue.Extend, Project: 1, Queue: name, ID: m.ID, Lease: m.Lease, Visibility: visibility})
				return err
			},
		}, func(_ context.Context, t ledger.Try) ([]byte, error) {
			err := p.effect(job, t.OpID)
			if errors.Is(err, errRefused) {
				return nil, ledger.NotDone(err)
			}
			return nil, err
		})
		if p.dead.Load() {
			return
		}
		switch d.Action {
		case ledger.Ack:
			_ = p.ack(m, job)
		case ledger.Release:
			_ = p.settle(m, job, queue.Settle{Verb: queue.Release, Delay: d.Wait})
		case ledger.DeadLetter:
			_ = p.settle(m, job, queue.Settle{Verb: queue.Nack, DeadLetter: true, Error: d.Reason})
		}
	}
}

// in runs a consumer through a world of its own.
func in(t *testing.T, f faults, test func(w *world)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dir, f)
		defer w.close()
		test(w)
	})
}

var worlds = map[string]faults{"refusals": refusals, "storm": storm}

// The mistakes cost what their texts say: H-L01 to H-L06 in the consumers that have them.
func TestDesigns(t *testing.T) {
	t.Parallel()
	for _, d := range designs {
		for name, f := range worlds {
			t.Run(d.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				f.remember = d.remember
				in(t, f, func(w *world) {
					_, err := w.app.Exec(d.table)
					w.ok(err)
					lost, doubled, dead := w.run(d.handle)
					t.Logf("%s: of %d jobs %d lost, %d done twice, %d dead letters", d.mistake, jobs, lost, doubled, dead)
					if bad, want := lost+doubled > 0, name == "storm" || d.refusals; bad != want {
						t.Errorf("loses or doubles: %v, want %v", bad, want)
					}
				})
			})
		}
	}
}

// The ledger in their place, under the same faults from the same seed: nothing is done twice, and nothing is lost. Of a receiver that cannot tell a
// repetition it says which jobs nobody can know of.
func TestGuard(t *testing.T) {
	t.Parallel()
	for _, policy := range []ledger.Policy{ledger.Idempotent, ledger.Once} {
		for name, f := range worlds {
			t.Run(string(policy)+"/"+name, func(t *testing.T) {
				t.Parallel()
				f.remember = policy == ledger.Idempotent
				in(t, f, func(w *world) {
					store := sqldb.SQLite(w.app)
					w.ok(store.Install(w.Context()))
					lost, doubled, dead := w.run(guarded(w, store, policy))
					stuck := w.stuck(store)
					t.Logf("of %d jobs %d without an effect, %d done twice, %d stuck, %d dead letters", jobs, lost, doubled, stuck, dead)
					if doubled > 0 || dead != stuck || lost > stuck || stuck > 0 && (policy == ledger.Idempotent || name == "refusals") {
						t.Error("the guard lets through what it is there to stop")
					}
				})
			})
		}
	}
}

// stuck counts the jobs of which the ledger says that nobody can know. Every other must be done, and have its effect.
func (w *world) stuck(store ledger.Store) (n int) {
	for job := range jobs {
		c, _, err := store.FindClaim(w.Context(), 1, "jobs", fmt.Sprint(job))
		w.ok(err)
		switch {
		case c.State == ledger.Stuck:
			n++
		case c.State != ledger.Done || w.effects[job] == 0:
			w.Errorf("job %d is %s, with %d effects", job, c.State, w.effects[job])
		}
	}
	return n
}
