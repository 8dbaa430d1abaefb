package history

// late holds what was said too late against the rows: words under a fence that another has, and acts by a receipt that is not the newest.
func (c *checker) late() {
	c.fenced()
	c.older()
}

// fenced sees that each word which was answered as fenced out is recorded with its own key. A record of which nobody knows the key may be anybody's.
func (c *checker) fenced() {
	keys := map[int64]string{} // of workers' claims: the key of a message is that of its work
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Table == "messages" && r.New != nil && r.New.Claim != 0 && c.owner[r.ID] != "" {
			keys[r.New.Claim] = c.owner[r.ID]
		}
	}
	recorded, anybodys := map[string]int64{}, int64(0)
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Table != "claim_notes" || r.New == nil || r.Old != nil || r.New.What != "fenced" {
			continue
		}
		switch key := keys[r.New.Claim]; {
		case key != "":
			recorded[key]++
		case !c.delivery[r.New.Claim]: // a delivery's holder is no caller, and is told nothing that stands here
			anybodys++
		}
	}
	told := map[string]int64{}
	for _, e := range c.Events {
		if (e.Do == Complete || e.Do == Fail || e.Do == Begin) && e.Answer == Fenced {
			told[e.Key]++
		}
	}
	for _, key := range sorted(told) {
		missing := told[key] - recorded[key]
		if missing <= 0 {
			continue
		}
		some := min(missing, anybodys)
		anybodys -= some
		if missing -= some; missing > 0 {
			c.say("I7", "%d words about %s, of holders that were fenced out, are not recorded", missing, key)
		}
	}
}

// older sees that a receipt changes nothing once somebody was given a newer one. Which is newer the rows say: a lease is known by its end.
func (c *checker) older() {
	type end struct {
		key string
		at  int64
	}
	leases := map[end]int64{} // lease numbers
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Table == "messages" && r.Old != nil && r.New != nil && r.New.Lease > r.Old.Lease {
			leases[end{c.owner[r.ID], r.New.Vis}] = r.New.Lease
		}
	}
	number := map[string]int64{}     // of receipts
	received := map[string][]Event{} // by the message
	for _, e := range c.Events {
		if n := leases[end{e.Thing, e.Until}]; e.Do == Receive && n > 0 {
			number[e.Receipt] = n
			received[e.Message] = append(received[e.Message], e)
		}
	}
	for _, e := range c.Events {
		acts := e.Answer == Applied && (e.Do == Ack || e.Do == Nack || e.Do == Release) || e.Answer == Granted && e.Do == Claim
		n := number[e.Receipt]
		if !acts || n == 0 {
			continue
		}
		for _, r := range received[e.Message] {
			if newer := number[r.Receipt]; newer > n && r.Answered < e.Called {
				c.say("I2", "message %s: %s by the receipt of lease %d, when somebody had that of lease %d", e.Message, e.Do, n, newer)
				break
			}
		}
	}
}
