package queue

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"time"
)

// RedriveState says how far a redrive is.
type RedriveState string

const (
	Running   RedriveState = "running"
	Completed RedriveState = "completed"
	Cancelled RedriveState = "cancelled"
)

// Redrive is the moving of dead letters back to where they came from, in the background, over restarts.
// Moved + Left never exceeds Total, and is Total at the end: none is lost.
type Redrive struct {
	ID         int64
	Project    int64
	Queue      string          // of messages: the source queue; empty for webhook deliveries
	Filter     json.RawMessage // as the call gave it
	Rate       float64         // a second; 0: as fast as it goes
	DryRun     bool            // nothing moves: Left says what would be left, and Remaining what would move
	State      RedriveState
	Total      int64 // dead letters that it concerned at its start
	Moved      int64
	Left       int64 // looked at and left: no source, its key stuck under policy once, its canary refused, taken by somebody else, or cancelled
	CreatedAt  time.Time
	FinishedAt time.Time
}

// Remaining gives how many it has still to look at; of a dry run, how many a redrive begun in its stead would move.
func (r *Redrive) Remaining() int64 { return r.Total - r.Moved - r.Left }

// Counted keeps the numbers true once more was found than was counted: a dead letter whose transaction committed after the count.
func (r *Redrive) Counted() { r.Total = max(r.Total, r.Moved+r.Left) }

// End ends it. What it concerned and did not move, because it was cancelled or because somebody else took it meanwhile, is left.
func (r *Redrive) End(now time.Time, s RedriveState) {
	r.Counted()
	r.State, r.FinishedAt, r.Left = s, now, r.Total-r.Moved
}

// RedriveMemory is how long a redrive that is over is kept for who asks what came of it.
const RedriveMemory = 90 * 24 * time.Hour

// RedriveCall begins a redrive of a queue's dead letters.
type RedriveCall struct {
	Project int64
	Queue   string  // the source
	IDs     []int64 // these alone; empty: all that are there now
	Max     int64   // 0: no limit
	Rate    float64
	DryRun  bool
	Who     string
}

// RedriveFilter is what a redrive of a queue's dead letters concerns, as its row keeps it.
type RedriveFilter struct {
	IDs []int64 `json:"message_ids,omitempty"` // sorted; these alone
	Max int64   `json:"max_messages,omitempty"`
	// Sourceless is how many there were of no source: they are left, and were counted so at the start.
	Sourceless int64 `json:"sourceless,omitempty"`
	Through    int64 `json:"through,omitempty"` // the youngest dead letter at the start: nothing is looked for behind it
}

// Filter gives what the call concerns.
func (c *RedriveCall) Filter() RedriveFilter {
	return RedriveFilter{IDs: slices.Compact(slices.Sorted(slices.Values(c.IDs))), Max: c.Max}
}

// Known keeps of the named dead letters those that are there: none, where none is, which is not all.
func (f *RedriveFilter) Known(ids []int64) {
	if f.IDs = ids; len(ids) == 0 {
		f.IDs = []int64{0}
	}
}

// Next gives the named ones after the one looked at last.
func (f *RedriveFilter) Next(last int64, limit int) []int64 {
	from, _ := slices.BinarySearch(f.IDs, last+1)
	return f.IDs[from:min(len(f.IDs), from+limit)]
}

// Last gives up to which dead letter it looks; one begun by a program that did not keep that has no such end.
func (f *RedriveFilter) Last() int64 {
	if f.Through == 0 {
		return math.MaxInt64
	}
	return f.Through
}

// Room gives how many of at most limit it may still move or leave.
func (f *RedriveFilter) Room(r *Redrive, limit int) int {
	if f.Max == 0 {
		return limit
	}
	return int(max(0, min(int64(limit), f.Max-(r.Moved+r.Left-f.Sourceless))))
}

// Redriver moves dead letters.
type Redriver interface {
	// StartRedrive begins one, or with DryRun only counts. ErrConflict while another of the queue is running.
	StartRedrive(ctx context.Context, c RedriveCall) (Redrive, error)
	Redrive(ctx context.Context, project, id int64) (Redrive, error)
	Redrives(ctx context.Context, project int64, p Page) ([]Redrive, error)
	// CancelRedrive stops one; what it had not moved is left.
	CancelRedrive(ctx context.Context, project, id int64) (Redrive, error)
	// StepRedrives moves at most limit dead letters of running redrives (webhooks' too), each as its rate allows, with the keys and the
	// progress in the same transaction. Any server may call it at any time. It answers how many it moved or left, and when
	// it is worth to call again (zero: nothing is running).
	StepRedrives(ctx context.Context, limit int) (moved int, again time.Duration, err error)
}

// Pace holds a redrive to its rate, whoever moves it on: it is kept in the redrive's row, so that the rate is that of all servers
// together and no restart gives anything away.
type Pace struct {
	Rate float64   // a second; 0: as fast as it goes
	Used time.Time // up to when the rate is used up
}

// paceAhead is the most that a pace can be used up beyond now: by another server whose transaction began a little later.
const paceAhead = 30 * time.Second

// NewPace begins one at now: the first may go at once.
func NewPace(now time.Time, rate float64) Pace {
	p := Pace{rate, now}
	if rate > 0 {
		p.Used = now.Add(-p.per(1))
	}
	return p
}

// per gives how long n take: 73 years at most, which fit.
func (p *Pace) per(n int) time.Duration {
	return time.Duration(min(math.Round(float64(n)/p.Rate*1e9), 1<<61))
}

// grain is what a store may round a time by.
const grain = time.Microsecond

// Allowed gives how many may be moved at now, at most limit. What a second did not use is lost: a redrive that was held up does not catch up
// in one burst.
func (p *Pace) Allowed(now time.Time, limit int) int {
	if p.Rate <= 0 {
		return limit
	}
	if oldest := now.Add(-max(time.Second, p.per(1))); p.Used.Before(oldest) {
		p.Used = oldest
	}
	if p.Used.After(now.Add(paceAhead + p.per(1))) {
		p.Used = now // the clock was set back
	}
	return max(0, min(limit, int((now.Sub(p.Used)+grain).Seconds()*p.Rate)))
}

// Spend says that n were moved.
func (p *Pace) Spend(n int) {
	if p.Rate > 0 {
		p.Used = p.Used.Add(p.per(n))
	}
}

// Wait gives how long it is until the next may go; 0: it may now.
func (p *Pace) Wait(now time.Time) time.Duration {
	if p.Rate <= 0 {
		return 0
	}
	return max(0, p.Used.Add(p.per(1)).Sub(now))
}
