package queue

import (
	"strconv"
	"time"
)

// Row is what the rules need to know of a message. The zero time means none.
type Row struct {
	ID          int64
	Project     int64
	QueueID     int64
	GroupID     int64 // 0: ungrouped
	Priority    int
	Place       int64 // in its group, of a fifo queue: the lowest is the group's head, which alone can be received; 0: of a standard queue
	Receives    int   // that ended with nothing recorded, or are under way
	MaxReceives int
	Lease       int       // the number of the newest receive; only grows
	Leased      bool      // a receive took it and nothing has ended that; a group's slot is held as long
	Open        bool      // the newest receipt still acts
	VisibleAt   time.Time // the end of its delay or its lease
	PublishedAt time.Time
	OriginAt    time.Time
	ReceivedAt  time.Time
	ExpiresAt   time.Time
	Retention   time.Duration
	ClaimID     int64 // of the key that it carries; 0 if none
	SourceQueue int64 // dead-lettered: where it goes back to
	SourceGroup int64
	DeadAt      time.Time
	LastError   string
}

// Change is what a rule asks the store to do beside saving the row.
type Change struct {
	Delete   bool
	Slot     int       // to add to the group's in-flight count (of the row's group before the rule)
	Next     bool      // it has left its fifo group (that before the rule), whose next message may have its turn
	ToEnd    bool      // it is back in a fifo group, at the end: the store gives it a place after all that are there
	Wake     time.Time // the group has work from then on; zero: nothing new
	CloseKey bool      // dead-lettered for good reason: its open key is closed in the same transaction
	Dead     bool      // the row moved to the dead-letter queue
}

// Unlimited is the MaxReceives of a message that is never dead-lettered: one published straight into a DLQ.
const Unlimited = 1<<15 - 1

// New gives the row of a message published at now to q. Of a fifo queue its id is its place too.
func (p *Publish) New(now time.Time, q Queue, id, group int64) Row {
	r := Row{
		ID: id, Project: p.Project, QueueID: q.ID, GroupID: group, Priority: p.Priority, MaxReceives: q.MaxReceives,
		VisibleAt: now.Add(p.Delay), PublishedAt: now, OriginAt: p.OriginAt, Retention: q.Retention,
	}
	if q.IsDLQ {
		r.MaxReceives = Unlimited
	}
	if q.FIFO {
		r.Place = id
	}
	if r.OriginAt.IsZero() {
		r.OriginAt = now
	}
	r.ExpiresAt = r.VisibleAt.Add(q.Retention)
	return r
}

// CanReceive reports whether the message can be handed out at now.
func (r *Row) CanReceive(now time.Time) bool {
	return !r.VisibleAt.After(now) && (r.Receives < r.MaxReceives || !r.DeadAt.IsZero())
}

// Receive hands the message out under a new lease.
func (r *Row) Receive(now time.Time, lease time.Duration) Change {
	c := Change{Slot: 1}
	if r.Leased {
		c.Slot = 0
	}
	r.Lease++
	r.Leased, r.Open = true, true
	if r.counts() {
		r.Receives++
	}
	r.VisibleAt, r.ReceivedAt = now.Add(lease), now
	return c
}

// counts reports whether receives of it count: not once it is dead, nor in a queue that is a DLQ.
func (r *Row) counts() bool { return r.DeadAt.IsZero() && r.MaxReceives != Unlimited }

// lastTry reports whether the message has no receive left.
func (r *Row) lastTry() bool { return r.counts() && r.Receives >= r.MaxReceives }

// unacked is why a message in its last try is dead-lettered.
func (r *Row) unacked() string {
	return "received " + strconv.Itoa(r.Receives) + " times without an ack"
}

// Status of the message at now.
func (r *Row) Status(now time.Time) Status {
	switch {
	case r.Leased && (r.VisibleAt.After(now) || r.lastTry()):
		return InFlight // a lease over in its last try counts as in flight until it is dead-lettered
	case r.VisibleAt.After(now):
		return Delayed
	}
	return Available
}

// Group is what Extend needs to know of the row's group.
type Group struct {
	Free     bool // it has a free slot
	Disabled bool
}

// DLQ is where a queue's dead letters go.
type DLQ struct {
	ID        int64
	Retention time.Duration
}

