package upgrade

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
)

// moving is a redrive that was under way at the program's end: two a second.
type moving struct {
	Redrive string
	Dead    []string
}

func writeMoving(c *caller) *moving {
	m := &moving{}
	c.do("POST", "/v1/queue/create", object{"name": "moving"})
	for i := range 6 {
		c.publish(object{"queue": "moving", "payload": i})
		m.Dead = append(m.Dead, c.bury("moving"))
	}
	m.Redrive = c.do("POST", "/v1/queue/dlq/redrive/moving", object{"rate_per_second": 2})["redrive_id"].(string)
	return m
}

func (m *moving) check(c *caller) {
	d := c.ended(m.Redrive)
	if d["state"] != "completed" || d["moved"] != float64(len(m.Dead)) {
		c.t.Errorf("the redrive that was under way came to %v, want all of %d moved", d, len(m.Dead))
	}
	var came []string
	for range m.Dead {
		got := c.receive("moving", 60)
		came = append(came, got["message_id"].(string))
		c.ack("moving", got)
	}
	slices.Sort(came)
	if slices.Sort(m.Dead); !slices.Equal(came, m.Dead) {
		c.t.Errorf("redriven were %v, want %v", came, m.Dead)
	}
}

// ended waits for a redrive's end, at which nothing remains.
func (c *caller) ended(redrive string) object {
	c.t.Helper()
	d := c.eventually("the redrive ends", func() (object, bool) {
		d := c.do("GET", "/v1/redrives/"+redrive, nil)
		return d, d["state"] != "running"
	})
	if d["total"] != d["moved"].(float64)+d["left"].(float64) {
		c.t.Errorf("of the redrive's total neither moved nor left is a part: %v", d)
	}
	return d
}

// refused are deliveries that a receiver refused for good, their redrive under way, and one of which nobody can know what became.
type refused struct {
	URL        string
	Endpoint   string   // of policy idempotent
	Failed     []string // deliveries
	Redrive    string
	Once       string // the other endpoint
	OnceSecret string
	Stuck      string // delivery
}

func writeRefused(t *testing.T, c *caller) *refused {
	var heals atomic.Bool
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case q.URL.Path == "/once":
			panic(http.ErrAbortHandler)
		case !heals.Load():
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer r.Close()
	f := &refused{URL: r.URL}
	f.Endpoint = c.do("POST", "/v1/webhooks/endpoints", f.body())["endpoint_id"].(string)
	for i := range 4 {
		d := c.event("b", fmt.Sprint("refused-", i))
		c.until(d, "failed")
		f.Failed = append(f.Failed, d)
	}
	once := c.do("POST", "/v1/webhooks/endpoints", object{"url": r.URL + "/once", "event_types": []string{"c", "d"}, "policy": "once", "retry_ladder": []int{1, 1, 1, 1, 1, 1, 1, 1}})
	f.Once, f.OnceSecret = once["endpoint_id"].(string), once["secret"].(string)
	f.Stuck = c.event("c", "stuck")
	c.until(f.Stuck, "stuck")
	heals.Store(true)
	f.Redrive = c.do("POST", "/v1/webhooks/redrive", object{"endpoint_id": f.Endpoint, "rate_per_second": 2, "canary": false})["redrive_id"].(string)
	return f
}

func (f *refused) body() object {
	return object{"url": f.URL, "event_types": []string{"b"}, "retry_4xx": false, "retry_ladder": []int{1, 1, 1, 1}, "idempotency_key": "an endpoint"}
}

func (f *refused) check(c *caller, r *receiver, callers *callers) {
	if again := c.do("POST", "/v1/webhooks/endpoints", f.body()); again["endpoint_id"] != f.Endpoint || again["secret"] != nil {
		c.t.Errorf("the endpoint under its key again: %v, want %s without a secret", again, f.Endpoint)
	}
	// A migration may have ended it: what it left is then failed, and goes with another.
	c.ended(f.Redrive)
	c.ended(c.do("POST", "/v1/webhooks/redrive", object{"endpoint_id": f.Endpoint, "canary": false})["redrive_id"].(string))
	for _, d := range f.Failed {
		c.until(d, "delivered")
	}
	if d := c.do("GET", "/v1/webhooks/deliveries/"+f.Stuck, nil); d["state"] != "stuck" {
		c.t.Errorf("what was stuck is %v", d)
	}
	c.do("POST", "/v1/webhooks/deliveries/"+f.Stuck+"/resolve", object{"as": "retry", "note": "it was not seen"})
	c.until(f.Stuck, "delivered")
	r.came(c.t, "stuck", f.OnceSecret)
	if callers == nil {
		return
	}
	sent := c.do("GET", "/v1/webhooks/deliveries?event_id="+callers.Event, nil)["items"].([]any)
	if len(sent) != 1 {
		c.t.Fatalf("%d deliveries of the event that a caller's transaction sent, want 1", len(sent))
	}
	c.until(sent[0].(object)["delivery_id"].(string), "delivered")
	r.came(c.t, callers.Event, f.OnceSecret)
}
