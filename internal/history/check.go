package history

import (
	"fmt"
	"slices"
	"time"
)

// Fault is a sentence about what must never be, under the invariant that it breaks.
type Fault struct {
	Invariant string
	What      string
}

func (f Fault) String() string { return f.Invariant + ": " + f.What }

// History is all there is of a store from its beginning.
type History struct {
	Events []Event
	Rows   []Row
	Ended  bool // the faults are over, and it had time to come to rest
}

const (
	clockGrain = 1000 // microseconds: what a store's trigger reads of the clock may be so much behind
	mostTime   = 20 * time.Second
)

// checker holds a history by what its sentences ask for.
type checker struct {
	History
	faults   []Fault
	txs      map[int64][]*Row // each transaction's changes
	messages map[int64]*State // as they are at the row that is looked at
	claims   map[int64]*State
	groups   map[int64]*State
	redrives map[int64]*State
	delivery map[int64]bool // claims that are deliveries'
	keys     map[string]int64
	owner    map[int64]string // of messages with a publish key, the key
}

// Check gives what breaks an invariant, each once.
func Check(h History) []Fault {
	c := &checker{
		History: h, txs: map[int64][]*Row{}, messages: map[int64]*State{}, claims: map[int64]*State{}, groups: map[int64]*State{}, redrives: map[int64]*State{},
		delivery: map[int64]bool{}, keys: map[string]int64{}, owner: map[int64]string{},
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		c.txs[r.Tx] = append(c.txs[r.Tx], r)
		switch {
		case r.New == nil:
		case r.Table == "deliveries":
			c.delivery[r.New.Claim] = true
		case r.Table == "publish_keys":
			c.owner[r.New.Other] = r.New.Key
		}
	}
	for i := range c.Rows {
		c.row(&c.Rows[i])
	}
	c.calls()
	c.late()
	c.apart()
	c.linearizable()
	c.end()
	return c.faults
}

func (c *checker) say(invariant, format string, args ...any) {
	c.faults = append(c.faults, Fault{invariant, fmt.Sprintf(format, args...)})
}

// in reports whether a transaction has a change that is so.
func (c *checker) in(tx int64, is func(*Row) bool) bool { return slices.ContainsFunc(c.txs[tx], is) }

func (c *checker) row(r *Row) {
	old, now := r.Old, r.New
	switch r.Table {
	case "messages":
		c.message(r, old, now)
		keep(c.messages, r.ID, now)
	case "claims":
		if old != nil && now != nil {
			c.claim(r, old, now)
		}
		if old != nil && now == nil && held(old.State) {
			c.say("I8", "the held key of claim %d was forgotten", r.ID)
		}
		keep(c.claims, r.ID, now)
	case "groups":
		if now != nil && now.InFlight > now.Slots {
			c.say("I15", "group %d has %d in flight; it has %d slots", r.ID, now.InFlight, now.Slots)
		}
		keep(c.groups, r.ID, now)
	case "redrives":
		keep(c.redrives, r.ID, now)
	case "events":
		if old == nil && !c.in(r.Tx, func(o *Row) bool { return o.Table == "deliveries" && o.New.Other == r.ID && c.whole(o) }) {
			c.say("I9", "event %d was stored without its delivery, the claim and the message of that", r.ID)
		}
		if old == nil {
			c.key(r, "event "+now.Key)
		}
	case "publish_keys":
		if old == nil && !c.in(r.Tx, func(o *Row) bool { return o.Table == "messages" && o.Old == nil && o.ID == now.Other }) {
			c.say("I9", "the publish key %s was stored without its message %d", now.Key, now.Other)
		}
		if old == nil {
			c.key(r, "message "+now.Key)
		}
	}
}

// key notes when a key was stored, which happens once.
func (c *checker) key(r *Row, name string) {
	if at, ok := c.keys[name]; ok {
		c.say("I4", "%s was stored twice, at %d and %d", name, at, r.At)
	}
	c.keys[name] = r.At
}

// whole reports whether a delivery came with its claim and its message.
func (c *checker) whole(d *Row) bool {
	return c.in(d.Tx, func(o *Row) bool { return o.Table == "claims" && o.Old == nil && o.ID == d.New.Claim }) &&
		c.in(d.Tx, func(o *Row) bool { return o.Table == "messages" && o.Old == nil && o.New.Claim == d.New.Claim })
}

func keep(of map[int64]*State, id int64, now *State) {
	if now == nil {
		delete(of, id)
		return
	}
	of[id] = now
}

