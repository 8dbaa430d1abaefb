package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

// maxRides is on how many queues' behalf a commit hands out what it stores; others' waiters are woken after it.
const maxRides = 4

// ride is the receive of one who waits, in the transaction of a publish to its queue: what comes is stored and handed out by one commit, in
// one round trip. It is a receive as any other, that takes what is due by the same statement, of this publish or not.
type ride struct {
	*waiter
	queue    int64
	seen     int64
	low      []time.Time
	full     bool // it looks at all that the queue has
	received []received
}

// rides takes those who wait for the queues of what is to do.
func (db *DB) rides(ctx context.Context, p *publishing) (out []*ride) {
	if p.alone || db.carried(ctx) != nil {
		return nil
	}
	var last namedQueue
	for _, i := range p.todo {
		it := &p.items[i]
		name := namedQueue{it.Project, it.Queue}
		if it.Delay > 0 || name == last {
			continue
		}
		last = name
		known, _ := db.plains.Load(name)
		id, _ := known.(int64)
		if id == 0 || len(out) == maxRides || slices.ContainsFunc(out, func(r *ride) bool { return r.queue == id }) {
			continue
		}
		if me, seen := db.hub.rider(id); me != nil {
			low, to := db.lows.near(id)
			out = append(out, &ride{waiter: me, queue: id, seen: seen, low: low, full: to == inFull})
		}
	}
	return out
}

// queued adds the rides' statements to a publish's.
func (db *DB) queueRides(b *pgx.Batch, rides []*ride) {
	for _, r := range rides {
		from, _ := db.wakes.of(namedQueue{r.receive.Project, r.receive.Queue})
		b.Queue(receiveKnownSQL, r.queue, r.receive.Max, seconds(r.receive.Visibility), r.low, 0, r.receive.Project, r.receive.Queue, from).Query(func(rows pgx.Rows) (err error) {
			r.received, err = scanReceived(rows, r.receive, nil)
			return err
		})
	}
}

// rode hands out what the rides received, once it is committed, and takes the wake-ups for it out of wakes where nothing is left.
func (db *DB) rode(rides []*ride, took time.Duration, wakes map[int64]time.Duration) {
	for _, r := range rides {
		got := column(r.received, func(m received) queue.Message { return m.Message })
		if len(got) > 0 {
			db.observe("receive", len(got), time.Now().Add(-took))
			db.lows.rode(r.queue, took, r.received, r.receive.Max)
			if in, ok := wakes[r.queue]; ok && in <= 0 && r.full && ends(got, r.receive.Max) { // else some of this very publish may be behind the mark
				delete(wakes, r.queue)
				db.hub.nothing(r.queue, r.seen)
			}
		}
		r.got = got
		db.hub.rode(r.queue, r.waiter)
	}
}

// rodeInVain has them wait on: there was no commit.
func (h *hub) rodeInVain(rides []*ride) {
	for _, r := range rides {
		h.rode(r.queue, r.waiter)
	}
}

// ends reports whether a look that got this for at most limit left nothing that was due.
func ends(got []queue.Message, limit int) bool {
	return len(got) < limit && bodyBytes(got) < queue.MaxReceiveBytes/2
}
