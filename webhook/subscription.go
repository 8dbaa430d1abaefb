package webhook

import (
	"context"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

// Subscription has a queue's messages sent to a URL: a consumer that is the server itself.
type Subscription struct {
	ID          int64
	Project     int64
	Queue       string
	URL         string
	Sealed      []byte        // the signing secret, sealed with the server's key
	Timeout     time.Duration // of an attempt
	MaxInFlight int           // messages at a time
	CreatedAt   time.Time
}

// SubscriptionSpec is what a client says of a subscription. A nil field was not given: the default, or of one that is there as it is.
type SubscriptionSpec struct {
	Project     int64
	Queue       string
	URL         string         // as an endpoint's
	Secret      *string        // as an endpoint's; else one is made
	Timeout     *time.Duration // 1 s to 30 s (15 s)
	MaxInFlight *int           // 1 to 1000 (10)
}

// Check refuses what is out of range, as an endpoint's making does.
func (s SubscriptionSpec) Check(r Rules) error {
	if s.URL == "" {
		return fault.Invalid("/url", "url is required: where the messages are to be sent")
	}
	return EndpointSpec{URL: &s.URL, Timeout: s.Timeout, MaxInFlight: s.MaxInFlight}.check(&Endpoint{}, r)
}

// New makes the subscription, not yet stored, and its secret.
func (s SubscriptionSpec) New(r Rules) (Subscription, string, error) {
	sub := Subscription{Project: s.Project, Queue: s.Queue, URL: s.URL, Timeout: DefaultTimeout, MaxInFlight: DefaultMaxInFlight}
	if err := s.Check(r); err != nil {
		return sub, "", err
	}
	sealed, secret, err := sealSecret(s.Project, s.Secret, r)
	sub.Sealed = sealed.Sealed
	s.Apply(&sub)
	return sub, secret, err
}

// Apply sets the fields that s names, of a subscription that is there; the secret is for who made it.
func (s SubscriptionSpec) Apply(sub *Subscription) {
	if s.Timeout != nil {
		sub.Timeout = *s.Timeout
	}
	if s.MaxInFlight != nil {
		sub.MaxInFlight = *s.MaxInFlight
	}
}

// Subscriptions keeps subscriptions. Each method is one transaction.
type Subscriptions interface {
	// Subscribe stores made, or changes the one that its queue has with this URL: apply is called with that, and what it leaves is kept. It reports
	// whether it is new. ErrQueueNotFound.
	Subscribe(ctx context.Context, made Subscription, apply func(*Subscription)) (s Subscription, fresh bool, err error)
	// Subscriptions lists a queue's, newest first: p.After is the id before which to go on. ErrQueueNotFound.
	Subscriptions(ctx context.Context, project int64, queue string, p queue.Page) ([]Subscription, error)
	// Unsubscribe removes one: ErrNotFound, ErrQueueNotFound.
	Unsubscribe(ctx context.Context, project int64, queue string, id int64) error
	// HoldSubscriptions gives those of all projects that owner is to work on, for a while from the call on: each is one process's at a time, so that
	// its limit in flight holds over all servers. One whose owner did not hold it again in time is another's.
	HoldSubscriptions(ctx context.Context, owner string, term time.Duration) ([]Subscription, error)
	// LetGoSubscriptions ends what owner holds.
	LetGoSubscriptions(ctx context.Context, owner string) error
}

// NoSubscription says that a queue has no such subscription: [ErrNotFound].
func NoSubscription(queueName string) error {
	return fault.New(fault.NotFound, "queue %q has no such subscription", queueName)
}
