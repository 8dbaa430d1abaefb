package webhook_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// receives counts what a pusher is handed.
type receives struct {
	webhook.PushStore
	n atomic.Int64
}

func (c *receives) Receive(ctx context.Context, r queue.Receive) ([]queue.Message, error) {
	m, err := c.PushStore.Receive(ctx, r)
	c.n.Add(int64(len(m)))
	return m, err
}

// A dead letter that is too old to be run is not sent from its dead-letter queue either, and is not asked for again and again.
func TestPushOfWhatIsTooOld(t *testing.T) {
	inBubble(t, func(r *rig) {
		if _, err := r.db.CreateQueue(r.Context(), queue.Spec{Project: 1, Name: "jobs"}); err != nil {
			r.Fatal(err)
		}
		p, err := r.db.Publish(r.Context(), queue.Publish{Project: 1, Queue: "jobs", Body: []byte("1"), OriginAt: time.Now().Add(-91 * 24 * time.Hour)})
		if err != nil || p[0].Err != nil {
			r.Fatal(p, err)
		}
		m, err := r.db.Receive(r.Context(), queue.Receive{Project: 1, Queue: "jobs", Max: 1, Visibility: time.Minute})
		if err != nil || len(m) != 1 {
			r.Fatal(m, err)
		}
		if _, err := r.db.Settle(r.Context(), queue.Settle{Verb: queue.Nack, Project: 1, Queue: "jobs", ID: m[0].ID, Lease: m[0].Lease, DeadLetter: true}); err != nil {
			r.Fatal(err)
		}
		r.subscribeTo("dead", "jobs-dlq", webhook.SubscriptionSpec{})
		store := &receives{PushStore: r.db}
		r.push(store)
		time.Sleep(time.Minute) // of the bubble's clock
		if n := store.n.Load(); n < 1 || n > 2 {
			r.Errorf("received %d times within a minute, want once or twice", n)
		}
		if n := len(r.posts(r.codec.Encode(ids.Message, 1, p[0].ID))); n != 0 {
			r.Errorf("%d POSTs of what is too old", n)
		}
		if s := r.counts("jobs-dlq"); s.Messages != 1 {
			r.Errorf("left: %+v", s)
		}
	})
}
