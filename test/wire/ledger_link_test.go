package wire

import (
	"testing"
	"time"
)

// carried links a claim to a message.
func carried(queue string, m object, more object) object {
	return with(object{"queue": queue, "receipt_handle": m["receipt_handle"]}, more)
}

func checkLinks(t *testing.T, s *server) {
	s.queue(t, "links", nil)
	s.queue(t, "links2", nil)
	s.publish(t, "links", 1, nil)
	old := s.one(t, "links", nil)
	s.settle(t, "extend", "links", old, object{"visibility_timeout": 0})
	young := s.one(t, "links", nil)

	// Only the newest receipt; who lost the message is granted nothing, and makes no key.
	lost := s.claim(t, "busy", "links", "k", carried("links", old, nil))
	is(t, "by an older receipt", lost, object{"reason": "lease_lost", "retry_after_seconds": 1, "op_id": nil, "fence": nil})
	s.call(t, "GET", ledgerPath+"claims?scope=links&key=k", nil).refused(t, 404, "NOT_FOUND")
	claim := func(more object) answer {
		return s.post(t, ledgerPath+"claim", with(object{"scope": "links", "key": "k"}, more))
	}
	claim(object{"queue": "links"}).refused(t, 400, "INVALID_ARGUMENT", "/receipt_handle")
	claim(object{"receipt_handle": young["receipt_handle"]}).refused(t, 400, "INVALID_ARGUMENT", "/queue")
	claim(object{"queue": "links", "receipt_handle": "rct_made-up"}).refused(t, 400, "RECEIPT_INVALID", "/receipt_handle")
	claim(object{"queue": "links", "receipt_handle": young["message_id"]}).refused(t, 400, "RECEIPT_INVALID", "/receipt_handle")
	claim(carried("links2", young, nil)).refused(t, 400, "RECEIPT_INVALID", "/receipt_handle")
	claim(object{"queue": "no such!", "receipt_handle": young["receipt_handle"]}).refused(t, 404, "QUEUE_NOT_FOUND")
	other, _ := s.as(t, s.project(t, "links"), "admin")
	other.call(t, "POST", "/v1/queue/create", object{"name": "links"}).ok(t)
	other.call(t, "POST", ledgerPath+"claim", with(object{"scope": "links", "key": "k"}, carried("links", young, nil))).refused(t, 400, "RECEIPT_INVALID", "/receipt_handle")

	a := s.claim(t, "granted", "links", "k", carried("links", young, object{"lease_seconds": 30}))
	is(t, "the key's message", s.lookUp(t, "links", "k"), object{"message_id": young["message_id"]})
	is(t, "by an older receipt, while it is held", s.claim(t, "busy", "links", "k", carried("links", old, nil)), object{"reason": "lease_lost"})
	claim(with(carried("links", young, nil), object{"key": "another"})).refused(t, 409, "CONFLICT")
	// The heartbeat is the message's too.
	b := s.say(t, "begin", "links", "k", a["fence"], object{"lease_seconds": 600})
	look := items(t, s.do(t, "GET", "/v1/queue/messages/links", nil))[0]
	is(t, "the message's lease", look, object{"visible_at": b["lease_until"], "status": "in_flight"})
	s.settle(t, "ack", "links", young, nil)
	claim(carried("links", young, nil)).refused(t, 404, "QUEUE_MESSAGE_NOT_FOUND")

	s.publish(t, "links", 2, nil)
	s.settle(t, "nack", "links", s.one(t, "links", nil), object{"requeue": false})
	dead := s.one(t, "links-dlq", nil)
	claim(with(carried("links-dlq", dead, nil), object{"key": "dead"})).refused(t, 409, "CONFLICT")
}

