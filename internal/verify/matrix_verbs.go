package verify

import (
	"context"
	"fmt"
	"time"
)

// verb is a call that changes something.
type verb struct {
	name, path string
	route      string // as the server calls the path, if otherwise
	commit     string // how its transaction is called on each store
	before     func(ctx context.Context, r *run, s *server) error
	body       func(r *run) object
	word       func(d object, replay bool) string
	fresh      string // what the first is told,
	again      string // and what who asks again, once it has happened
	rest       func(ctx context.Context, r *run, s *server) error
	counts     map[string]int // what a query must count in the end
}

type object = map[string]any

const (
	made  = "SELECT count(*) FROM verify_made"
	left  = "SELECT count(*) FROM messages"
	grant = "0198f2c4-0000-7000-8000-000000000001"
)

var verbs = []verb{
	{
		name: "publish", path: "/v1/queue/publish", commit: "job:publish|publishSome", before: aQueue, rest: drained,
		body: func(*run) object { return object{"queue": jobs, "payload": payload{1}, "idempotency_key": "key-1"} },
		word: newOrReplay, fresh: "new", again: "replay", counts: map[string]int{made: 1, left: 0},
	},
	{
		name: "publish_batch", path: "/v1/queue/publish_batch", commit: "job:publish|publishSome", before: aQueue, rest: drained,
		body: func(*run) object {
			return object{"queue": jobs, "messages": []object{{"payload": payload{1}, "idempotency_key": "key-1"}, {"payload": payload{2}, "idempotency_key": "key-2"}}}
		},
		word: func(object, bool) string { return "2 messages" }, fresh: "2 messages", again: "2 messages", counts: map[string]int{made: 2, left: 0},
	},
	{
		name: "event", path: "/v1/webhooks/events", commit: "job:send|commitSends",
		before: func(ctx context.Context, r *run, s *server) error {
			return s.makeEndpoint(ctx, r.receiver.server.URL, "idempotent", r.timeout)
		},
		body: func(*run) object {
			return object{"event_id": "evt_1", "event_type": "verify.case", "payload": payload{1}}
		},
		word: newOrReplay, fresh: "new", again: "replay",
		counts: map[string]int{made: 1, left: 0, "SELECT count(*) FROM events": 1, "SELECT count(*) FROM deliveries": 1, "SELECT count(*) FROM claims WHERE state = 'done'": 1},
	},
	{
		name: "consume", path: "/v1/queue/consume", commit: "job:receive|receiveRows", before: aMessage, rest: drained,
		body: func(*run) object { return object{"queue": jobs, "visibility_timeout": 8} },
		word: func(d object, _ bool) string { return fmt.Sprint(len(d["items"].([]any)), " messages") }, fresh: "1 messages", again: "0 messages",
		counts: map[string]int{made: 1, left: 0},
	},
	{
		name: "ack", path: "/v1/queue/ack", commit: "job:settle|commitSettles", before: aLease, body: byReceipt(nil),
		word: yesOr("acked"), fresh: "acked", again: "QUEUE_MESSAGE_NOT_FOUND", counts: map[string]int{made: 1, left: 0},
	},
	{
		name: "nack", path: "/v1/queue/nack", commit: "job:settle|commitSettles", before: aLease, body: byReceipt(object{"delay_seconds": 0}),
		word: yesOr("nacked"), fresh: "nacked", again: "lease_lost", rest: drained, counts: map[string]int{made: 1, left: 0},
	},
	{
		name: "nack to the dead letters", path: "/v1/queue/nack", commit: "job:settle|commitSettles", before: aLease, body: byReceipt(object{"requeue": false}),
		word: yesOr("nacked"), fresh: "nacked", again: "lease_lost", counts: map[string]int{made: 1, left: 1},
	},
	{
		name: "release", path: "/v1/queue/release", commit: "job:settle|commitSettles", before: aLease, body: byReceipt(nil),
		word: yesOr("released"), fresh: "released", again: "lease_lost", rest: drained, counts: map[string]int{made: 1, left: 0},
	},
	{
		name: "extend", path: "/v1/queue/extend", commit: "job:settle|commitSettles", before: aLease, body: byReceipt(object{"visibility_timeout": 2}),
		word: yesOr("extended"), fresh: "extended", again: "extended", rest: drained, counts: map[string]int{made: 1, left: 0},
	},
	{
		name: "claim", path: "/v1/ledger/claim", commit: "job:claim|commitClaims", before: nothing, body: claimBody,
		word:  func(d object, _ bool) string { return fmt.Sprint(d["verdict"], " under fence ", d["fence"]) },
		fresh: "granted under fence 1", again: "granted under fence 1", rest: completed,
		counts: map[string]int{"SELECT count(*) FROM claims WHERE state = 'done' AND fence = 1": 1},
	},
	{
		name: "begin", path: "/v1/ledger/begin", commit: "job:begin_claims|commitBeats", before: aGrant, body: byFence(object{"lease_seconds": 20}),
		word: yesOr("applied"), fresh: "applied", again: "applied", rest: completed,
		counts: map[string]int{"SELECT count(*) FROM claims WHERE state = 'done' AND fence = 1": 1},
	},
	{
		name: "complete", path: "/v1/ledger/complete", commit: "job:settle_claims|commitWords", before: aGrant, body: byFence(nil),
		word: yesOr("applied"), fresh: "applied", again: "applied",
		counts: map[string]int{"SELECT count(*) FROM claims WHERE state = 'done' AND fence = 1": 1},
	},
	{
		name: "complete and settle", path: "/v1/ledger/complete", commit: "job:settle_claims|commitWords", before: aLinkedGrant, body: byFence(object{"settle": true}),
		word: yesOr("applied"), fresh: "applied", again: "applied",
		counts: map[string]int{"SELECT count(*) FROM claims WHERE state = 'done' AND fence = 1": 1, made: 1, left: 0},
	},
	{
		name: "fail and settle", path: "/v1/ledger/fail", commit: "job:settle_claims|commitWords", before: aLinkedGrant, body: byFence(object{"kind": "permanent", "settle": true}),
		word: yesOr("applied"), fresh: "applied", again: "failed", // it did not count: the first one did
		counts: map[string]int{"SELECT count(*) FROM claims WHERE state = 'failed' AND fence = 1": 1, made: 1, left: 1},
	},
	{
		name: "resolve", path: "/v1/ledger/resolve", commit: "job:resolve_claim|tx:actOnKey", before: aStuckKey, body: byFence(object{"as": "done", "note": "seen"}),
		word: func(d object, _ bool) string { return fmt.Sprint(d["state"]) }, fresh: "done", again: "CONFLICT",
		counts: map[string]int{"SELECT count(*) FROM claims WHERE state = 'done' AND fence = 1": 1},
	},
	{
		name: "redrive", path: "/v1/queue/dlq/redrive/" + jobs, route: "/v1/queue/dlq/redrive/{queue}", commit: "job:once|tx:Once", before: aDeadLetter,
		body: func(*run) object { return object{"idempotency_key": "key-2"} },
		word: newOrReplay, fresh: "new", again: "replay", rest: drained,
		counts: map[string]int{made: 1, left: 0, "SELECT count(*) FROM redrives": 1},
	},
	{
		name: "create a queue", path: "/v1/queue/create", commit: "job:once|tx:Once", before: nothing,
		body: func(*run) object { return object{"name": jobs, "idempotency_key": "key-1"} },
		word: newOrReplay, fresh: "new", again: "replay", counts: map[string]int{"SELECT count(*) FROM queues WHERE name = 'jobs'": 1},
	},
	{
		name: "create an endpoint", path: "/v1/webhooks/endpoints", commit: "job:once|tx:Once", before: nothing,
		body: func(r *run) object { return object{"url": r.receiver.server.URL, "idempotency_key": "key-1"} },
		word: newOrReplay, fresh: "new", again: "replay", counts: map[string]int{"SELECT count(*) FROM endpoints": 1},
	},
}

