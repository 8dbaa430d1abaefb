package history

import "strings"

// calls holds what callers were told, and receivers saw, against the rows.
func (c *checker) calls() {
	event := map[int64]string{}    // by row
	claim := map[int64]string{}    // deliveries' claims, by the event's id
	attempts := map[string]int64{} // by the event's id
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Table == "events" && r.New != nil && r.Old == nil {
			event[r.ID] = r.New.Key
		}
	}
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Table == "deliveries" && r.New != nil {
			claim[r.New.Claim] = event[r.New.Other]
		}
	}
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Table == "attempts" && r.Old == nil {
			attempts[claim[r.New.Claim]]++
		}
	}
	posts, once := map[string]int64{}, map[string]int64{}
	known := map[string]bool{}
	for _, id := range event {
		known[id] = true
	}
	alone := map[string]bool{} // what workers have claimed under policy once
	for _, e := range c.Events {
		if e.Do == Claim && e.Policy == "once" {
			alone[e.Thing] = true
		}
	}
	for _, e := range c.Events {
		switch {
		case e.Do == Publish && (e.Answer == New || e.Answer == Replay):
			c.stored(e, "message "+e.Key)
		case e.Do == Send && (e.Answer == New || e.Answer == Replay):
			c.stored(e, "event "+e.Key)
		case e.Do == Post:
			if known[e.Thing] {
				posts[e.Thing]++
			}
			if (known[e.Thing] && e.Policy == "once" || alone[e.Thing]) && !strings.HasPrefix(e.Answer, "5") {
				once[e.Thing]++
			}
		case e.Do == Foreign && e.Answer != "" && !strings.HasSuffix(e.Answer, "NOT_FOUND"):
			c.say("I13", "a call of another project about %s was answered %q", e.Message, e.Answer)
		}
	}
	for thing, n := range posts {
		if c.Ended && n > attempts[thing] {
			c.say("I11", "%s was posted %d times, and has %d attempts", thing, n, attempts[thing])
		}
	}
	for thing, n := range once {
		if n > 1 {
			c.say("I11", "%s was posted %d times under policy once", thing, n)
		}
	}
}

// stored holds an answer of 2xx against what is there.
func (c *checker) stored(e Event, name string) {
	at, ok := c.keys[name]
	switch {
	case !ok:
		c.say("I1", "%s was answered %s and is not there", name, e.Answer)
	case at > e.Answered/1000+clockGrain:
		c.say("I1", "%s was answered %d µs before it was stored", name, at-e.Answered/1000)
	}
}
