// Package onceward is an at-least-once queue, a ledger that decides what already happened, and webhooks that arrive,
// once.
//
// [New] opens a store and gives a [Server]: its Handler answers the HTTP API of docs/http-api.md, its Run sends webhooks and keeps
// the store in order. Command onceward is this package behind flags; a Go program can have both inside itself:
//
//	s, err := onceward.New(ctx, onceward.Config{Store: "sqlite:onceward.db", APIKey: key})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	go http.ListenAndServe("127.0.0.1:6623", s.Handler())
//	return s.Run(ctx)
//
// Three keys, each in its own place, make a job happen once: the request key answers a client's repeated request again;
// the publish key makes one message of a publish that was repeated; the work key, in the ledger, lets one worker do what a
// queue handed out twice. The queue moves work between processes. The ledger decides what already happened.
//
// Where to look: queue and ledger hold the rules as pure functions, webhook what is sent and when, store/sqlite and
// store/postgres the two stores, api the HTTP contract. ARCHITECTURE.md is the map.
package onceward
