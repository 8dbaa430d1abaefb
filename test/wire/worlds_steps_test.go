package wire

import (
	"fmt"
	"net/url"
	"time"
)

// one of these.
func (w *paired) one(of ...string) string { return of[w.dice.IntN(len(of))] }

// any of the ids of a kind that came up; now and then one that never was, or that is another project's.
func (w *paired) any(kind string) string {
	ids := w.ids[kind]
	n := w.dice.IntN(20)
	if w.wild && n < 8 {
		if id := w.heard.pick(w.dice, kind); id != "" {
			w.tries++
			return id
		}
	}
	if len(ids) == 0 || n == 19 {
		return kind + "_none"
	}
	if w.chance(60) { // the young ones still do something
		ids = ids[max(0, len(ids)-5):]
	}
	return ids[w.dice.IntN(len(ids))]
}

func (w *paired) chance(percent int) bool { return w.dice.IntN(100) < percent }

func (w *paired) queueName() string {
	return w.one("jobs", "jobs", "jobs", "jobs", "mail", "mail", "mail", "line", "line", "jobs-dlq", "mail-dlq", "line-dlq", "none")
}

// key perhaps gives an idempotency key.
func (w *paired) key() []string {
	if !w.chance(40) {
		return nil
	}
	return []string{"Idempotency-Key", w.one("k1", "k2", "k3", "k4")}
}

func (w *paired) payload() object {
	return object{"secret": w.secret, "n": w.dice.IntN(4)}
}

func (w *paired) message() object {
	m := object{"payload": w.payload()}
	if w.chance(30) {
		m["message_group_id"] = w.one("g1", "g2", "g3")
	}
	if w.chance(30) {
		m["priority"] = w.dice.IntN(10)
	}
	if w.chance(15) {
		m["delay_seconds"] = 3600
	}
	return m
}

