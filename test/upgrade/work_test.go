package upgrade

import "fmt"

// work is keys of workers, one in each state that a key can wait in, each under fence 1.
type work struct {
	Started string // a message in flight for twelve hours, which carries the key "started"
	Failed  string // a dead letter, which carries the key "failed"
	Idle    object // a message in flight for twelve hours, which carries none
}

func word(key string, more object) object {
	w := object{"scope": "upgrade", "key": key}
	for name, v := range more {
		w[name] = v
	}
	return w
}

func writeWork(c *caller) *work {
	c.do("POST", "/v1/queue/create", object{"name": "work"})
	claimed, ok := c.knows("POST", "/v1/ledger/claim", word("done", object{"owner": "o"}))
	if !ok {
		return nil
	}
	if claimed["verdict"] != "granted" || claimed["fence"] != 1.0 {
		c.t.Fatalf("a new key: %v", claimed)
	}
	say := func(call, key string, more object) object {
		c.t.Helper()
		more["fence"] = 1
		a := c.do("POST", "/v1/ledger/"+call, word(key, more))
		if a["applied"] != true {
			c.t.Fatalf("%s %s: %v", call, key, a)
		}
		return a
	}
	carries := func(key string, lease int, more object) string {
		c.publish(object{"queue": "work", "payload": key})
		m := c.receive("work", lease)
		more["queue"], more["receipt_handle"], more["lease_seconds"] = "work", m["receipt_handle"], lease
		c.do("POST", "/v1/ledger/claim", word(key, more))
		return m["message_id"].(string)
	}
	say("complete", "done", object{"result": object{"paid": 12.5}})
	c.do("POST", "/v1/ledger/claim", word("waits", object{}))
	say("fail", "waits", object{"kind": "definite", "error": "not now", "retry_in_seconds": 3600})
	w := &work{}
	w.Started = carries("started", 43200, object{"policy": "once"})
	say("begin", "started", object{"lease_seconds": 43200})
	w.Failed = carries("failed", 60, object{})
	say("fail", "failed", object{"kind": "permanent", "error": "never", "settle": true})
	c.do("POST", "/v1/ledger/claim", word("lapsed", object{"policy": "once", "lease_seconds": 1}))
	say("begin", "lapsed", object{"lease_seconds": 1})
	c.publish(object{"queue": "work", "payload": "idle"})
	w.Idle = c.receive("work", 43200)
	return w
}

func (w *work) check(c *caller) {
	if w == nil {
		return
	}
	verdict := func(key, want string, more object) object {
		c.t.Helper()
		a := c.do("POST", "/v1/ledger/claim", word(key, more))
		if a["verdict"] != want {
			c.t.Errorf("claim of %s: %v, want %s", key, a, want)
		}
		return a
	}
	end := func(key string, fence int) {
		c.t.Helper()
		if a := c.do("POST", "/v1/ledger/complete", word(key, object{"fence": fence, "settle": true})); a["applied"] != true || a["state"] != "done" {
			c.t.Errorf("complete %s: %v", key, a)
		}
		verdict(key, "done", object{})
	}
	if a := verdict("done", "done", object{}); fmt.Sprint(a["result"]) != fmt.Sprint(object{"paid": 12.5}) {
		c.t.Errorf("the result of then is %v", a["result"])
	}
	verdict("waits", "busy", object{})
	verdict("started", "busy", object{})
	verdict("failed", "failed", object{})
	end("started", 1)

	if got := c.list("/v1/queue/dlq/list/work"); len(got) != 1 || got[0] != w.Failed {
		c.t.Errorf("the dead letters of work are %v, want %s", got, w.Failed)
	}
	c.do("POST", "/v1/queue/dlq/redrive/work", object{})
	m := c.receive("work", 60)
	if m["message_id"] != w.Failed {
		c.t.Errorf("redriven is %v, want %s", m, w.Failed)
	}
	if a := verdict("failed", "granted", object{"queue": "work", "receipt_handle": m["receipt_handle"]}); a["fence"] != 2.0 {
		c.t.Errorf("granted again: %v, want fence 2", a)
	}
	end("failed", 2)

	c.eventually("the key whose lease is over is stuck", func() (object, bool) {
		a := c.do("GET", "/v1/ledger/claims?scope=upgrade&key=lapsed", nil)
		return a, a["state"] == "stuck"
	})
	c.do("POST", "/v1/ledger/resolve", word("lapsed", object{"as": "done", "note": "it was seen"}))
	verdict("lapsed", "done", object{})
	if got := c.list("/v1/queue/messages/work"); len(got) > 1 || len(got) == 1 && got[0] != w.Idle["message_id"] {
		c.t.Errorf("left of work are %v, want at most %v", got, w.Idle["message_id"])
	}
}
