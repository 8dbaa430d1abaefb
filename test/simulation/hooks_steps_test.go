package simulation

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/onceward/onceward/webhook"
)

// sentEvent is an event with its deliveries.
type sentEvent struct {
	name       string
	stored     bool // a server took it
	deliveries map[*host]*sentDelivery
}

// sentDelivery is one of an event's, as far as the world had a hand in it.
type sentDelivery struct {
	host  *host
	event string
	id    string
	anew  []int  // how many attempts there were when a person resolved it to be tried again
	said  string // what a person resolved it as
	ended bool
}

// buildHosts makes the receivers and the endpoints that lead to them.
func (w *world) buildHosts() {
	for i := range 3 {
		h := &host{w: w, name: fmt.Sprintf("r%d.sim", i), posts: map[string][]*post{}}
		h.server = &http.Server{Handler: h}
		l := w.net.listen(h.name)
		w.going.Go(func() { h.server.Serve(l) })
		h.once, h.timeout, h.most, h.retry4xx = w.chance(3), time.Duration(1+w.dice.IntN(15))*time.Second, 1+w.dice.IntN(6), !w.chance(4)
		rungs := make([]float64, w.dice.IntN(5))
		for j := range rungs {
			d := time.Duration(1+w.dice.IntN(120)) * time.Second
			if w.chance(8) {
				d = time.Duration(1+w.dice.IntN(48)) * time.Hour
			}
			h.ladder, rungs[j] = append(h.ladder, d), seconds(d)
		}
		h.secrets = []secret{{text: w.secret()}}
		var e struct {
			ID string `json:"endpoint_id"`
		}
		w.must("POST", "webhooks/endpoints", fields{
			"url": "http://" + h.name + "/hook", "retry_ladder": rungs, "policy": policyOf(h.once), "timeout_seconds": seconds(h.timeout),
			"max_in_flight": h.most, "retry_4xx": h.retry4xx, "secret": h.secrets[0].text,
		}, &e)
		h.endpoint = e.ID
		w.hosts = append(w.hosts, h)
	}
}

func (w *world) secret() string {
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(w.dice.IntN(256))
	}
	return "whsec_" + base64.StdEncoding.EncodeToString(b)
}

// send sends an event, perhaps without hearing the answer, and perhaps again.
func (w *world) send() {
	e := &sentEvent{name: w.name("e"), deliveries: map[*host]*sentDelivery{}}
	for _, h := range w.hosts {
		e.deliveries[h] = &sentDelivery{host: h, event: e.name}
	}
	w.sent = append(w.sent, e)
	w.sendAgain(e, w.chance(4))
	for w.chance(3) {
		w.after(time.Duration(w.dice.IntN(200))*time.Second, func() { w.sendAgain(e, false) })
	}
}

func (w *world) sendAgain(e *sentEvent, lost bool) {
	if w.process == nil {
		return
	}
	a := w.callOr(lost, "POST", "webhooks/events",
		[]byte(`{"event_id":"`+e.name+`","event_type":"sim.happened","payload":`+payloadOf(e.name)+`}`))
	e.stored = true
	w.say("send %s: %d %s replay=%v", e.name, a.status, a.code, a.replay)
	if a.lost {
		return
	}
	var got struct {
		Deliveries []struct {
			ID       string `json:"delivery_id"`
			Endpoint string `json:"endpoint_id"`
		}
	}
	w.read(a, &got)
	if a.status != 200 || len(got.Deliveries) != len(w.hosts) {
		w.fail("send of %s: %d %s, %d deliveries; there are %d endpoints", e.name, a.status, a.code, len(got.Deliveries), len(w.hosts))
	}
	for _, d := range got.Deliveries {
		for h, s := range e.deliveries {
			switch {
			case h.endpoint != d.Endpoint:
			case s.id == "":
				s.id = d.ID
			case s.id != d.ID:
				w.fail("%s was sent to %s as %s, and again as %s", e.name, h.name, s.id, d.ID)
			}
		}
	}
}