func newOrReplay(_ object, replay bool) string {
	if replay {
		return "replay"
	}
	return "new"
}

// yesOr says name if the answer has it true, else the reason.
func yesOr(name string) func(object, bool) string {
	return func(d object, _ bool) string {
		if d[name] == true {
			return name
		}
		return fmt.Sprint(d["reason"])
	}
}

func nothing(context.Context, *run, *server) error { return nil }

func aQueue(ctx context.Context, _ *run, s *server) error { return s.makeQueue(ctx) }

func aMessage(ctx context.Context, _ *run, s *server) error {
	if err := s.makeQueue(ctx); err != nil {
		return err
	}
	_, err := s.handMessage(ctx, 1)
	return err
}

func aLease(ctx context.Context, r *run, s *server) error {
	if err := aMessage(ctx, r, s); err != nil {
		return err
	}
	var got struct {
		Items []message `json:"items"`
	}
	_, err := s.call(ctx, "POST", "/v1/queue/consume", object{"queue": jobs}, &got)
	if err == nil && len(got.Items) != 1 {
		err = fmt.Errorf("received %d messages", len(got.Items))
	}
	if err == nil {
		r.held.receipt = got.Items[0].Receipt
	}
	return err
}

func aDeadLetter(ctx context.Context, r *run, s *server) error {
	if err := aLease(ctx, r, s); err != nil {
		return err
	}
	var d object
	_, err := s.call(ctx, "POST", "/v1/queue/nack", byReceipt(object{"requeue": false})(r), &d)
	return err
}

