package storetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store"
)

// fifoLog writes down, under the lock of its group, what becomes of each message of a fifo group: p published, r received, x left, b back by a
// redrive.
var fifoLog = map[Dialect][]string{
	Postgres: {
		`CREATE TABLE fifo_log (n bigint GENERATED ALWAYS AS IDENTITY, what text, gid bigint, id bigint)`,
		`CREATE FUNCTION fifo_logged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF TG_OP = 'INSERT' THEN INSERT INTO fifo_log (what, gid, id) VALUES ('p', NEW.gid, NEW.id);
			ELSIF TG_OP = 'DELETE' THEN INSERT INTO fifo_log (what, gid, id) VALUES ('x', OLD.gid, OLD.id);
			ELSIF NEW.gid IS NULL THEN INSERT INTO fifo_log (what, gid, id) SELECT 'x', OLD.gid, OLD.id WHERE OLD.gid IS NOT NULL;
			ELSIF OLD.gid IS NULL THEN INSERT INTO fifo_log (what, gid, id) VALUES ('b', NEW.gid, NEW.id);
			ELSIF NEW.lease_no > OLD.lease_no THEN INSERT INTO fifo_log (what, gid, id) VALUES ('r', NEW.gid, NEW.id);
			END IF; RETURN NULL; END $$`,
		`CREATE TRIGGER fifo_logged AFTER INSERT OR UPDATE OR DELETE ON messages FOR EACH ROW EXECUTE FUNCTION fifo_logged()`,
	},
	SQLite: {
		`CREATE TABLE fifo_log (n INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT, gid INTEGER, id INTEGER)`,
		`CREATE TRIGGER fifo_in AFTER INSERT ON messages BEGIN INSERT INTO fifo_log (what, gid, id) VALUES ('p', NEW.gid, NEW.id); END`,
		`CREATE TRIGGER fifo_out AFTER DELETE ON messages BEGIN INSERT INTO fifo_log (what, gid, id) VALUES ('x', OLD.gid, OLD.id); END`,
		`CREATE TRIGGER fifo_dead AFTER UPDATE ON messages WHEN NEW.gid IS NULL AND OLD.gid IS NOT NULL BEGIN INSERT INTO fifo_log (what, gid, id) VALUES ('x', OLD.gid, OLD.id); END`,
		`CREATE TRIGGER fifo_back AFTER UPDATE ON messages WHEN NEW.gid IS NOT NULL AND OLD.gid IS NULL BEGIN INSERT INTO fifo_log (what, gid, id) VALUES ('b', NEW.gid, NEW.id); END`,
		`CREATE TRIGGER fifo_got AFTER UPDATE ON messages WHEN NEW.gid IS NOT NULL AND NEW.lease_no > OLD.lease_no BEGIN INSERT INTO fifo_log (what, gid, id) VALUES ('r', NEW.gid, NEW.id); END`,
	},
}

// fifoStormer is a storm at one fifo queue, "jobs" of project 1, by any number of stores over one database: publishers, each of which sends a message once
// the one before is answered; consumers of every habit; sweepers and a redriver. At its end everything comes to rest, and the log is replayed.
type fifoStormer struct {
	*rig
	servers []store.Store
	cuts    string // a statement that cuts servers off now and then, whose calls then fail; "": none

	mu   sync.Mutex
	sent map[string][]int64 // by publisher and group, in the order of their answers
}

func fifoStorm(r *rig) { (&fifoStormer{rig: r, servers: []store.Store{r.Store}}).run() }

// FIFOStorm runs the storm at servers over one database, which the statement cuts off from it now and then.
func FIFOStorm(t *testing.T, b Backend, servers int, cuts string) {
	r := open(t, b)
	s := &fifoStormer{rig: r, servers: []store.Store{r.Store}, cuts: cuts}
	for len(s.servers) < servers {
		more := r.in.Reopen(t)
		t.Cleanup(func() { more.Close() })
		s.servers = append(s.servers, more)
	}
	s.run()
	r.end()
}

func (s *fifoStormer) run() {
	r := s.rig
	for _, q := range fifoLog[r.b.Dialect] {
		r.exec(q)
	}
	r.queue("jobs", fifo, maxReceives(4))
	s.sent = map[string][]int64{}
	over := make(chan struct{})
	var cutter sync.WaitGroup
	if s.cuts != "" {
		cutter.Go(func() { s.cut(over) })
	}
	var wg sync.WaitGroup
	rounds := 60
	if len(s.servers) > 1 && os.Getenv("ONCEWARD_TEST_LONG") == "" {
		rounds = 24 // each with its sweep, by each server
	}
	for w := range max(3, len(s.servers)) {
		wg.Go(func() { s.publishes(w, rounds*2/3) })
		wg.Go(func() {
			on := s.servers[w%len(s.servers)]
			rng := rand.New(rand.NewPCG(8, uint64(w)))
			for range rounds {
				s.consumes(on, rng, 20*time.Millisecond, true)
				if _, err := on.Sweep(r.ctx, 20); err != nil && s.cuts == "" {
					r.Errorf("sweep: %v", err)
				}
				if w < 2 {
					s.redrives(on)
				}
			}
		})
	}
	wg.Wait()
	close(over)
	cutter.Wait()
	rng := rand.New(rand.NewPCG(9, 9))
	r.eventually("everything is at rest", func() bool {
		if s.cuts == "" {
			r.sweep()
		} else if _, err := r.Sweep(r.ctx, 100); err != nil {
			return false // a connection that was cut while nobody used it
		}
		s.redrives(r.Store)
		s.consumes(r.Store, rng, time.Minute, false)
		return r.count("SELECT count(*) FROM messages") == 0
	})
	s.replay()
}

