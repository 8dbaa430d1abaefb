package postgres

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/batch"
	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

var (
	publishSQL      = stmt("publish")
	publishPlainSQL = variant(publishSQL, "p", "g")
	publishOneSQL   = stmt("publish_one")
	publishKnownSQL = stmt("publish_known")
)

// Publish stores messages, each with its key in one transaction. Calls of many share commits.
func (db *DB) Publish(ctx context.Context, items ...queue.Publish) ([]queue.Published, error) {
	out := make([]queue.Published, len(items))
	good := make([]queue.Publish, 0, len(items))
	at := make([]int, 0, len(items))
	for i := range items {
		if err := checkPublish(&items[i]); err != nil {
			out[i].Err = err
			continue
		}
		good, at = append(good, items[i]), append(at, i)
	}
	err := through(ctx, db, "publish", db.publishes, db.publishIn, good, func(i int, p queue.Published, err error) {
		if err != nil {
			p = queue.Published{Err: err}
		}
		out[at[i]] = p
	})
	db.publishHeld(ctx, items, out)
	return out, err
}

// checkPublish refuses what the schema would refuse for its whole batch.
func checkPublish(p *queue.Publish) error {
	if err := p.Check(); err != nil {
		return err
	}
	for k, v := range p.Headers {
		if strings.ContainsRune(k, 0) || strings.ContainsRune(v, 0) {
			return fault.Invalid("/headers", "a header has the character U+0000")
		}
	}
	return nil
}

// commitPublishes is the lane's commit. Its statements are transactions by themselves, and what one has stored is not sent
// again because the next one failed: a message without a key would be there twice.
func (db *DB) commitPublishes(ctx context.Context, items []queue.Publish) ([]batch.Result[queue.Published], error) {
	p := newPublishing(items)
	var err error
	for try := 1; ; try++ {
		err = p.run(ctx, db)
		if err == nil || try == maxTries || !againAlone(err) && !lockTimeout(err) || pause(ctx, try) != nil {
			break
		}
	}
	if err != nil && len(p.todo) == len(items) {
		return nil, err
	}
	out := results(p.out)
	for _, i := range p.todo { // of which nothing is stored, whatever run says
		out[i] = batch.Result[queue.Published]{Err: cmp.Or(err, errAgain)}
	}
	return out, nil
}

func (db *DB) publishIn(ctx context.Context, items []queue.Publish) ([]queue.Published, error) {
	p := newPublishing(items)
	return p.out, p.run(ctx, db)
}

// publishing is items on their way.
type publishing struct {
	items []queue.Publish
	out   []queue.Published
	todo  []int                  // places of those that have no answer yet
	keyed map[int]*queue.Publish // by place, those that have their payload for a key
	folds map[namedQueue]int64   // queues whose messages of others' transactions come first
	rode  bool                   // with a receive of somebody who waits (ride.go)
	alone bool                   // no more: it failed with one
	comes map[namedQueue]int64   // up to which wake they do: who publishes in transactions without a pause would else be waited for without an end
}

func newPublishing(items []queue.Publish) *publishing {
	p := &publishing{items: items, out: make([]queue.Published, len(items)), todo: make([]int, len(items)), keyed: map[int]*queue.Publish{}, folds: map[namedQueue]int64{}, comes: map[namedQueue]int64{}}
	for i := range p.todo {
		p.todo[i] = i
	}
	return p
}

// run stores what is to do by one statement, and looks again for those whose key was known or has run out meanwhile. After
// an error it may be called again.
func (p *publishing) run(ctx context.Context, db *DB) error {
	for round := 0; len(p.todo) > 0; round++ {
		if round == maxTries {
			return errAgain
		}
		if err := p.byContent(db); err != nil {
			return err
		}
		known, again, err := db.publishSome(ctx, p)
		if err != nil {
			if !goneGroup(err) {
				if p.rode && refused(err) { // it may be the fault of what rode on it
					p.alone = true
					continue
				}
				return err
			}
			if db.groupIDs.forget(); db.carried(ctx) != nil {
				return errAgain // the whole transaction, which has failed
			}
			continue
		}
		p.todo = append(known, again...) // the others are stored, or refused
		left, err := db.firstAnswers(ctx, p, known)
		if err != nil {
			return err
		}
		p.todo = append(left, again...)
		slices.Sort(p.todo)
		for q, id := range p.folds {
			if _, known := p.comes[q]; !known {
				var last int64
				if err := db.conn(ctx).QueryRow(ctx, wakesLastSQL, id).Scan(&last); err != nil {
					return err
				}
				p.comes[q] = last
			}
			n, err := db.fold(ctx, q, id, 0)
			if err == nil && n == 0 { // somebody else is at it
				err = pause(ctx, 2)
			}
			if err != nil {
				return err
			}
		}
		clear(p.folds)
	}
	return nil
}

