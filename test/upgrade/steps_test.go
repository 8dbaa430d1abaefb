package upgrade

// steps is a group of a fifo queue that is being worked through. The payload is the key of its publishes.
type steps struct {
	Held   object   // the head, in flight for twelve hours
	Behind []string // in their order
}

func writeSteps(c *caller) *steps {
	if _, ok := c.knows("POST", "/v1/queue/create", object{"name": "steps", "type": "fifo", "content_dedup": true}); !ok {
		return nil
	}
	var ids []string
	for i := range 4 {
		ids = append(ids, c.publish(object{"queue": "steps", "payload": i, "message_group_id": "g"}))
	}
	c.ack("steps", c.receive("steps", 60))
	return &steps{c.receive("steps", 43200), ids[2:]}
}

func (s *steps) check(c *caller) {
	if s == nil {
		return
	}
	if got := c.consume("steps"); len(got) > 0 {
		c.t.Errorf("the group's head is in flight, and there came %v", got)
	}
	if again := c.publish(object{"queue": "steps", "payload": 2, "message_group_id": "g"}); again != s.Behind[0] {
		c.t.Errorf("the same payload again is %s, want %s", again, s.Behind[0])
	}
	order := append(s.Behind, c.publish(object{"queue": "steps", "payload": "late", "message_group_id": "g"}))
	c.ack("steps", s.Held)
	for i, want := range order {
		m := c.receive("steps", 60)
		if m["message_id"] != want {
			c.t.Errorf("of the group came %v, want %s, the number %d behind its head", m, want, i+1)
		}
		if more := c.consume("steps"); len(more) > 0 {
			c.t.Errorf("beside its head the group gave %v", more)
		}
		c.ack("steps", m)
	}
}