// publishes sends n messages, each to a group by chance and some of them put off, and waits for the answer of each.
func (s *fifoStormer) publishes(w, n int) {
	rng := rand.New(rand.NewPCG(7, uint64(w)))
	for i := range n {
		on := s.servers[rng.IntN(len(s.servers))] // whichever takes it
		p := queue.Publish{Project: 1, Queue: "jobs", Group: "g" + strconv.Itoa(rng.IntN(3)), Body: fmt.Appendf(nil, `{"w":%d,"n":%d}`, w, i)}
		p.Delay = time.Duration(max(0, rng.IntN(4)-2)) * 10 * time.Millisecond
		out, err := on.Publish(s.ctx, p, p)
		if s.cuts != "" && (err != nil || out[0].Err != nil || out[1].Err != nil) {
			continue // it may be there, and where nobody knows
		}
		if err != nil || out[0].Err != nil || out[1].Err != nil {
			s.Errorf("publish: %v", err)
			return
		}
		by := strconv.Itoa(w) + p.Group
		s.mu.Lock()
		s.sent[by] = append(s.sent[by], out[0].ID, out[1].ID)
		s.mu.Unlock()
	}
}

func (s *fifoStormer) consumes(on store.Store, rng *rand.Rand, visibility time.Duration, faults bool) {
	l, err := on.Receive(s.ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 1 + rng.IntN(4), Visibility: visibility})
	if err != nil && s.cuts != "" {
		return
	}
	if err != nil {
		s.Errorf("receive: %v", err)
		return
	}
	groups := map[string]bool{}
	var acts []queue.Settle
	for _, m := range l {
		if groups[m.Group] {
			s.Errorf("two of group %s in one receive", m.Group)
		}
		groups[m.Group] = true
		a := act(queue.Ack, m)
		switch d := rng.IntN(10); {
		case !faults || d < 5:
		case d == 5:
			a.Verb, a.HasDelay, a.Delay = queue.Nack, true, time.Duration(rng.IntN(2))*5*time.Millisecond
		case d == 6:
			a.Verb, a.Delay = queue.Release, 5*time.Millisecond
		case d == 7:
			a.Verb, a.DeadLetter = queue.Nack, true
		case d == 8:
			a.Verb, a.Visibility = queue.Extend, 10*time.Millisecond
		default:
			continue // died
		}
		acts = append(acts, a)
	}
	if _, err := on.Settle(s.ctx, acts...); err != nil && s.cuts == "" {
		s.Errorf("settle: %v", err)
	}
}

// redrives begins a redrive of what is dead, unless one is running, and steps it.
func (s *fifoStormer) redrives(on store.Store) {
	on.StartRedrive(s.ctx, queue.RedriveCall{Project: 1, Queue: "jobs"}) // one may be running
	if _, _, err := on.StepRedrives(s.ctx, 100); err != nil && s.cuts == "" {
		s.Errorf("redrive: %v", err)
	}
}

// cut cuts off every few milliseconds until over.
func (s *fifoStormer) cut(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(15 * time.Millisecond):
			s.exec(s.cuts)
		}
	}
}

// replay walks through the log with a list for each group: what is published or comes back goes to its end, and only what is first is received.
func (s *fifoStormer) replay() {
	s.Helper()
	line := map[string][]string{}
	published := map[string]int{}
	received := 0
	for n, row := range s.text("SELECT what || ' ' || gid || ' ' || id FROM fifo_log WHERE gid IS NOT NULL ORDER BY n") {
		f := strings.Fields(row)
		what, gid, id := f[0], f[1], f[2]
		l := line[gid]
		switch what {
		case "p":
			published[id] = n
			line[gid] = append(l, id)
		case "b":
			line[gid] = append(l, id)
		case "r":
			if received++; len(l) == 0 || l[0] != id {
				s.Errorf("step %d: received %s of group %s, whose line is %v", n, id, gid, l)
			}
		case "x":
			if len(l) == 0 || l[0] != id {
				s.Errorf("step %d: %s left group %s, whose line is %v", n, id, gid, l)
			}
			line[gid] = l[min(1, len(l)):]
		}
	}
	all := 0
	for by, ids := range s.sent {
		all += len(ids)
		for i := 1; i < len(ids); i++ {
			if published[itoa(ids[i-1])] >= published[itoa(ids[i])] {
				s.Errorf("publisher %s: %d was answered before %d was sent, and stands behind it", by, ids[i-1], ids[i])
			}
		}
	}
	if len(published) < all || s.cuts == "" && len(published) > all || received < all {
		s.Errorf("%d messages of %d that were answered, received %d times", len(published), all, received)
	}
}
