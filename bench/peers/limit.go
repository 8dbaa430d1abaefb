package main

import (
	"fmt"
	"strings"
)

// limits says of the marks that do not hold what stands in their way, by the same results.
func (r *results) limits() string {
	const pg, lite = "onceward-postgres", "onceward-sqlite"
	c := func(peer, what string) float64 { return r.spread(peer, what, cpu).median }
	v := func(peer, what string) float64 { return r.spread(peer, what, rate).median }
	part := func(peer, what, of string) float64 {
		return r.spread(peer, what, func(f figure) float64 { return f.Parts[of] }).median
	}
	tail := func(peer, what string) float64 {
		return r.spread(peer, what, p99).median / r.spread(peer, what, p50).median
	}
	cores := func(peer, what string) float64 { return c(peer, what) / 10_000 * v(peer, what) }
	bare4 := bares + "postgres-4"
	deliveries := map[string]string{
		lite: fmt.Sprintf("0.45 of the loop would leave %.2f CPU-seconds for 10,000 deliveries, on a machine that both fill. A POST in a process of its own takes %.2f of them with its receiver, and the bare statements of a message's whole life, publish to settling, %.2f. Ours takes %.2f: those, the attempt's row, the signature, the lease's heartbeat and the time-outs.",
			c("bare-post", "deliver")/0.45, c("bare-post-apart", "deliver"), c(bares+"sqlite", "cycle"), c(lite, "deliver")),
		pg: fmt.Sprintf("0.35 of the loop would leave %.2f; the POST takes %.2f, the database %.2f, and all together %.2f.",
			c("bare-post", "deliver")/0.35, c("bare-post-apart", "deliver"), part(pg, "deliver", "database"), c(pg, "deliver")),
	}
	why := map[string]string{
		"publish on PostgreSQL, of the bare insert": fmt.Sprintf("Both fill the machine. A publish costs %.2f CPU-seconds for 10,000, of which the database has %.2f; a server of net/http that stores nothing, and its client, cost %.2f; the bare insert, without HTTP and without a key, %.2f.",
			c(pg, "enqueue"), part(pg, "enqueue", "database"), c("bare-http", "enqueue"), c("bare-insert", "enqueue")),
		"publish on PostgreSQL, of RabbitMQ with confirms": fmt.Sprintf("To be level with RabbitMQ a publish may cost %.2f CPU-seconds for 10,000, with its caller. A call of net/http that stores nothing takes %.2f of them, and what the database does for a message that has a key, is found by priority and can be looked at, %.2f: %.2f are left for all of ours, which takes %.2f.",
			c("rabbitmq", "enqueue"), c("bare-http", "enqueue"), part(pg, "enqueue", "database"), c("rabbitmq", "enqueue")-c("bare-http", "enqueue")-part(pg, "enqueue", "database"),
			c(pg, "enqueue")-c("bare-http", "enqueue")-part(pg, "enqueue", "database")),
		"the cycle in the process on PostgreSQL, of the bare statements": fmt.Sprintf("It takes %.2f CPU-seconds for 10,000 beside %.2f, and waits for as many flushes. Half of the difference is the publish's statement, which has an answer for each message by itself; half the rules, which read and write whole rows, and one more round trip for a claim and a settling ([adr/0009](adr/0009-round-trips.md)).",
			c(inProcess+"postgres", "cycle"), c(bares+"postgres", "cycle")),
		"the cycle in the process on PostgreSQL, four at a time, of the bare statements": fmt.Sprintf("Four at a time fill the machine, so that the ratio is that of the CPU, %.2f seconds for 10,000 beside %.2f: the rules read and write whole rows where the bare statements name three columns, and a claim and a settling are two round trips each ([adr/0009](adr/0009-round-trips.md)).",
			c(inProcess+"postgres-4", "cycle"), c(bare4, "cycle")),
		"the cycle in the process on PostgreSQL, four at a time, of River's cycle": fmt.Sprintf("The bare statements that leave the same rows, with nothing else around them, do %.2f of River's cycle on four connections: whoever keeps a key for each message and a claim for each work cannot be twice as fast as one who keeps neither.",
			v(bare4, "cycle")/v("river", "cycle")),
		"the cycle in the process on PostgreSQL, four at a time, of River's working alone, its inserts not counted": fmt.Sprintf("The same: the bare statements do %.2f of it, their publishing counted.", v(bare4, "cycle")/v("river", "work")),
		"deliveries on SQLite, of the bare loop":                             deliveries[lite],
		"deliveries on PostgreSQL, of the bare loop":                         deliveries[pg],
		"deliveries on SQLite, of the bare loop in a process of its own":     "The same; that loop's CPU is the POST's in the line above.",
		"deliveries on PostgreSQL, of the bare loop in a process of its own": "The same.",
		"publish to start on PostgreSQL, p50, of RabbitMQ's": fmt.Sprintf("Of the two calls that a message makes here, publish and ack, each is a request, a statement of the database's and a flush of its log; RabbitMQ's are frames on an open connection, one process and one log: %.0f CPU-seconds for 10,000 at this rate beside %.0f, %.0f of them the database's.",
			c(pg, "start"), c("rabbitmq", "start"), part(pg, "start", "database")),
		"publish to start on PostgreSQL, p99, of RabbitMQ's": fmt.Sprintf("The same two calls: their p99 is %.1f times their p50, RabbitMQ's %.1f times. They keep %.1f cores busy at this rate and RabbitMQ's %.1f; the tail is what waits for a core or for the flush before.",
			tail(pg, "start"), tail("rabbitmq", "start"), cores(pg, "start"), cores("rabbitmq", "start")),
		"event to POST on PostgreSQL, p50, of publish to start": fmt.Sprintf("The commit that stores an event hands out its delivery, so that nothing is between the two but the POST; but it stores an event, a message, its body and a claim with its grant, and the outcome is another one of an attempt, a claim and a message: %.0f CPU-seconds for 10,000 beside %.0f, %.1f cores at this rate beside %.1f.",
			c(pg, "post"), c(pg, "start"), cores(pg, "post"), cores(pg, "start")),
		"event to POST on PostgreSQL, p99, of publish to start": "Besides, both commits change the row of the one endpoint, where its places are counted: one that meets another there waits for its flush.",
	}
	var b strings.Builder
	for _, m := range marks() {
		if seen, holds := r.judge(m); seen.rounds > 0 && !holds && why[m.what] != "" {
			fmt.Fprintf(&b, "- **%s** (%s, seen %.2f): %s\n", m.what, m.bound(), seen.median, why[m.what])
		}
	}
	return b.String()
}
