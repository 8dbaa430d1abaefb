package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func checkOrder(t *testing.T, s *server) {
	s.queue(t, "ord", nil)
	publish := func(name string, more object) { s.publish(t, "ord", name, more) }
	publish("z0", nil)
	publish("a0", nil)
	publish("nine", object{"priority": 9})
	publish("five-late", object{"priority": 5, "delay_seconds": 4})
	publish("five", object{"priority": 5})
	publish("one", object{"priority": 1})
	publish("late", object{"delay_seconds": 3})
	publish("later", object{"delay_seconds": 4})
	publish("b0", nil)
	eventually(t, "all are due", 20*time.Second, func() bool {
		return len(items(t, s.do(t, "GET", "/v1/queue/messages/ord?status=delayed", nil))) == 0
	})
	var got []string
	for range 9 {
		got = append(got, text(s.one(t, "ord", nil)["payload"]))
	}
	if want := strings.Fields("nine five five-late one z0 a0 b0 late later"); !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	// In one call too.
	s.queue(t, "ord2", nil)
	for i := range 10 {
		s.publish(t, "ord2", i, object{"priority": (i * 7) % 10})
	}
	last := 10.0
	for _, m := range s.consume(t, "ord2", object{"max_messages": 10}) {
		if p := m["priority"].(float64); p > last {
			t.Errorf("priority %v comes after %v", p, last)
		} else {
			last = p
		}
	}
}

func checkGroups(t *testing.T, s *server) {
	s.queue(t, "grp", nil)
	batch := func(group string, n int) {
		m := make([]object, n)
		for i := range m {
			m[i] = object{"payload": fmt.Sprintf("%s%03d", group, i)}
			if group != "none" {
				m[i]["message_group_id"] = group
			}
		}
		s.do(t, "POST", "/v1/queue/publish_batch", object{"queue": "grp", "messages": m})
	}
	batch("big", 300)
	batch("none", 100)
	batch("small", 5)
	place := map[string][]int{}
	order := map[string][]string{}
	for i := range 30 {
		m := s.one(t, "grp", nil)
		g := strings.TrimRight(text(m["payload"]), "0123456789")
		place[g] = append(place[g], i)
		order[g] = append(order[g], text(m["payload"]))
	}
	if len(place["small"]) != 5 {
		t.Errorf("among 30 received there are %d of the small group's 5: %v", len(place["small"]), place)
	}
	if len(place["none"]) < 10 || len(place["big"]) < 10 {
		t.Errorf("the groups do not take turns: %v", place)
	}
	for g, o := range order {
		if !slices.IsSorted(o) {
			t.Errorf("group %s is out of order: %v", g, o)
		}
	}
	// A fair group has no limit in flight.
	if n := len(s.consume(t, "grp", object{"max_messages": 1000})); n != 375 {
		t.Errorf("consume gives %d of the other 375", n)
	}
}

func checkStats(t *testing.T, s *server) {
	s.queue(t, "st", nil)
	const names = "queue message_count available_count in_flight_count delayed_count dlq_count oldest_message_age_seconds"
	st := s.stats(t, "st")
	fields(t, "stats", st, names)
	is(t, "empty", st, object{"queue": "st", "message_count": 0, "available_count": 0, "in_flight_count": 0, "delayed_count": 0, "dlq_count": 0, "oldest_message_age_seconds": 0})
	s.kill(t, "st", "dead", nil)
	first := s.publish(t, "st", 1, object{"priority": 9})
	s.publish(t, "st", 2, nil)
	s.publish(t, "st", 3, nil)
	s.publish(t, "st", 4, object{"delay_seconds": 600})
	m := s.one(t, "st", nil)
	want := object{"message_count": 4, "dlq_count": 1}
	is(t, "at once", s.stats(t, "st"), want)
	time.Sleep(1100 * time.Millisecond)
	is(t, "which state, a second later", s.stats(t, "st"), with(want, object{"available_count": 2, "in_flight_count": 1, "delayed_count": 1}))
	age := s.stats(t, "st")["oldest_message_age_seconds"].(float64)
	if real := time.Since(stamp(t, first, "published_at")).Seconds(); age < 1 || age > real+0.5 {
		t.Errorf("the oldest is %v s old, by published_at %v", age, real)
	}
	s.settle(t, "ack", "st", m, nil)
	is(t, "after an ack", s.stats(t, "st"), object{"message_count": 3})
	// A lease that ran out is available, with nobody's sweep.
	s.queue(t, "st2", nil)
	s.publish(t, "st2", 1, nil)
	s.one(t, "st2", object{"visibility_timeout": 1})
	eventually(t, "the lease over, it is available", 4*time.Second, func() bool { return s.stats(t, "st2")["available_count"] == 1.0 })
	is(t, "stats", s.stats(t, "st2"), object{"message_count": 1, "in_flight_count": 0})
}
