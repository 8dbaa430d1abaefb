package knownbad

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/sqlitetest"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store/sqlite"
)

const (
	jobs       = 150
	workers    = 3
	visibility = 5 * time.Minute // of a message; some effects take longer
	name       = "jobs"
	seed       = 17
)

// faults are how often each thing goes wrong.
type faults struct {
	refused  float64 // the receiver refuses, and nothing happened
	timeout  float64 // the effect happened, and its answer did not come
	slow     float64 // the effect takes longer than the message's lease
	ackLost  float64 // the ack does not reach the queue
	crash    float64 // at each step: the process dies
	remember bool    // the receiver knows a key that it saw before, and does nothing then
}

// world is a queue, a receiver of effects, a database for the consumers' own tables, and what goes wrong between them.
type world struct {
	*testing.T
	faults
	queue *sqlite.DB
	app   *sql.DB

	mu      sync.Mutex
	drawn   map[string]int  // how often each thing was drawn
	effects map[int]int     // of each job
	known   map[string]bool // keys that the receiver saw
}

func newWorld(t *testing.T, dir string, f faults) *world {
	q, err := sqlite.Open(t.Context(), filepath.Join(dir, "queue.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	app := sqlitetest.OpenFile(t, filepath.Join(dir, "app.db"))
	w := &world{T: t, faults: f, queue: q, app: app, drawn: map[string]int{}, effects: map[int]int{}, known: map[string]bool{}}
	_, err = q.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: name, MaxReceives: new(1000)})
	w.ok(err)
	for i := range jobs {
		w.publish(i, 0)
	}
	return w
}

func (w *world) close() {
	w.ok(w.queue.Close())
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) publish(job int, delay time.Duration) {
	w.Helper()
	out, err := w.queue.Publish(w.Context(), queue.Publish{Project: 1, Queue: name, Body: fmt.Appendf(nil, "%d", job), Delay: delay})
	w.ok(err)
	w.ok(out[0].Err)
}

// draw decides whether something goes wrong. The nth draw of a thing of a job is the same in every run, whatever else happens and whoever's turn it is.
func (w *world) draw(what string, job int, p float64) bool {
	what = fmt.Sprintf("%d %s %d", seed, what, job)
	w.mu.Lock()
	n := w.drawn[what]
	w.drawn[what]++
	w.mu.Unlock()
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", what, n))
	return float64(binary.BigEndian.Uint64(h[:8]))/math.MaxUint64 < p
}

var (
	errRefused = errors.New("the receiver refused it")
	errTimeout = errors.New("no answer came")
	errLost    = errors.New("the queue was not reached")
	errDead    = errors.New("the process is dead")
)

// process is a worker's, until it dies.
type process struct {
	*world
	ctx  context.Context // ends with it
	die  context.CancelFunc
	dead atomic.Bool
}

// step is a place where it may die.
func (p *process) step(job int) {
	if p.draw("crash", job, p.crash) {
		p.dead.Store(true)
		p.die()
		panic(errDead)
	}
}

// effect is what must happen once. key goes along for a receiver that knows it.
func (p *process) effect(job int, key string) error {
	p.step(job)
	if p.draw("refused", job, p.refused) {
		time.Sleep(100 * time.Millisecond)
		return errRefused
	}
	time.Sleep(200 * time.Millisecond)
	if p.draw("slow", job, p.slow) {
		time.Sleep(visibility + time.Minute)
	}
	p.mu.Lock()
	if !p.remember || !p.known[key] {
		p.effects[job]++
	}
	p.known[key] = true
	p.mu.Unlock()
	if p.draw("timeout", job, p.timeout) {
		time.Sleep(30 * time.Second)
		return errTimeout
	}
	p.step(job)
	return nil
}

// exec runs a statement on the consumer's own table, and gives how many rows it changed.
func (p *process) exec(query string, args ...any) int64 {
	p.Helper()
	r, err := p.app.ExecContext(p.ctx, query, args...)
	p.ok(err)
	n, err := r.RowsAffected()
	p.ok(err)
	return n
}

// settle acts on a message by its receipt.
func (p *process) settle(m queue.Message, job int, s queue.Settle) error {
	p.step(job)
	if p.draw("ack", job, p.ackLost) {
		return errLost
	}
	s.Project, s.Queue, s.ID, s.Lease = 1, name, m.ID, m.Lease
	_, err := p.queue.Settle(p.ctx, s) // a lease that is lost, or a message that is gone, is no error
	return err
}

func (p *process) ack(m queue.Message, job int) error {
	return p.settle(m, job, queue.Settle{Verb: queue.Ack})
}

// consumer handles a message.
type consumer func(p *process, m queue.Message, job int)

// run lets workers consume until the queue is empty, and gives how many jobs were lost, were done more than once, and lie among the dead letters.
func (w *world) run(handle consumer) (lost, doubled, dead int) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					w.life(handle, over)
					time.Sleep(time.Second)
				}
			}
		})
	}
	for deadline := time.Now().Add(240 * time.Hour); ; time.Sleep(time.Minute) {
		s, err := w.queue.QueueStats(w.Context(), 1, name)
		w.ok(err)
		if s.Messages == 0 || time.Now().After(deadline) {
			if s.Messages > 0 {
				w.Errorf("after ten days %d messages are left", s.Messages)
			}
			dead = int(s.Dead)
			break
		}
	}
	close(over)
	wg.Wait()
	for job := range jobs {
		switch n := w.effects[job]; {
		case n == 0:
			lost++
		case n > 1:
			doubled++
		}
	}
	return lost, doubled, dead
}

// life is one process: it receives and handles, one message after the other, until it dies.
func (w *world) life(handle consumer, over chan struct{}) {
	p := &process{world: w}
	p.ctx, p.die = context.WithCancel(w.Context())
	defer p.die()
	defer func() {
		if v := recover(); v != nil && v != errDead {
			panic(v)
		}
	}()
	for !p.dead.Load() {
		select {
		case <-over:
			return
		default:
		}
		got, err := w.queue.Receive(p.ctx, queue.Receive{Project: 1, Queue: name, Max: 10, Visibility: visibility})
		w.ok(err)
		if len(got) == 0 {
			time.Sleep(20 * time.Second)
		}
		for _, m := range got {
			if p.dead.Load() {
				return
			}
			var job int
			_, err := fmt.Sscan(string(m.Body), &job)
			w.ok(err)
			handle(p, m, job)
		}
	}
}
