package simulation

import (
	"encoding/json"
	"time"
)

// seen is a message as the server shows it.
type seen struct {
	ID       string          `json:"message_id"`
	Payload  json.RawMessage `json:"payload"`
	Status   string
	Count    int       `json:"delivery_count"`
	Receipt  string    `json:"receipt_handle"`
	Visible  time.Time `json:"visible_at"`
	Until    time.Time `json:"visible_until"`
	Priority int
	Group    string `json:"message_group_id"`
	Source   string `json:"source_queue"`
}

func (s seen) name() string {
	var p struct{ Name string }
	json.Unmarshal(s.Payload, &p)
	return p.Name
}

// look holds all that the server shows of a queue against the model: each message is where it must be, once, and nothing else is there.
func (w *world) look(q *queueModel) {
	if w.process == nil {
		return
	}
	live, dead := w.living(q, false), w.living(q, true)
	if w.unsure(q) {
		w.say("look %s: between two states", q.name)
		return
	}
	var stats struct {
		Messages  int `json:"message_count"`
		Available int `json:"available_count"`
		InFlight  int `json:"in_flight_count"`
		Delayed   int `json:"delayed_count"`
		Dead      int `json:"dlq_count"`
	}
	w.must("GET", "queue/stats/"+q.name, nil, &stats)
	if stats.Messages != len(live) || stats.Dead != len(dead) || stats.Available+stats.InFlight+stats.Delayed != stats.Messages {
		w.fail("stats of %s are %+v; there are %d messages and %d dead letters", q.name, stats, len(live), len(dead))
	}
	here := w.shown(q, "queue/messages/"+q.name+"?", live)
	for _, m := range live {
		s, ok := here[m.name]
		if !ok {
			continue
		}
		if s.Status != w.state(m) || s.Count != m.receives || !s.Visible.Equal(m.visible) {
			w.fail("message %s of %s is %s since %s after %d receives; it must be %s since %s after %d", m.name, q.name, s.Status, s.Visible.Sub(w.begun), s.Count,
				w.state(m), m.visible.Sub(w.begun), m.receives)
		}
	}
	for _, s := range w.shown(q, "queue/dlq/list/"+q.name+"?", dead) {
		if s.Source != q.name {
			w.fail("dead letter %s has the source %q; it is of %s", s.name(), s.Source, q.name)
		}
	}
	w.say("look %s: %d messages, %d dead letters", q.name, len(live), len(dead))
}

// shown reads a list and holds it against who must be in it.
func (w *world) shown(q *queueModel, path string, want []*message) map[string]seen {
	got := map[string]seen{}
	for _, s := range list[seen](w, path) {
		if _, twice := got[s.name()]; twice {
			w.fail("%s shows %s twice", path, s.name())
		}
		got[s.name()] = s
	}
	for _, m := range want {
		s, ok := got[m.name]
		switch {
		case !ok:
			w.fail("message %s of %s is lost: %s does not show it", m.name, q.name, path)
		case m.id == "":
			m.id = s.ID // the answer to its publish was lost
		case m.id != s.ID:
			w.fail("message %s of %s had the id %s and has %s", m.name, q.name, m.id, s.ID)
		}
	}
	if len(got) > len(want) {
		w.fail("%s shows %d messages; %d must be there", path, len(got), len(want))
	}
	return got
}