// step makes a random call. Nothing in it depends on how fast it is: what is put off is so for an hour, and a redrive is waited for.
func (w *paired) step() (asked, told string) {
	const q, hooks = "/v1/queue/", "/v1/webhooks/"
	name := w.queueName()
	calls := []struct {
		weight int
		make   func() (asked, told string, a answer)
	}{
		{6, func() (string, string, answer) {
			body := object{"name": w.one("jobs", "mail", "more")}
			if w.chance(30) {
				body["max_retries"] = 1 + w.dice.IntN(3)
			}
			return w.ask("POST", q+"create", body, w.key()...)
		}},
		{2, func() (string, string, answer) {
			return w.ask("POST", q+"update/"+name, object{"max_retries": 1 + w.dice.IntN(3)})
		}},
		{6, func() (string, string, answer) {
			return w.ask("GET", q+w.one("list", "get/"+name, "stats/"+name, "messages/"+name, "messages/"+name, "dlq/list/"+name, "dlq/redrive/"+name), nil)
		}},
		{24, func() (string, string, answer) {
			m := w.message()
			m["queue"] = name
			return w.ask("POST", q+"publish", m, w.key()...)
		}},
		{4, func() (string, string, answer) {
			batch := []object{}
			for range 1 + w.dice.IntN(4) {
				m := w.message()
				if w.chance(50) {
					m["idempotency_key"] = w.one("k1", "k2", "k3", "k4", "k5")
				}
				batch = append(batch, m)
			}
			return w.ask("POST", q+"publish_batch", object{"queue": name, "messages": batch})
		}},
		{20, func() (string, string, answer) {
			asked, told, a := w.ask("POST", q+"consume", object{"queue": name, "max_messages": 1 + w.dice.IntN(3), "visibility_timeout": 43200})
			if a.status == 200 {
				for _, m := range items(w.t, a.ok(w.t)) {
					w.queueOf[text(m["receipt_handle"])], w.queueOf[text(m["message_id"])] = name, name
				}
			}
			return asked, told, a
		}},
		{24, func() (string, string, answer) {
			verb := w.one("ack", "ack", "nack", "nack", "release", "extend")
			how, kind := "receipt_handle", "rct"
			if w.chance(25) {
				how, kind = "message_id", "qmsg"
			}
			body := object{how: w.any(kind)}
			if body["queue"] = name; w.chance(90) && w.queueOf[text(body[how])] != "" {
				body["queue"] = w.queueOf[text(body[how])]
			}
			switch verb {
			case "nack":
				body["delay_seconds"], body["requeue"] = 3600*w.dice.IntN(2), w.chance(60)
				body["error"] = "no: " + w.secret
			case "release":
				body["delay_seconds"] = 3600 * w.dice.IntN(2)
			case "extend":
				body["visibility_timeout"] = 43000
			}
			return w.ask("POST", q+verb, body)
		}},
		{2, func() (string, string, answer) {
			return w.ask("POST", q+w.one("pause/", "resume/", "resume/")+name, nil)
		}},
		{3, func() (string, string, answer) {
			return w.ask("POST", q+"push_subscribe/still", object{"url": w.receiver.url + w.one("/a", "/b", "/c"), "max_in_flight": 1 + w.dice.IntN(3)})
		}},
		{2, func() (string, string, answer) {
			if w.chance(50) {
				return w.ask("GET", q+"push_list/"+w.one("still", "none"), nil)
			}
			return w.ask("DELETE", q+"push_unsubscribe/still/"+w.any("psh"), nil)
		}},
		{1, func() (string, string, answer) { return w.ask("POST", q+"purge/"+name, object{"confirm": name}) }},
		{1, func() (string, string, answer) {
			return w.ask("DELETE", q+"delete/"+name+"?force="+w.one("true", "false"), nil)
		}},
		{3, func() (asked, told string, a answer) {
			asked, told, a = w.ask("POST", q+"dlq/redrive/"+name, object{"dry_run": w.chance(20)}, w.key()...)
			if d, ok := a.body["data"].(object); ok {
				path := "/v1/redrives/" + text(d["redrive_id"])
				eventually(w.t, "the redrive ends", time.Minute, func() bool {
					r := w.as.call(w.t, "GET", path, nil)
					d, ok := r.body["data"].(object)
					return !ok || d["state"] != "running"
				})
				_, end, _ := w.ask("GET", path, nil)
				told += "\n" + end
			}
			return asked, told, a
		}},
		{20, w.ledgerStep},
		{2, func() (string, string, answer) { return w.ask("GET", "/v1/redrives/"+w.any("rdv"), nil) }},
		{1, func() (string, string, answer) {
			return w.ask("POST", "/v1/redrives/"+w.any("rdv")+"/cancel", nil)
		}},

		{5, func() (asked, told string, a answer) {
			body := object{"url": w.receiver.url, "description": w.secret}
			if w.chance(70) {
				body["tenant"] = w.one("acme", "zorg")
			}
			if len(w.ids["ep"]) >= 6 {
				return w.ask("GET", hooks+"endpoints", nil)
			}
			asked, told, a = w.ask("POST", hooks+"endpoints", body, w.key()...)
			if id := text(a.data("endpoint_id")); id != "" && !w.wild { // so that nothing is sent, at some time or other, before the end
				_, more, _ := w.ask("POST", hooks+"endpoints/"+id+"/disable", nil)
				told += "\n" + more
			}
			return asked, told, a
		}},
		{5, func() (string, string, answer) {
			path := hooks + "endpoints/" + w.any("ep")
			switch w.dice.IntN(4) {
			case 0:
				return w.ask("GET", path, nil)
			case 1:
				return w.ask("PATCH", path, object{"description": w.secret + w.one(" 1", " 2"), "max_in_flight": 1 + w.dice.IntN(5)})
			case 2:
				return w.ask("POST", path+"/rotate_secret", nil, w.key()...)
			default:
				return w.ask("POST", path+"/test", nil, w.key()...)
			}
		}},
		{10, func() (string, string, answer) {
			body := object{"event_id": w.one("e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8"), "event_type": w.one("a.b", "a.c"), "payload": w.payload()}
			if w.chance(30) {
				delete(body, "event_id")
			}
			if w.chance(70) {
				body["tenant"] = w.one("acme", "zorg")
			}
			if w.chance(20) {
				body["endpoint_ids"] = []string{w.any("ep")}
			}
			return w.ask("POST", hooks+"events", body, w.key()...)
		}},
		{5, func() (string, string, answer) {
			return w.ask("GET", hooks+w.one("events", "events?tenant=acme", "deliveries", "deliveries?event_id=e1", "deliveries?tenant=zorg", "deliveries?endpoint_id="+w.any("ep"), "events/e2", "deliveries/"+w.any("dlv")), nil)
		}},
		{4, func() (string, string, answer) {
			if w.chance(30) {
				return w.ask("POST", hooks+"deliveries/"+w.any("dlv")+"/resolve", object{"as": "retry"})
			}
			return w.ask("POST", hooks+"deliveries/"+w.any("dlv")+w.one("/cancel", "/resend"), nil)
		}},
		{2, func() (string, string, answer) {
			return w.ask("POST", hooks+"redrive", object{"dry_run": true}, w.key()...)
		}},

		{3, func() (string, string, answer) {
			return w.ask("POST", "/v1/keys", object{"name": w.secret, "scopes": []string{w.one("read", "publish", "root")}}, w.key()...)
		}},
		{3, func() (string, string, answer) {
			if id := w.any("key"); id != w.keyID && w.chance(40) {
				return w.ask("DELETE", "/v1/keys/"+id, nil)
			}
			return w.ask("GET", "/v1/keys?project_id="+url.QueryEscape(w.one("", w.any("prj"))), nil)
		}},
		{1, func() (string, string, answer) { return w.ask("GET", "/v1/projects", nil) }},
		{3, func() (string, string, answer) {
			return w.ask("GET", "/v1/account/"+w.one("balance", "usage"), nil)
		}},
		{1, func() (string, string, answer) {
			return w.ask("PATCH", "/v1/projects/"+w.any("prj"), object{"credit_limit_usd": w.dice.IntN(2)})
		}},
	}
	sum := 0
	for _, c := range calls {
		sum += c.weight
	}
	n := w.dice.IntN(sum)
	for _, c := range calls {
		if n -= c.weight; n < 0 {
			asked, told, _ = c.make()
			return asked, told
		}
	}
	panic(fmt.Sprint("no call for ", n))
}

