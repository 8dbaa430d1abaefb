package verify

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// LongConfig says how long servers and workers are killed at random, under load. Program and Log are required.
type LongConfig struct {
	Program  string
	SQLite   bool
	Postgres string
	Kills    int           // of servers on each store; 0: until For is over
	For      time.Duration // 0: until Kills are done
	Lanes    int           // rounds at a time on each store (1)
	Seed     uint64        // 0: by chance
	Commit   string        // what is tried
	Code     string        // names the code that decides: a hash of the trees of the stores, the worker and the rules
	Log      io.Writer     // a line of each round
	Progress io.Writer
	Keep     bool
}

// Round is what came of the kills on one store: a line of bench/kills.jsonl.
type Round struct {
	At         time.Time `json:"at"`
	Commit     string    `json:"commit"`
	Code       string    `json:"code"`
	Seed       uint64    `json:"seed"`
	Store      string    `json:"store"`
	Kills      int       `json:"kills"`   // of servers, by SIGKILL
	Workers    int       `json:"workers"` // killed too
	Frozen     int       `json:"frozen"`  // servers and workers stopped for a while
	Things     int       `json:"things"`  // messages and events whose hand-over was answered
	Requests   int       `json:"requests"`
	Repeated   int       `json:"repeated"` // under a key that the receiver had had before
	Ruled      int       `json:"ruled"`    // keys of policy once that nobody could know of
	Lost       int       `json:"lost"`
	Doubled    int       `json:"doubled"`
	Unfinished int       `json:"unfinished"`
	Broken     int       `json:"broken"` // sentences of the history's checker
	Seconds    float64   `json:"seconds"`
	Reasons    []string  `json:"reasons,omitzero"`
}

// OK reports whether nothing went wrong.
func (r Round) OK() bool { return r.Lost+r.Doubled+r.Unfinished+r.Broken == 0 }

const roundKills = 50

// errNothing says that a long run was stopped before its first round was over.
var errNothing = errors.New("verify: no round was finished")

// Long kills until what was asked for is done or ctx ends. A round that ctx ends kills no more, comes to rest, and counts. One that cannot come to its end counts as
// unfinished, and is an error too. It reports whether all was right.
func Long(ctx context.Context, c LongConfig) (ok bool, err error) {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	var mu sync.Mutex
	var rounds int
	var failed []error
	ok = true
	grounds := map[string]func() (ground, error){}
	if c.SQLite {
		grounds["sqlite"] = newFile
	}
	if c.Postgres != "" {
		grounds["postgres"] = func() (ground, error) { return newDatabase(context.WithoutCancel(ctx), c.Postgres) }
	}
	stopped := ctx // by a signal
	if c.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.For)
		defer cancel()
	}
	var lanes sync.WaitGroup
	for store, newGround := range grounds {
		left, n := c.Kills, uint64(0)
		take := func() (kills int, seed uint64) {
			mu.Lock()
			defer mu.Unlock()
			kills = roundKills
			if c.Kills > 0 {
				kills = min(kills, left)
			}
			left -= kills
			n++
			return kills, c.Seed + n
		}
		for range max(c.Lanes, 1) {
			lanes.Go(func() {
				for ctx.Err() == nil {
					kills, seed := take()
					if kills <= 0 {
						return
					}
					r, err := c.round(ctx, newGround, kills, seed)
					mu.Lock()
					written, err := c.note(store, seed, r, err, stopped.Err() != nil)
					if written {
						rounds++
						ok = ok && r.OK()
					}
					failed = append(failed, err)
					mu.Unlock()
				}
			})
		}
	}
	lanes.Wait()
	if err := errors.Join(failed...); err != nil {
		return false, err
	}
	if rounds == 0 {
		return false, errNothing
	}
	return ok, nil
}

// note writes the line of a round that was begun: of one that could not come to its end too, for those went wrong the hardest. But what ended because it was told to
// stop says nothing of the code.
func (c LongConfig) note(store string, seed uint64, r *Round, err error, stopped bool) (written bool, _ error) {
	if err != nil {
		err = fmt.Errorf("a round on %s (seed %d): %w", store, seed, err)
	}
	if r == nil || err != nil && stopped {
		return false, err
	}
	r.Store = store
	return true, errors.Join(err, c.write(*r))
}

// write appends a round's line.
func (c LongConfig) write(r Round) error {
	b, err := json.Marshal(r)
	if err == nil {
		_, err = c.Log.Write(append(b, '\n'))
	}
	if c.Progress != nil {
		fmt.Fprintf(c.Progress, "%s: %d servers and %d workers killed, %d frozen; %d things; lost %d, doubled %d, unfinished %d, broken %d (%.0f s)\n", r.Store,
			r.Kills, r.Workers, r.Frozen, r.Things, r.Lost, r.Doubled, r.Unfinished, r.Broken, r.Seconds)
	}
	return err
}

// round kills so often on a store of its own, and looks at what is left. It gives nil if nothing was begun.
func (c LongConfig) round(ctx context.Context, newGround func() (ground, error), kills int, seed uint64) (r *Round, err error) {
	begun := time.Now()
	life := context.WithoutCancel(ctx) // the round ends well though it was told to stop
	dir, err := hostTemp()
	if err != nil {
		return nil, err
	}
	g, err := newGround()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	l := newLong(c, g, dir, seed, &Round{At: begun.UTC().Truncate(time.Second), Commit: c.Commit, Code: c.Code, Seed: seed})
	keep := true
	defer func() {
		l.killAll()
		keep = keep && c.Keep
		err = errors.Join(err, g.drop(keep))
		if !keep {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if err := l.open(life); err != nil {
		return nil, err
	}
	err = l.play(ctx, life, kills)
	l.round.Seconds = time.Since(begun).Round(100 * time.Millisecond).Seconds()
	keep = !l.round.OK()
	return l.round, err
}