// Settle applies an act of a receipt at now.
func (r *Row) Settle(now time.Time, s Settle, g Group, dlq DLQ) (Settled, Change) {
	if s.Lease != 0 && (s.Lease != r.Lease || !r.Open) {
		return Settled{Reason: LeaseLost}, Change{}
	}
	if !r.Open {
		return Settled{Reason: NotInFlight}, Change{}
	}
	var c Change
	switch s.Verb {
	case Ack:
		return Settled{Applied: true}, r.Remove()
	case Extend:
		return r.extend(now, s.Visibility, g)
	case Nack:
		if (s.DeadLetter || r.lastTry()) && r.counts() {
			why := s.Error
			if why == "" && !s.DeadLetter {
				why = r.unacked()
			}
			c = r.DeadLetter(now, dlq, why)
			return Settled{Applied: true, Status: Dead, VisibleAt: now}, c
		}
		c = r.free()
		delay := s.Delay
		if !s.HasDelay {
			delay = Backoff(r.Receives)
		}
		if s.Error != "" && r.counts() {
			r.LastError = s.Error
		}
		r.VisibleAt = now.Add(delay)
	case Release:
		c = r.free()
		if r.counts() {
			r.Receives--
		}
		r.VisibleAt = now.Add(s.Delay)
	}
	c.Wake = r.VisibleAt
	return Settled{Applied: true, Status: r.Status(now), VisibleAt: r.VisibleAt}, c
}

// MayCarry reports whether the message, nil if there is none, may carry the key of a claim of project for who has the receipt of lease: what
// becomes of the one then reaches the other. lost says that the receipt acts no more; an error, that the message is not there, is a dead
// letter, or carries another key.
func (r *Row) MayCarry(project int64, lease int, claim int64) (lost bool, err error) {
	switch {
	case r == nil || r.Project != project:
		return false, ErrMessageNotFound
	case lease != r.Lease || !r.Open:
		return true, nil
	case !r.DeadAt.IsZero():
		return false, isDead()
	case r.ClaimID != 0 && r.ClaimID != claim:
		return false, carriesAnother()
	}
	return false, nil
}

// Lapsed reports whether the newest lease is over, swept or not: to extend it the rules must know the row's group. It
// was swept though now, of a transaction that waited, may be before that, and though the message waits for another time since.
func (r *Row) Lapsed(now time.Time) bool { return !r.Leased || !r.VisibleAt.After(now) }

func (r *Row) extend(now time.Time, by time.Duration, g Group) (Settled, Change) {
	lost := Settled{Reason: LeaseLost}
	end := r.ReceivedAt.Add(MaxVisibility)
	lapsed := r.Lapsed(now)
	if !now.Before(end) || lapsed && r.GroupID != 0 && (g.Disabled || !r.Leased && !g.Free) {
		return lost, Change{}
	}
	var c Change
	if !r.Leased {
		r.Leased, c.Slot = true, 1
	}
	r.VisibleAt = now.Add(by)
	if r.VisibleAt.After(end) {
		r.VisibleAt = end
	}
	return Settled{Applied: true, Status: r.Status(now), VisibleAt: r.VisibleAt}, c
}

// free ends the receipt and gives back the slot.
func (r *Row) free() Change {
	var c Change
	if r.Leased {
		c.Slot = -1
	}
	r.Leased, r.Open = false, false
	return c
}

// Remove deletes the message wherever it is, and gives back the slot it holds.
func (r *Row) Remove() Change {
	c := r.free()
	c.Delete, c.Next = true, r.Place != 0 && r.GroupID != 0
	return c
}

// DeadLetter moves the message to its queue's DLQ. Its key, if it has an open one, is to be closed with it.
func (r *Row) DeadLetter(now time.Time, dlq DLQ, why string) Change {
	c := r.free()
	c.Dead, c.CloseKey, c.Next = true, r.ClaimID != 0, r.Place != 0 && r.GroupID != 0
	r.SourceQueue, r.SourceGroup = r.QueueID, r.GroupID
	r.QueueID, r.GroupID = dlq.ID, 0
	r.DeadAt, r.VisibleAt, r.ExpiresAt = now, now, now.Add(dlq.Retention)
	if why != "" {
		r.LastError = why
	}
	return c
}

// Lapse is the sweep of a lease that ran out: a group's slot comes back, and a message in its last try is
// dead-lettered. It reports whether it did anything. The receipt stays open, save when dead-lettered.
func (r *Row) Lapse(now time.Time, dlq DLQ) (Change, bool) {
	if !r.Leased || r.VisibleAt.After(now) || !r.DeadAt.IsZero() {
		return Change{}, false
	}
	if r.lastTry() {
		return r.DeadLetter(now, dlq, r.unacked()), true
	}
	r.Leased = false
	return Change{Slot: -1, Wake: now}, true
}

// Redrive sends a dead letter back where it came from: count zero, history kept, its retention anew; in a fifo group to the end.
func (r *Row) Redrive(now time.Time) Change {
	r.QueueID, r.GroupID = r.SourceQueue, r.SourceGroup
	r.SourceQueue, r.SourceGroup, r.DeadAt = 0, 0, time.Time{}
	r.Receives, r.Leased, r.Open = 0, false, false
	r.VisibleAt, r.ExpiresAt = now, now.Add(r.Retention)
	return Change{Wake: now, ToEnd: r.Place != 0}
}

// Backoff is how long a nacked message waits that names no delay: 2^(receives-1) seconds, at most 300.
func Backoff(receives int) time.Duration {
	if receives > 9 {
		return 300 * time.Second
	}
	return min(300*time.Second, time.Second<<max(0, receives-1))
}