func checkLinkSettle(t *testing.T, s *server) {
	s.queue(t, "work", object{"max_receive_count": 1, "visibility_timeout_default": 600})
	s.publish(t, "work", "job", nil)
	m := s.one(t, "work", nil)
	a := s.claim(t, "granted", "settle", "k", carried("work", m, nil))
	is(t, "given back", s.say(t, "fail", "settle", "k", a["fence"], object{"kind": "definite", "error": "503", "retry_in_seconds": 1.5, "settle": true}), object{"applied": true, "state": "retry", "reason": nil})
	lost(t, "the receipt", s.settle(t, "ack", "work", m, nil), "lease_lost")
	is(t, "the message", items(t, s.do(t, "GET", "/v1/queue/messages/work", nil))[0], object{"status": "delayed", "delivery_count": 0})

	m = s.one(t, "work", nil)
	is(t, "its count was given back", m, object{"delivery_count": 1})
	a = s.claim(t, "granted", "settle", "k", carried("work", m, nil))
	is(t, "permanent", s.say(t, "fail", "settle", "k", a["fence"], object{"kind": "permanent", "error": "no such student", "settle": true}), object{"applied": true, "state": "failed"})
	dead := items(t, s.do(t, "GET", "/v1/queue/dlq/list/work", nil))
	is(t, "the dead letter", dead[0], object{"message_id": m["message_id"], "last_error": "no such student"})

	// A redrive opens the key with it.
	s.finished(t, s.do(t, "POST", "/v1/queue/dlq/redrive/work", nil))
	m = s.one(t, "work", nil)
	is(t, "redriven", s.lookUp(t, "settle", "k"), object{"state": "retry", "tries": 0, "fence": 2})
	a = s.claim(t, "granted", "settle", "k", carried("work", m, nil))
	is(t, "complete", s.say(t, "complete", "settle", "k", a["fence"], object{"result": object{"sent": 1}, "settle": true}), object{"applied": true, "state": "done"})
	is(t, "stats", s.stats(t, "work"), object{"message_count": 0, "dlq_count": 0})

	// Its copy finds it done, with the result.
	s.publish(t, "work", "job", nil)
	m = s.one(t, "work", nil)
	is(t, "the copy", s.claim(t, "done", "settle", "k", carried("work", m, nil)), object{"result": object{"sent": 1}})
	s.settle(t, "ack", "work", m, nil)

	// Without settle the message waits for its worker's word.
	s.publish(t, "work", "job", nil)
	m = s.one(t, "work", nil)
	a = s.claim(t, "granted", "settle", "apart", carried("work", m, nil))
	s.say(t, "complete", "settle", "apart", a["fence"], nil)
	is(t, "stats", s.stats(t, "work"), object{"message_count": 1})
	is(t, "the same word, now with settle", s.say(t, "complete", "settle", "apart", a["fence"], object{"settle": true}), object{"applied": true})
	is(t, "stats", s.stats(t, "work"), object{"message_count": 0})

	// A message that dies takes its open key along.
	s.publish(t, "work", "job", nil)
	m = s.one(t, "work", nil)
	s.claim(t, "granted", "settle", "dies", carried("work", m, nil))
	s.settle(t, "nack", "work", m, object{"error": "gave up"})
	is(t, "its key", s.lookUp(t, "settle", "dies"), object{"state": "stuck", "last_error": "gave up"})
}

// checkDeadWorker is that what a worker left goes to another once its leases are over, and that the first one's late word changes nothing.
func checkDeadWorker(t *testing.T, s *server) {
	s.queue(t, "dead-worker", nil)
	s.publish(t, "dead-worker", 1, nil)
	m := s.one(t, "dead-worker", object{"visibility_timeout": 1})
	first := s.claim(t, "granted", "dead", "k", carried("dead-worker", m, object{"lease_seconds": 1, "owner": "one"}))
	again := s.one(t, "dead-worker", nil)
	var second object
	eventually(t, "another is granted the key", 20*time.Second, func() bool {
		second = s.do(t, "POST", ledgerPath+"claim", with(object{"scope": "dead", "key": "k", "owner": "two"}, carried("dead-worker", again, nil)))
		return second["verdict"] == "granted"
	})
	is(t, "taken over", second, object{"fence": 2, "attempt": 2, "ambiguous": true, "op_id": first["op_id"]})
	for _, verb := range []string{"complete", "fail", "begin"} {
		more := map[string]object{"complete": {"settle": true}, "fail": {"kind": "permanent", "settle": true}}[verb]
		is(t, "the first one's "+verb, s.say(t, verb, "dead", "k", first["fence"], more), object{"applied": false, "state": "started", "reason": "fenced"})
	}
	is(t, "stats", s.stats(t, "dead-worker"), object{"message_count": 1, "dlq_count": 0})
	is(t, "the second's", s.say(t, "complete", "dead", "k", 2, object{"settle": true}), object{"applied": true, "state": "done"})
	is(t, "stats", s.stats(t, "dead-worker"), object{"message_count": 0, "dlq_count": 0})

	// A once whose worker died after its begin is for a person, and its message with it.
	s.publish(t, "dead-worker", 2, nil)
	m = s.one(t, "dead-worker", nil)
	a := s.claim(t, "granted", "dead", "once", carried("dead-worker", m, object{"policy": "once"}))
	s.say(t, "begin", "dead", "once", a["fence"], object{"lease_seconds": 1})
	eventually(t, "it is stuck", 20*time.Second, func() bool { return s.lookUp(t, "dead", "once")["state"] == "stuck" })
	is(t, "stats", s.stats(t, "dead-worker"), object{"message_count": 0, "dlq_count": 1})
}