func claimBody(*run) object {
	return object{"scope": "work", "key": "key-1", "grant_id": grant, "lease_seconds": 30}
}

func aGrant(ctx context.Context, r *run, s *server) error {
	var d struct {
		Fence int64 `json:"fence"`
	}
	_, err := s.call(ctx, "POST", "/v1/ledger/claim", claimBody(r), &d)
	r.held.fence = d.Fence
	return err
}

func aLinkedGrant(ctx context.Context, r *run, s *server) error {
	if err := aLease(ctx, r, s); err != nil {
		return err
	}
	body := claimBody(r)
	body["queue"], body["receipt_handle"] = jobs, r.held.receipt
	var d struct {
		Fence int64 `json:"fence"`
	}
	_, err := s.call(ctx, "POST", "/v1/ledger/claim", body, &d)
	r.held.fence = d.Fence
	return err
}

func aStuckKey(ctx context.Context, r *run, s *server) error {
	body := claimBody(r)
	body["policy"] = "once"
	var d struct {
		Fence int64 `json:"fence"`
	}
	if _, err := s.call(ctx, "POST", "/v1/ledger/claim", body, &d); err != nil {
		return err
	}
	r.held.fence = d.Fence
	var o object
	if _, err := s.call(ctx, "POST", "/v1/ledger/begin", byFence(nil)(r), &o); err != nil {
		return err
	}
	_, err := s.call(ctx, "POST", "/v1/ledger/fail", byFence(object{"kind": "ambiguous"})(r), &o)
	return err
}

func byReceipt(more object) func(*run) object {
	return func(r *run) object { return with(object{"queue": jobs, "receipt_handle": r.held.receipt}, more) }
}

func byFence(more object) func(*run) object {
	return func(r *run) object {
		return with(object{"scope": "work", "key": "key-1", "fence": max(r.held.fence, 1)}, more)
	}
}

func with(o, more object) object {
	for k, v := range more {
		o[k] = v
	}
	return o
}

// completed closes the run's key.
func completed(ctx context.Context, r *run, s *server) error {
	var o object
	_, err := s.call(ctx, "POST", "/v1/ledger/complete", byFence(nil)(r), &o)
	return err
}

// drained consumes and acks until no message is left: one that a dead caller had received is due when its lease is over.
func drained(ctx context.Context, r *run, s *server) error {
	_, err := until(ctx, 15*time.Second, func() (bool, error) {
		if err := s.consume(ctx, func(message) {}); err != nil {
			return false, err
		}
		n, err := r.countOf(ctx, left)
		return n == 0, err
	})
	return err
}

// held is what a client has of a message and a key.
type held struct {
	receipt string
	fence   int64
}
