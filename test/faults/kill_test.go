package faults

import (
	"testing"
	"time"
)

// H-Q19: a server's process is killed under load, again and again: everything answered 2xx is there after the restart, each event is delivered, and a
// receiver that dedups by our key sees one effect of each.
func TestKilledUnderLoad(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		s, r := spawn(t, store), receive(t, nil)
		scene(t, s.client, r)
		l := startLoad(t, s.client, 4, true)
		for range size(3, 30) {
			l.more(50)
			s.kill()
			s = spawn(t, store)
			l.target.Store(s.client)
		}
		l.more(50)
		l.check(s.client, r)
		events := len(s.allEvents(t))
		if keys, _ := r.effects(); keys != events {
			t.Errorf("the receiver saw %d effects of %d events", keys, events)
		}
		if events < len(l.events) {
			t.Errorf("%d events are there, %d were answered", events, len(l.events))
		}
	})
}

// allEvents lists every event.
func (c *client) allEvents(t testing.TB) (ids []string) {
	t.Helper()
	for cursor := ""; ; {
		a := c.must(t, "GET", "/v1/webhooks/events?limit=500&cursor="+cursor, nil)
		for _, e := range a.items("items") {
			ids = append(ids, e["event_id"].(string))
		}
		next, more := a.data["next_cursor"].(string)
		if !more {
			return ids
		}
		cursor = next
	}
}

// H-Q02, H-Q03: the server is killed with leases of many lengths handed out. A lease of 60 s is not handed out again before its end, its old receipt
// still acks; a short one is back in its time, by the database's clock, though nobody says so.
func TestLeasesOverAKill(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		s := spawn(t, store)
		short := size(2.0, 5.0)
		for _, q := range []string{"long", "short"} {
			s.must(t, "POST", "/v1/queue/create", object{"name": q})
			s.must(t, "POST", "/v1/queue/publish_batch", object{"queue": q, "messages": []object{{"payload": 1}, {"payload": 2, "message_group_id": "g"}}})
		}
		held := s.consume(t, "long", 10, 60, 0)
		lost := s.consume(t, "short", 10, short, 0)
		if len(held) != 2 || len(lost) != 2 {
			t.Fatalf("received %d and %d", len(held), len(lost))
		}
		s.kill()
		s = spawn(t, store)
		until := clock(t, lost[0]["visible_until"])
		due := until // from when on somebody could receive them
		if now := time.Now(); now.After(due) {
			due = now
		}
		back := map[string]bool{}
		for len(back) < 2 {
			if time.Now().After(due.Add(20 * time.Second)) {
				t.Fatalf("%d of 2 short leases are back 20 s past their end", len(back))
			}
			for _, m := range s.consume(t, "short", 10, 60, 1) {
				back[m["message_id"].(string)] = true
				if m["delivery_count"].(float64) != 2 {
					t.Errorf("received %v times", m["delivery_count"])
				}
				if early := time.Until(until); early > 100*time.Millisecond {
					t.Errorf("handed out %v before its lease's end", early)
				}
			}
		}
		if late := time.Since(due); late > 10*time.Second {
			t.Errorf("the short leases were back %v past their end", late)
		}
		for end := clock(t, held[0]["visible_until"]); long && time.Until(end) > time.Second; {
			if m := s.consume(t, "long", 10, 60, min(19, time.Until(end).Seconds()-0.5)); len(m) > 0 {
				t.Fatalf("handed out %v before its lease's end", time.Until(end))
			}
		}
		if m := s.consume(t, "long", 10, 60, 0); len(m) > 0 {
			t.Errorf("%d messages were handed out though their lease of 60 s is not over", len(m))
		}
		s.ack(t, "long", held)
	})
}

func clock(t testing.TB, v any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, v.(string))
	if err != nil {
		t.Fatal(err)
	}
	return at
}
