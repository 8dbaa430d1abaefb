package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/internal/history"
)

// long is one round of a long run.
type long struct {
	c        LongConfig
	ground   ground
	dir      string
	dice     *rand.Rand
	round    *Round
	log      *history.Log
	receiver *dedup
	rows     *recording
	worker   *workerProcess
	theirs   string // the key of a project beside this one
	started  int

	mu      sync.Mutex
	servers []*server

	stop     chan struct{} // no more things are handed over
	callers  sync.WaitGroup
	things   atomic.Int64 // handed over so far, answered or not
	answered atomic.Int64
	handed   map[string]bool   // things whose hand-over was answered
	newest   map[string]string // the ids that were answered last, by the call
}

func newLong(c LongConfig, g ground, dir string, seed uint64, r *Round) *long {
	return &long{c: c, ground: g, dir: dir, dice: rand.New(rand.NewPCG(seed, 1)), round: r, stop: make(chan struct{}), handed: map[string]bool{}, newest: map[string]string{}}
}

// open starts the servers and the worker, and makes what the load needs.
func (l *long) open(ctx context.Context) (err error) {
	if l.log, err = history.Open(filepath.Join(l.dir, "verify.jsonl"), "verify"); err != nil {
		return err
	}
	l.receiver = newDedup(l.log, rand.New(rand.NewPCG(l.dice.Uint64(), 2)))
	s, err := l.start(ctx)
	if err == nil {
		l.rows, err = record(ctx, l.ground)
	}
	if err == nil && l.ground.shared() {
		_, err = l.start(ctx)
	}
	if err != nil {
		return err
	}
	var o struct{}
	if _, err := s.call(ctx, "POST", "/v1/queue/create", object{"name": jobs, "max_receive_count": 1000}, &o); err != nil {
		return err
	}
	for policy, kind := range map[string]string{"idempotent": "again", "once": "once"} {
		_, err := s.call(ctx, "POST", "/v1/webhooks/endpoints", object{
			"url": l.receiver.url + "/" + kind, "policy": policy, "timeout_seconds": quick.Seconds(), "event_types": []string{kind + ".*"}, "retry_ladder": ladder,
		}, &o)
		if err != nil {
			return err
		}
	}
	if l.theirs, err = s.makeNeighbour(ctx); err != nil {
		return err
	}
	l.worker, err = l.startWorker()
	return err
}

var ladder = []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}

// start starts a server, and tells the worker of it.
func (l *long) start(ctx context.Context) (*server, error) {
	l.started++
	name := fmt.Sprintf("onceward-long-%d", l.started)
	s, err := startServer(ctx, l.c.Program, name, l.ground.url(name))
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers = append(l.servers, s)
	return s, l.tell()
}

// tell writes down where the servers are.
func (l *long) tell() error {
	urls := make([]string, len(l.servers))
	for i, s := range l.servers {
		urls[i] = s.URL
	}
	next := filepath.Join(l.dir, "servers.next")
	if err := os.WriteFile(next, []byte(strings.Join(urls, "\n")), 0o600); err != nil {
		return err
	}
	return os.Rename(next, filepath.Join(l.dir, "servers"))
}

// one gives any server, nil if there is none just now.
func (l *long) one() *server {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.servers) == 0 {
		return nil
	}
	return l.servers[rand.IntN(len(l.servers))]
}

// play loads, kills, and looks at what is left. What keeps it from its end is one more fault that it counts: a server that does not come back is the worst of them.
func (l *long) play(stopping, ctx context.Context, kills int) error {
	loading, end := context.WithCancel(ctx)
	defer end()
	l.load(loading)
	err := l.storm(stopping, ctx, kills)
	if err == nil {
		err = l.rest(ctx)
	}
	if err == nil {
		return nil
	}
	end()
	l.callers.Wait()
	l.count()
	l.round.Unfinished++
	l.round.Reasons = append(l.round.Reasons, short(err.Error()))
	return errors.Join(err, l.lastWords())
}

// count is what the round had handed over, and what the receiver saw of it.
func (l *long) count() {
	l.receiver.mu.Lock()
	defer l.receiver.mu.Unlock()
	r := l.round
	r.Things, r.Requests, r.Repeated = len(l.handed), 0, 0
	for _, n := range l.receiver.keys {
		r.Requests += n
		r.Repeated += n - 1
	}
}

const reasonSize = 1 << 10

// short is as much of a text as a line has room for: a server's last words are longer, and may be cut within a letter.
func short(text string) string { return strings.ToValidUTF8(text[:min(len(text), reasonSize)], "?") }

// storm kills until so many servers are dead or stopping ends: at a random instant, while the load goes on.
func (l *long) storm(stopping, ctx context.Context, kills int) error {
	for l.round.Kills < kills && stopping.Err() == nil {
		from := l.answered.Load()
		busy, err := until(ctx, 30*time.Second, func() (bool, error) { return l.answered.Load() >= from+4, nil })
		if err == nil && !busy {
			err = errors.New("nothing was answered for 30 s")
		}
		if err == nil {
			err = pause(ctx, time.Duration(l.dice.Int64N(int64(300*time.Millisecond))))
		}
		if err != nil {
			return err
		}
		i := l.dice.IntN(len(l.servers))
		switch roll := l.dice.IntN(10); {
		case roll < 6:
			err = l.killServer(ctx, i)
		case roll < 8:
			l.worker.kill()
			l.round.Workers++
			l.log.Note(history.Event{Do: history.Kill, Thing: "worker"})
			l.worker, err = l.startWorker()
		case roll < 9:
			err = l.freezeFor(ctx, l.servers[i].Process)
		default:
			err = l.freezeFor(ctx, l.worker.cmd.Process)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *long) killServer(ctx context.Context, i int) error {
	l.mu.Lock()
	s := l.servers[i]
	l.servers = append(l.servers[:i:i], l.servers[i+1:]...)
	l.mu.Unlock()
	s.Kill()
	l.round.Kills++
	l.log.Note(history.Event{Do: history.Kill, Thing: s.Name})
	_, err := l.start(ctx)
	return err
}

// freezeFor stops a process for a while, now and then beyond its leases.
func (l *long) freezeFor(ctx context.Context, p *os.Process) error {
	l.round.Frozen++
	if err := freeze(p); err != nil {
		return err
	}
	defer thaw(p)
	return pause(ctx, time.Duration(l.dice.Int64N(int64(3*time.Second))))
}

func (l *long) killAll() {
	if l.worker != nil {
		l.worker.kill()
	}
	for _, s := range l.servers {
		thaw(s.Process)
		s.Kill()
	}
	if l.receiver != nil {
		l.receiver.close()
	}
	if l.rows != nil {
		l.rows.stop()
	}
	if l.log != nil {
		l.log.Close()
	}
}

func (l *long) lastWords() error {
	var errs []error
	for _, s := range l.servers {
		if w := s.Words(); w != "" {
			errs = append(errs, fmt.Errorf("server %s: %s", s.Name, w))
		}
	}
	return errors.Join(errs...)
}