// ledgerStep makes a random call of the ledger. Its keys are few, so that they are met again.
func (w *paired) ledgerStep() (asked, told string, a answer) {
	const l = "/v1/ledger/"
	body := object{"scope": w.one("mail", "charge"), "key": w.one("k1", "k2", "k3", "k4", "k5", "k6")}
	switch verb := w.one("claim", "claim", "claim", "begin", "complete", "fail", "fail", "resolve", "get", "list"); verb {
	case "claim":
		body["owner"], body["lease_seconds"], body["policy"] = w.secret, 43200, w.one("idempotent", "once")
		if w.chance(30) {
			body["payload"] = w.payload()
		}
		if receipt := w.any("rct"); w.chance(70) {
			body["receipt_handle"], body["queue"] = receipt, w.queueName()
			if q := w.queueOf[receipt]; q != "" && w.chance(90) {
				body["queue"] = q
			}
		}
		return w.ask("POST", l+verb, body)
	case "get":
		return w.ask("GET", l+"claims?scope="+text(body["scope"])+"&key="+text(body["key"]), nil)
	case "list":
		return w.ask("GET", l+"claims?state="+w.one("claimed", "started", "retry", "done", "failed", "stuck"), nil)
	case "resolve":
		body["as"], body["note"] = w.one("done", "retry", "failed"), w.secret
		return w.ask("POST", l+verb, body)
	case "begin":
		body["fence"], body["lease_seconds"] = 1+w.dice.IntN(3), 43200
		return w.ask("POST", l+verb, body)
	case "complete":
		body["fence"], body["settle"], body["result"] = 1+w.dice.IntN(3), w.chance(50), w.payload()
		return w.ask("POST", l+verb, body)
	default:
		body["fence"], body["settle"], body["kind"] = 1+w.dice.IntN(3), w.chance(50), w.one("definite", "permanent", "ambiguous")
		body["error"] = "no: " + w.secret
		if w.chance(30) {
			body["retry_in_seconds"] = 3600
		}
		return w.ask("POST", l+verb, body)
	}
}

// data gives a field of the answer's data; nil if it is no success.
func (a answer) data(name string) any {
	d, _ := a.body["data"].(object)
	return d[name]
}