// rotate gives an endpoint a new secret. Both sign until the grace is over.
func (w *world) rotate(h *host) {
	grace := time.Duration(w.dice.IntN(4000)) * time.Second
	s := secret{text: w.secret()}
	a := w.call("POST", "webhooks/endpoints/"+h.endpoint+"/rotate_secret", fields{"secret": s.text, "grace_seconds": seconds(grace)})
	w.say("rotate %s: %d, grace %v", h.name, a.status, grace)
	h.mu.Lock()
	defer h.mu.Unlock()
	valid := []secret{s}
	for _, o := range h.secrets {
		if end := w.now().Add(grace); o.until.IsZero() || end.Before(o.until) {
			o.until = end
		}
		if w.now().Before(o.until) {
			valid = append(valid, o)
		}
	}
	if full := len(valid) > webhook.MaxSecrets; full && a.status == 409 {
		return
	} else if full || a.status != 200 {
		w.fail("rotate_secret of %s, to %d secrets: %d %s", h.name, len(valid), a.status, a.code)
	}
	h.secrets = valid
}

// toggle disables an endpoint, or enables it.
func (w *world) toggle(h *host, off bool) {
	verb := map[bool]string{true: "disable", false: "enable"}[off]
	mark := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.off(off, w.now())
	}
	if !off {
		mark() // what waits is sent before the answer is here
	}
	w.must("POST", "webhooks/endpoints/"+h.endpoint+"/"+verb, nil, nil)
	w.say("%s %s", verb, h.name)
	mark()
}

// off notes that the endpoint is disabled from now on, or enabled.
func (h *host) off(off bool, now time.Time) {
	n := len(h.offs)
	switch is := n > 0 && h.offs[n-1].to.IsZero(); {
	case off && !is:
		h.offs = append(h.offs, gap{from: now})
	case !off && is:
		h.offs[n-1].to = now
	}
}

// redriveHost sends what failed at an endpoint again, and what is stuck if it may.
func (w *world) redriveHost(h *host) {
	a := w.call("POST", "webhooks/redrive", fields{"endpoint_id": h.endpoint, "states": []string{"failed", "stuck"}, "canary": w.chance(2)})
	w.say("redrive %s: %d %s", h.name, a.status, a.code)
	if a.status != 200 && a.code != "CONFLICT" {
		w.fail("redrive of %s: %d %s", h.name, a.status, a.code)
	}
}

// person does what a person may with one delivery: sends it again, resolves or cancels it.
func (w *world) person(d *sentDelivery) {
	if d.id == "" {
		return
	}
	was := w.delivery(d)
	verb, body, may := "resend", fields{"reason": "simulated"}, was.State != "pending" && was.State != "sending" && was.State != "retrying"
	switch {
	case was.State == "stuck" && w.chance(2):
		verb, body = "resolve", fields{"as": []string{"delivered", "retry", "failed"}[w.dice.IntN(3)]}
	case w.chance(3):
		verb, may = "cancel", was.State == "pending" || was.State == "retrying"
	}
	a := w.call("POST", "webhooks/deliveries/"+d.id+"/"+verb, body)
	w.say("%s %s to %s, which is %s: %d %s", verb, d.event, d.host.name, was.State, a.status, a.code)
	if a.status == 200 && verb == "resolve" {
		if d.said = body["as"].(string); d.said == "retry" {
			d.anew = append(d.anew, len(was.Attempts))
		}
	}
	sending := verb == "cancel" && was.State == "sending" // its sender may be dead
	if may != (a.status == 200) && !sending || a.status != 200 && a.code != "CONFLICT" {
		w.fail("%s of %s to %s, which is %s: %d %s", verb, d.event, d.host.name, was.State, a.status, a.code)
	}
}

// delivery reads one, with its attempts.
func (w *world) delivery(d *sentDelivery) (got shownDelivery) {
	w.must("GET", "webhooks/deliveries/"+d.id, nil, &got)
	return got
}
