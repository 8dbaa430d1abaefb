package queue

import "context"

// Page asks for a part of a list: at most Limit items past After (0: from the beginning). The lists' ends are found by
// a page shorter than Limit, or, where a filter skips rows, by Next being 0.
type Page struct {
	After int64
	Limit int
}

// Admin keeps queues. Each method is one transaction.
type Admin interface {
	// CreateQueue makes a queue and its dead-letter queue, or answers the one there is if it has every setting that s
	// names (ErrQueueExists if not). A DLQ that is itself, that has a DLQ of its own, or a queue that is somebody's DLQ
	// given one: a bad argument.
	CreateQueue(ctx context.Context, s Spec) (Queue, error)
	// UpdateQueue changes settings, for messages published after it.
	UpdateQueue(ctx context.Context, s Spec) (Queue, error)
	// Queue finds one: ErrQueueNotFound.
	Queue(ctx context.Context, project int64, name string) (Queue, error)
	// Queues lists a project's, newest first: After is the id before which to go on. The server's own are not listed.
	Queues(ctx context.Context, project int64, p Page) ([]Queue, error)
	// DeleteQueue removes a queue and its messages. ErrQueueNotEmpty unless force, ErrConflict if it is the DLQ of another.
	DeleteQueue(ctx context.Context, project int64, name string, force bool) error
	// PauseQueue makes receives answer nothing, or ends that.
	PauseQueue(ctx context.Context, project int64, name string, paused bool) (Queue, error)
	// PurgeQueue deletes the messages of a queue, those in flight too, in bounded steps, and answers how many.
	PurgeQueue(ctx context.Context, project int64, name string) (int64, error)
}

// Store moves messages. The batched methods answer one result for each item, in order; the calls of many share commits.
type Store interface {
	// Publish stores messages, each with its key in one transaction. A key known in its window answers the first
	// message's id (Replay), or ErrKeyReused if Hash differs; it is looked up before the queue.
	Publish(ctx context.Context, items ...Publish) ([]Published, error)
	// Receive hands out at most r.Max messages, at most MaxReceiveBytes of bodies (one always goes), by priority, then by the time
	// they became visible, then by id, groups taking turns (the ungrouped together are one of them). It never waits for messages.
	Receive(ctx context.Context, r Receive) ([]Message, error)
	// Settle applies receipts' acts.
	Settle(ctx context.Context, items ...Settle) ([]Settled, error)
	// Messages looks at a queue's messages by id, oldest first, of a status if one is given, as they all were at one moment (LookedAt). next is where to go
	// on; 0 at the end. A page may hold fewer than asked for and still have a next: the rows looked at are bounded, and the bodies, by MaxReceiveBytes (one
	// always goes).
	Messages(ctx context.Context, project int64, name string, s Status, p Page) (m []Message, next int64, err error)
	// DeadLetters looks at the dead letters that came from a queue, as Messages does.
	DeadLetters(ctx context.Context, project int64, source string, p Page) (m []Message, next int64, err error)
	// QueueStats counts: exact to 10,000, bounded in time at any depth.
	QueueStats(ctx context.Context, project int64, name string) (Stats, error)
	// WaitMessages returns when the queue of r may have something to receive, or when ctx ends. It may return early and for nothing. A store may hand
	// out what is published in the commit that stores it: what is returned was received as by Receive, even if ctx has ended. Of r.Max 0 it never does.
	WaitMessages(ctx context.Context, r Receive) []Message
	// Sweep does at most limit items of each of the store's own duties: leases over (slots back, last tries dead-lettered and their keys
	// closed), retention, publish keys and request keys past their window, empty groups, claims that nobody can ask for
	// any more. It answers how much it did; a caller goes on while that is not 0.
	Sweep(ctx context.Context, limit int) (int, error)
}