func (c *checker) message(r *Row, old, now *State) {
	switch {
	case old == nil:
	case now == nil:
		c.gone(r, old)
	default:
		received := now.Lease > old.Lease
		if now.Lease != old.Lease && now.Lease != old.Lease+1 {
			c.say("I2", "message %d went from lease %d to %d", r.ID, old.Lease, now.Lease)
		}
		early := old.Vis - r.At
		if received && early > clockGrain && old.Leased != 0 {
			c.say("I2", "message %d was leased %d µs before the lease of another was over", r.ID, early)
		}
		if received && early > clockGrain && old.Leased == 0 {
			c.say("I14", "message %d was received %d µs before it was due by the database's clock", r.ID, early)
		}
		if received && old.Dead == 0 && old.Receives >= old.Max {
			c.say("I3", "message %d was received again after %d receives; at most %d", r.ID, old.Receives, old.Max)
		}
		if now.Origin != old.Origin {
			c.say("I8", "the origin of message %d went from %d to %d", r.ID, old.Origin, now.Origin)
		}
		if old.Dead == 0 && now.Dead != 0 && now.Claim != 0 && !c.becomes(r.Tx, now.Claim, "failed", "stuck") {
			c.say("I6", "message %d was dead-lettered while its key was %s", r.ID, c.stateOf(now.Claim))
		}
	}
}

// gone looks at a message's end.
func (c *checker) gone(r *Row, old *State) {
	if old.Claim != 0 && !c.becomes(r.Tx, old.Claim, "done") {
		c.say("I6", "message %d was gone while its key was %s", r.ID, c.stateOf(old.Claim))
		return
	}
	key, published := c.owner[r.ID]
	if published && !slices.ContainsFunc(c.Events, func(e Event) bool {
		removes := (e.Do == Ack || e.Settle) && e.Thing == key || e.Do == Resolve && e.Key == key // by a named person
		return removes && e.Called/1000 <= r.At+clockGrain
	}) {
		c.say("I1", "message %d, published as %s, was gone and nobody had acked it", r.ID, key)
	}
}

func (c *checker) stateOf(claim int64) string {
	if s := c.claims[claim]; s != nil {
		return s.State
	}
	return "not there"
}

// becomes reports whether a claim is in one of the states, or comes to be within the transaction.
func (c *checker) becomes(tx, claim int64, states ...string) bool {
	return slices.Contains(states, c.stateOf(claim)) ||
		c.in(tx, func(o *Row) bool {
			return o.Table == "claims" && o.ID == claim && o.New != nil && slices.Contains(states, o.New.State)
		})
}

// acts are the notes of what a named person did.
var acts = []string{"resolved", "reopened", "resent", "cancelled"}

func (c *checker) claim(r *Row, old, now *State) {
	if now.Fence != old.Fence && now.Fence != old.Fence+1 {
		c.say("I5", "claim %d went from fence %d to %d", r.ID, old.Fence, now.Fence)
	}
	if early := old.Until - r.At; now.Fence > old.Fence && held(old.State) && early > clockGrain {
		c.say("I5", "claim %d was granted %d µs before the lease of its holder was over", r.ID, early)
	}
	if old.State == now.State {
		return
	}
	late := old.State == "stuck" && now.State == "done" && now.Fence == old.Fence
	byHand := c.in(r.Tx, func(o *Row) bool {
		return o.Table == "claim_notes" && o.New != nil && o.New.Claim == r.ID && slices.Contains(acts, o.New.What)
	})
	switch {
	case old.State == "done":
		c.say("I5", "claim %d was done and became %s", r.ID, now.State)
	case (old.State == "failed" || old.State == "stuck") && !late && !byHand:
		c.say("I5", "claim %d was %s and became %s by nobody's act", r.ID, old.State, now.State)
	}
	if c.delivery[r.ID] && held(old.State) && now.State == "done" {
		if !c.in(r.Tx, func(o *Row) bool { return o.Table == "attempts" && o.New.Claim == r.ID && o.New.Fence == now.Fence }) {
			c.say("I10", "claim %d is done without its attempt", r.ID)
		}
		if !c.in(r.Tx, func(o *Row) bool { return o.Table == "messages" && o.New == nil && o.Old.Claim == r.ID }) {
			c.say("I10", "claim %d is done and its message was not settled with it", r.ID)
		}
	}
}

// end looks at what is left.
func (c *checker) end() {
	for id, r := range c.redrives {
		if c.Ended && r.Total != r.Moved+r.Left {
			c.say("I12", "redrive %d took out %d; it moved %d and left %d", id, r.Total, r.Moved, r.Left)
		}
	}
	if !c.Ended {
		return
	}
	for id, m := range c.messages {
		if m.Leased != 0 || m.Dead == 0 {
			c.say("I16", "message %d still waits or is in flight", id)
		}
	}
	for id, k := range c.claims {
		if !closed(k.State) {
			c.say("I16", "claim %d is still %s", id, k.State)
		}
	}
	for id, g := range c.groups {
		if g.InFlight != 0 {
			c.say("I16", "group %d still has %d in flight", id, g.InFlight)
		}
	}
}
