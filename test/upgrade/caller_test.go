package upgrade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// caller calls a server under a key.
type caller struct {
	t        *testing.T
	url, key string
}

func (c *caller) call(method, path string, body object) (status int, data object) {
	c.t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	q, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, in)
	if err != nil {
		c.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+c.key)
	q.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var a struct {
		Data  object
		Error object
	}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		c.t.Fatalf("%s %s: %d: %v", method, path, res.StatusCode, err)
	}
	if a.Data == nil {
		return res.StatusCode, a.Error
	}
	return res.StatusCode, a.Data
}

// do wants 200.
func (c *caller) do(method, path string, body object) object {
	c.t.Helper()
	status, data := c.call(method, path, body)
	if status != 200 {
		c.t.Fatalf("%s %s %v: %d %v", method, path, body, status, data)
	}
	return data
}

// knows reports whether the server has a call, or takes its members.
func (c *caller) knows(method, path string, body object) (data object, ok bool) {
	c.t.Helper()
	status, data := c.call(method, path, body)
	switch status {
	case 200:
		return data, true
	case 400, 404, 405:
		c.t.Logf("it does not know %s %s %v: %v", method, path, body, data)
		return nil, false
	}
	c.t.Fatalf("%s %s %v: %d %v", method, path, body, status, data)
	return nil, false
}

// refuses wants another status than 200.
func (c *caller) refuses(status int, method, path string, body object) {
	c.t.Helper()
	if got, data := c.call(method, path, body); got != status {
		c.t.Errorf("%s %s %v: %d %v, want %d", method, path, body, got, data, status)
	}
}

func (c *caller) publish(m object) (id string) {
	c.t.Helper()
	return c.do("POST", "/v1/queue/publish", m)["message_id"].(string)
}

// consume receives what is there now.
func (c *caller) consume(queue string) (all []object) {
	c.t.Helper()
	for _, m := range c.do("POST", "/v1/queue/consume", object{"queue": queue, "max_messages": 100})["items"].([]any) {
		all = append(all, m.(object))
	}
	return all
}

func (c *caller) receive(queue string, seconds int) object {
	c.t.Helper()
	got := c.do("POST", "/v1/queue/consume", object{"queue": queue, "max_messages": 1, "visibility_timeout": seconds, "wait_seconds": 10})["items"].([]any)
	if len(got) != 1 {
		c.t.Fatalf("nothing was received of %s within 10 s", queue)
	}
	return got[0].(object)
}

func (c *caller) ack(queue string, m object) {
	c.t.Helper()
	if a := c.do("POST", "/v1/queue/ack", object{"queue": queue, "receipt_handle": m["receipt_handle"]}); a["acked"] != true {
		c.t.Errorf("ack: %v", a)
	}
}

// bury makes a dead letter of the next message.
func (c *caller) bury(queue string) (id string) {
	c.t.Helper()
	m := c.receive(queue, 60)
	c.do("POST", "/v1/queue/nack", object{"queue": queue, "receipt_handle": m["receipt_handle"], "requeue": false, "error": "no"})
	return m["message_id"].(string)
}

// event sends one, and gives its only delivery.
func (c *caller) event(kind, id string) (delivery string) {
	c.t.Helper()
	all := c.do("POST", "/v1/webhooks/events", object{"event_type": kind, "event_id": id, "payload": object{"id": id}})["deliveries"].([]any)
	if len(all) != 1 {
		c.t.Fatalf("event %s has %d deliveries, want 1: %v", id, len(all), all)
	}
	return all[0].(object)["delivery_id"].(string)
}

// list gives the ids of a page of messages.
func (c *caller) list(path string) (ids []string) {
	c.t.Helper()
	for _, m := range c.do("GET", path, nil)["items"].([]any) {
		ids = append(ids, fmt.Sprint(m.(object)["message_id"]))
	}
	return ids
}

// until waits until a delivery is so.
func (c *caller) until(delivery, state string) {
	c.t.Helper()
	c.eventually("a delivery is "+state, func() (object, bool) {
		d := c.do("GET", "/v1/webhooks/deliveries/"+delivery, nil)
		return d, d["state"] == state
	})
}

// eventually polls until what it looks at is as wanted, and gives that.
func (c *caller) eventually(what string, look func() (object, bool)) object {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		seen, ok := look()
		if ok {
			return seen
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s: not within 30 s: %v", what, seen)
		}
	}
}