func checkClaimResolve(t *testing.T, s *server) {
	s.queue(t, "resolve", nil)
	stuck := func(key string) object {
		s.publish(t, "resolve", key, nil)
		m := s.one(t, "resolve", nil)
		a := s.claim(t, "granted", "resolve", key, carried("resolve", m, object{"policy": "once"}))
		s.say(t, "begin", "resolve", key, a["fence"], nil)
		is(t, "stuck", s.say(t, "fail", "resolve", key, a["fence"], object{"kind": "ambiguous", "error": "timeout", "settle": true}), object{"state": "stuck"})
		return m
	}
	resolve := func(key, as string, more object) answer {
		return s.post(t, ledgerPath+"resolve", with(object{"scope": "resolve", "key": key, "as": as}, more))
	}
	m := stuck("retry")
	// A redrive leaves a stuck once to a person.
	is(t, "redriven", s.finished(t, s.do(t, "POST", "/v1/queue/dlq/redrive/resolve", nil)), object{"moved": 0, "left": 1})
	resolve("retry", "done", object{"fence": 7}).refused(t, 409, "CLAIM_CHANGED")
	is(t, "nothing changed", s.lookUp(t, "resolve", "retry"), object{"state": "stuck"})
	d := resolve("retry", "retry", object{"fence": 1, "note": "the bank has not seen it"}).ok(t)
	fields(t, "resolve", d, "state requeued")
	is(t, "resolve", d, object{"state": "retry", "requeued": true})
	again := s.one(t, "resolve", nil)
	is(t, "the message is back", again, object{"message_id": m["message_id"], "delivery_count": 1})
	a := s.claim(t, "granted", "resolve", "retry", carried("resolve", again, nil))
	is(t, "a held key", object{"status": resolve("retry", "failed", nil).status}, object{"status": 409})
	is(t, "granted anew", a, object{"fence": 2, "ambiguous": false})
	s.say(t, "begin", "resolve", "retry", 2, nil)
	s.say(t, "complete", "resolve", "retry", 2, object{"settle": true})
	resolve("retry", "retry", nil).refused(t, 409, "CONFLICT")

	stuck("done")
	is(t, "as done", resolve("done", "done", nil).ok(t), object{"state": "done", "requeued": false})
	is(t, "its dead letter went", s.stats(t, "resolve"), object{"dlq_count": 0})
	s.claim(t, "done", "resolve", "done", nil)

	stuck("failed")
	is(t, "as failed", resolve("failed", "failed", nil).ok(t), object{"state": "failed", "requeued": false})
	is(t, "its dead letter stays", s.stats(t, "resolve"), object{"dlq_count": 1})
	is(t, "redriven", s.finished(t, s.do(t, "POST", "/v1/queue/dlq/redrive/resolve", nil)), object{"moved": 1, "left": 0})

	h := s.lookUp(t, "resolve", "retry")["history"].([]any)
	for _, line := range h {
		if o := line.(object); o["what"] == "resolved" {
			is(t, "the act's record", o, object{"who": "configured", "detail": "retry: the bank has not seen it", "fence": 1})
			return
		}
	}
	t.Errorf("the act is not in the history: %v", h)
}
