package main

import (
	"context"
	"fmt"
	"slices"
)

// subject is a peer that runs, its queue empty.
type subject interface {
	// enqueue answers when message i is on disk.
	enqueue(ctx context.Context, i int64, body []byte) error
	// enqueueMany does so for several in one call.
	enqueueMany(ctx context.Context, from int64, bodies [][]byte) error
	// consume receives and finishes messages until ctx ends, and tells the number of each when it is received, before it is finished: an ack is not what
	// a job's start waits for.
	consume(ctx context.Context, came func(i int64)) error
	// roots are the processes beside this one whose trees have a part in it.
	roots() map[string]int
	close() error
}

// peer is who is measured.
type peer struct {
	name  string
	about string
	keeps string   // what it knows of what was done before
	ahead string   // why, where it is ahead of us
	cases []string // names of cases()
	run   func(ctx context.Context, s settings, p peer, c kase) ([]figure, error)
}

func peers() []peer {
	const (
		queue  = "enqueue,batch,start"
		all    = "enqueue,batch,cycle,start"
		hooks  = "enqueue,batch,cycle,start,deliver,post"
		ledger = "publish keys for a day, claims for 90"
	)
	list := []peer{
		{"onceward-postgres", "over HTTP, each message with a key", ledger, "", split(hooks), onSubject(oncewardOn(true))},
		{"onceward-sqlite", "over HTTP, each message with a key", ledger, "", split(hooks), onSubject(oncewardOn(false))},
		{inProcess + "postgres", "Onceward's store called in the process, one connection, each message published, received, claimed and settled", ledger, "", []string{"cycle"}, onBenchmark("postgres")},
		{inProcess + "sqlite", "the same on SQLite", ledger, "", []string{"cycle"}, onBenchmark("sqlite")},
		{inProcess + "postgres-4", "on PostgreSQL again, four at a time, the bare statements on four connections", ledger, "", []string{"cycle"}, onBenchmark("postgres-4")},
		{"bare-insert", "a row of the bare driver, 64 connections, no key", "nothing", "it is the floor: a row without a queue, a key or a lease.", split("enqueue,fill"), onSubject(openBare)},
		{"bare-http", "a server of net/http alone, that reads such a call, gives such an answer and stores nothing", "nothing", "it stores nothing: what it leaves of the machine is all that a store can have.", []string{"enqueue"}, onSubject(openBareHTTP)},
		{"bare-post", "a loop of 64 senders by net/http alone, that signs and records nothing", "nothing", "", []string{"deliver"}, onBareLoop(false)},
		{"bare-post-apart", "the same loop in a process of its own, as the server is, apart from the receiver", "nothing", "", []string{"deliver"}, onBareLoop(true)},
		{"river", "in process, 500 workers, fetch cooldown 1 ms", "unique jobs if asked; no ledger", "its batch is one COPY-like insert of one row a job, without a key that must be looked up and kept; it runs in the process, without HTTP.", split(all), onSubject(openRiver)},
		{"goqite", "in process, SQLite with synchronous=FULL", "no keys, no ledger", "its batch is one transaction of plain inserts, without keys, in the process.", split(all), onSubject(openGoqite)},
		{"rabbitmq", "a quorum queue on one node, confirms", "no keys, no ledger", "a message is an append to a log that is shared by all, in memory until it is consumed; there is no key to look up, no index, and nothing to ask it afterwards.", split(all), onSubject(openRabbit)},
		{"jetstream", "sync always, acks confirmed", "message ids for two minutes; no ledger", "a message is an append to a file; there is no row, no lease to write, and its consumer is pushed to.", split(queue), onSubject(jetStreamOn(true))},
		{"jetstream-default", "as it comes: what is answered is not on disk", "message ids for two minutes; no ledger", "it answers before anything is on disk, so a crash loses what was answered.", split(queue), onSubject(jetStreamOn(false))},
		{"asynq", "Redis with appendfsync always", "unique tasks if asked; no ledger", "Redis keeps everything in memory and appends to one file.", split(queue), onSubject(openAsynq)},
		{"bullmq", "Node.js, Redis with appendfsync always", "job ids while they are kept; no ledger", "Redis keeps everything in memory and appends to one file.", split(queue), onNode(onRedis)},
		{"graphile-worker", "Node.js, a local queue of 500", "job keys while they wait; no ledger", "its batch is one statement, without keys, and its local queue takes 500 jobs at a time.", split(queue), onNode(onPostgres)},
		{"pg-boss", "Node.js, four fetchers of 1,000", "singletons if asked; no ledger", "its batch is one statement, without keys, and its fetchers take 1,000 jobs at a time.", split(queue), onNode(onPostgres)},
	}
	return list
}

// The cycle in the process takes turns with bare statements, which are so shown without being peers.
const (
	inProcess = "in-process-"
	bares     = "bare-statements-"
)

func chosen(names []string) ([]peer, error) {
	all := peers()
	if len(names) == 0 {
		return all, nil
	}
	var out []peer
	for _, n := range names {
		i := slices.IndexFunc(all, func(p peer) bool { return p.name == n })
		if i < 0 {
			return nil, fmt.Errorf("there is no peer %q", n)
		}
		out = append(out, all[i])
	}
	return out, nil
}
