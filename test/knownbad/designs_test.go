package knownbad

import (
	"fmt"
	"time"

	"github.com/onceward/onceward/queue"
)

// design is a consumer with its table.
type design struct {
	name     string
	mistake  string
	remember bool // its receiver knows the keys it is sent
	table    string
	handle   consumer

	refusals bool // it loses work where the receiver refuses now and then, and nothing else is wrong
}

var designs = []design{
	{
		name: "stale takeover", remember: true, refusals: true,
		mistake: "the row of a try that failed is as fresh as one that is under way, and its message is acked as a duplicate",
		table:   "CREATE TABLE sending (key text PRIMARY KEY, sent boolean NOT NULL, since bigint NOT NULL)",
		handle: func(p *process, m queue.Message, job int) {
			key, now := fmt.Sprint(job), time.Now().Unix()
			p.step(job)
			mine := p.exec(`INSERT INTO sending VALUES ($1, false, $2)
				ON CONFLICT (key) DO UPDATE SET since = excluded.since WHERE NOT sending.sent AND sending.since < excluded.since - 600`, key, now) > 0
			if mine {
				if p.effect(job, key) != nil {
					return // it comes again
				}
				p.exec("UPDATE sending SET sent = true WHERE key = $1", key)
			}
			_ = p.ack(m, job)
		},
	},
	{
		name:    "the row is the proof",
		mistake: "the row is made before the work: who dies in between leaves a proof of what never was; and an ack that fails takes the proof of the work away",
		table:   "CREATE TABLE did (key text PRIMARY KEY)",
		handle: func(p *process, m queue.Message, job int) {
			key := fmt.Sprint(job)
			p.step(job)
			if p.exec("INSERT INTO did VALUES ($1) ON CONFLICT DO NOTHING", key) == 0 {
				_ = p.ack(m, job)
				return
			}
			err := p.effect(job, key)
			if err == nil {
				err = p.ack(m, job)
			}
			if err != nil {
				p.exec("DELETE FROM did WHERE key = $1", key)
				_ = p.settle(m, job, queue.Settle{Verb: queue.Nack})
			}
		},
	},
	{
		name: "first insert wins", remember: true, refusals: true,
		mistake: "a row that says retry stands in the way of the retry",
		table:   "CREATE TABLE delivery (key text PRIMARY KEY, state text NOT NULL)",
		handle: func(p *process, m queue.Message, job int) {
			key := fmt.Sprint(job)
			p.step(job)
			if p.exec("INSERT INTO delivery VALUES ($1, 'in flight') ON CONFLICT DO NOTHING", key) > 0 {
				state := "done"
				if p.effect(job, key) != nil {
					state = "retry"
				}
				p.exec("UPDATE delivery SET state = $2 WHERE key = $1", key, state)
				if state == "retry" {
					p.step(job)
					p.publish(job, 30*time.Second) // its next try; this message is over
				}
			}
			_ = p.ack(m, job)
		},
	},
	{
		name:    "delete to retry",
		mistake: "what failed is made free, also if it happened and only its answer is missing, and whoever may have it by now; who dies leaves a row that every copy is acked by",
		table:   "CREATE TABLE claim (key text PRIMARY KEY, state text NOT NULL)",
		handle: func(p *process, m queue.Message, job int) {
			key := fmt.Sprint(job)
			p.step(job)
			if p.exec("INSERT INTO claim VALUES ($1, 'running') ON CONFLICT DO NOTHING", key) > 0 {
				if p.effect(job, key) != nil {
					p.exec("DELETE FROM claim WHERE key = $1 AND state = 'running'", key)
					return // it comes again
				}
				p.exec("UPDATE claim SET state = 'done' WHERE key = $1", key)
			}
			_ = p.ack(m, job)
		},
	},
}
