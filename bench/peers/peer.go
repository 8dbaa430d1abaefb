package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// subject is a peer that runs, its queue empty.
type subject interface {
	// enqueue answers when message i is on disk.
	enqueue(ctx context.Context, i int64, body []byte) error
	// enqueueMany does so for several in one call.
	enqueueMany(ctx context.Context, from int64, bodies [][]byte) error
	// consume receives and finishes messages until ctx ends, and tells the number of each.
	consume(ctx context.Context, came func(i int64)) error
	// roots are the processes beside this one whose trees have a part in it.
	roots() []int
	close() error
}

// errNot says that a peer has no such thing.
var errNot = errors.New("it has no such thing")

type peer struct {
	name  string
	about string
	open  func(ctx context.Context) (subject, error)

	ground func(ctx context.Context) (url string, roots []int, end func() error, err error) // of one for Node.js, which has no open
}

func peers() []peer {
	return []peer{
		{name: "onceward-postgres", about: "over HTTP, each message with a key", open: func(ctx context.Context) (subject, error) { return openOnceward(ctx, true) }},
		{name: "onceward-sqlite", about: "over HTTP, each message with a key", open: func(ctx context.Context) (subject, error) { return openOnceward(ctx, false) }},
		{name: "bare-insert", about: "a row of the bare driver, 64 connections", open: openBare},
		{name: "river", about: "in process, 500 workers, fetch cooldown 1 ms", open: openRiver},
		{name: "goqite", about: "in process, SQLite with synchronous=FULL", open: openGoqite},
		{name: "rabbitmq", about: "a quorum queue on one node, confirms", open: openRabbit},
		{name: "jetstream", about: "sync always", open: func(ctx context.Context) (subject, error) { return openJetStream(ctx, true) }},
		{name: "jetstream-default", about: "as it comes: what is answered is not on disk", open: func(ctx context.Context) (subject, error) { return openJetStream(ctx, false) }},
		{name: "asynq", about: "Redis with appendfsync always", open: openAsynq},
		{name: "bullmq", about: "Node.js, Redis with appendfsync always", ground: onRedis},
		{name: "graphile-worker", about: "Node.js, a local queue of 500", ground: onPostgres},
		{name: "pg-boss", about: "Node.js, four fetchers of 1,000", ground: onPostgres},
	}
}

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
