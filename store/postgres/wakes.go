package postgres

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

var (
	wakesNextSQL   = stmt("wakes_next")
	wakesLastSQL   = stmt("wakes_last")
	wakesFoldSQL   = stmt("wakes_fold")
	wakesQueuesSQL = stmt("wakes_queues")
	wakesThereSQL  = stmt("wakes_there")
)

const (
	foldWakes  = 500 // of one transaction
	foldRounds = 4   // of one receive
)

// namedQueue is a queue by its name.
type namedQueue struct {
	project int64
	name    string
}

var deliveriesName = namedQueue{0, queue.Deliveries}

// wakeMarks say for each queue after which wake a look begins. Who publishes inside a long transaction keeps what was folded from being
// cleaned up, and a look from the beginning passes over it all. A wake behind the mark, of a transaction that took long to commit, is found by the next full look.
type wakeMarks struct {
	mu    sync.Mutex
	marks map[namedQueue]*wakeMark
}

type wakeMark struct {
	from int64
	looks
}

func (m *wakeMarks) of(q namedQueue) (from int64, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.marks[q]
	if w == nil || w.wanted(lowFrom, lowFull) {
		return 0, true
	}
	return w.from, false
}

// looked takes in how long a look took.
func (m *wakeMarks) looked(q namedQueue, full bool, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := marked(&m.marks, q, took >= lowFrom)
	if w == nil {
		return
	}
	if full {
		w.full(took)
	}
}

// folded takes in up to where all wakes that were seen are done.
func (m *wakeMarks) folded(q namedQueue, through int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.marks[q]; w != nil && through > w.from {
		w.from = through
	}
}

// fold gives messages of a queue that were published inside transactions of others their groups, those after the wake from. Of a fifo queue that is
// 0: what is passed by would be overtaken by what comes next of its group.
func (db *DB) fold(ctx context.Context, q namedQueue, id, from int64) (folded int, err error) {
	for range foldRounds {
		var last int64
		var names []string
		if err := db.conn(ctx).QueryRow(ctx, wakesNextSQL, id, from, foldWakes).Scan(&last, &names); err != nil || last == 0 {
			return folded, err
		}
		groups, err := db.foldGroups(ctx, q, names)
		if err != nil {
			return folded, err
		}
		var at time.Time
		var done, looked int
		var changed []int64
		if err := db.conn(ctx).QueryRow(ctx, wakesFoldSQL, id, from, last, names, groups, db.ticks.of(groups)).Scan(&at, &done, &looked, &changed); err != nil {
			return folded, err
		}
		folded += done
		db.afterCommit(ctx, func() {
			db.ticks.changed(at, changed...)
			db.hub.wake(id, 0)
		})
		switch {
		case looked == 0:
			return folded, nil // somebody else is at them
		case done < looked:
			db.groupIDs.forget() // a group was swept meanwhile: again
			continue
		}
		db.wakes.folded(q, last)
		if from > 0 {
			from = last
		}
	}
	return folded, nil
}

// foldGroups gives the ids of a queue's groups. Those of messages are made where they are missing, endpoints' never.
func (db *DB) foldGroups(ctx context.Context, q namedQueue, names []string) ([]int64, error) {
	if q == deliveriesName {
		out := make([]int64, len(names))
		for i, n := range names {
			var err error
			if out[i], err = strconv.ParseInt(n, 10, 64); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return db.groupsNamed(ctx, column(names, func(n string) groupName { return groupName{q.project, q.name, n} }))
}

// foldAll is the sweep's: of queues that nobody receives from.
func (db *DB) foldAll(ctx context.Context, limit int) (total int, err error) {
	type waiting struct {
		id int64
		namedQueue
	}
	var queues []waiting
	err = db.alone(ctx, func(ctx context.Context) error {
		rows, err := db.conn(ctx).Query(ctx, wakesQueuesSQL, limit)
		if err != nil {
			return err
		}
		queues, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (w waiting, err error) {
			return w, r.Scan(&w.id, &w.project, &w.name)
		})
		return err
	})
	for _, q := range queues {
		if err != nil {
			break
		}
		err = db.alone(ctx, func(ctx context.Context) error {
			n, err := db.fold(ctx, q.namedQueue, q.id, 0)
			total += n
			return err
		})
	}
	return total, err
}
