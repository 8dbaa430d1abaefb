package storetest

import (
	"strings"
	"time"

	"github.com/onceward/onceward/queue"
)

// end looks at the whole store once the test is over.
func (r *rig) end() {
	r.Helper()
	if r.Failed() || r.guilty {
		return
	}
	for _, v := range r.violations() {
		r.Errorf("the watch saw: %s", v)
	}
	if r.b.ClaimsOnly {
		return
	}
	now, greatest, passed := "clock_timestamp()", "greatest", "m.vis < least(g.low, g.next_at) AND g.place IS NULL OR m.place < g.place"
	notWoken := " AND NOT (m.gid = -1 AND EXISTS (SELECT 1 FROM wakes w WHERE w.message = m.id AND w.queue = m.queue))" // of somebody's own transaction: the next receive's to give
	if r.b.Dialect == SQLite {
		notWoken = ""
		now, greatest, passed = itoa(time.Now().UnixNano()/int64(r.b.Unit)), "max", "false"
	}
	for what, query := range map[string]string{
		"a group's count of what is in flight is not what is": `SELECT g.id, g.in_flight, count(m.id) FROM groups g
			LEFT JOIN messages m ON m.gid = g.id AND m.leased GROUP BY g.id, g.in_flight HAVING g.in_flight <> count(m.id)`,
		"a message's group is not there": `SELECT m.id, m.gid FROM messages m WHERE m.gid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM groups g WHERE g.id = m.gid)` + notWoken,
		"a group is stranded": `SELECT g.id, g.next_at, m.vis FROM groups g JOIN messages m ON m.gid = g.id
			WHERE NOT m.leased AND (g.next_at IS NULL OR g.next_at > ` + greatest + `(m.vis, ` + now + `))
			AND NOT EXISTS (SELECT 1 FROM messages h WHERE h.gid = m.gid AND h.place < m.place)`, // of a fifo group the head alone waits for its turn
		"a group's visits pass by a message": `SELECT g.id, g.next_at, m.vis FROM groups g JOIN messages m ON m.gid = g.id WHERE NOT m.leased AND (` + passed + `)`,
		"a message has no body":              `SELECT m.id FROM messages m WHERE m.queue > 2 AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.id = m.id)`,
		"a body has no message":              `SELECT b.id FROM bodies b WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = b.id)`,
		"a message's queue is not there":     `SELECT m.id, m.queue FROM messages m WHERE NOT EXISTS (SELECT 1 FROM queues q WHERE q.id = m.queue)`,
		"an open delivery has not one message": `SELECT c.id, c.state, count(m.id) FROM claims c LEFT JOIN messages m ON m.claim_id = c.id AND m.dead_at IS NULL
			WHERE c.kind = 'd' AND c.state NOT IN ('done', 'failed', 'stuck') GROUP BY c.id, c.state HAVING count(m.id) <> 1`,
		"a dead letter's key is open or done": `SELECT m.id, c.state FROM messages m JOIN claims c ON m.claim_id = c.id
			WHERE m.dead_at IS NOT NULL AND c.message_id = m.id AND c.state NOT IN ('failed', 'stuck') AND (c.kind = 'd' OR c.state <> 'done')`,
		"a redrive's numbers do not add up": `SELECT id, total, moved, left_behind FROM redrives WHERE state <> 'running' AND NOT dry_run AND total <> moved + left_behind`,
		"a redrive's parts do not add up to it": `SELECT r.id, r.total, sum(p.total), r.moved, sum(p.moved), r.left_behind, sum(p.left_behind)
			FROM redrives r JOIN redrive_parts p ON p.redrive = r.id GROUP BY r.id, r.total, r.moved, r.left_behind
			HAVING r.total <> sum(p.total) OR r.moved <> sum(p.moved) OR r.left_behind <> sum(p.left_behind)`,
		"a redrive that is over has a part that goes on": `SELECT p.redrive, p.endpoint, p.state FROM redrive_parts p JOIN redrives r ON r.id = p.redrive
			WHERE r.state <> 'running' AND p.state IN ('waiting', 'canary', 'open')`,
		"an attempt's number was given twice": `SELECT delivery, attempt, count(*) FROM attempts GROUP BY delivery, attempt HAVING count(*) > 1`,
	} {
		if rows := r.text(query); len(rows) > 0 {
			r.Errorf("%s: %s", what, strings.Join(rows, "; "))
		}
	}
	r.checkStats()
}

// violations gives what the watch saw.
func (r *rig) violations() []string {
	r.Helper()
	return r.text("SELECT what, id, detail FROM audit_violations")
}

// checkStats compares every queue's kept counts with the rows.
func (r *rig) checkStats() {
	r.Helper()
	for _, project := range []int64{1, 2} {
		queues, err := r.Queues(r.ctx, project, queue.Page{Limit: 500})
		r.ok(err)
		for _, q := range queues {
			r.eventually("the counts of "+q.Name+" are those of its rows", func() bool {
				s, err := r.QueueStats(r.ctx, project, q.Name)
				r.ok(err)
				id := itoa(q.ID)
				return s.Messages == r.count("SELECT count(*) FROM messages WHERE queue = "+id) &&
					s.Dead == r.count("SELECT count(*) FROM messages WHERE dead_at IS NOT NULL AND source_queue = "+id) &&
					s.Messages == s.Available+s.InFlight+s.Delayed && (s.Messages > 0 || s.OldestAge == time.Duration(0))
			})
		}
	}
}