// goneGroup reports whether a publish failed because a group was swept while it was on its way.
func goneGroup(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "23514" && e.ConstraintName == "messages_prio_check"
}

// byContent gives what has no key its payload for one, where the queue is known to have content_dedup: not of others, since it costs.
func (p *publishing) byContent(db *DB) error {
	for _, i := range p.todo {
		it := &p.items[i]
		if it.Key != "" || p.keyed[i] != nil {
			continue
		}
		if _, dedups := db.dedups.Load(queueName{it.Project, it.Queue}); dedups {
			k, err := it.ByContent()
			if err != nil {
				return err
			}
			p.keyed[i] = &k
		}
	}
	return nil
}

// key gives the item with the key that it has in a queue with content_dedup.
func (p *publishing) key(i int) *queue.Publish {
	if k := p.keyed[i]; k != nil {
		return k
	}
	return &p.items[i]
}

// publishSome stores what is to do, and answers those whose key was known, and those that are to come again with their payloads for keys.
func (db *DB) publishSome(ctx context.Context, p *publishing) (known, again []int, err error) {
	items, todo, out := p.items, p.todo, p.out
	groups, err := db.groupsOf(ctx, items, todo)
	if err != nil {
		return nil, nil, err
	}
	text, args, err := db.publishStatement(ctx, p, groups)
	if err != nil {
		return nil, nil, err
	}
	start, rides, landed := time.Now(), db.rides(ctx, p), false
	p.rode = len(rides) > 0
	defer func() {
		if !landed {
			db.hub.rodeInVain(rides)
		}
	}()
	rows, done, err := db.publishRows(ctx, p, text, args, rides)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	wakes := map[int64]time.Duration{}
	var at time.Time
	var stored []int64 // groups
	var id, q int64
	var what string
	var now, vis time.Time
	var retention float64
	for n := 0; rows.Next(); n++ {
		if err := rows.Scan(&id, &what, &now, &vis, &q, &retention); err != nil {
			return nil, nil, err
		}
		i := todo[n]
		it := &items[i]
		at = now
		switch what {
		case "stored":
			out[i] = queue.Published{ID: id, PublishedAt: now, VisibleAt: vis, Cost: it.Price}
			if groups[n] > 0 {
				stored = append(stored, groups[n])
			}
			if in, ok := wakes[q]; !ok || it.Delay < in {
				wakes[q] = it.Delay
			}
		case "known":
			known = append(known, i)
		case "held":
			out[i].Err = errHeld
		case "queue":
			out[i].Err = queue.NoQueue(it.Queue)
		case "delay":
			out[i].Err = it.Fits(duration(retention))
		case "credit":
			out[i].Err = account.Insufficient(it.Price)
		case "order":
			out[i].Err = it.Orders()
		case "fold":
			again = append(again, i)
			p.folds[namedQueue{it.Project, it.Queue}] = q
		case "content":
			again = append(again, i)
			db.dedups.Store(queueName{it.Project, it.Queue}, struct{}{})
		}
	}
	rows.Close()
	if err := errors.Join(rows.Err(), done()); err != nil {
		return nil, nil, err
	}
	landed = true
	db.rode(rides, time.Since(start), wakes)
	db.afterCommit(ctx, func() {
		db.ticks.changed(at, stored...)
		for q, in := range wakes {
			db.hub.wake(q, in)
		}
	})
	return known, again, nil
}

