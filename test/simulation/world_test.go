package simulation

import (
	"cmp"
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// world is one run: what there is, what is to come, and what has been seen. Its own goroutine does one thing at a time, each at a moment of its own, and
// lets the server come to rest before the next; so the run follows from the seed. What receivers do is drawn by whom and what they are
// sent, not by the order in which it comes.
type world struct {
	seed    uint64
	dice    *rand.Rand
	net     network
	client  *http.Client
	file    string // of the store
	lives   int    // of files: one more after each cut
	grace   time.Duration
	process *process
	since   time.Time // when it was started
	gaps    []gap
	going   sync.WaitGroup

	begun  time.Time
	agenda agenda
	count  int // of events put on the agenda

	queues []*queueModel
	hosts  []*host
	sent   []*sentEvent
	works  map[string]*work
	pushes *pushes
	tasks  *tasks
	theirs *neighbours
	price  float64   // of a publish
	back   time.Time // what the store dates before this was dated by a clock that was set back since
	serial int       // of names

	mu    sync.Mutex
	trace []line
	fault string
	calm  bool // the faults are over
}

// line is something seen.
type line struct {
	at   time.Duration // from the run's beginning, in steps of grain
	text string
}

// grain is how exactly a run's times are put down. The store keeps microseconds and the server nanoseconds: which of two who wake for the same work comes
// first may differ from run to run where they are less than a microsecond apart.
const grain = 10 * time.Millisecond

// outcome is what is left of a run.
type outcome struct {
	fault string // the first thing that was not as it must be; empty: all was
	trace []string
	days  float64
}

// hash is of all that was seen.
func (o outcome) hash() string {
	h := sha256.Sum256([]byte(strings.Join(o.trace, "\n")))
	return hex.EncodeToString(h[:8])
}

// run does so many steps of the seed's run, then lets all come to rest. It must be called in a bubble.
func run(dir string, seed uint64, steps int) outcome {
	w := &world{
		seed: seed, dice: rand.New(rand.NewPCG(seed, 1)), net: network{hosts: map[string]*listener{}}, file: filepath.Join(dir, "0.db"),
		begun: time.Now(), works: map[string]*work{},
	}
	if w.chance(2) {
		w.price = float64(1+w.dice.IntN(9)) / 1000
	}
	w.grace = time.Duration(1+w.dice.IntN(18)) * time.Second
	w.client = &http.Client{Transport: &http.Transport{DialContext: w.net.dial, DisableKeepAlives: true}}
	w.start()
	if w.process != nil {
		w.build()
		w.plan(steps)
		w.settle()
		if w.process != nil {
			w.stop()
		}
	}
	for _, h := range w.hosts {
		h.server.Close()
	}
	if w.pushes != nil {
		w.pushes.server.Close()
	}
	w.going.Wait()
	synctest.Wait()
	slices.SortStableFunc(w.trace, func(a, b line) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.text, b.text)) })
	o := outcome{fault: w.fault, days: w.now().Sub(w.begun).Hours() / 24}
	for _, l := range w.trace {
		o.trace = append(o.trace, fmt.Sprintf("%14s %s", l.at, l.text))
	}
	return o
}

func (w *world) now() time.Time { return time.Now() }

// say puts down what was seen, in words that are the same in the same run.
func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, line{time.Since(w.begun).Truncate(grain), fmt.Sprintf(format, args...)})
}

// fail puts down what must not be. The first ends the run.
func (w *world) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.say("FAULT %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault == "" {
		w.fault = fmt.Sprintf("after %s: %s", time.Since(w.begun), text)
	}
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fault != ""
}

// plan does steps, one after the other, and whatever they put on the agenda.
func (w *world) plan(steps int) {
	at := w.now()
	for range steps {
		for w.process == nil && !w.failed() { // nothing to do but wait for it
			w.next()
			at = w.now()
		}
		at = at.Add(w.pause())
		for !w.failed() && len(w.agenda) > 0 && w.agenda[0].at.Before(at) {
			w.next()
		}
		if w.failed() {
			return
		}
		w.until(at)
		at = w.now()
		w.step()
		synctest.Wait()
	}
}

// pause is the time before the next step: mostly moments, now and then minutes.
func (w *world) pause() time.Duration {
	switch w.dice.IntN(20) {
	case 0:
		return time.Duration(w.dice.IntN(90)) * time.Second
	case 1:
		return time.Duration(w.dice.IntN(30)) * time.Second
	}
	return time.Duration(w.dice.IntN(6000)) * time.Millisecond
}

// event is something on the agenda.
type event struct {
	at time.Time
	n  int
	do func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return cmp.Or(a[i].at.Compare(a[j].at), cmp.Compare(a[i].n, a[j].n)) < 0
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// after puts something on the agenda.
func (w *world) after(d time.Duration, do func()) {
	w.count++
	heap.Push(&w.agenda, event{w.now().Add(d), w.count, do})
}

// next does what is next on the agenda.
func (w *world) next() {
	e := heap.Pop(&w.agenda).(event)
	w.until(e.at)
	e.do()
	synctest.Wait()
}

// until waits for a moment, or for the first that nothing else was done in: whole microseconds, as the store keeps them.
func (w *world) until(t time.Time) {
	next := w.now().Truncate(time.Microsecond).Add(time.Microsecond)
	if t = t.Truncate(time.Microsecond); t.Before(next) {
		t = next
	}
	w.wait(time.Until(t))
}

// wait lets time pass, and all that falls due by then happen.
func (w *world) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// name makes a name of its own.
func (w *world) name(prefix string) string {
	w.serial++
	return fmt.Sprintf("%s%d", prefix, w.serial)
}

// chance reports true once in n times.
func (w *world) chance(n int) bool { return w.dice.IntN(n) == 0 }

// roll draws below n by what it is of, whenever that is asked.
func (w *world) roll(n int, of ...any) int {
	h := fnv.New64a()
	fmt.Fprintln(h, append([]any{w.seed}, of...)...)
	return rand.New(rand.NewPCG(h.Sum64(), 2)).IntN(n)
}

// ctx of a call, perhaps one whose answer is lost.
func callContext(lost bool) context.Context {
	if lost {
		return context.WithValue(context.Background(), losesAnswer{}, true)
	}
	return context.Background()
}
