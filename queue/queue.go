package queue

import (
	"regexp"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

// Sentinels of this package, for errors.Is.
var (
	ErrQueueNotFound   = fault.Sentinel(fault.QueueNotFound)
	ErrMessageNotFound = fault.Sentinel(fault.MessageNotFound)
	ErrQueueExists     = fault.Sentinel(fault.QueueExists)
	ErrQueueNotEmpty   = fault.Sentinel(fault.QueueNotEmpty)
	ErrKeyReused       = fault.Sentinel(fault.IdempotencyKeyReused)
	ErrNotFound        = fault.Sentinel(fault.NotFound)
	ErrConflict        = fault.Sentinel(fault.Conflict)
)

// Defaults and limits of a queue.
const (
	DefaultMaxReceives = 3
	MaxMaxReceives     = 1000
	DefaultVisibility  = 300 * time.Second
	MaxVisibility      = 12 * time.Hour // of one lease, however often it is extended
	DefaultRetention   = 30 * 24 * time.Hour
	MaxRetention       = 30 * 24 * time.Hour
	DefaultDedupWindow = 24 * time.Hour
	MinDedupWindow     = time.Minute
	MaxDedupWindow     = 45 * 24 * time.Hour
	MaxDelay           = 7 * 24 * time.Hour
	MaxPriority        = 9
	MaxPayload         = 256 << 10 // bytes, as sent
	MaxHeaders         = 20
	MaxHeaderBytes     = 8 << 10
	MaxBatch           = 1000
	MaxReceiveBytes    = 8 << 20 // of one receive's bodies
	MaxWait            = 20 * time.Second
	MaxGroupID         = 128
	MaxKey             = 255
)

// Deliveries is the name of the server's own queues of webhook deliveries and of those that are dead: no client's queue
// can have it, since a name does not begin with "_".
const (
	Deliveries     = "_deliveries"
	DeadDeliveries = "_deliveries-dlq"
)

// Queue is a named queue of a project.
type Queue struct {
	ID             int64
	Project        int64
	Name           string
	DLQ            string // the dead-letter queue's name; empty for a queue that is one
	IsDLQ          bool   // some queue dead-letters into it: it dead-letters nothing further and counts nothing
	FIFO           bool   // of type fifo: in order within a group, one in flight of each; decided when it is made
	MaxReceives    int
	Visibility     time.Duration
	Retention      time.Duration
	DedupWindow    time.Duration
	ContentDedup   bool // a publish without a key has its payload for one: see [Publish.ByContent]
	RequireReceipt bool
	Paused         bool
	CreatedAt      time.Time
}

// Spec names a queue to make, or the settings to change. A nil field was not given: the default, or as it is.
type Spec struct {
	Project        int64
	Name           string
	FIFO           *bool // of a queue to make; it cannot be changed
	DLQ            *string
	MaxReceives    *int
	Visibility     *time.Duration
	Retention      *time.Duration
	DedupWindow    *time.Duration
	ContentDedup   *bool
	RequireReceipt *bool
}

var (
	nameRule  = regexp.MustCompile(`^[A-Za-z0-9-][A-Za-z0-9._-]{0,75}$`)
	dlqRule   = regexp.MustCompile(`^[A-Za-z0-9-][A-Za-z0-9._-]{0,79}$`)
	groupRule = regexp.MustCompile(`^[\x20-\x7e]{1,128}$`)
)

// CheckName refuses what cannot name a queue. A dead-letter queue's name may be four longer, for its "-dlq".
func CheckName(field, name string) error {
	if dlqRule.MatchString(name) {
		return nil
	}
	return fault.Invalid(field, "the queue name %s is not 1 to 80 of A-Z a-z 0-9 . _ -, not beginning with _ or .; 76 where it is not a dead-letter queue's", fault.Quote(name))
}

// Check refuses the making of a queue of a name or with settings that are out of range.
func (s Spec) Check() error {
	if !nameRule.MatchString(s.Name) {
		return fault.Invalid("/name", "the queue name %s is not 1 to 76 of A-Z a-z 0-9 . _ -, not beginning with _ or .", fault.Quote(s.Name))
	}
	return s.CheckSettings()
}

// CheckSettings refuses settings that are out of range, of a queue that is there: it may be a dead-letter queue, whose name may be longer.
func (s Spec) CheckSettings() error {
	if s.DLQ != nil {
		if !dlqRule.MatchString(*s.DLQ) {
			return fault.Invalid("/dlq", "the dead-letter queue's name %s is not 1 to 80 of A-Z a-z 0-9 . _ -, not beginning with _ or .", fault.Quote(*s.DLQ))
		}
		if *s.DLQ == s.Name {
			return fault.Invalid("/dlq", "queue %q cannot be its own dead-letter queue", s.Name)
		}
	}
	if err := inRange("/max_receive_count", s.MaxReceives, 1, MaxMaxReceives); err != nil {
		return err
	}
	if err := durationIn("/visibility_timeout_default", s.Visibility, time.Second, MaxVisibility); err != nil {
		return err
	}
	if s.Retention != nil && (*s.Retention < 24*time.Hour || *s.Retention > MaxRetention) {
		return fault.Invalid("/message_retention_days", "message_retention_days is %g; it must be 1 to 30", s.Retention.Seconds()/86400)
	}
	return durationIn("/dedup_window_seconds", s.DedupWindow, MinDedupWindow, MaxDedupWindow)
}

// New gives the queue that s makes, its defaults filled in.
func (s Spec) New(now time.Time) Queue {
	q := Queue{
		Project: s.Project, Name: s.Name, DLQ: s.Name + "-dlq", MaxReceives: DefaultMaxReceives, Visibility: DefaultVisibility,
		Retention: DefaultRetention, DedupWindow: DefaultDedupWindow, CreatedAt: now,
	}
	set(&q.FIFO, s.FIFO)
	s.Apply(&q)
	return q
}

// Apply sets the settings that s names. A queue's type is none of them.
func (s Spec) Apply(q *Queue) {
	set(&q.DLQ, s.DLQ)
	set(&q.MaxReceives, s.MaxReceives)
	set(&q.Visibility, s.Visibility)
	set(&q.Retention, s.Retention)
	set(&q.DedupWindow, s.DedupWindow)
	set(&q.ContentDedup, s.ContentDedup)
	set(&q.RequireReceipt, s.RequireReceipt)
}

// Same reports whether q is already all that s names.
func (s Spec) Same(q Queue) bool {
	p := q
	set(&p.FIFO, s.FIFO)
	s.Apply(&p)
	return p == q
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func inRange(field string, v *int, low, high int) error {
	if v != nil && (*v < low || *v > high) {
		return fault.Invalid(field, "%s is %d; it must be %d to %d", field[1:], *v, low, high)
	}
	return nil
}

func durationIn(field string, v *time.Duration, low, high time.Duration) error {
	if v != nil && (*v < low || *v > high) {
		return fault.Invalid(field, "%s is %v; it must be %v to %v seconds", field[1:], v.Seconds(), low.Seconds(), high.Seconds())
	}
	return nil
}