// firstAnswers answers the items whose key was known with what was answered first; those whose key has run out since are left to do.
func (db *DB) firstAnswers(ctx context.Context, p *publishing, known []int) (left []int, err error) {
	if len(known) == 0 {
		return nil, nil
	}
	rows, err := db.conn(ctx).Query(ctx, publishKnownSQL,
		column(known, func(i int) int64 { return p.items[i].Project }),
		column(known, func(i int) string { return p.items[i].Queue }),
		column(known, func(i int) string { return p.key(i).Key }))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make(map[int]bool, len(known))
	for rows.Next() {
		var n int
		var hash []byte
		first := queue.Published{Replay: true}
		if err := rows.Scan(&n, &hash, &first.ID, &first.PublishedAt, &first.VisibleAt); err != nil {
			return nil, err
		}
		i := known[n-1]
		if err := p.key(i).Again(hash); err != nil {
			first = queue.Published{Err: err}
		}
		p.out[i], found[i] = first, true
	}
	for _, i := range known {
		if !found[i] {
			left = append(left, i)
		}
	}
	return left, rows.Err()
}

// publishStatement gives the leanest statement for what is to do, without its price.
func (db *DB) publishStatement(ctx context.Context, p *publishing, groups []int64) (text string, args []any, err error) {
	waits, text := db.laneWaits(ctx), publishPlainSQL
	first := &p.items[p.todo[0]]
	one := true
	for n, i := range p.todo {
		it := &p.items[i]
		one = one && it.Queue == first.Queue && it.Project == first.Project && it.Price == 0 && p.keyed[i] == nil
		if groups[n] != 0 {
			one, text = false, publishSQL
		}
	}
	if one {
		args, err = publishOneArgs(p, waits)
		return publishOneSQL, args, err
	}
	args, err = publishArgs(p, groups, db.ticks.of(groups), waits)
	return text, args, err
}

func headersOf(p *publishing) ([]string, error) {
	headers := make([]string, len(p.todo))
	for n, i := range p.todo {
		var err error
		if headers[n], err = headersText(p.items[i].Headers); err != nil {
			return nil, err
		}
	}
	return headers, nil
}

func publishOneArgs(p *publishing, waits string) ([]any, error) {
	items, todo := p.items, p.todo
	headers, err := headersOf(p)
	if err != nil {
		return nil, err
	}
	keys := make(map[string]bool, len(todo))
	return []any{
		items[todo[0]].Project,
		items[todo[0]].Queue,
		column(todo, func(i int) []byte { return bodyOf(items[i].Body) }),
		allAlike(headers),
		alike(todo, func(i int) float64 { return seconds(items[i].Delay) }),
		alike(todo, func(i int) int16 { return int16(items[i].Priority) }),
		alike(todo, func(i int) time.Time { return items[i].OriginAt }),
		column(todo, func(i int) string { return items[i].Key }),
		column(todo, func(i int) []byte { return items[i].Hash }),
		alike(todo, func(i int) bool {
			key := items[i].Key
			twice := key != "" && keys[key]
			keys[key] = true
			return twice
		}),
		waits,
	}, nil
}

func publishArgs(p *publishing, groups, ticks []int64, waits string) ([]any, error) {
	items, todo := p.items, p.todo
	headers, err := headersOf(p)
	if err != nil {
		return nil, err
	}
	return []any{
		alike(todo, func(i int) int64 { return items[i].Project }),
		alike(todo, func(i int) string { return items[i].Queue }),
		column(todo, func(i int) []byte { return bodyOf(items[i].Body) }),
		allAlike(headers),
		alike(todo, func(i int) float64 { return seconds(items[i].Delay) }),
		alike(todo, func(i int) int16 { return int16(items[i].Priority) }),
		allAlike(groups),
		alike(todo, func(i int) time.Time { return items[i].OriginAt }),
		column(todo, func(i int) string { return items[i].Key }),
		column(todo, func(i int) []byte { return p.key(i).Hash }),
		allAlike(ticks),
		waits,
		alike(todo, func(i int) string {
			if k := p.keyed[i]; k != nil {
				return k.Key
			}
			return ""
		}),
		alike(todo, func(i int) int64 {
			if last, known := p.comes[namedQueue{items[i].Project, items[i].Queue}]; known {
				return last
			}
			return math.MaxInt64
		}),
	}, nil
}

// bodyOf keeps an empty body apart from none.
func bodyOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
