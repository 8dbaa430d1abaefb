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
}

func peers() []peer {
	return []peer{
		{"onceward-postgres", "over HTTP, each message with a key", func(ctx context.Context) (subject, error) { return openOnceward(ctx, true) }},
		{"onceward-sqlite", "over HTTP, each message with a key", func(ctx context.Context) (subject, error) { return openOnceward(ctx, false) }},
		{"bare-insert", "a row of the bare driver, 64 connections", openBare},
		{"river", "in process, 500 workers, fetch cooldown 1 ms", openRiver},
		{"goqite", "in process, SQLite with synchronous=FULL", openGoqite},
		{"rabbitmq", "a quorum queue on one node, confirms", openRabbit},
		{"jetstream", "sync always", func(ctx context.Context) (subject, error) { return openJetStream(ctx, true) }},
		{"jetstream-default", "as it comes: what is answered is not on disk", func(ctx context.Context) (subject, error) { return openJetStream(ctx, false) }},
		{"asynq", "Redis with appendfsync always", openAsynq},
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
